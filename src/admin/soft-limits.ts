import type { ControlState } from '../control/state.ts'
import { isSoft } from '../quota/limit-value.ts'
import type { QuotaSettings } from '../quota/policy.ts'
import type { SoftLimits } from '../usage/beyond.ts'
import type { Desk } from './desk.ts'

/**
 * The limits in force of users and organisations, for what of their runs lies beyond them.
 * @returns `undefined` where no limit is soft, so that nobody is asked for them @throws StoreError
 */
export async function softLimits(desk: Desk): Promise<SoftLimits | undefined> {
  const { policy, settings, state } = await desk.view()
  if (!hasOver(settings) && !areAnySoft(state.overrides) && !areAnySoft(state.organisationOverrides)) return undefined
  return async (scope, ids) => {
    const payers = scope === 'personal' ? await desk.payersOf(ids) : await desk.membersOf(ids)
    return payers.map((payer) => (category) => {
      return policy.categories.includes(category) ? policy.limitsFor(category, payer)[scope] : null
    })
  }
}

function hasOver({ baselines, custom, plans }: Pick<QuotaSettings, 'baselines' | 'custom' | 'plans'>): boolean {
  return [baselines, custom, ...(plans?.values() ?? [])].some((limits) => limits?.over !== undefined)
}

/** Of the limits that were set for single users or organisations. */
function areAnySoft(overrides: ControlState['overrides'] | ControlState['organisationOverrides']): boolean {
  for (const { value } of overrides.values()) {
    if (Object.values(value.limits).some((row) => Object.values(row).some(isSoft))) return true
  }
  return false
}
