import type { Charge, Meter } from './charge.ts'
import type { Payer } from './payer.ts'
import type { Policy } from './policy.ts'

export type MeterCost = Pick<Meter, 'category' | 'cost'>

/** The charge of a payer in some meters, with the payer's limits. @param others are charged only together with the first one */
export function chargeOf(
  payer: Payer,
  { category, cost }: MeterCost,
  others: readonly MeterCost[] | undefined,
  policy: Pick<Policy, 'limitsFor'>,
): Charge {
  const first = meterOf(payer, category, cost, policy)
  if (others === undefined || others.length === 0) return first
  return { ...first, others: others.map((meter) => meterOf(payer, meter.category, meter.cost, policy)) }
}

function meterOf(payer: Payer, category: string, cost: number, policy: Pick<Policy, 'limitsFor'>): Meter {
  const limits = policy.limitsFor(category, payer)
  const organisation = limits.organisation === null ? null : payer.organisation
  return { user: payer.user, organisation, category, cost, limits }
}
