import { sameJson } from '../lib/json.ts'
import { leavesBetween, patchBack, placesIn, settingsOf, standing } from './leaves.ts'
import { applyPatch, type QuotaPatchLike } from './settings.ts'
import type { Changes, End, Guard, Leaf, Pending, Start } from './state.ts'

/**
 * What gateways change by themselves is a part of the settings as they are stored. So it has their version, which decides
 * who makes a change, it is in the audit, and every replica follows it.
 */

/** How many changes may be to come, and how many to end. */
export const MOST_PENDING = 20

/** Beside what a guarded change is, how it is guarded. */
export type Guarding = Omit<Guard, 'leaves'>

/** Beside what an end is, when it is, and whose change it takes back. */
export type Ending = Omit<End, 'leaves'>

/**
 * The settings after a patch. What it names is no part any more of changes that are to end: whoever sets a value again wants
 * it to stay. A guard ends if anything is changed, or that which it guards is named.
 * @param end when the patch is to be taken back; default never
 * @param guard how it is guarded; default not at all
 */
export function patched(now: Changes, patch: QuotaPatchLike, end?: Ending, guarding?: Guarding): Changes {
  const next = applyPatch(settingsOf(now), patch)
  const leaves = leavesBetween(now, next)
  const places = placesIn(patch)
  const left = (now.pending?.ends ?? []).flatMap((one) => without(one, places))
  const ends = end === undefined || leaves.length === 0 ? left : [...left, { ...end, leaves }]
  const guard = leaves.length > 0 ? guarding && { ...guarding, leaves } : standingGuard(now, places)
  return withPending(next, { ...now.pending, ends, guard })
}

function standingGuard({ pending }: Changes, places: Places): Guard | undefined {
  const guard = pending?.guard
  return guard?.leaves.some((leaf) => isNamed(leaf, places)) ? undefined : guard
}

/** The settings without their guard: what it has guarded stays. */
export function unguarded(now: Changes): Changes {
  return withPending(now, { ...now.pending, guard: undefined })
}

/** The settings without what a guard has guarded, as far as it is still as it was set. */
export function takenBack(now: Changes, guard: Guard): Changes {
  return patched(unguarded(now), patchBack(standing(now, guard.leaves)))
}

/** The settings with one more change to come. */
export function scheduled(now: Changes, start: Start): Changes {
  return withPending(now, { ...now.pending, starts: [...(now.pending?.starts ?? []), start] })
}

/** The settings without a change that was to come, or to end. */
export function cancelled(now: Changes, id: string): Changes {
  const others = ({ id: other }: { readonly id: string }): boolean => other !== id
  const { starts = [], ends = [] } = now.pending ?? {}
  return withPending(now, { ...now.pending, starts: starts.filter(others), ends: ends.filter(others) })
}

/** What is to come and to end, in the order in which it is. */
export function inOrder({ starts = [], ends = [] }: Pending = {}): (Start | End)[] {
  return [...ends, ...starts].sort((a, b) => a.at - b.at)
}

export function isEnd(one: Start | End): one is End {
  return 'leaves' in one
}

/** The settings when a change has ended: what is still as it left it is as it was before. */
export function ended(now: Changes, end: End): Changes {
  return patched(cancelled(now, end.id), patchBack(standing(now, end.leaves)))
}

/** The settings when a change has begun. @param at now, on the store's clock */
export function begun(now: Changes, { id, patch, until, guard, who, why }: Start, at: number): Changes {
  const end = until === null ? undefined : { id, at: until, who, why }
  const guarding = guard && { id, until: at + guard.forMs, refused: guard.refused, who, why }
  return patched(cancelled(now, id), patch, end, guarding)
}

type Places = readonly (readonly string[])[]

function isNamed({ path }: Leaf, places: Places): boolean {
  return places.some((place) => sameJson(path.slice(0, place.length), place))
}

function without(end: End, places: Places): End[] {
  const leaves = end.leaves.filter((leaf) => !isNamed(leaf, places))
  if (leaves.length === end.leaves.length) return [end]
  return leaves.length === 0 ? [] : [{ ...end, leaves }]
}

/** Lists without anything are missing, so that settings are the same again when all has come. */
function withPending(settings: Changes, pending: Omit<Pending, 'guard'> & { guard?: Guard | undefined }): Changes {
  const isThere = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined)
  const entries = Object.entries(pending).filter(([, value]) => isThere(value))
  const rest = settingsOf(settings)
  return entries.length === 0 ? rest : { ...rest, pending: Object.fromEntries(entries) }
}
