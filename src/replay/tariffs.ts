import { createAddressCallers } from '../auth/address-callers.ts'
import { type Config, chargedRules, metersIn } from '../config/config.ts'
import { type Plan, type PlanRules, plan, queryRefusal } from '../gateway/plan.ts'
import type { MeterRule, Route, RouteTariff } from '../gateway/snapshot.ts'
import { dearest, isByLength, mayCost, type Price, partsOf } from '../inputs/price.ts'
import { firstAndOthers } from '../lib/first-and-others.ts'
import { onceForEach } from '../lib/memo.ts'
import type { Payer } from '../quota/policy.ts'
import { mostBy } from '../routing/final-cost.ts'
import { priceOf } from '../routing/price.ts'
import type { Asked, Entry } from './entry.ts'

/** The cost of a request of the log in one category. */
export interface TariffMeter {
  readonly category: string
  /** Whole tokens, at least 1. */
  readonly cost: number
  /** Tokens that stay charged after the response has ended. */
  readonly finalCost: number
}

/** The cost of a request of the log, and its payer, under a configuration. */
export interface Tariff {
  readonly kind: 'charge'
  /** The route as the configuration writes it. */
  readonly route: string
  /** All meters that it is charged in, at least one. */
  readonly meters: readonly TariffMeter[]
  readonly payer: Payer
  /** Whether a refusal is only counted. */
  readonly isShadowed: boolean
  /** How often the cost is charged: a WebSocket may be charged more or less often than in the log. */
  readonly times: number
}

/** The reason why nothing is charged. */
export interface Uncharged {
  readonly kind: 'uncharged'
  readonly why: UnchargedReason
}

export const UNCHARGED = {
  no_route: 'no route of the configuration matches',
  not_charged: 'the route is public, or costs nothing',
  exempt: 'the caller is exempt',
  undecided: 'shadow let it through, and no limit was asked',
  not_due: 'a WebSocket costs the same again after a longer time, or never',
  closed: 'the WebSocket would have been closed',
  repeated: 'repetitions of a request that was charged',
  no_caller: 'the log names no caller, and the route lets none in without a credential',
} as const
export type UnchargedReason = keyof typeof UNCHARGED

export type Tariffs = (entry: Entry) => Tariff | Uncharged

/** The most paths whose route is remembered. */
const MOST_REMEMBERED = 20_000

/** Tells the requests of a log that must keep their query, because a price of their route is in it. */
export function pricedByQuery(config: Config, rules: PlanRules): (request: Asked) => boolean {
  const isUsed = chargedRules(config).some((rule) => metersIn(rule).some(({ cost }) => isByQuery(cost)))
  // Without such a price no route is looked up while a log is read.
  if (!isUsed) return () => false
  const routeOf = createRoutes(rules)
  const isPriced = onceForEach(
    ({ tariff }: Route) => tariff !== null && firstAndOthers<MeterRule>(tariff).some(({ price }) => isByQuery(price)),
  )
  return (request) => {
    const route = routeOf(request)
    return route !== null && isPriced(route)
  }
}

/** The costs of requests under a configuration. @param rules of the same configuration */
export function createTariffs(config: Config, rules: PlanRules): Tariffs {
  const routeOf = createRoutes(rules)
  const exempt = new Set(config.quota.exempt?.users)
  const isByAddress = (config.quota.exempt?.addresses ?? []).length > 0
  const ofAddress = createAddressCallers(config.auth.anonymous ?? { ipv4: 32, ipv6: 64, plan: null })
  // With `auth.shadow` a request without a credential counts for the user of its address, as in the gateway.
  const letsAllIn = config.auth.shadow
  const givesBack = config.quota.refund === 'unreached'

  function payerOf({ user, plan, organisation, days, address }: Entry, route: Route): Payer | null {
    if (user !== null) return { user, plan, organisation, ...days }
    return address !== null && (route.anonymous || letsAllIn) ? ofAddress(address) : null
  }

  return (entry) => {
    const route = routeOf(entry)
    if (route === null) return uncharged('no_route')
    if (route.tariff === null) return uncharged('not_charged')
    const isGivenBack = entry.fate === 'unreached' && givesBack
    const meters = metersOf(route.tariff, entry, isGivenBack)
    if (meters.length === 0) return uncharged('not_charged')
    const payer = payerOf(entry, route)
    if (payer === null) return uncharged('no_caller')
    if (exempt.has(payer.user) || (entry.fate === 'exempt' && isByAddress)) return uncharged('exempt')
    const { fate } = entry
    if (fate === 'asked_again' || (fate === 'repeated' && route.repetition !== null)) return uncharged('repeated')
    if (entry.fate === 'undecided') return uncharged('undecided')
    const times = timesOf(entry, route)
    if (times === 0) return uncharged('not_due')
    const isShadowed = config.quota.shadow || route.shadow
    return { kind: 'charge', route: route.match, meters, payer, isShadowed, times }
  }
}

