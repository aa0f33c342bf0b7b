import { codeOf } from './client/failure.ts'
import type { ForwardError } from './contract.ts'

/**
 * Translates a failure into one of our errors. Without a connection the upstream is unreachable, whatever the cause:
 * refused, unknown name, certificate, connect timeout. With a connection the upstream was too slow or its response was
 * bad. If the upstream closes the connection, this counts as a bad response.
 */
export function forwardErrorOf(error: Error, connected: boolean): ForwardError {
  const code = codeOf(error)
  if (code === 'UPSTREAM_TIMEOUT') return 'upstream_timeout'
  if (code === 'NO_CONNECTION') return 'no_connection'
  return connected && code !== 'GIVEN_UP' ? 'bad_upstream_answer' : 'upstream_unreachable'
}

const UNTRUSTED = 'name its authority under upstream.tls.ca'
/** For an upstream whose certificate or socket cannot be used: the configuration key that can repair it. */
const CURES: ReadonlyMap<string, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  // These two are about a Unix socket, because the upstream is no other file.
  ['ENOENT', 'start the upstream, or name its socket under upstream.socket'],
  ['EACCES', 'let the user of the gateway write to the socket'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'name what is in it under upstream.tls.server_name'],
])

/** Node's own advice (26.10), which is about options of Node. */
const NODES_CURE = /; if the root CA is installed locally, .*$/

/** Code and message for the log, with the cure if the configuration has one. */
export function reasonOf(error: Error): string {
  const code = codeOf(error)
  const message = error.message === '' ? innerMessage(error) : error.message
  const reason = code === '' || message.includes(code) ? message : `${code}: ${message}`
  const cure = CURES.get(code)
  return cure === undefined ? reason : `${reason.replace(NODES_CURE, '')}: ${cure}`
}

/** Happy eyeballs fails with an AggregateError without a message of its own. */
function innerMessage(error: Error): string {
  return error instanceof AggregateError
    ? error.errors.map((e) => (e instanceof Error ? e.message : '')).join('; ')
    : ''
}
