import { exhausted, SOON } from '../edge/denials.ts'
import { type Denial, denial } from '../errors.ts'
import type { ForwardError } from '../forward/contract.ts'
import type { StoreError } from '../quota/quota-store.ts'

/** What a client gets if the store, the upstream or the gateway itself fails. */

export function storeUnavailable({ reason }: StoreError): Denial {
  const msg = 'The quota store cannot be reached, so this request was not forwarded. Try again in a moment.'
  return denial('store_unavailable', msg, { headers: SOON, reason })
}

const FORWARD_FAILED = {
  upstream_unreachable: 'The backend cannot be reached.',
  upstream_timeout: 'The backend did not answer in time.',
  bad_upstream_answer: 'The backend gave no whole answer, or one that is not valid HTTP.',
} as const satisfies Readonly<Record<Exclude<ForwardError, 'no_connection'>, string>>

export function forwardFailed(error: ForwardError): Denial {
  if (error === 'no_connection') return NO_CONNECTION
  return denial(error, FORWARD_FAILED[error])
}

const NO_CONNECTION = exhausted({ thing: 'upstream_connections', bound: 'total', max: 0 }, undefined)

export function internal(): Denial {
  return denial('internal', 'Something went wrong in the gateway.')
}
