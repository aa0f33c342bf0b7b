import type { ForwardError } from '../contract.ts'

/** The backend answered with something that must not be passed on. */
export class BadResponseError extends Error {
  readonly code = 'BAD_ANSWER'
}

/** What came does not begin as an answer: on a connection that has served before, it may be left of another one. */
export class StrayBytesError extends BadResponseError {}

/** The backend was waited for too long. */
export class UpstreamTimeoutError extends Error {
  readonly code = 'UPSTREAM_TIMEOUT'
}

/** All connections were taken for too long. */
export class NoConnectionError extends Error {
  readonly code = 'NO_CONNECTION'
}

/** The connection was closed before any byte of an answer. */
export class ConnectionLostError extends Error {
  readonly code = 'CONNECTION_LOST'
}

/** The gateway itself broke the exchange off. */
export class GivenUpError extends Error {
  readonly code = 'GIVEN_UP'
}

/** No connection was opened within its time: the backend is unreachable, not slow. */
export class ConnectTimeoutError extends Error {
  readonly code = 'CONNECT_TIMEOUT'
}

const LOST = new Set(['CONNECTION_LOST', 'ECONNRESET', 'EPIPE'])

/**
 * Which of our errors a failure is. Without a connection the backend is unreachable, whatever the cause: refused, unknown
 * name, certificate, connect timeout. With one it is too slow or its answer is bad; a connection it closes is a bad answer.
 */
export function forwardErrorOf(error: Error, connected: boolean): ForwardError {
  const code = codeOf(error)
  if (code === 'UPSTREAM_TIMEOUT') return 'upstream_timeout'
  if (code === 'NO_CONNECTION') return 'no_connection'
  return connected && code !== 'GIVEN_UP' ? 'bad_upstream_answer' : 'upstream_unreachable'
}

/** Whether the peer closed the connection, as it does with one that it thinks idle. */
export function connectionLost(error: Error): boolean {
  return LOST.has(codeOf(error))
}

const UNTRUSTED = 'name its authority under upstream.tls.ca'
/** For a backend whose certificate is refused: the key of the configuration that says what is expected of it. */
const CURES: ReadonlyMap<string, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'name what is in it under upstream.tls.server_name'],
])

/** Node's own (26.10), which is about how it would have to be started. */
const NODES_CURE = /; if the root CA is installed locally, .*$/

/** For the log: the code and the message, with the cure where the configuration has one. */
export function reasonOf(error: Error): string {
  const code = codeOf(error)
  const message = error.message === '' ? innerMessage(error) : error.message
  const reason = code === '' || message.includes(code) ? message : `${code}: ${message}`
  const cure = CURES.get(code)
  return cure === undefined ? reason : `${reason.replace(NODES_CURE, '')}: ${cure}`
}

function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code
  return typeof code === 'string' ? code : ''
}

/** Happy eyeballs fails with an AggregateError that has no message of its own. */
function innerMessage(error: Error): string {
  return error instanceof AggregateError
    ? error.errors.map((e) => (e instanceof Error ? e.message : '')).join('; ')
    : ''
}
