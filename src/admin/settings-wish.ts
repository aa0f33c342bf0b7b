import { randomBytes } from 'node:crypto'
import { leavesBetween, placesIn } from '../control/leaves.ts'
import { MOST_PENDING, patched, scheduled, unguarded } from '../control/pending.ts'
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
export function wishProblems({ patch, timing }: SettingsWish, changes: Changes, now: number): Problem[] {
  const problems = timingProblems({ ...patch }, now)
  const named = (['from', 'until', 'guard'] as const).filter((path) => timing[path] !== null)
  if (problems.length > 0 || named.length === 0) return problems
  if (placesIn(patch).length === 0)
    return named.map((path) => ({ path, msg: 'is of no use: nothing is set beside it' }))
  const isLater = timing.from !== null
  if (!isLater && leavesBetween(changes, applyPatch(changes, patch)).length === 0) {
    return named.map((path) => ({ path, msg: 'has nothing to take back: all is set so already' }))
  }
  return tooMany(timing, changes)
}

function tooMany({ from, until }: Timing, { pending }: Changes): Problem[] {
  const msg = `${MOST_PENDING} changes are scheduled already: cancel one by DELETE /api/quota/scheduled/{id}`
  const full = (list: readonly unknown[] = []): boolean => list.length >= MOST_PENDING
  if (from !== null) return full(pending?.starts) ? [{ path: 'from', msg }] : []
  return until !== null && full(pending?.ends) ? [{ path: 'until', msg }] : []
}

/** The settings as the wish has them. @param who the administrator @param at the store's time */
export function wishedSettings({ patch, timing, id }: SettingsWish, now: Changes, who: string, at: number): Changes {
  const { reason: why = null, from: _, until: __, guard, ...settings } = patch
  const about = { id, who, why }
  const { from, until } = timing
  if (from !== null) {
    return scheduled(now, { ...about, at: from, patch: settings, until, ...(timing.guard && { guard: timing.guard }) })
  }
  const guarding = timing.guard && { ...about, until: at + timing.guard.forMs, refused: timing.guard.refused }
  const rest = guard === null ? unguarded(now) : now
  return patched(rest, settings, until === null ? undefined : { ...about, at: until }, guarding ?? undefined)
}
