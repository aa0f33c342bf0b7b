import type { Charged, Config, MeterConfig, RouteConfig } from '../config/config.ts'
import type { PriceListBody } from '../contract/client.ts'
import { dearest } from '../inputs/price.ts'
import { shownPrice } from '../inputs/shown-price.ts'
import type { Immutable } from '../lib/immutable.ts'
import type { Policy } from '../quota/policy.ts'
import { limitsInForce, plansInForce } from '../quota/status.ts'
import { mostBy } from '../routing/final-cost.ts'

/** The prices of requests, for programs. It has nothing of the upstream, of users, or of the global limits. */
export type PriceList = Immutable<PriceListBody>
export type PricedRoute = PriceList['routes'][number]

export type PriceOptions = Pick<Config, 'quota' | 'routes' | 'unmatched'>

/** @param policy the limits in force */
export function priceList({ quota, routes, unmatched }: PriceOptions, policy: Policy): PriceList {
  return {
    categories: quota.categories,
    windows: quota.windows.map(({ name, seconds, calendar }) =>
      calendar === undefined
        ? { name, seconds }
        : {
            name,
            calendar: calendar.unit,
            zone: calendar.zone,
            ...(calendar.day !== undefined && { day: calendar.day }),
          },
    ),
    limits: limitsInForce(policy).personal,
    plans: plansInForce(policy),
    ...periodDaysOf(quota.plans),
    defaultPlan: quota.defaultPlan ?? null,
    routes: routes.map(pricedRoute),
    others: othersOf(unmatched),
  }
}

/** The days of each plan whose months begin on a day of its own. */
function periodDaysOf(plans: PriceOptions['quota']['plans']): Pick<PriceList, 'periodDays'> {
  const days = [...(plans ?? [])].flatMap(([name, { periodDay }]) =>
    periodDay === undefined ? [] : [[name, periodDay]],
  )
  return days.length === 0 ? {} : { periodDays: Object.fromEntries(days) }
}

function othersOf(unmatched: Config['unmatched']): PriceList['others'] {
  if (unmatched.kind === 'refuse') return null
  if (unmatched.kind === 'forward') return { public: true }
  return { public: false, ...metersOf(unmatched) }
}

function pricedRoute(route: RouteConfig): PricedRoute {
  const methods = route.methods === '*' ? ['*'] : route.methods
  const path = route.match.slice(route.match.indexOf('/'))
  if (route.public) return { methods, path, public: true }
  const { idempotency, tunnelChargeMs } = route
  return {
    methods,
    path,
    public: false,
    ...metersOf(route),
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

function metersOf({ others, ...first }: Pick<Charged, keyof MeterConfig | 'others'>) {
  return { ...meterOf(first), ...(others !== null && { others: others.map(meterOf) }) }
}

function meterOf({ category, cost, settle }: MeterConfig) {
  return {
    category,
    cost: shownPrice(cost),
    ...(settle !== null && { settle: { max: mostBy(settle, dearest(cost)) } }),
  }
}
