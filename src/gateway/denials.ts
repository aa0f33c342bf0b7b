import { type Denial, denial } from '../errors.ts'
import type { ForwardError } from '../forward/exchange.ts'
import { quotaProblem } from '../quota/ratelimit.ts'
import type { StoreError } from '../quota/store.ts'
import { CLOSE } from './edge-headers.ts'
import { acceptsProblem } from './problem.ts'

/** Denials of more than one step. */

const SOON = { 'Retry-After': '1' }

/** @param reason which limit was reached */
export function overloaded(reason: string): Denial {
  return denial('overloaded', 'The gateway has too much to do. Try again in a moment.', { headers: SOON, reason })
}

const IN_FLIGHT = {
  user: 'This user has as many requests under way as one user may have at a time. Try again when one of them has ended.',
  connection:
    'This connection has as many requests under way as one connection may have at a time. Send fewer before the first response.',
} as const

/**
 * The client's own share of what may be under way is used up, while there is room for others: no fault of the gateway.
 * @param accept of the request, see `acceptsProblem`
 */
export function tooManyInFlight(reason: keyof typeof IN_FLIGHT, limit: number, accept: string | undefined): Denial {
  const [msg, policy] = [IN_FLIGHT[reason], `${reason}-in-flight`]
  const fields = { 'RateLimit-Policy': `"${policy}";q=${limit};qu="concurrent-requests"`, RateLimit: `"${policy}";r=0` }
  const problem = acceptsProblem(accept) ? { problem: quotaProblem([policy], msg) } : {}
  return denial('too_many_in_flight', msg, { headers: { ...SOON, ...fields }, reason, ...problem })
}

export function storeUnavailable({ reason }: StoreError): Denial {
  const msg = 'The quota store cannot be reached, so this request was not forwarded. Try again in a moment.'
  return denial('store_unavailable', msg, { headers: SOON, reason })
}

/** In chunks: the parser finds its end nowhere, so nothing further is read from the connection. */
export function malformedBody(): Denial {
  const reason = 'the body is malformed'
  return denial('bad_request', 'The body of this request is not valid HTTP/1.1.', { headers: CLOSE, reason })
}

export function slowBody(): Denial {
  const reason = 'the body came too slowly'
  return denial('request_timeout', 'The body of this request came too slowly.', { headers: CLOSE, reason })
}

const FORWARD_FAILED: Readonly<Record<ForwardError, string>> = {
  upstream_unreachable: 'The backend cannot be reached.',
  upstream_timeout: 'The backend did not answer in time.',
  bad_upstream_answer: 'The backend gave no whole answer, or one that is not valid HTTP.',
}

export function forwardFailed(error: ForwardError): Denial {
  return denial(error, FORWARD_FAILED[error])
}

export function internal(): Denial {
  return denial('internal', 'Something went wrong in the gateway.')
}
