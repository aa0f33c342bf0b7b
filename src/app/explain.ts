import { membershipShown } from '../admin/plan.ts'
import type { InForce, Question, WrongQuestion } from '../admin/routes/explain.ts'
import { standingBy } from '../admin/standing.ts'
import type { View } from '../admin/state.ts'
import type { Config } from '../config/config.ts'
import { formatDuration } from '../config/units.ts'
import type { ExplainResponse } from '../contract/api.ts'
import { bodyTooLarge, type Plan, type PlanRefusal, plan, queryRefusal } from '../gateway/plan.ts'
import type { Repetition } from '../gateway/snapshot.ts'
import { keyOfWritten } from '../lib/json-scalar.ts'
import { roomFrom } from '../quota/ahead.ts'
import { SCOPE_NAMES } from '../quota/charge.ts'
import { usageOf } from '../quota/counter.ts'
import type { Layer, LimitScope, LimitTable, Origin } from '../quota/limit-layers.ts'
import type { Payer } from '../quota/policy.ts'
import type { UsageSnapshot } from '../quota/quota-store.ts'
import { neverFits, type QuotaViolation, refusalBody, SCOPE_TITLES } from '../quota/refusal.ts'
import { windowStatus } from '../quota/status.ts'
import { type Limit, lacksRoom } from '../quota/window.ts'
import type { SettleRule } from '../routing/final-cost.ts'
import type { Price } from '../routing/price.ts'
import { because, REASONS, type Reason } from './explain-texts.ts'
import { planRulesOf } from './plan-rules.ts'

/**
 * What would become of a request now, and why: by the very functions that the gateway reads, matches and limits with.
 * Nothing is charged. What only the bytes of a request can show (framing, credential, body) is taken for good.
 * @param inForce reads what the store knows; asked only for requests that are charged
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
  const settle = access.settle === null ? {} : { settle: settleOf(access.settle) }
  const idempotency = access.repetition === null ? {} : { idempotency: repetitionOf(access.repetition) }
  const tunnelCharge = access.tunnelChargeMs === null ? {} : { tunnelCharge: formatDuration(access.tunnelChargeMs) }
  const perhaps = { ...settle, ...idempotency, ...tunnelCharge }
  const charged = { ...about, route, category: access.category, costs: costsOf(access.cost), ...perhaps }
  const priced = access.refusal === null ? priceOf(access.cost, question) : refusedByHead(access.refusal)
  if ('problem' in priced) {
    const shadow = priced.mayPass ? await shadowNow(inForce, access) : null
    const unpriced = { ...charged, cost: null, limits: [] }
    if (shadow === null) return { ...unpriced, decision: 'bad_request', ...because(priced.problem) }
    return { ...unpriced, decision: 'shadow', ...because(REASONS.noPrice, shadow) }
  }
  const problem = wrongIn(question, access.cost, priced.cost)
  if (problem !== null) return { problem }
  const { cost } = priced
  if (cost === 0) return { ...charged, cost, decision: 'not_charged', ...because(REASONS.costsNothing), limits: [] }
  if (config.quota.exempt?.users.includes(question.user)) {
    return { ...charged, cost, decision: 'not_charged', ...because(REASONS.exempt), limits: [] }
  }
  const { view, snapshot, payer } = await inForce()
  const limits = limitsOf(view, snapshot, { payer, category: access.category, cost: priced.least })
  return {
    ...charged,
    cost,
    ...membershipShown(view.policy, payer),
    limits,
    ...verdict(snapshot, { config, view, payer, access, ...priced }),
  }
}

/** Where the file has a value, for `LimitAnswer.steps`. */
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

const NOTHING = { route: null, category: null, cost: null, costs: null, limits: [] } as const

