import { randomUUID } from 'node:crypto'
import { sameJson } from '../lib/json.ts'
import { inSlices } from '../lib/slices.ts'
import { breath } from '../lib/steps.ts'
import type {
  AllOverrides,
  AuditEntry,
  Change,
  ControlStore,
  OverridesChange,
  StagedOverride,
} from './control-store.ts'
import { OVERRIDES } from './forms.ts'
import { changesBetween, stackOf } from './layers.ts'
import { MOST_PROBLEMS, type Wanted, type WantedOverrides } from './override-file.ts'
import { hasTooMany, TOO_MANY, withAdded, withOverrides } from './override-layers.ts'
import type { Problem } from './problems.ts'
import type { OrganisationOverride, Packed, StoredControl, UserOverride, Versioned } from './state.ts'

/** What a file of overrides would change. */
export interface OverrideChanges {
  readonly counts: OverrideCounts
  /** How many ends of overrides would be added and removed. */
  readonly ends: { readonly added: number; readonly dropped: number }
  /** The first overrides that are added, changed or removed. The audit keeps them. */
  readonly sample: readonly OverrideDifference[]
  /** All overrides after the change. New ones have the version of the change. */
  readonly next: AllOverrides
  /** Number of the last change before this one. */
  readonly base: number
}

export interface FileChanges extends OverrideChanges {
  /** Conflicts between the file and what is set. */
  readonly problems: readonly Problem[]
}

/** Counts users and organisations together. */
export interface OverrideCounts {
  readonly added: number
  readonly changed: number
  readonly removed: number
  /** How many stay unchanged. */
  readonly unchanged: number
}

export interface OverrideDifference {
  readonly kind: 'user' | 'organisation'
  readonly id: string
  readonly from: Packed<UserOverride> | Packed<OrganisationOverride> | null
  readonly to: Packed<UserOverride> | Packed<OrganisationOverride> | null
}

/** The most entries of the sample, and the most characters of their JSON, because audit and log must stay small. */
const MOST_SHOWN = 20
const MOST_CHARACTERS = 8192

/**
 * @param merge whether overrides that the file lacks stay, also below an override of the file that has an end
 * @param who makes the change @param at the store's time
 */
export async function overrideChanges(
  stored: Pick<StoredControl, 'version' | 'overrides' | 'organisationOverrides'>,
  wanted: WantedOverrides,
  merge: boolean,
  who: string,
  at: number,
): Promise<FileChanges> {
  const problems: Problem[] = []
  const toBe =
    <T extends UserOverride | OrganisationOverride>(of: Wanted<T>) =>
    (id: string, now: Versioned<Packed<T>> | undefined): Packed<T> | null => {
      const wanted = of.get(id)
      if (wanted === undefined) return merge ? (now?.value ?? null) : null
      const to = (merge ? withAdded<T> : withOverrides<T>)(now?.value, wanted.all, who, at)
      if (hasTooMany(to)) problems.push({ path: `line ${wanted.line}, ${TOO_MANY.path}`, msg: TOO_MANY.msg })
      return to
    }
  const ofAll = { user: toBe(wanted.users), organisation: toBe(wanted.organisations) }
  return { ...(await compared(stored, wanted, ofAll, at)), problems: problems.slice(0, MOST_PROBLEMS) }
}

/**
 * Restores the overrides that a file has replaced. What was set or removed for an owner since then stays.
 * @param before the replaced overrides @param version the number of the change
 * @param since the entries of the audit after the change @param at the store's time
 */
export async function changesBack(
  stored: Pick<StoredControl, 'version' | 'overrides' | 'organisationOverrides'>,
  before: AllOverrides,
  version: number,
  since: readonly Pick<AuditEntry, 'what' | 'subject' | 'to'>[],
  at: number,
): Promise<OverrideChanges> {
  const takenAway = (kind: Change['kind']): ReadonlySet<string | null> =>
    new Set(since.filter(({ what, to }) => what === kind && to === null).map(({ subject }) => subject))
  const back = <T>(of: ReadonlyMap<string, Versioned<T>>, gone: ReadonlySet<string | null>) => {
    return (id: string, now: Versioned<T> | undefined): T | null => {
      if (now === undefined && gone.has(id)) return null
      return (now !== undefined && now.version > version ? now : of.get(id))?.value ?? null
    }
  }
  const { overrides: users, organisationOverrides: organisations } = before
  const ofUser = back(users, takenAway('override'))
  const ofOrganisation = back(organisations, takenAway('organisation_override'))
  return compared(stored, { users, organisations }, { user: ofUser, organisation: ofOrganisation }, at)
}

/** The future override of an owner, depending on the present one. */
type ToBe<T> = (id: string, now: Versioned<Packed<T>> | undefined) => Packed<T> | null

