import type { PeriodDay } from '../quota/period-days.ts'
import type { Payer, PlanInForce, Policy } from '../quota/policy.ts'

/** The plan of a caller as the API shows it: a field only if the configuration has plans. */
export function planShown(policy: Policy, payer: Payer): { readonly plan?: PlanInForce } {
  const plan = policy.planOf(payer)
  return plan === null ? {} : { plan }
}

/** With which day the months of a user or an organisation begin: a field only if that is not the day of the window. */
export function periodDayShown(
  policy: Policy,
  payer: Payer,
  scope: 'personal' | 'organisation',
): { readonly periodDay?: PeriodDay } {
  const periodDay = policy.periodDayOf(payer, scope)
  return periodDay === null ? {} : { periodDay }
}

/** The organisation of a caller too, if it is known. */
export function membershipShown(
  policy: Policy,
  payer: Payer,
): { readonly plan?: PlanInForce; readonly organisation?: string } {
  const { organisation } = payer
  return { ...planShown(policy, payer), ...(organisation !== null && { organisation }) }
}
