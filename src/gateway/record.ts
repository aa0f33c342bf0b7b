import { setTimeout as sleep } from 'node:timers/promises'
import { type CallerKind, isMissing } from '../auth/authenticator.ts'
import { whyNotUpgraded } from '../edge/head-rules.ts'
import type { Denial } from '../errors.ts'
import type { Observation, RefusingLimit, RequestDone } from '../observe/observation.ts'
import type { Decision } from '../quota/charge.ts'
import { payerOf, planLabel } from '../quota/policy.ts'
import { isOfReserve } from '../quota/reserve.ts'
import { SCOPES, type Settlement, shadowScopeOf } from './charge-order.ts'
import type { Context, Exchange } from './context.ts'
import { voiceOf } from './failure-voice.ts'
import type { Ending } from './outcome.ts'
import { refusingWindow } from './responses.ts'

/** All that is observed about a request: once when it is admitted or not, and once when it has ended. */

/** A tunnel may last for days, so its tokens are not left for its end. */
export function recordAdmission({ observe }: Context, exchange: Exchange): void {
  const { req, route, unmatched, letIn, settlement, plan, exempt } = exchange
  if (letIn !== null) observe({ type: 'caller_let_in', why: whyLetIn(letIn) })
  if (unmatched !== null) observe({ type: 'unmatched', method: req.method ?? '', path: unmatched })
  if (exempt !== null) observe({ type: 'exempt_request', category: route?.tariff?.category ?? 'none' })
  if (plan !== null && plan.unknown !== null) {
    observe({ type: 'unknown_plan', plan: plan.unknown, instead: plan.name })
  }
  if (settlement === null) return
  observe(observationOf(settlement, planLabel(plan), route?.match ?? null))
  const { kind, charge } = settlement
  if (kind === 'refused' && isOfReserve(charge, settlement.decision)) {
    observe({ type: 'reserve_refusal', category: charge.category })
  }
}

/** What would have been, in a few words for a metric. */
function whyLetIn(refused: Denial): Extract<Observation, { type: 'caller_let_in' }>['why'] {
  if (isMissing(refused)) return 'missing'
  if (refused.code === 'bad_request') return 'ambiguous'
  return refused.code === 'unauthorized' || refused.code === 'headers_too_large' ? 'invalid' : 'unchecked'
}

function observationOf(settlement: Settlement, plan: string | null, route: string | null): Observation {
  const { charge, decision } = settlement
  const { category, cost, user: caller } = charge
  const at = decision?.at ?? Date.now()
  switch (settlement.kind) {
    case 'charged':
      return { type: 'tokens_charged', category, cost, plan, caller, route, at, isAddition: false }
    case 'replayed':
      return { type: 'replayed', category }
    case 'refused':
      return { type: 'quota_refusal', category, scope: SCOPES[settlement.refusal.by.scope], plan, caller, route, at }
    case 'shadowed':
      return { type: 'shadow_refusal', category, scope: shadowScopeOf(charge, decision), plan, route, at }
  }
}

/** Of users who are what they are called by: the log need not say so. */
const USUAL_KINDS: ReadonlySet<CallerKind> = new Set(['jwt', 'gateway_token'])

/** How long the record of a request with a key waits for what the store makes of its cost, in milliseconds. */
const WAIT_MS = 2000

/** The last step of every request, good or bad. */
export function record(context: Context, exchange: Exchange, ending: Ending): void {
  const durationMs = performance.now() - exchange.startedAt
  const { made } = exchange
  if (made === null) write(context, exchange, ending, null, durationMs)
  else {
    const late = sleep(WAIT_MS, null, { ref: false })
    void Promise.race([made, late]).then((back) => write(context, exchange, ending, back, durationMs))
  }
}

