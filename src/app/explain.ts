import { membershipShown } from '../admin/plan.ts'
import type { InForce, Question, WrongQuestion } from '../admin/routes/explain.ts'
import { standingBy } from '../admin/standing.ts'
import type { View } from '../admin/state.ts'
import type { Config } from '../config/config.ts'
import { formatDuration } from '../config/units.ts'
import type { ExplainResponse } from '../contract/api.ts'
import { isDenial } from '../errors.ts'
import { bodyTooLarge, type Plan, type PlanRefusal, plan, queryRefusal } from '../gateway/plan.ts'
import type { MeterRule, Repetition, Route } from '../gateway/snapshot.ts'
import { type AskedPrice, cheapest, costsOf, mayCost, type Price } from '../inputs/price.ts'
import { shownAsked } from '../inputs/shown-price.ts'
import { firstAndOthers } from '../lib/first-and-others.ts'
import { pathOfNames } from '../lib/json-path.ts'
import { keyOfWritten, valueOfKey } from '../lib/json-scalar.ts'
import { roomFrom } from '../quota/ahead.ts'
import type { Decision, Meter } from '../quota/charge.ts'
import { SCOPE_NAMES } from '../quota/charged-scopes.ts'
import { usageOf } from '../quota/counter.ts'
import type { Layer, LimitScope, LimitTable, Origin } from '../quota/limit-layers.ts'
import type { Payer } from '../quota/policy.ts'
import type { UsageSnapshot } from '../quota/quota-store.ts'
import { neverFits, type QuotaViolation, refusalBody, SCOPE_TITLES } from '../quota/refusal.ts'
import { countersIn, fullestOf, payerIn } from '../quota/standing.ts'
import { windowStatus } from '../quota/status.ts'
import { type Limit, lacksRoom, promised } from '../quota/window.ts'
import type { SettleRule } from '../routing/final-cost.ts'
import { type Asked, priceOf } from '../routing/price.ts'
import { because, REASONS, type Reason } from './explain-texts.ts'
import { planRulesOf } from './plan-rules.ts'

/**
 * What would happen to a request now, and why. It uses the same functions as the gateway, and charges nothing. It assumes
 * that the parts which only the bytes of a request can show (framing, credential, body) are fine.
 * @param inForce reads the store. It is called only for requests that are charged
 */
export async function explain(
  config: Config,
  question: Question,
  inForce: () => Promise<InForce>,
): Promise<ExplainResponse | WrongQuestion> {
  const found = await find(config, question)
  const about = { user: question.user, method: question.method, path: question.path }
  if (!('access' in found)) return { ...about, ...NOTHING, ...found }
  const { route, access } = found
  if (access === null) return { ...about, ...NOTHING, route, decision: 'not_charged', ...because(REASONS.free) }
  const idempotency = access.repetition === null ? {} : { idempotency: repetitionOf(access.repetition) }
  const tunnelCharge = access.tunnelChargeMs === null ? {} : { tunnelCharge: formatDuration(access.tunnelChargeMs) }
  const charged = { ...about, route, ...idempotency, ...tunnelCharge }
  const priced = pricesOf(access, question)
  if ('problem' in priced) {
    const now = priced.mayPass ? await inForce() : null
    const shadow = now && shadowOf(now.view, now.payer, access)
    const unpriced = { ...charged, ...shown(access.meters.map((meter) => ({ ...meter, cost: null }))) }
    if (shadow === null) return { ...unpriced, decision: 'bad_request', ...because(priced.problem) }
    return { ...unpriced, decision: 'shadow', ...because(REASONS.noPrice, shadow) }
  }
  const { meters } = priced
  const problem = wrongIn(question, meters)
  if (problem !== null) return { problem }
  if (meters.every(({ cost }) => cost === 0)) {
    return { ...charged, ...shown(meters), decision: 'not_charged', ...because(REASONS.costsNothing) }
  }
  if (config.quota.exempt?.users.includes(question.user)) {
    return { ...charged, ...shown(meters), decision: 'not_charged', ...because(REASONS.exempt) }
  }
  const { view, snapshot, payer } = await inForce()
  return {
    ...charged,
    ...shown(meters, ({ category, least }) => limitsOf(view, snapshot, { payer, category, cost: least })),
    ...membershipShown(view.policy, payer),
    ...verdict(snapshot, {
      config,
      view,
      payer,
      access,
      meters: meters.filter(({ least, cost }) => least > 0 || cost === null),
    }),
  }
}

