import type { OverrideResponse, QuotaPatch, QuotaResponse, UserResponse } from '../../contract/api.ts'
import { isSoft, NO_LIMIT } from '../../quota/limit-value.ts'
import { lacksRoom } from '../../quota/window.ts'
import type { Change } from './audit-story.ts'
import { namesOf, setAt, type Value } from './settings.ts'

/** What an undo brings about. Pure. */

/** The undo of a change of the settings as a change. What was not set follows the file. */
export function patchOf(changes: readonly Change[]): QuotaPatch {
  const patch: Parameters<typeof setAt>[0] = {}
  for (const { path, to } of changes) setAt(patch, namesOf(path), (to ?? null) as Value)
  return patch as QuotaPatch
}

/** The override of a user that an undo brings back; `null` for none. */
export interface OverrideBack {
  readonly limits?: OverrideResponse['limits']
  readonly plan?: string
  readonly shadow?: boolean
}

export interface LimitBack {
  readonly category: string
  readonly window: string
  readonly used: number
  readonly limit: number
  readonly resetAt: string | null
}

type Quota = Pick<QuotaResponse, 'effective' | 'cheapest' | 'defaultPlan' | 'shadow'>
type User = Pick<UserResponse, 'plan' | 'override'>

/** The limit of a user without one of its own; `undefined` for none, and where an override hides the plan of the credential. */
export function defaultOf(
  back: OverrideBack | null,
  user: User,
  quota: Quota,
  { category, window }: Pick<LimitBack, 'category' | 'window'>,
): number | undefined {
  const isHidden = back?.plan === undefined && user.override?.plan !== undefined
  if (isHidden && quota.effective.plans !== undefined) return undefined
  const plan = back?.plan ?? user.plan?.name ?? quota.defaultPlan
  const limits = (plan == null ? undefined : quota.effective.plans?.[plan]?.personal) ?? quota.effective.personal
  return limits[category]?.[window]
}

/** The personal windows that have no room for another request once an override is back. */
export function fullAfter(
  back: OverrideBack | null,
  user: User & Pick<UserResponse, 'windows'>,
  quota: Quota,
): readonly LimitBack[] {
  if (quota.shadow || back?.shadow === true) return []
  return Object.entries(user.windows).flatMap(([category, windows]) =>
    windows.flatMap(({ scope, window, used, over, resetAt }) => {
      if (scope !== 'Personal') return []
      const set = back?.limits?.[category]?.[window]
      if (set === NO_LIMIT) return []
      const limit = (isSoft(set) ? set.limit : set) ?? defaultOf(back, user, quota, { category, window })
      const beyond = set === undefined ? over : isSoft(set) ? set.over : undefined
      if (limit === undefined) return []
      if (!lacksRoom({ used, limit, over: beyond }, quota.cheapest[category])) return []
      return [{ category, window, used, limit, resetAt }]
    }),
  )
}

/** The changes of an override, with what each user has where the override leaves a limit out. */
export function withDefaults(
  changes: readonly Change[],
  back: OverrideBack | null,
  user: User,
  quota: Quota,
): readonly Change[] {
  return changes.map((change) => {
    const [table, category = '', window = ''] = change.path.split('.')
    if (table !== 'limits') return change
    return { ...change, file: defaultOf(back, user, quota, { category, window }) }
  })
}