/** The meters in which the request costs something. */
function metersOf(tariff: RouteTariff, entry: Entry, isGivenBack: boolean): TariffMeter[] {
  return firstAndOthers<MeterRule>(tariff).flatMap((rule, i) => {
    const logged = entry.meters?.find(({ category }) => category === rule.category) ?? (i === 0 ? entry : NOT_LOGGED)
    const cost = costOf(rule.price, logged, entry.target)
    const finalCost = isGivenBack ? 0 : finalCostOf(rule, logged, cost)
    return cost === 0 ? [] : [{ category: rule.category, cost, finalCost }]
  })
}

type Logged = Pick<Entry, 'cost' | 'charged'>

const NOT_LOGGED: Logged = { cost: null, charged: null }

/** How many charges of an open WebSocket are due between this entry of the log and the one before it; 1 for any other entry. */
function timesOf({ tunnel }: Entry, { tunnelChargeMs }: Route): number {
  if (tunnel === undefined || tunnel.openMs === 0) return 1
  if (tunnelChargeMs === null) return 0
  const { openMs, everyMs } = tunnel
  return Math.floor(openMs / tunnelChargeMs) - Math.floor((openMs - everyMs) / tunnelChargeMs)
}

function uncharged(why: UnchargedReason): Uncharged {
  return { kind: 'uncharged', why }
}

/** The routes of requests. If the log names a rule, it is the route of a made-up path that this rule matches. */
function createRoutes(rules: PlanRules): (request: Asked) => Route | null {
  /** Routes by kind, method and text. The texts of a log are shared strings, and a joined key would be a new string for each request. */
  const remembered = { rule: new Map<string, Paths>(), path: new Map<string, Paths>() }
  let size = 0

  function found({ method, target }: Asked): Route | null {
    const written = target.kind === 'rule' ? pathOf(target.text) : target.text
    return written === null ? rules.unmatched : routeIn(plan(rules, lineOf(method, written)))
  }

  function forget(): void {
    remembered.rule.clear()
    remembered.path.clear()
    size = 0
  }

  return (request) => {
    const { method, target } = request
    const known = remembered[target.kind].get(method)?.get(target.text)
    if (known !== undefined) return known
    if (size++ >= MOST_REMEMBERED) forget()
    const byMethod = remembered[target.kind]
    const paths = byMethod.get(method) ?? new Map<string, Route | null>()
    byMethod.set(method, paths)
    const route = found(request)
    paths.set(target.text, route)
    return route
  }
}

type Paths = Map<string, Route | null>

function lineOf(method: string, target: string) {
  return { method, target, bodyBytes: 0, isUpgrade: false, isLastHop: false, preflight: null }
}

function routeIn(planned: Plan): Route | null {
  if (planned.kind !== 'route' || queryRefusal(planned.route, planned.target) !== null) return null
  return planned.route
}

/** A path that matches a rule, as `/v1/items/any` matches `/v1/items/:id`; `null` for the name of unmatched requests. */
function pathOf(rule: string): string | null {
  const at = rule.indexOf('/')
  return at < 0 ? null : rule.slice(at).replace(/(?<=\/)(?::[^/]*|\*)(?=\/|$)/g, 'any')
}

/** The price by the query if the target has one, otherwise the cost in the log, and otherwise the highest price. */
function costOf(price: Price, { cost }: Logged, target: Entry['target']): number {
  if (price.kind === 'fixed') return price.cost
  return costByQuery(price, target) ?? (cost !== null && mayCost(price, cost) ? cost : dearest(price))
}

/** Whether the query alone says the cost. */
function isByQuery(price: Price): boolean {
  const parts = partsOf(price)
  return parts.length > 0 && parts.every(({ source }) => source.kind === 'query')
}

/** The costs by targets with a query, for each price. The texts of a log are shared strings, so a target is found fast. */
const costsByQuery = onceForEach((_: Price) => new Map<string, number | null>())

/** `null` where the query alone does not say the cost. */
function costByQuery(price: Price, { kind, text }: Entry['target']): number | null {
  const mark = kind === 'path' ? text.indexOf('?') : -1
  if (mark < 0) return null
  const costs = costsByQuery(price)
  const known = costs.get(text)
  if (known !== undefined) return known
  if (costs.size >= MOST_REMEMBERED) costs.clear()
  const query = { body: null, query: text.slice(mark), rawHeaders: [], length: 0 }
  const priced = isByQuery(price) ? priceOf(price, query) : null
  const cost = priced !== null && 'cost' in priced ? priced.cost : null
  costs.set(text, cost)
  return cost
}

function finalCostOf({ settle, price }: MeterRule, { charged }: Logged, cost: number): number {
  if (charged === null) return cost
  if (settle === null) return isByLength(price) ? Math.min(charged, cost) : cost
  return Math.min(charged, mostBy(settle, cost))
}
