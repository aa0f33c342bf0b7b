import type { Counting } from './counting.ts'
import type { Meter } from './registry.ts'

/** What was charged, given back and refused. */
export function quotaMetrics(meter: Meter): Counting {
  const charged = meter.counter('tokens_charged_total', 'Tokens charged.', ['category'])
  const unmatched = meter.counter(
    'unmatched_requests_total',
    'Requests that matched no route, whatever became of them.',
    [],
  )
  const refusals = meter.counter(
    'quota_refusals_total',
    'Requests that the quota refused with 429, by the scope of the window that the answer names.',
    ['category', 'scope'],
  )
  const ofReserve = meter.counter(
    'reserve_refusals_total',
    'Requests of new users that were refused with 429 although a global window had room, for known users only.',
    ['category'],
  )
  const shadowed = meter.counter(
    'shadow_refusals_total',
    'Requests that the quota refused and that were let through: by the scope that refused, or store where that was out.',
    ['category', 'scope'],
  )
  const refunded = meter.counter('tokens_refunded_total', 'Tokens given back.', ['category'])
  return {
    tokens_charged: (seen) => charged.add(seen.category, seen.cost),
    tokens_refunded: (seen) => refunded.add(seen.category, seen.cost),
    unmatched: () => unmatched.add(''),
    quota_refusal: (seen) => refusals.add(`${seen.category}\n${seen.scope}`),
    reserve_refusal: (seen) => ofReserve.add(seen.category),
    shadow_refusal: (seen) => shadowed.add(`${seen.category}\n${seen.scope}`),
  }
}