/** @param named the owners in question, besides those who have an override now */
async function compared(
  { version: base, overrides, organisationOverrides }: Pick<StoredControl, 'version'> & AllOverrides,
  named: { readonly users: ReadonlyMap<string, unknown>; readonly organisations: ReadonlyMap<string, unknown> },
  toBe: { readonly user: ToBe<UserOverride>; readonly organisation: ToBe<OrganisationOverride> },
  at: number,
): Promise<OverrideChanges> {
  const slices = inSlices()
  const sample = sampling()
  const counts = { added: 0, changed: 0, removed: 0, unchanged: 0 }
  const ends = { added: 0, dropped: 0 }

  async function of<T extends UserOverride | OrganisationOverride>(
    kind: OverrideDifference['kind'],
    before: ReadonlyMap<string, Versioned<Packed<T>>>,
    others: ReadonlyMap<string, unknown>,
    toHave: ToBe<T>,
  ): Promise<ReadonlyMap<string, Versioned<Packed<T>>>> {
    const next = new Map<string, Versioned<Packed<T>>>()
    for (const id of idsOf(before, others)) {
      if (slices.isOver()) await slices.next()
      const now = before.get(id)
      const to = toHave(id, now)
      if (now === undefined && to === null) continue
      const isSame = now !== undefined && to !== null && (to === now.value || sameJson(to, now.value))
      counts[isSame ? 'unchanged' : now === undefined ? 'added' : to === null ? 'removed' : 'changed']++
      if (!isSame) {
        const { endsAdded, endsDropped } = changesBetween(
          stackOf(OVERRIDES, now?.value ?? null),
          stackOf(OVERRIDES, to),
          at,
        )
        ends.added += endsAdded.length
        ends.dropped += endsDropped.length
        sample.add({ kind, id, from: now?.value ?? null, to } as OverrideDifference)
      }
      if (to !== null) next.set(id, isSame ? now : { version: base + 1, value: to })
    }
    return next
  }

  const next = {
    overrides: await of('user', overrides, named.users, toBe.user),
    organisationOverrides: await of('organisation', organisationOverrides, named.organisations, toBe.organisation),
  }
  return { counts, ends, sample: sample.taken, next, base }
}

/** The ids of `before` come first. */
function* idsOf(before: ReadonlyMap<string, unknown>, others: ReadonlyMap<string, unknown>): Generator<string> {
  yield* before.keys()
  for (const id of others.keys()) if (!before.has(id)) yield id
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

/** Why a file needs a confirmation, and the word that gives it; `null` if it needs none. */
export interface Largeness {
  readonly word: 'allow_empty' | 'max_removed'
  readonly msg: string
}

/** The confirmations that came with a file. */
export interface Allowed {
  readonly empty: boolean
  /** `null` for a tenth of all. */
  readonly removed: number | null
}

/** A file that was cut off or is empty would remove overrides by mistake. */
export function tooLarge(
  { counts: { changed, removed, unchanged } }: OverrideChanges,
  wanted: WantedOverrides,
  merge: boolean,
  { empty, removed: most }: Allowed,
): Largeness | null {
  const total = changed + removed + unchanged
  const isEmpty = wanted.users.size + wanted.organisations.size === 0
  if (isEmpty && !merge && !empty && total > 0) {
    return { word: 'allow_empty', msg: `the file sets nothing, and would remove all ${total} overrides` }
  }
  if (removed <= (most ?? (isEmpty ? total : Math.floor(total / 10)))) return null
  const bound = most === null ? 'a tenth' : String(most)
  return { word: 'max_removed', msg: `${removed} of ${total} overrides would be removed, which is more than ${bound}` }
}

export function changesNothing({ counts: { added, changed, removed } }: OverrideChanges): boolean {
  return added + changed + removed === 0
}

/** How many overrides are staged at once, so that no step holds the store for more than some milliseconds. */
const STEP = 200

/**
 * Stages the overrides of a file, which the returned change puts in force.
 * @param about for the audit, besides the counts @throws StoreError, or the reason of the signal
 */
export async function stageChanges(
  store: Pick<ControlStore, 'stageOverrides'>,
  { counts, sample, next, base }: OverrideChanges,
  about: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<OverridesChange> {
  const staged = randomUUID()
  for (const whose of ['users', 'organisations'] as const) {
    for (const some of portionsOf(whose === 'users' ? next.overrides : next.organisationOverrides)) {
      signal?.throwIfAborted()
      await store.stageOverrides(staged, some, whose)
      // The embedded store makes each step synchronously.
      await breath()
    }
  }
  const { added, changed, removed } = counts
  const isWhole = sample.length === added + changed + removed
  const shown = (side: 'from' | 'to') => ({
    overrides: ofKind('user', side),
    ...(sample.some(({ kind }) => kind === 'organisation') && { organisations: ofKind('organisation', side) }),
  })
  const ofKind = (kind: OverrideDifference['kind'], side: 'from' | 'to') =>
    Object.fromEntries(sample.flatMap((each) => (each.kind === kind ? [[each.id, each[side]]] : [])))
  const total = next.overrides.size + next.organisationOverrides.size
  return {
    kind: 'overrides',
    base,
    staged,
    count: next.overrides.size,
    organisations: next.organisationOverrides.size,
    from: { total: counts.unchanged + changed + removed, ...shown('from') },
    to: { total, ...counts, ...about, whole: isWhole, ...shown('to') },
  }
}

function* portionsOf(all: ReadonlyMap<string, StagedOverride[1]>): Generator<StagedOverride[]> {
  let some: StagedOverride[] = []
  for (const each of all) {
    if (some.push(each) < STEP) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}
