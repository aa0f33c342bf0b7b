import { type Calendar, LONGEST_SECONDS } from '../quota/calendar.ts'
import type { ScopedLimits } from '../quota/policy.ts'
import type { Window } from '../quota/window.ts'
import { parseDuration } from './units.ts'

/** A window that was not checked yet. */
export interface Candidate {
  readonly name: string
  /** The length in milliseconds, or the longest one of a calendar; `null` if the name must be a length and is none. */
  readonly ms: number | null
  readonly calendar?: Calendar
}

interface Named {
  /** Lengths in milliseconds, or calendars. */
  readonly windows?: ReadonlyMap<string, number | Calendar> | undefined
  readonly baselines?: ScopedLimits | undefined
}

/** The windows of `quota.windows`. Without that key, the names in the baselines are read as lengths. */
export function windowsOf({ windows, baselines }: Named): Candidate[] {
  if (windows !== undefined) return [...windows].map(([name, length]) => ({ name, ...lengthOf(length) }))
  const rows = [...(baselines?.personal.values() ?? []), ...(baselines?.global.values() ?? [])]
  return [...new Set(rows.flatMap((row) => [...row.keys()]))].map((name) => {
    const reading = parseDuration(name)
    return { name, ms: 'value' in reading ? reading.value : null }
  })
}

/** The same for the readable part of a file; `null` if `quota.windows`, or the baselines that name the windows, have problems. */
export function readWindowsOf(quota: Named): Candidate[] | null {
  const isRead = 'windows' in quota && (quota.windows !== undefined || quota.baselines !== undefined)
  return isRead ? windowsOf(quota) : null
}

function lengthOf(length: number | Calendar): Omit<Candidate, 'name'> {
  return typeof length === 'number' ? { ms: length } : { ms: LONGEST_SECONDS[length.unit] * 1000, calendar: length }
}

/** @returns shortest first, for candidates without problems */
export function toWindows(candidates: readonly Candidate[]): Window[] {
  return candidates
    .map(({ name, ms, calendar }) => ({ name, seconds: (ms ?? 0) / 1000, ...(calendar !== undefined && { calendar }) }))
    .sort((a, b) => a.seconds - b.seconds)
}
