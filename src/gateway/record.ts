import { setTimeout as sleep } from 'node:timers/promises'
import { isMissing } from '../auth/authenticator.ts'
import { kindOf } from '../auth/verdict.ts'
import { targetOf, whyNotUpgraded } from '../edge/head-rules.ts'
import type { Denial } from '../errors.ts'
import { traceparentOf } from '../lib/trace-context.ts'
import type { Access, Observation, RequestDone } from '../observe/observation.ts'
import { metersOf, refundedMeter } from '../quota/charge.ts'
import { daysNamedFor } from '../quota/period-days.ts'
import { planLabel } from '../quota/policy.ts'
import { overTokens } from '../quota/quota-state.ts'
import { wholeAddressOf } from './client-address.ts'
import type { Context, Exchange } from './context.ts'
import { voiceOf } from './failure-voice.ts'
import { type FurtherMeter, firstCategory } from './meters.ts'
import type { Ending } from './outcome.ts'
import type { AccessRules } from './snapshot.ts'

/** Reports everything about a request except its charge: once at admission, and once at its end. */

/** Reports what is known before the end, which may be days away. */
export function recordAdmission({ observe }: Context, exchange: Exchange): void {
  const { req, unmatched, letIn } = exchange
  if (letIn !== null) observe({ type: 'caller_let_in', why: whyLetIn(letIn) })
  if (unmatched !== null) observe({ type: 'unmatched', method: req.method ?? '', path: unmatched })
}

/** Why the caller would have been refused, as a value for a metric. */
function whyLetIn(refused: Denial): Extract<Observation, { type: 'caller_let_in' }>['why'] {
  if (isMissing(refused)) return 'missing'
  if (refused.code === 'bad_request') return 'ambiguous'
  return refused.code === 'unauthorized' || refused.code === 'headers_too_large' ? 'invalid' : 'unchecked'
}

/** How long the record waits for the store to say what a request with a key cost, in milliseconds. After that it has the requested amount. */
const WAIT_MS = 2000

/** The last step of every request, whether it succeeded or not. */
export function record(context: Context, exchange: Exchange, ending: Ending): void {
  const durationMs = performance.now() - exchange.startedAt
  const { made, others } = exchange
  const isMade = made === null && (others === undefined || others.every((meter) => meter.made === null))
  if (isMade) write(context, exchange, ending, NOTHING_MADE, durationMs)
  else {
    const late = sleep(WAIT_MS, NOTHING_MADE, { ref: false })
    const all = Promise.all([made, ...(others ?? []).map((meter) => meter.made)])
    void Promise.race([all, late]).then((back) => write(context, exchange, ending, back, durationMs))
  }
}

/** What the store has given back in each meter, if only the store knows the amount. */
type Made = readonly (number | null)[]

const NOTHING_MADE: Made = [null]

