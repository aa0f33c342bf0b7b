import type { FinalCost } from '../routing/final-cost.ts'
import type { Order } from './settlement.ts'
import type { MeterRule, RouteTariff } from './snapshot.ts'

/** The meters of a request. The first meter is the exchange itself, just as a tariff and a charge are each their own first meter. */

/** What happens to the charge in one category. An `Exchange` has the same members for its first meter. */
interface Outcome {
  made: Promise<number> | null
  finalCost: FinalCost | null
}

export interface FurtherMeter extends Outcome {
  readonly rule: MeterRule
  /** Whole tokens. A meter that costs 0 is not charged, and no response corrects it. */
  readonly cost: number
}

interface Costs {
  readonly cost: number
  readonly others?: readonly FurtherMeter[]
}

/** Whether any meter of a request is charged. */
export function costsAnything({ cost, others }: Costs): boolean {
  return cost > 0 || others?.some((meter) => meter.cost > 0) === true
}

/** An order for several meters. A meter without a cost is left out, so any of them may become the first. */
export function withMeters(order: Order, others: readonly FurtherMeter[]): Order {
  const { category, cost } = order
  const all = [{ category, cost }, ...others.map((meter) => ({ category: meter.rule.category, cost: meter.cost }))]
  const [first, ...further] = all.filter((meter) => meter.cost > 0)
  return { ...order, ...first, ...(further.length > 0 && { others: further }) }
}

/** What a service may say about the cost of a request. */
interface Said {
  readonly given: { readonly charges: readonly (readonly [category: string, cost: number])[] | null } | null
}

/** The category of the first meter, which a service may replace. */
export function firstCategory({ given }: Said, { category }: RouteTariff): string {
  return given?.charges?.[0]?.[0] ?? category
}

/** The meter of an exchange in a category. */
export function meterIn(exchange: Costs & Outcome, category: string): Outcome {
  return exchange.others?.find(({ rule }) => rule.category === category) ?? exchange
}

/** The rule of a route for the meter of a category. */
export function ruleIn(tariff: RouteTariff, category: string): MeterRule {
  return tariff.others?.find((rule) => rule.category === category) ?? tariff
}
