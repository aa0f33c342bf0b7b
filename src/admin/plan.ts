import type { Payer, PlanInForce, Policy } from '../quota/policy.ts'

/** The plan of a caller as the API shows it: a field only if the configuration has plans. */
export function planShown(policy: Policy, payer: Payer): { readonly plan?: PlanInForce } {
  const plan = policy.planOf(payer)
  return plan === null ? {} : { plan }
}

/** Without plans no organisation has limits, so it says nothing. */
export function membershipShown(
  policy: Policy,
  payer: Payer,
): { readonly plan?: PlanInForce; readonly organisation?: string } {
  const shown = planShown(policy, payer)
  const { organisation } = payer
  return shown.plan === undefined || organisation === null ? shown : { ...shown, organisation }
}
