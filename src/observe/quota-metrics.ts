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
  const replayed = meter.counter(
    'replays_total',
    'Requests that repeat one that was charged, by their idempotency key, and were not charged.',
    ['category'],
  )
  const refunded = meter.counter('tokens_refunded_total', 'Tokens given back.', ['category'])
  const settled = meter.counter(
    'settled_costs_total',
    'Requests whose cost was to be known by the response (settle), by where it came from.',
    ['category', 'source'],
  )
  const ofPlans = planMetrics(meter)
  return {
    ...ofPlans.counting,
    tokens_charged(seen) {
      charged.add(seen.category, seen.cost)
      if (seen.plan !== null) ofPlans.charged.add(`${seen.plan}\n${seen.category}`, seen.cost)
    },
    tokens_refunded(seen) {
      refunded.add(seen.category, seen.cost)
      if (seen.plan !== null) ofPlans.refunded.add(`${seen.plan}\n${seen.category}`, seen.cost)
    },
    cost_settled: (seen) => settled.add(`${seen.category}\n${seen.source}`),
    unmatched: () => unmatched.add(''),
    quota_refusal(seen) {
      refusals.add(`${seen.category}\n${seen.scope}`)
      if (seen.plan !== null) ofPlans.refusals.add(`${seen.plan}\n${seen.category}\n${seen.scope}`)
    },
    replayed: (seen) => replayed.add(seen.category),
    reserve_refusal: (seen) => ofReserve.add(seen.category),
    shadow_refusal: (seen) => shadowed.add(`${seen.category}\n${seen.scope}`),
  }
}

/** The plans are those of the configuration, and `none`. */
function planMetrics(meter: Meter) {
  const unknown = meter.counter(
    'unknown_plan_requests_total',
    'Requests of callers whose credential names a plan that is not configured.',
    [],
  )
  // From the start: `increase` does not see a first one that comes with its series.
  unknown.add('', 0)
  const exempt = meter.counter('exempt_requests_total', 'Requests of callers to whom nothing is charged.', ['category'])
  const counting: Counting = {
    unknown_plan: () => unknown.add(''),
    exempt_request: (seen) => exempt.add(seen.category),
  }
  return {
    counting,
    charged: meter.counter('plan_tokens_charged_total', 'Tokens charged, by the plan of the caller.', [
      'plan',
      'category',
    ]),
    refunded: meter.counter('plan_tokens_refunded_total', 'Tokens given back, by the plan of the caller.', [
      'plan',
      'category',
    ]),
    refusals: meter.counter(
      'plan_refusals_total',
      'Requests that the quota refused with 429, by the plan of the caller and the scope of the window that the answer names.',
      ['plan', 'category', 'scope'],
    ),
  }
}
