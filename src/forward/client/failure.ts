/** The upstream sent something that must not be forwarded. */
export class BadResponseError extends Error {
  readonly code = 'BAD_ANSWER'
}

/** The bytes do not begin like a response. On a used connection they may be the rest of an earlier one. */
export class StrayBytesError extends BadResponseError {}

/** The upstream took too long. */
export class UpstreamTimeoutError extends Error {
  readonly code = 'UPSTREAM_TIMEOUT'
}

/** All connections were in use for too long. */
export class NoConnectionError extends Error {
  readonly code = 'NO_CONNECTION'
}

/** The connection was closed without an error, as a rule before any byte of a response. */
export class ConnectionLostError extends Error {
  readonly code = 'CONNECTION_LOST'
}

/** The gateway broke the exchange off. */
export class GivenUpError extends Error {
  readonly code = 'GIVEN_UP'
}

/** A connection could not be opened in time, so the upstream is unreachable and not slow. */
export class ConnectTimeoutError extends Error {
  readonly code = 'CONNECT_TIMEOUT'
}

const LOST = new Set(['CONNECTION_LOST', 'ECONNRESET', 'EPIPE'])

/** Whether the peer closed the connection, perhaps because it was idle. */
export function isConnectionLost(error: Error): boolean {
  return LOST.has(codeOf(error))
}

/** Errors of a connection while its upstream restarts, or moves to another machine and has no name meanwhile. */
const PASSING = new Set([
  ...LOST,
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // For a Unix socket: its file is missing, or its queue is full.
  'ENOENT',
  'EAGAIN',
])

/** Whether a connection that was never ready may succeed a moment later. */
export function mayPass(error: Error): boolean {
  return PASSING.has(codeOf(error))
}

export function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code
  return typeof code === 'string' ? code : ''
}
