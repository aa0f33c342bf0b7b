import { randomUUID } from 'node:crypto'
import { sameJson } from '../lib/json.ts'
import { inSlices } from '../lib/slices.ts'
import type { ControlStore, OverridesChange } from './control-store.ts'
import type { WantedOverrides } from './override-file.ts'
import { withOverrides } from './override-layers.ts'
import type { Packed, StoredControl, UserOverride, Versioned } from './state.ts'

/** What a file of overrides would change. */
export interface OverrideChanges {
  readonly counts: OverrideCounts
  /** The first that are added, changed or removed. The audit keeps them. */
  readonly sample: readonly OverrideDifference[]
  /** All overrides as they would be, those that are new under the version of the change. */
  readonly next: ReadonlyMap<string, Versioned<Packed<UserOverride>>>
  /** Number of the last change before. */
  readonly base: number
}

export interface OverrideCounts {
  readonly added: number
  readonly changed: number
  readonly removed: number
  /** Of all that stay as they are. */
  readonly unchanged: number
}

export interface OverrideDifference {
  readonly user: string
  readonly from: Packed<UserOverride> | null
  readonly to: Packed<UserOverride> | null
}

/** Of the sample: so many, and so many characters of JSON. The audit and the log stay small. */
const MOST_SHOWN = 20
const MOST_CHARACTERS = 8192

/**
 * @param merge whether overrides of users whom the file does not name stay
 * @param who makes the change @param at the store's time
 */
export async function overrideChanges(
  { version: base, overrides }: Pick<StoredControl, 'version' | 'overrides'>,
  wanted: WantedOverrides,
  merge: boolean,
  who: string,
  at: number,
): Promise<OverrideChanges> {
  const slices = inSlices()
  const next = new Map<string, Versioned<Packed<UserOverride>>>()
  const sample = sampling()
  const counts = { added: 0, changed: 0, removed: 0, unchanged: 0 }
  for (const [user, before] of overrides) {
    if (slices.isOver()) await slices.next()
    const lines = wanted.get(user)?.all
    const to = lines === undefined ? (merge ? before.value : null) : withOverrides(before.value, lines, who, at)
    const isSame = to === before.value || (to !== null && sameJson(to, before.value))
    counts[isSame ? 'unchanged' : to === null ? 'removed' : 'changed']++
    if (!isSame) sample.add({ user, from: before.value, to })
    if (to !== null) next.set(user, isSame ? before : { version: base + 1, value: to })
  }
  for (const [user, { all }] of wanted) {
    if (slices.isOver()) await slices.next()
    if (overrides.has(user)) continue
    counts.added++
    const value = withOverrides<UserOverride>(undefined, all, who, at)
    sample.add({ user, from: null, to: value })
    next.set(user, { version: base + 1, value })
  }
  return { counts, sample: sample.taken, next, base }
}

/**
 * What puts back the overrides that a file has replaced. What was set for a user since stays.
 * @param before those that it has replaced @param version the number of its change
 */
export async function changesBack(
  { version: base, overrides }: Pick<StoredControl, 'version' | 'overrides'>,
  before: StoredControl['overrides'],
  version: number,
): Promise<OverrideChanges> {
  const slices = inSlices()
  const next = new Map<string, Versioned<Packed<UserOverride>>>()
  const sample = sampling()
  const counts = { added: 0, changed: 0, removed: 0, unchanged: 0 }
  for (const user of new Set([...overrides.keys(), ...before.keys()])) {
    if (slices.isOver()) await slices.next()
    const now = overrides.get(user)
    const back = now !== undefined && now.version > version ? now : before.get(user)
    const isSame = now !== undefined && back !== undefined && sameJson(back.value, now.value)
    counts[isSame ? 'unchanged' : now === undefined ? 'added' : back === undefined ? 'removed' : 'changed']++
    if (!isSame) sample.add({ user, from: now?.value ?? null, to: back?.value ?? null })
    if (back !== undefined) next.set(user, isSame ? now : { version: base + 1, value: back.value })
  }
  return { counts, sample: sample.taken, next, base }
}

function sampling(): { add(difference: OverrideDifference): void; readonly taken: OverrideDifference[] } {
  const taken: OverrideDifference[] = []
  let characters = 0
  return {
    taken,
    add(difference) {
      if (taken.length === MOST_SHOWN || characters > MOST_CHARACTERS) return
      const length = JSON.stringify(difference).length
      characters += length
      if (characters <= MOST_CHARACTERS) taken.push(difference)
    },
  }
}

/** Why a file is not put in force unless the word for it is given, which `word` names; `null` if it may be. */
export interface Largeness {
  readonly word: 'allow_empty' | 'max_removed'
  readonly msg: string
}

/** What was given with a file. */
export interface Allowed {
  readonly empty: boolean
  /** `null` for a tenth of all. */
  readonly removed: number | null
}

/** A file that was cut, or is empty, would take away what nobody meant to. */
export function tooLarge(
  { counts: { changed, removed, unchanged } }: OverrideChanges,
  wanted: WantedOverrides,
  merge: boolean,
  { empty, removed: most }: Allowed,
): Largeness | null {
  const total = changed + removed + unchanged
  if (wanted.size === 0 && !merge && !empty && total > 0) {
    return { word: 'allow_empty', msg: `the file sets nothing, and would remove all ${total} overrides` }
  }
  if (removed <= (most ?? (wanted.size === 0 ? total : Math.floor(total / 10)))) return null
  const bound = most === null ? 'a tenth' : String(most)
  return { word: 'max_removed', msg: `${removed} of ${total} overrides would be removed, which is more than ${bound}` }
}

export function changesNothing({ counts: { added, changed, removed } }: OverrideChanges): boolean {
  return added + changed + removed === 0
}

/** Overrides that are staged at once: no step holds the store for more than some milliseconds. */
const STEP = 200

/**
 * Stages what a file wants, ready to be put in force by the change that is returned.
 * @param about for the audit, beside the counts @throws StoreError, or the reason of the signal
 */
export async function stageChanges(
  store: Pick<ControlStore, 'stageOverrides'>,
  { counts, sample, next, base }: OverrideChanges,
  about: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<OverridesChange> {
  const staged = randomUUID()
  let some: [string, Versioned<Packed<UserOverride>>][] = []
  const flush = async (): Promise<void> => {
    signal?.throwIfAborted()
    await store.stageOverrides(staged, some)
    some = []
    // The embedded store has each step at once.
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const each of next) if (some.push(each) === STEP) await flush()
  if (some.length > 0) await flush()
  const { added, changed, removed } = counts
  const isWhole = sample.length === added + changed + removed
  const shown = (side: 'from' | 'to') => Object.fromEntries(sample.map((each) => [each.user, each[side]]))
  return {
    kind: 'overrides',
    base,
    staged,
    count: next.size,
    from: { total: counts.unchanged + changed + removed, overrides: shown('from') },
    to: { total: next.size, ...counts, ...about, whole: isWhole, overrides: shown('to') },
  }
}
