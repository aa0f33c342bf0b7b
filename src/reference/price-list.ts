import type { Config, Cost, RouteConfig } from '../config/config.ts'
import type { Policy } from '../quota/policy.ts'
import { limitsInForce, plansInForce } from '../quota/status.ts'
import type { Amount, SettleRule } from '../routing/final-cost.ts'

/** What requests cost, for programs. It has nothing of the upstream, of users, or of the global limits. */
export interface PriceList {
  readonly categories: readonly string[]
  readonly windows: readonly PricedWindow[]
  /** Tokens of whoever has no plan, by category and window. */
  readonly limits: Limits
  /** By the name of a plan; empty without plans. */
  readonly plans: Readonly<Record<string, { readonly personal: Limits; readonly organisation: Limits }>>
  /** Of callers whose credential names none; `null` for none. */
  readonly defaultPlan: string | null
  readonly routes: readonly PricedRoute[]
  /** What other paths cost; `null` if they get 404. */
  readonly others: PublicPrice | ChargedPrice | null
}

type Limits = Readonly<Record<string, Readonly<Record<string, number>>>>

type PricedWindow =
  | { readonly name: string; readonly seconds: number }
  /** Begins with each day, week or month of the zone. */
  | { readonly name: string; readonly calendar: string; readonly zone: string }

interface PublicPrice {
  readonly public: true
}

interface ChargedPrice {
  readonly public: false
  readonly category: string
  /** Tokens, or by the value that one of these fields of a JSON body has. */
  readonly cost: number | { readonly body: readonly string[]; readonly values: Readonly<Record<string, number>> }
  /** The cost is reserved, and what it was after all is known by the response: at most so many tokens. */
  readonly settle?: { readonly max: number }
  /** A WebSocket costs that again each so many seconds while it is open. */
  readonly tunnelCharge?: { readonly seconds: number }
  /** A repetition with the same value of this header costs nothing. */
  readonly idempotency?: { readonly header: string; readonly seconds: number; readonly replays: number }
}

export type PricedRoute = (PublicPrice | ChargedPrice) & {
  /** `["*"]` for any. */
  readonly methods: readonly string[]
  /** As the route map has it: `:name` for a segment, a last `*` for any that follow. */
  readonly path: string
}

export type PriceOptions = Pick<Config, 'quota' | 'routes' | 'unmatched'>

/** @param policy the limits in force */
export function priceList({ quota, routes, unmatched }: PriceOptions, policy: Policy): PriceList {
  return {
    categories: quota.categories,
    windows: quota.windows.map(({ name, seconds, calendar }) =>
      calendar === undefined ? { name, seconds } : { name, calendar: calendar.unit, zone: calendar.zone },
    ),
    limits: limitsInForce(policy).personal,
    plans: plansInForce(policy),
    defaultPlan: quota.defaultPlan ?? null,
    routes: routes.map(pricedRoute),
    others: othersOf(unmatched),
  }
}

function othersOf(unmatched: Config['unmatched']): PriceList['others'] {
  if (unmatched.kind === 'refuse') return null
  if (unmatched.kind === 'forward') return { public: true }
  return { public: false, category: unmatched.category, cost: costOf(unmatched.cost) }
}

function pricedRoute(route: RouteConfig): PricedRoute {
  const methods = route.methods === '*' ? ['*'] : route.methods
  const path = route.match.slice(route.match.indexOf('/'))
  if (route.public) return { methods, path, public: true }
  const { category, cost, settle, idempotency, tunnelChargeMs } = route
  return {
    methods,
    path,
    public: false,
    category,
    cost: costOf(cost),
    ...(settle !== null && { settle: { max: mostOf(settle, cost) } }),
    ...(tunnelChargeMs !== null && { tunnelCharge: { seconds: tunnelChargeMs / 1000 } }),
    ...(idempotency !== null && {
      idempotency: {
        header: idempotency.header,
        seconds: idempotency.forMs / 1000,
        replays: idempotency.replays,
      },
    }),
  }
}

function costOf(cost: Cost): ChargedPrice['cost'] {
  if (cost.kind === 'fixed') return cost.cost
  return { body: cost.fields, values: Object.fromEntries(cost.values) }
}

/** The most that any response may make of it. */
function mostOf({ status, source, reading, otherwise, missing }: SettleRule, cost: Cost): number {
  const reserve = cost.kind === 'fixed' ? cost.cost : Math.max(...cost.values.values())
  const said: Amount[] = 'max' in reading ? [reading.max] : [...reading.values.values(), otherwise]
  // What cannot be read costs the reserve, and by default what got no response too.
  const others: Amount[] = source === null ? [otherwise, status.get('gateway') ?? 'all'] : ['all', missing, ...said]
  return Math.max(...[...status.values(), ...others].map((amount) => (amount === 'all' ? reserve : amount)))
}
