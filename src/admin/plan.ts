import type { PeriodDay } from '../quota/period-days.ts'
import type { Payer, PlanInForce, Policy } from '../quota/policy.ts'

/** The plan of a caller in the form of the API. Absent if no plans are configured. */
export function planShown(policy: Policy, payer: Payer): { readonly plan?: PlanInForce } {
  const plan = policy.planOf(payer)
  return plan === null ? {} : { plan }
}

/** The first day of a user's or an organisation's months. Absent if it is the day of the window. */
export function periodDayShown(
  policy: Policy,
  payer: Payer,
  scope: 'personal' | 'organisation',
): { readonly periodDay?: PeriodDay } {
  const periodDay = policy.periodDayOf(payer, scope)
  return periodDay === null ? {} : { periodDay }
}

/** The plan and the organisation of a caller. The organisation is absent if it is not known. */
export function membershipShown(
  policy: Policy,
  payer: Payer,
): { readonly plan?: PlanInForce; readonly organisation?: string } {
  const { organisation } = payer
  return { ...planShown(policy, payer), ...(organisation !== null && { organisation }) }
}
