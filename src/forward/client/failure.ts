/** The upstream sent something that must not be passed on. */
export class BadResponseError extends Error {
  readonly code = 'BAD_ANSWER'
}

/** What came does not begin as a response: on a connection that has served before, it may be left of an earlier one. */
export class StrayBytesError extends BadResponseError {}

/** The upstream was waited for too long. */
export class UpstreamTimeoutError extends Error {
  readonly code = 'UPSTREAM_TIMEOUT'
}

/** All connections were taken for too long. */
export class NoConnectionError extends Error {
  readonly code = 'NO_CONNECTION'
}

/** The connection was closed before any byte of a response. */
export class ConnectionLostError extends Error {
  readonly code = 'CONNECTION_LOST'
}

/** This side broke the exchange off. */
export class GivenUpError extends Error {
  readonly code = 'GIVEN_UP'
}

/** No connection was opened within its time: the upstream is unreachable, not slow. */
export class ConnectTimeoutError extends Error {
  readonly code = 'CONNECT_TIMEOUT'
}

const LOST = new Set(['CONNECTION_LOST', 'ECONNRESET', 'EPIPE'])

/** Whether the peer closed the connection, as it does with one that it thinks idle. */
export function isConnectionLost(error: Error): boolean {
  return LOST.has(codeOf(error))
}

/** How a connection fails while its upstream restarts, or is moved to another machine or container, whose name is unknown meanwhile. */
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
  // Of a Unix socket: its file is not there yet, or as many wait at it as may.
  'ENOENT',
  'EAGAIN',
])

/** Whether a connection that was never ready may be taken a moment later. */
export function mayPass(error: Error): boolean {
  return PASSING.has(codeOf(error))
}

export function codeOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code
  return typeof code === 'string' ? code : ''
}