interface Charged {
  readonly category: string
  readonly cost: Price
  /** Why the query may not stand beside the price; `null` for no reason. */
  readonly refusal: PlanRefusal | null
  readonly settle: SettleRule | null
  readonly repetition: Repetition | null
  readonly tunnelChargeMs: number | null
  readonly shadow: boolean
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

/** The gateway reads the bytes of a target one by one. */
function asSent(path: string): string {
  return Buffer.from(path).toString('latin1')
}

function decisionOf({ denial: { code } }: PlanRefusal): 'no_route' | 'bad_request' {
  return code === 'no_route' || code === 'method_not_allowed' ? 'no_route' : 'bad_request'
}

function ofRoute({ route, target }: Extract<Plan, { kind: 'route' }>, isUnmatched: boolean): Found {
  const { match, line, tariff, settle, repetition, tunnelChargeMs, shadow } = route
  if (tariff === null && isUnmatched) return { decision: 'not_charged', ...because(REASONS.forwarded) }
  const access =
    tariff === null
      ? null
      : {
          category: tariff.category,
          cost: tariff.price,
          refusal: queryRefusal(route, target),
          settle,
          repetition,
          tunnelChargeMs,
          shadow,
        }
  return { route: isUnmatched ? null : { match, line }, access }
}

function costsOf(cost: Price): Record<string, number> | null {
  return cost.kind === 'fixed' ? null : Object.fromEntries(cost.values)
}

function settleOf({ status, source, reading, otherwise, missing }: SettleRule): NonNullable<ExplainResponse['settle']> {
  const isRead = source !== null
  return {
    status: Object.fromEntries(status),
    header: source?.kind === 'header' ? source.field : null,
    json: source?.kind === 'json' ? source.path : null,
    max: isRead && 'max' in reading ? reading.max : null,
    values: 'values' in reading ? Object.fromEntries(reading.values) : null,
    otherwise,
    missing,
  }
}

function repetitionOf({ header, forMs, replays }: Repetition): NonNullable<ExplainResponse['idempotency']> {
  return { header, for: formatDuration(forMs), replays }
}

/** The cost, `null` if nobody knows it, and the least that it can be. */
type Priced = { readonly cost: number | null; readonly least: number } | Unpriced

/** A request of which nobody can tell the cost, and whether shadow lets it through. */
interface Unpriced {
  readonly problem: Reason
  readonly mayPass: boolean
}

function refusedByHead(refusal: PlanRefusal): Unpriced {
  return { problem: REASONS.denied(refusal), mayPass: true }
}

function priceOf(cost: Price, { cost: given, value, bytes = 0 }: Question): Priced {
  if (cost.kind === 'fixed') return { cost: cost.cost, least: cost.cost }
  if (bytes > cost.maxBody) return { problem: REASONS.denied(bodyTooLarge(cost.maxBody)), mayPass: false }
  if (value !== undefined) {
    const key = keyOfWritten(value)
    const known = key === null ? undefined : cost.values.get(key)
    if (known !== undefined) return { cost: known, least: known }
    return { problem: REASONS.unknownValue(cost.fields, [...cost.values.keys()].join(', ')), mayPass: true }
  }
  if (given !== undefined) return { cost: given, least: given }
  return { cost: null, least: Math.min(...cost.values.values()) }
}

/** What the question says of the cost and the route has otherwise. */
function wrongIn({ cost: given, value }: Question, cost: Price, known: number | null): WrongQuestion['problem'] | null {
  if (cost.kind === 'fixed') {
    if (given === undefined && value === undefined) return null
    const path = given === undefined ? 'value' : 'cost'
    return { path, msg: `is for a cost that depends on the body: this request costs ${cost.cost}` }
  }
  if (given === undefined) return null
  const possible = value === undefined ? new Set(cost.values.values()) : new Set([known])
  if (possible.has(given)) return null
  return { path: 'cost', msg: `must be what this request can cost: ${[...possible].join(', ')}` }
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
      return { ...status, source, steps, refuses: cost > 0 && lacksRoom(status, cost) }
    }),
  )
}

interface Case {
  readonly config: Config
  readonly view: View
  readonly payer: Payer
  readonly access: Charged
  readonly cost: number | null
  readonly least: number
}

function verdict(snapshot: UsageSnapshot, about: Case) {
  const { view, payer, access, cost, least } = about
  const { state } = standingBy(asOnly(view, access, least), payer, snapshot)
  if (state === 'refused' || state === 'shadow') {
    const shadow = state === 'shadow' ? shadowOf(view, payer, access) : null
    const { refused, wouldBeRefused, window } = refusal(snapshot, about)
    const costs = cost === null ? REASONS.costsAtLeast(least) : REASONS.costs(cost)
    // A refusal that no waiting helps says the cost itself.
    const isSaid = refused.code === 'never_fits' && cost !== null
    const also = [...ofNewUser(window, about), ...(isSaid ? [] : [costs])]
    if (shadow === null) return { decision: 'refuse', ...because(refused, ...also) } as const
    return { decision: 'shadow', ...because(wouldBeRefused, ...also, shadow) } as const
  }
  if (cost === null) return { decision: 'depends_on_body', ...because(REASONS.dependsOnBody) } as const
  return { decision: 'accept', ...because(room(view, payer, access, cost)) } as const
}