/** @param made what the store has given back, if it had to say that */
function write(context: Context, exchange: Exchange, ending: Ending, made: number | null, durationMs: number): void {
  const { req, route, caller, letIn, cost, plan, exempt, settlement, requestId } = exchange
  const lenient = exchange.lenient.length === 0 ? ending.lenient : [...exchange.lenient, ...ending.lenient]
  const { observe, witness } = context
  noteAddress(context, exchange)
  const back = settlement === null ? 0 : (made ?? givenBack(exchange, settlement))
  if (settlement !== null) recordGivenBack(context, exchange, settlement, back)
  const charged = chargedIn(exchange) - back
  // The rest first: behind other fields V8 copies it one by one, which takes 0.3 us.
  const done: RequestDone = {
    ...ending,
    type: 'request',
    requestId,
    user: caller?.user ?? null,
    kind: caller === null || USUAL_KINDS.has(caller.kind) ? null : caller.kind,
    letIn: letIn === null ? null : (letIn.reason ?? letIn.code),
    method: req.method ?? '',
    route: route?.match ?? null,
    category: route?.tariff?.category ?? null,
    cost,
    charged: charged === cost && exchange.finalCost === null ? null : charged,
    plan: plan?.name ?? null,
    planLabel: planLabel(plan),
    organisation: settlement?.charge.organisation ?? null,
    refusedBy: settlement === null ? null : refusingLimit(exchange, settlement),
    decidedAt: settlement?.decision?.at ?? null,
    exempt,
    lenient,
    notUpgraded: exchange.res === null ? null : whyNotUpgraded(req),
    shadowed: settlement?.kind === 'shadowed',
    replayed: settlement?.kind === 'replayed',
    voice: voiceOf(exchange),
    durationMs,
  }
  observe(done)
  witness?.(req.url ?? '', done)
}

function refusingLimit({ rules, caller }: Exchange, settlement: Settlement): RefusingLimit | null {
  const { charge, decision } = settlement
  const by = decision === null ? null : byOf(settlement, decision)
  if (decision === null || by === null) return null
  const payer = caller ?? payerOf(charge.user)
  const made = rules.policy().sourceOf(charge.category, payer, SCOPES[by.scope], by.window)
  // While the store is out a share of the limits holds.
  return { ...by, source: decision.limits === undefined ? made : `${made} x outage share` }
}

function byOf(settlement: Settlement, decision: Decision): Omit<RefusingLimit, 'source'> | null {
  if (settlement.kind === 'refused') return settlement.refusal.by
  // A key that is that of another request is refused by no window.
  if (settlement.kind !== 'shadowed' || decision.once?.kind === 'reused') return null
  return refusingWindow(settlement.charge, decision)
}

/** What the request was charged before its end: a tunnel may be charged again and again. */
function chargedIn({ settlement, cost }: Exchange): number {
  return settlement?.kind === 'charged' ? cost : 0
}

/** What is given back of it, as it was asked for. */
function givenBack({ isRefunded, finalCost }: Exchange, { kind, charge }: Settlement): number {
  if (kind !== 'charged') return 0
  return isRefunded ? charge.cost : charge.cost - (finalCost?.tokens ?? charge.cost)
}

/** What is charged less what is given back is what the store has counted. */
function recordGivenBack(
  { observe }: Context,
  exchange: Exchange,
  { charge, decision }: Settlement,
  back: number,
): void {
  if (decision === null) return
  const { finalCost } = exchange
  const { category } = charge
  const plan = planLabel(exchange.plan)
  const route = exchange.route?.match ?? null
  const { at } = decision
  if (finalCost !== null) {
    observe({ type: 'cost_settled', category, route: route ?? '', source: finalCost.source })
  }
  if (back > 0) observe({ type: 'tokens_refunded', category, cost: back, plan, route, at })
  if (back < 0) observe({ type: 'tokens_charged', category, cost: -back, plan, route, at, isAddition: true })
}

function noteAddress({ rules, oneAddress }: Context, { req, client, caller }: Exchange): void {
  const { address } = client
  if (address === '' || rules().isProxy(address)) return
  const { headers } = req
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  oneAddress.note(address, caller?.user ?? null, isForwarded)
}
