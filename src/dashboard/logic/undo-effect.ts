import type { OverrideBody, OverrideResponse, QuotaPatch, QuotaResponse } from '../../contract/api.ts'
import type { Change } from './audit-story.ts'
import { flatOf, type Overridable, type UsedUp, usedUpUnder, withoutOverride } from './override.ts'
import { namesOf, setAt, type Value } from './settings.ts'

/** What an undo brings about. Pure. */

/** The undo of a change of the settings as a change. What was not set follows the file. */
export function patchOf(changes: readonly Change[]): QuotaPatch {
  const patch: Parameters<typeof setAt>[0] = {}
  for (const { path, to } of changes) setAt(patch, namesOf(path), (to ?? null) as Value)
  return patch as QuotaPatch
}

/** The override of a user that an undo brings back, as the audit has it; `null` for none. */
export type OverrideBack = Pick<OverrideResponse, 'limits'> & Partial<OverrideResponse>

/** The personal windows that have no room for another request once an override is back. */
export function fullAfter(back: OverrideBack | null, user: Overridable, quota: QuotaResponse): readonly UsedUp[] {
  if (quota.shadow) return []
  const body = flatOf(back as OverrideResponse | null) as OverrideBody | null
  return usedUpUnder(body, user, quota, false).filter(({ scope }) => scope === 'Personal')
}

/** The changes of an override, with what the user has where the override leaves a limit out. */
export function withDefaults(
  changes: readonly Change[],
  back: OverrideBack | null,
  user: Overridable,
  quota: QuotaResponse,
): readonly Change[] {
  return changes.map((change) => {
    const [table, category = '', name = ''] = change.path.split('.')
    const window = user.windows[category]?.find((each) => each.scope === 'Personal' && each.window === name)
    if (table !== 'limits' || window === undefined) return change
    return { ...change, file: withoutOverride(category, window, user, quota, back?.plan) ?? undefined }
  })
}