function write(context: Context, exchange: Exchange, ending: Ending, made: Made, durationMs: number): void {
  const { req, route, caller, letIn, cost, plan, exempt, settlement, requestId } = exchange
  const lenient = exchange.lenient.length === 0 ? ending.lenient : [...exchange.lenient, ...ending.lenient]
  const { observe, witness } = context
  noteAddress(context, exchange)
  const { outcome, error, share, httpStatus, clientStatus, upstreamMs } = ending
  // Each field by its name: V8 grows an object that begins as a copy, which takes several times its bytes.
  const done: RequestDone = {
    type: 'request',
    outcome,
    error,
    share,
    httpStatus,
    clientStatus,
    upstreamMs,
    reason: ending.reason ?? settlement?.reason ?? null,
    requestId,
    traceparent: exchange.trace === null ? traceparentOf(req.headers) : exchange.trace.traceparent,
    trace: exchange.trace,
    user: caller?.user ?? null,
    kind: caller === null ? null : kindOf(caller),
    letIn: letIn === null ? null : (letIn.reason ?? letIn.code),
    method: req.method ?? '',
    route: route?.match ?? null,
    category: route?.tariff == null ? null : firstCategory(exchange, route.tariff),
    cost,
    charged: chargedIn(exchange, exchange, made[0] ?? null),
    plan: plan?.name ?? null,
    planLabel: planLabel(plan),
    namedPlan: caller?.plan ?? null,
    organisation: caller?.organisation ?? null,
    refusedBy: typeof settlement?.refusedBy === 'object' ? settlement.refusedBy : null,
    decidedAt: settlement?.decision?.at ?? null,
    exempt,
    lenient,
    notUpgraded: exchange.res === null ? null : whyNotUpgraded(req),
    shadowed: settlement?.kind === 'shadowed',
    replayed: settlement?.kind === 'repeated',
    voice: voiceOf(exchange),
    durationMs,
    access: exchange.rules.access === null ? null : accessOf(exchange, exchange.rules.access),
  }
  const named = exchange.others === undefined ? done : { ...done, others: othersOf(exchange, exchange.others, made) }
  const beyond = beyondIn(exchange, done.category, done.charged ?? cost)
  const counted = beyond === 0 ? named : { ...named, beyond }
  const days = settlement === null || caller === null ? undefined : daysNamedFor(exchange.rules.policy(), caller)
  const whole = days === undefined ? counted : { ...counted, days }
  observe(whole)
  witness?.(req.url ?? '', whole)
}

function othersOf(
  exchange: Exchange,
  others: readonly FurtherMeter[],
  [, ...made]: Made,
): NonNullable<RequestDone['others']> {
  return others.map((meter, i) => {
    const charged = chargedIn(exchange, meter, made[i] ?? null)
    const { cost, rule } = meter
    const beyond = beyondIn(exchange, rule.category, charged ?? cost)
    return { category: rule.category, cost, charged, ...(beyond > 0 && { beyond }) }
  })
}

/** How many tokens of a category are beyond a soft limit. @param tokens what was finally charged in it */
function beyondIn({ settlement }: Exchange, category: string | null, tokens: number): number {
  if (settlement?.kind !== 'charged' || settlement.decision === null || tokens <= 0) return 0
  const { charge, decision } = settlement
  if (charge.others === undefined) return overTokens(charge, decision, tokens)
  const meter = metersOf(charge).findIndex((each) => each.category === category)
  if (meter === -1) return 0
  const of = refundedMeter({ charge, decision, meter })
  return overTokens(of.charge, of.decision, tokens)
}

/** The most characters of a path in the record. The query is left out, because a credential in the target can only be there. */
const MOST_OF_PATH = 1024

function accessOf({ req, client, rules }: Exchange, { address, path }: AccessRules): Access {
  return {
    address: address ? wholeAddressOf(client, req.headers, rules.isProxy) : null,
    path: path
      ? targetOf(req)
          .replace(/[?#].*$/s, '')
          .slice(0, MOST_OF_PATH)
      : null,
  }
}

/**
 * What was charged in a meter for the request itself, without what an open tunnel was charged later. What is given back is subtracted: the
 * store's amount, or else the requested one. `null` if the result equals the cost that was known before.
 */
function chargedIn(
  { settlement, isRefunded }: Exchange,
  { cost, finalCost }: Pick<FurtherMeter, 'cost' | 'finalCost'>,
  made: number | null,
): number | null {
  const taken = settlement?.kind === 'charged' ? cost : 0
  const charged = made !== null ? taken - made : isRefunded || taken === 0 ? 0 : (finalCost?.tokens ?? cost)
  return charged === cost && finalCost === null ? null : charged
}

function noteAddress({ rules, oneAddress }: Context, { req, client, caller }: Exchange): void {
  const { address } = client
  if (address === '' || rules().isProxy(address)) return
  const { headers } = req
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined
  oneAddress.note(address, caller?.user ?? null, isForwarded)
}