type ShownMeter = MeterRule & { readonly cost: number | null }

/** Shows the first meter as fields of the response itself, and further meters as `others`. */
function shown<M extends ShownMeter>(meters: readonly M[], limitsOf: (meter: M) => ExplainedLimit[] = () => []) {
  const [first, ...others] = meters.map((meter) => {
    const { category, price, settle, cost } = meter
    return {
      ...{ category, cost, price: priceShown(price) },
      ...(settle !== null && { settle: settleOf(settle) }),
      limits: limitsOf(meter),
    }
  })
  if (first === undefined) throw new Error('a charged route has no meter')
  return { ...first, ...(others.length > 0 && { others }) }
}

/** The place of a value in the file, for `steps` of a limit. */
export function fileOrigin({ file, quota }: Pick<Config, 'file' | 'quota'>): Origin {
  return (scope, category, window, layer) => {
    const line = tableOf(quota, scope, layer)?.get(category)?.get(window)
    return line === undefined ? null : `${file}:${line}`
  }
}

function tableOf({ lines }: Config['quota'], scope: LimitScope, layer: Layer): LimitTable | undefined {
  const written: Partial<Record<LimitScope, LimitTable>> | undefined =
    typeof layer === 'object' ? lines.plans.get(layer.plan) : lines[layer]
  return written?.[scope]
}

const NOTHING = { route: null, category: null, cost: null, price: null, limits: [] } as const

interface Charged extends Pick<Route, 'repetition' | 'tunnelChargeMs' | 'shadow'> {
  /** At least one. */
  readonly meters: readonly MeterRule[]
  /** The query of the request, as the gateway reads it. */
  readonly query: string
  /** Why the query is not allowed beside the price; `null` if it is. */
  readonly refusal: PlanRefusal | null
}

type Found =
  | Pick<ExplainResponse, 'decision' | 'why' | 'reasons'>
  | { readonly route: ExplainResponse['route'] /** `null` for a public route. */; readonly access: Charged | null }

async function find(config: Config, { method, path, bytes = 0 }: Question): Promise<Found> {
  const rules = await planRulesOf(config)
  const planned = plan(rules, {
    method,
    target: asSent(path),
    bodyBytes: bytes,
    isUpgrade: false,
    isLastHop: false,
    preflight: null,
  })
  switch (planned.kind) {
    case 'refused':
    case 'unmatched':
      return { decision: decisionOf(planned.refusal), ...because(REASONS.denied(planned.refusal)) }
    case 'status':
    case 'usage':
      return { decision: 'not_charged', ...because(REASONS.own) }
    case 'preflight':
    case 'options':
      return { decision: 'not_charged', ...because(REASONS.options) }
    case 'document':
      return { decision: 'not_charged', ...because(REASONS.document) }
    case 'page':
      return { decision: 'not_charged', ...because(REASONS.page) }
    case 'route':
      return ofRoute(planned, planned.route === rules.unmatched)
  }
}

