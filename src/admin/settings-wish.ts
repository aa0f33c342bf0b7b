import { randomBytes } from 'node:crypto'
import { leavesBetween, placesIn } from '../control/leaves.ts'
import { MOST_PENDING, patched, scheduled } from '../control/pending.ts'
import type { Problem } from '../control/problems.ts'
import { applyPatch, type QuotaPatchLike } from '../control/settings.ts'
import type { Changes } from '../control/state.ts'
import { type Timing, timingOf, timingProblems } from '../control/timing.ts'

/** A change of the settings that an administrator asks for, made now or later. */
export interface SettingsWish {
  readonly patch: QuotaPatchLike
  readonly timing: Timing
  /** Of what is to come or to end. */
  readonly id: string
}

export function settingsWish(patch: QuotaPatchLike): SettingsWish {
  return { patch, timing: timingOf({ ...patch }), id: randomBytes(6).toString('hex') }
}

/** What is wrong with a wish beside its values. @param now the store's time, in milliseconds since the epoch */
export function wishProblems(
  { patch, timing: { from, until } }: SettingsWish,
  changes: Changes,
  now: number,
): Problem[] {
  const problems = timingProblems({ ...patch }, now)
  const timed = [...(from === null ? [] : ['from']), ...(until === null ? [] : ['until'])]
  if (problems.length > 0 || timed.length === 0) return problems
  if (placesIn(patch).length === 0)
    return timed.map((path) => ({ path, msg: 'is of no use: nothing is set beside it' }))
  if (from === null && leavesBetween(changes, applyPatch(changes, patch)).length === 0) {
    return [{ path: 'until', msg: 'has nothing to take back: all is set so already' }]
  }
  const { starts = [], ends = [] } = changes.pending ?? {}
  const [path = '', list] = from === null ? ['until', ends] : ['from', starts]
  if (list.length < MOST_PENDING) return []
  const msg = `${MOST_PENDING} changes are scheduled already: cancel one by DELETE /api/quota/scheduled/{id}`
  return [{ path, msg }]
}

/** The settings as the wish has them. @param who the administrator */
export function wishedSettings(
  { patch, timing: { from, until }, id }: SettingsWish,
  now: Changes,
  who: string,
): Changes {
  const { reason: why = null, from: _, until: __, ...settings } = patch
  if (from !== null) return scheduled(now, { id, at: from, patch: settings, until, who, why })
  return patched(now, settings, until === null ? undefined : { id, at: until, who, why })
}
