import { planLabel } from '../quota/policy.ts'
import { overTokens } from '../quota/quota-state.ts'
import { isOfReserve } from '../quota/reserve.ts'
import type { Counting } from './counting.ts'
import { joined } from './labels.ts'
import type { Settled } from './observation.ts'
import type { Meter } from './registry.ts'

/** Metrics of tokens that were charged, given back and refused. */
export function quotaMetrics(meter: Meter): Counting {
  const charged = meter.counter(
    'tokens_charged_total',
    'Tokens that were charged. Subtract tollgate_tokens_refunded_total to get what the windows counted.',
    ['category'],
  )
  const unmatched = meter.counter(
    'unmatched_requests_total',
    'Requests that matched no route, whether they were forwarded or refused.',
  )
  const refusals = meter.counter(
    'quota_refusals_total',
    'Requests that the quota refused with 429, by the scope of the limit that the response names.',
    ['category', 'scope'],
  )
  const ofReserve = meter.counter(
    'reserve_refusals_total',
    'Requests of new users that were refused with 429 because the rest of a global window is reserved for known users.',
    ['category'],
  )
  const shadowed = meter.counter(
    'shadow_refusals_total',
    'Requests that the quota would have refused and that shadow mode let through, by the scope of the limit or another reason.',
    ['category', 'scope'],
  )
  const replayed = meter.counter(
    'replays_total',
    'Repetitions of a charged request, recognised by their idempotency key, that were forwarded without a charge.',
    ['category'],
  )
  const refunded = meter.counter('tokens_refunded_total', 'Tokens that were given back.', ['category'])
  const over = meter.counter(
    'over_requests_total',
    'Requests that passed beyond a soft limit, when they were charged or when their final cost was known.',
    ['category'],
  )
  const settled = meter.counter(
    'settled_costs_total',
    'Requests whose cost is known only after the charge (routes[].settle), by where the final cost came from.',
    ['category', 'source'],
  )
  const ofPlans = planMetrics(meter)
  const key = joined()

  function countTokens({ tokens, charge: { category }, plan }: Settled): void {
    if (tokens === 0) return
    const [ofAll, ofPlan] = tokens > 0 ? [charged, ofPlans.charged] : [refunded, ofPlans.refunded]
    const label = planLabel(plan)
    ofAll.add(category, Math.abs(tokens))
    if (label !== null) ofPlan.add(`${label}\n${category}`, Math.abs(tokens))
  }

  function countRefusal({ charge, decision, plan, refusedBy }: Settled): void {
    const scope = scopeOf(refusedBy)
    const label = planLabel(plan)
    refusals.add(key(charge.category, scope))
    if (label !== null) ofPlans.refusals.add(`${label}\n${charge.category}\n${scope}`)
    if (decision !== null && isOfReserve(charge, decision)) ofReserve.add(charge.category)
  }

  return {
    settled(seen) {
      const { kind, charge, refusedBy, source, tunnel } = seen
      countTokens(seen)
      if (tunnel === undefined && isPassedOver(seen)) over.add(charge.category)
      if (kind === 'refused') countRefusal(seen)
      else if (kind === 'shadowed') shadowed.add(`${charge.category}\n${scopeOf(refusedBy)}`)
      else if (kind === 'repeated') replayed.add(charge.category)
      else if (kind === 'corrected') settled.add(`${charge.category}\n${source}`)
      else if (kind === 'exempt' && tunnel === undefined) ofPlans.exempt.add(charge.category)
      if (seen.plan !== null && seen.plan.unknown !== null && isOfRequest(seen)) {
        ofPlans.unknown.add('')
      }
    },
    unmatched: () => unmatched.add(''),
  }
}

/** Whether this is the first report about a request. */
function isOfRequest({ kind, tunnel, isFurther }: Settled): boolean {
  return tunnel === undefined && isFurther === undefined && kind !== 'corrected' && kind !== 'given_back'
}

/** Whether this outcome took the charge beyond a soft limit. */
function isPassedOver({ kind, charge, decision, tokens }: Settled): boolean {
  if (decision === null || (kind !== 'charged' && kind !== 'corrected')) return false
  const before = overTokens(charge, decision, charge.cost)
  if (kind === 'charged') return before > 0
  return before === 0 && overTokens(charge, decision, charge.cost + tokens) > 0
}

/** The label of a refusal: the scope of the window, or the other reason. */
function scopeOf(refusedBy: Settled['refusedBy']): string {
  return typeof refusedBy === 'string' ? refusedBy : (refusedBy?.scope ?? 'store')
}

/** Metrics by plan. The plans are those of the configuration, and `none`. */
function planMetrics(meter: Meter) {
  const unknown = meter.counter(
    'unknown_plan_requests_total',
    'Requests whose credential names a plan that is not configured.',
  )
  const exempt = meter.counter('exempt_requests_total', 'Requests of callers who are exempt from the quota.', [
    'category',
  ])
  return {
    unknown,
    exempt,
    charged: meter.counter('plan_tokens_charged_total', 'Tokens that were charged, by the plan of the caller.', [
      'plan',
      'category',
    ]),
    refunded: meter.counter('plan_tokens_refunded_total', 'Tokens that were given back, by the plan of the caller.', [
      'plan',
      'category',
    ]),
    refusals: meter.counter(
      'plan_refusals_total',
      'Requests that the quota refused with 429, by the plan of the caller and the scope of the limit that the response names.',
      ['plan', 'category', 'scope'],
    ),
  }
}