/** The gateway reads a head with one character for each byte. */
function asSent(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function decisionOf({ denial: { code } }: PlanRefusal): 'no_route' | 'bad_request' {
  return code === 'no_route' || code === 'method_not_allowed' ? 'no_route' : 'bad_request'
}

function ofRoute({ route, target }: Extract<Plan, { kind: 'route' }>, isUnmatched: boolean): Found {
  const { match, line, tariff } = route
  if (tariff === null && isUnmatched) return { decision: 'not_charged', ...because(REASONS.forwarded) }
  const found = isUnmatched ? null : { match, line }
  if (tariff === null) return { route: found, access: null }
  const meters = firstAndOthers<MeterRule>(tariff)
  return { route: found, access: { ...route, meters, query: target.query, refusal: queryRefusal(route, target) } }
}

function priceShown(cost: Price): ExplainResponse['price'] {
  return cost.kind === 'fixed' ? null : shownAsked(cost)
}

function settleOf({ status, source, reading, otherwise, missing }: SettleRule): NonNullable<ExplainResponse['settle']> {
  const isRead = source !== null
  return {
    status: Object.fromEntries(status),
    header: source?.kind === 'header' ? source.field : null,
    json: source?.kind === 'json' ? source.paths.map(pathOfNames) : null,
    sum:
      source?.kind === 'json' && source.sum !== null
        ? Object.fromEntries(source.sum.map(({ path, weight }) => [pathOfNames(path), weight]))
        : null,
    bytesPerToken: source?.kind === 'size' ? source.per : null,
    max: isRead && 'max' in reading ? reading.max : null,
    values: 'values' in reading ? Object.fromEntries(reading.values) : null,
    otherwise,
    missing,
  }
}

function repetitionOf({ header, forMs, replays }: Repetition): NonNullable<ExplainResponse['idempotency']> {
  return { header, for: formatDuration(forMs), replays }
}

/** The cost, `null` if unknown, and its lowest possible value. */
interface Priced {
  readonly cost: number | null
  readonly least: number
}

type PricedMeter = MeterRule & Priced

/** A request whose cost cannot be known, and whether shadow lets it through. */
interface Unpriced {
  readonly problem: Reason
  readonly mayPass: boolean
}

function pricesOf(
  { meters: rules, query, refusal }: Charged,
  question: Question,
): { readonly meters: PricedMeter[] } | Unpriced {
  if (refusal !== null) return { problem: REASONS.denied(refusal), mayPass: true }
  const meters: PricedMeter[] = []
  for (const rule of rules) {
    const priced = pricedAs(rule.price, question, query)
    if ('problem' in priced) return priced
    meters.push({ ...rule, ...priced })
  }
  return { meters }
}

function pricedAs(price: Price, question: Question, query: string): Priced | Unpriced {
  if (price.kind === 'fixed') return { cost: price.cost, least: price.cost }
  const { cost: given, bytes = 0, body, value } = question
  const { maxBody } = price
  if (maxBody !== null && Math.max(bytes, Buffer.byteLength(body ?? '')) > maxBody) {
    return { problem: REASONS.denied(bodyTooLarge(maxBody)), mayPass: false }
  }
  const within = body === undefined && value !== undefined ? priceWithin(price, value) : null
  if (within !== null) return { cost: given ?? null, least: given ?? cheapest(within) }
  const asked = askedIn(price, question, query)
  if (asked === null) return { cost: given ?? null, least: given ?? cheapest(price) }
  const priced = priceOf(price, asked)
  return isDenial(priced)
    ? { problem: REASONS.notPriced(priced.msg), mayPass: true }
    : { cost: priced.cost, least: priced.cost }
}

/** The price of a value if it depends on further parts of the request; otherwise `null`. */
function priceWithin({ reading }: AskedPrice, value: string): AskedPrice | null {
  const key = keyOfWritten(value)
  const price = reading.kind === 'values' && key !== null ? reading.values.get(key) : undefined
  return price?.kind === 'asked' ? price : null
}

/** A request with the parts in the question; `null` if the question lacks the part that decides the price. */
function askedIn(price: AskedPrice, { body, value, bytes }: Question, query: string): Asked | null {
  const { source, maxBody } = price
  const isInHeader = source.kind === 'header'
  if (isInHeader && value === undefined) return null
  const named = isInHeader && value !== undefined ? [source.name, asSent(value)] : []
  const written = body ?? (source.kind === 'body' && value !== undefined ? bodyWith(price, value) : undefined)
  if (written !== undefined) {
    const whole = Buffer.from(written)
    return { body: whole, query, rawHeaders: ['Content-Type', 'application/json', ...named], length: whole.length }
  }
  const isKnown = isInHeader
    ? maxBody === null
    : source.kind === 'query' || (source.kind === 'size' && bytes !== undefined)
  return isKnown ? { body: null, query, rawHeaders: named, length: bytes ?? 0 } : null
}

/** The most elements of a list that is made to find its price. */
const MOST_ELEMENTS = 10_000

/** A body with this value where the price reads it, or with this many elements. */
function bodyWith({ source, reading }: AskedPrice, value: string): string {
  const path = source.kind === 'body' ? source.path.map(([name = '']) => name) : []
  const key = keyOfWritten(value)
  const scalar = key === null ? value : JSON.stringify(valueOfKey(key))
  const isCount = reading.kind === 'list' && /^\d{1,5}$/.test(value) && Number(value) <= MOST_ELEMENTS
  const text = isCount ? JSON.stringify(Array(Number(value)).fill(0)) : scalar
  return path.reduceRight((inner, name) => `{${JSON.stringify(name)}:${inner}}`, text)
}

/** Parts of the question that contradict the route's cost. */
function wrongIn(
  { cost: given, value, body }: Question,
  meters: readonly PricedMeter[],
): WrongQuestion['problem'] | null {
  const asked = meters.filter(({ price }) => price.kind === 'asked')
  if (asked.length === 0) {
    const path = given !== undefined ? 'cost' : value !== undefined ? 'value' : body !== undefined ? 'body' : null
    if (path === null) return null
    return { path, msg: `is for a cost that depends on the request: this request costs ${costText(meters)}` }
  }
  if (given === undefined) return null
  const open = asked.filter(({ cost }) => cost === null || cost === given)
  if (open.some(({ price }) => mayCost(price, given))) return null
  const possible = new Set(asked.flatMap((meter) => (open.includes(meter) ? costsOf(meter.price) : (meter.cost ?? []))))
  return { path: 'cost', msg: `must be what this request can cost: ${[...possible].join(', ')}` }
}

/** `20`, or for several meters `1 of requests and 2000 of tokens`. */
function costText(meters: readonly PricedMeter[]): number | string {
  const [first] = meters
  if (meters.length === 1) return first?.cost ?? 0
  return meters.map(({ category, cost }) => `${cost} of ${category}`).join(' and ')
}

type ExplainedLimit = ExplainResponse['limits'][number]

function limitsOf(
  { policy, origin }: View,
  snapshot: UsageSnapshot,
  { payer, category, cost }: { payer: Payer; category: string; cost: number },
): ExplainedLimit[] {
  const trace = policy.trace(category, payer, origin)
  const i = policy.categories.indexOf(category)
  return SCOPE_NAMES.flatMap((scope) =>
    (trace[scope] ?? []).map(({ source, steps, ...limit }): ExplainedLimit => {
      const status = windowStatus(scope, limit, snapshot[scope]?.[i], snapshot.at)
      return {
        ...status,
        source,
        steps,
        refuses: cost > 0 && lacksRoom({ used: status.used, limit: limit.limit }, cost),
      }
    }),
  )
}

interface Case {
  readonly config: Config
  readonly view: View
  readonly payer: Payer
  readonly access: Charged
  /** The meters that may be charged. */
  readonly meters: readonly PricedMeter[]
}

function verdict(snapshot: UsageSnapshot, about: Case) {
  const { view, payer, access, meters } = about
  const { state } = standingBy(asOnly(view, access, meters), payer, snapshot)
  if (state === 'refused' || state === 'shadow') {
    const shadow = state === 'shadow' ? shadowOf(view, payer, access) : null
    const { refused, wouldBeRefused, window } = refusal(snapshot, about)
    const { cost, least } = meters.find(({ category }) => category === window.category) as PricedMeter
    const costs = cost === null ? REASONS.costsAtLeast(least) : REASONS.costs(cost)
    // The sentence of a refusal that no waiting ends has the cost already.
    const isSaid = refused.code === 'never_fits' && cost !== null
    const also = [...ofNewUser(window, about), ...(isSaid ? [] : [costs])]
    if (shadow === null) return { decision: 'refuse', ...because(refused, ...also) } as const
    return { decision: 'shadow', ...because(wouldBeRefused, ...also, shadow) } as const
  }
  if (meters.some(({ cost }) => cost === null)) {
    return { decision: 'depends_on_body', ...because(REASONS.dependsOnBody) } as const
  }
  return { decision: 'accept', ...because(paidByGrants(snapshot, about) ?? room(view, payer, meters)) } as const
}

/** The grants that pay for a request; `null` if the windows have room for all of it. */
function paidByGrants(snapshot: UsageSnapshot, { view, payer, meters }: Case): Reason | null {
  const grants = meters.flatMap((meter) => {
    const { paidBy } = askedMeter(snapshot, view, payer, meter).decision
    return [paidBy?.personal, paidBy?.organisation].flatMap((paid) => paid?.grant.id ?? [])
  })
  return grants.length === 0 ? null : REASONS.paidByGrants({ cost: costText(meters), grants: grants.join(', ') })
}

/** The view that `standingBy` needs, for this route alone and its lowest costs. A meter that may cost nothing always has room. */
function asOnly({ policy, setup, shadow }: View, { shadow: ofRoute }: Charged, meters: readonly PricedMeter[]) {
  const charged = meters.filter(({ least }) => least > 0)
  return {
    policy,
    setup: { ...setup, cheapest: new Map(charged.map(({ category, least }) => [category, least])) },
    shadow: shadow || ofRoute,
  }
}

/** The content and the reason of a 429. */
interface ExplainedRefusal {
  /** The sentence for the client and its meaning, or in shadow mode only the meaning. */
  readonly refused: Reason
  readonly wouldBeRefused: Reason
  /** The window in the sentence. */
  readonly window: Pick<QuotaViolation, 'scope' | 'category' | 'window'>
}

function refusal(snapshot: UsageSnapshot, { config, view, payer, meters }: Case): ExplainedRefusal {
  const [first, ...further] = meters.flatMap((meter) =>
    meter.least > 0 ? askedMeter(snapshot, view, payer, meter) : [],
  )
  if (first === undefined) throw new Error('what costs nothing is refused')
  const others = further.length > 0
  const charge = { ...first.charge, ...(others && { others: further.map((each) => each.charge) }) }
  const decision = { ...first.decision, ...(others && { others: further.map((each) => each.decision) }) }
  const freeAt = roomFrom(view.ahead, payer, charge, decision)
  const never = neverFits(charge, decision, view.ahead.canRise)
  const { msg, quota } = refusalBody(charge, decision, config.timeZone, { freeAt, never })
  if (freeAt === null && never !== null) {
    const { window } = never.limit
    const limit = promised(never.limit)
    const { category, cost } = never.meter
    const values = { scope: SCOPE_TITLES[never.scope], category, window: window.name, limit, cost }
    return {
      refused: REASONS.neverFits(msg, values),
      wouldBeRefused: REASONS.wouldNeverFit(msg, values),
      window: values,
    }
  }
  const { scope, category, window, resetAt } = quota
  const values = { scope, category, window, resetAt }
  return { refused: REASONS.refused(msg, values), wouldBeRefused: REASONS.wouldBeRefused(msg, values), window: quota }
}

/** A meter's request and usage, as a refused charge. */
function askedMeter(
  snapshot: UsageSnapshot,
  { policy }: View,
  payer: Payer,
  { category, least: cost }: PricedMeter,
): { readonly charge: Meter; readonly decision: Decision } {
  const { at, personal, organisation, global } = snapshot
  const limits = policy.limitsFor(category, payer)
  const i = policy.categories.indexOf(category)
  const counters = countersIn(policy.countedOf(payer), snapshot)
  const asked = { cost, at }
  const paidIn = (scope: 'personal' | 'organisation') => {
    const isFull = fullestOf(scope, category, limits[scope], counters[scope](category), asked) !== null
    return isFull ? payerIn(limits, scope, counters, asked) : null
  }
  const usages = (of: readonly Limit[], counters: UsageSnapshot['personal']) =>
    of.map(({ window }) => usageOf(counters[i] ?? [], window, at))
  const decision = {
    accepted: false,
    at,
    personal: usages(limits.personal, personal),
    organisation: limits.organisation === null ? null : usages(limits.organisation, organisation ?? []),
    global: limits.global === null ? null : usages(limits.global, global),
    ...(limits.grants !== undefined && {
      paidBy: { personal: paidIn('personal'), organisation: paidIn('organisation') },
    }),
  }
  return { charge: { user: payer.user, organisation: payer.organisation, category, cost, limits }, decision }
}

/** The reason that a part of the window is kept for known users; empty if none is kept. */
function ofNewUser({ scope, category, window }: ExplainedRefusal['window'], { config, view, payer }: Case): Reason[] {
  const { reserve } = config.quota
  const { global } = view.policy.limitsFor(category, payer)
  const limit = scope === SCOPE_TITLES.global ? global?.find((each) => each.window.name === window) : undefined
  if (reserve === undefined || limit?.kept === undefined) return []
  const after = formatDuration(reserve.knownAfterMs)
  return [REASONS.newUser({ kept: limit.kept, whole: promised(limit) + limit.kept, after })]
}

function room({ policy }: View, payer: Payer, meters: readonly PricedMeter[]): Reason {
  const cost = costText(meters)
  const [noGlobal, ...others] = meters.map(({ category }) => policy.trace(category, payer).noGlobal)
  if (noGlobal == null || others.includes(null)) return REASONS.room(cost)
  if (noGlobal === 'no limit') return REASONS.roomNoGlobal(cost)
  return noGlobal === 'switched off' ? REASONS.roomGlobalOff(cost) : REASONS.roomBypass(cost, noGlobal.bypass)
}

function shadowOf({ shadow, policy }: View, { user }: Payer, access: Charged): Reason | null {
  if (shadow) return REASONS.shadowOfGateway
  if (access.shadow) return REASONS.shadowOfRoute
  return policy.isShadowed(user) ? REASONS.shadowOfUser : null
}
