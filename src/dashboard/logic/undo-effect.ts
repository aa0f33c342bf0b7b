import type { OverrideBody, OverrideResponse, QuotaPatch, QuotaResponse } from '../../contract/api.ts'
import { treeOf } from '../../control/leaves.ts'
import type { Change } from './audit-story.ts'
import { flatOf, type Overridable, type UsedUp, usedUpUnder, withoutOverride } from './override.ts'
import { namesOf } from './settings.ts'

/** What an undo does. Pure. */

/** The undo of a change of the settings, as a change. A value that was not set follows the file again. */
export function patchOf(changes: readonly Change[]): QuotaPatch {
  return treeOf(changes.map(({ path, to }) => [namesOf(path), to ?? null])) as QuotaPatch
}

/** The override of a user that an undo restores, as in the audit; `null` for none. */
export type OverrideBack = Pick<OverrideResponse, 'limits'> & Partial<OverrideResponse>

/** The personal windows without room for another request after an override is restored. */
export function fullAfter(back: OverrideBack | null, user: Overridable, quota: QuotaResponse): readonly UsedUp[] {
  if (quota.shadow) return []
  const body = flatOf(back as OverrideResponse | null) as OverrideBody | null
  return usedUpUnder(body, user, quota, false).filter(({ scope }) => scope === 'Personal')
}

/** The changes of an override, with the user's own values for limits that the override leaves out. */
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
