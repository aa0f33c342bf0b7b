import type { OrganisationsResponse, QuotaResponse } from '../../contract/api.ts'
import { highestLimit } from './highest-limit.ts'
import type { Overridable, OverridableWindow } from './override.ts'

/** What an override may set for an organisation. Pure. */

type Listed = Pick<OrganisationsResponse['organisations'][number], 'organisation' | 'windows' | 'override'>
type ListedWindow = Pick<Listed['windows'][string][number], 'window' | 'used' | 'limit' | 'limits'>

/** Every window of every category can be limited, even if no plan limits it. */
export function overridable({ organisation, windows, override }: Listed, quota: QuotaResponse | null): Overridable {
  const names = quota?.windowLengths.map(({ name }) => name) ?? []
  const categories = quota?.categories ?? Object.keys(windows)
  const plans = Object.keys(quota?.effective.plans ?? {})
  const rows = categories.map((category): [string, OverridableWindow[]] => {
    const known = windows[category] ?? []
    const all = names.length > 0 ? names : known.map(({ window }) => window)
    return [
      category,
      all.map((window) =>
        rowOf(
          window,
          known.find((each) => each.window === window),
          plans,
          override?.limits[category]?.[window] !== undefined,
        ),
      ),
    ]
  })
  const set = override && { ...override, bypassGlobal: false, shadow: false }
  return { kind: 'organisation', id: organisation, windows: Object.fromEntries(rows), override: set }
}

/** Members may have different plans. The highest of their limits counts as the default, so that raising it gives nobody less. */
function rowOf(
  window: string,
  known: ListedWindow | undefined,
  plans: readonly string[],
  isSet: boolean,
): OverridableWindow {
  const { used = 0, limits = {}, limit: inForce = null } = known ?? {}
  const byDefault = highestLimit(limits)
  const byPlan = Object.fromEntries([...plans, ...Object.keys(limits)].map((plan) => [plan, limits[plan] ?? null]))
  return { scope: 'Organisation', window, used, limit: isSet ? inForce : byDefault, byDefault, byPlan }
}
