import type { ForwardError } from './exchange.ts'

/** The backend answered with something that must not be passed on. */
export class BadAnswerError extends Error {
  readonly code = 'BAD_ANSWER'
}

/** The backend, or a free connection to it, was waited for too long. */
export class UpstreamTimeoutError extends Error {
  readonly code = 'UPSTREAM_TIMEOUT'
}

/** The gateway itself broke the exchange off. */
export class GivenUpError extends Error {
  readonly code = 'GIVEN_UP'
}

const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UPSTREAM_TIMEOUT'])
const CLOSED_BY_US = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED', 'GIVEN_UP'])

/**
 * Which of our errors a failure is. Without a connection the backend is unreachable, whatever the cause: refused, unknown
 * name, certificate, connect timeout. With one it is too slow or its answer is bad; a connection it closes is a bad answer.
 */
export function forwardErrorOf(error: Error, reached: boolean): ForwardError {
  const code = codeOf(error)
  if (TIMEOUTS.has(code)) return 'upstream_timeout'
  return reached && !CLOSED_BY_US.has(code) ? 'bad_upstream_answer' : 'upstream_unreachable'
}

/** Whether the peer closed the connection, as it does with one that it thinks idle. */
export function connectionLost(error: Error): boolean {
  const code = codeOf(error)
  if (code === 'UND_ERR_SOCKET') return error.message === 'other side closed' || error.message === 'closed'
  return code === 'ECONNRESET' || code === 'EPIPE'
}

/** For the log: the code and the message. */
export function reasonOf(error: Error): string {
  const code = codeOf(error)
  const message = error.message === '' ? innerMessage(error) : error.message
  return code === '' || message.includes(code) ? message : `${code}: ${message}`
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
