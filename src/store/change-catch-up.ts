import { type AuditEntry, type Change, KINDS } from '../control/control-store.ts'
import type {
  Changes,
  GivenGrant,
  LastChange,
  OrganisationOverride,
  Packed,
  StoredControl,
  UserOverride,
  Versioned,
} from '../control/state.ts'
import { everyStep } from '../lib/steps.ts'

/** What both stores do in the same way with changes by administrators. */

/** Up to this many changes are read one by one. After more of them everything is read. */
const MOST_CHANGES = 100

/** The value that a change sets, as JSON; `null` if it sets none. */
export function jsonOf(change: Change): string {
  return JSON.stringify('to' in change ? change.to : null) ?? 'null'
}

/** A part of the JSON of each grant of this owner, by which other grants are skipped without parsing them. */
export function ownerText({ user, organisation }: GivenGrant): string {
  const [name, id] = user === undefined ? ['organisation', organisation] : ['user', user]
  return `"${name}":${JSON.stringify(id)}`
}

/** How many entries are read: the last known change, the most changes that are returned, and one that shows whether there are more. */
export const CHANGES_READ = MOST_CHANGES + 2

/**
 * @param entries the first CHANGES_READ remembered entries from the version of `last` on
 * @returns the changes after `last`; `null` if not all of them are known, or if there are too many, so that everything is to be read
 */
export function changesAfter(last: LastChange, entries: readonly AuditEntry[]): readonly AuditEntry[] | null {
  const later = entries.filter(({ version }) => version > last.version)
  const isWhole = later.every(({ version, what }, i) => version === last.version + 1 + i && KINDS.includes(what))
  return isRemembered(last, entries[0]) && isWhole && later.length <= MOST_CHANGES ? later : null
}

function isRemembered({ version, changedAt }: LastChange, first: AuditEntry | undefined): boolean {
  if (version === 0) return first === undefined || first.version === 1
  return first?.version === version && first.at === changedAt
}

export interface Head extends LastChange {
  readonly settings: Versioned<Packed<Changes>>
}

export interface OverridesStep<T> {
  readonly overrides: Iterable<readonly [id: string, override: Versioned<T>]>
  /** Where the next step begins; `null` at the end. */
  readonly next: string | null
}

/** Reads some overrides. @param from where the last step ended; `null` begins */
type ReadOverrides<T> = (from: string | null) => Promise<OverridesStep<T>>

/** Reads the number of the last change, and then the overrides in steps. So a follower applies changes made meanwhile once more. */
export async function readInSteps(
  readHead: () => Promise<Head>,
  ofUsers: ReadOverrides<Packed<UserOverride>>,
  ofOrganisations: ReadOverrides<Packed<OrganisationOverride>>,
  grants: ReadOverrides<GivenGrant>,
): Promise<StoredControl> {
  const head = await readHead()
  return {
    ...head,
    overrides: await readAll(ofUsers),
    organisationOverrides: await readAll(ofOrganisations),
    grants: await readAll(grants),
  }
}

/** Reads all steps. */
export async function readAll<T>(read: ReadOverrides<T>): Promise<Map<string, Versioned<T>>> {
  const overrides = new Map<string, Versioned<T>>()
  for await (const step of everyStep(read)) for (const [id, override] of step.overrides) overrides.set(id, override)
  return overrides
}
