import { grantOfThese } from '../control/grants.ts'
import { type ControlState, storedOf } from '../control/state.ts'
import { isSoft } from '../quota/limit-value.ts'
import type { QuotaSettings } from '../quota/policy.ts'
import { NO_TERMS, type TermsOf, termsOf } from '../usage/beyond.ts'
import type { Desk } from './desk.ts'

/**
 * What is needed to read the runs of users and organisations: their limits in force, the first days of their months, and their grants.
 * @returns `undefined` if no limit is soft and nobody has a day or a grant, so that nobody need be looked up @throws StoreError
 */
export async function ownerTerms(desk: Desk): Promise<TermsOf | undefined> {
  const { policy, settings, state } = await desk.view()
  const isAnySoft = hasOver(settings) || areAnySoft(state.overrides) || areAnySoft(state.organisationOverrides)
  const grantOf = grantOfThese(storedOf(state).grants)
  if (!isAnySoft && !policy.hasPeriodDays) {
    if (grantOf === undefined) return undefined
    const alike = { ...NO_TERMS, grantOf }
    return async (_scope, ids) => ids.map(() => alike)
  }
  return async (scope, ids) => {
    const payers = scope === 'personal' ? await desk.payersOf(ids) : await desk.membersOf(ids)
    return payers.map((payer) => termsOf(policy, payer, scope, grantOf))
  }
}

function hasOver({ baselines, custom, plans }: Pick<QuotaSettings, 'baselines' | 'custom' | 'plans'>): boolean {
  return [baselines, custom, ...(plans?.values() ?? [])].some((limits) => limits?.over !== undefined)
}

/** Whether a limit that was set for a single user or organisation is soft. */
function areAnySoft(overrides: ControlState['overrides'] | ControlState['organisationOverrides']): boolean {
  for (const { value } of overrides.values()) {
    if (Object.values(value.limits).some((row) => Object.values(row).some(isSoft))) return true
  }
  return false
}