/** As if the gateway had this route alone, whose requests cost no less: what may cost nothing has room. */
function asOnly({ policy, setup, shadow }: View, { category, shadow: ofRoute }: Charged, least: number) {
  return {
    policy,
    setup: { ...setup, cheapest: new Map(least > 0 ? [[category, least]] : []) },
    shadow: shadow || ofRoute,
  }
}

/** What a 429 says, and why. */
interface ExplainedRefusal {
  /** The very sentence that the client would read, and what it says. In shadow mode the second alone. */
  readonly refused: Reason
  readonly wouldBeRefused: Reason
  /** What the sentence names. */
  readonly window: Pick<QuotaViolation, 'scope' | 'window'>
}

function refusal(
  { at, personal, organisation, global }: UsageSnapshot,
  { config, view, payer, access, least }: Case,
): ExplainedRefusal {
  const { category } = access
  const limits = view.policy.limitsFor(category, payer)
  const i = view.policy.categories.indexOf(category)
  const usages = (of: readonly Limit[], counters: UsageSnapshot['personal']) =>
    of.map(({ window }) => usageOf(counters[i] ?? [], window, at))
  const decision = {
    accepted: false,
    at,
    personal: usages(limits.personal, personal),
    organisation: limits.organisation === null ? null : usages(limits.organisation, organisation ?? []),
    global: limits.global === null ? null : usages(limits.global, global),
  }
  const { user } = payer
  const charge = { user, organisation: payer.organisation, category, cost: least, limits }
  const freeAt = roomFrom(view.ahead, payer, charge, decision)
  const { msg, quota } = refusalBody(charge, decision, config.timeZone, freeAt)
  const never = freeAt === null ? neverFits(charge, decision) : null
  if (never !== null) {
    const { window, limit } = never.limit
    const values = { scope: SCOPE_TITLES[never.scope], category, window: window.name, limit, cost: least }
    return {
      refused: REASONS.neverFits(msg, values),
      wouldBeRefused: REASONS.wouldNeverFit(msg, values),
      window: values,
    }
  }
  const values = { scope: quota.scope, category, window: quota.window, resetAt: quota.resetAt }
  return { refused: REASONS.refused(msg, values), wouldBeRefused: REASONS.wouldBeRefused(msg, values), window: quota }
}

/** That a part of the window is kept for known users, if it is. */
function ofNewUser({ scope, window }: ExplainedRefusal['window'], { config, view, payer, access }: Case): Reason[] {
  const { reserve } = config.quota
  const { global } = view.policy.limitsFor(access.category, payer)
  const limit = scope === SCOPE_TITLES.global ? global?.find((each) => each.window.name === window) : undefined
  if (reserve === undefined || limit?.kept === undefined) return []
  const after = formatDuration(reserve.knownAfterMs)
  return [REASONS.newUser({ kept: limit.kept, whole: limit.limit + limit.kept, after })]
}

function room({ policy }: View, payer: Payer, { category }: Charged, cost: number): Reason {
  const { noGlobal } = policy.trace(category, payer)
  if (noGlobal === null) return REASONS.room(cost)
  if (noGlobal === 'no limit') return REASONS.roomNoGlobal(cost)
  return noGlobal === 'switched off' ? REASONS.roomGlobalOff(cost) : REASONS.roomBypass(cost, noGlobal.bypass)
}

async function shadowNow(inForce: () => Promise<InForce>, access: Charged): Promise<Reason | null> {
  const { view, payer } = await inForce()
  return shadowOf(view, payer, access)
}

function shadowOf({ shadow, policy }: View, { user }: Payer, access: Charged): Reason | null {
  if (shadow) return REASONS.shadowOfGateway
  if (access.shadow) return REASONS.shadowOfRoute
  return policy.isShadowed(user) ? REASONS.shadowOfUser : null
}
