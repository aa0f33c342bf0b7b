import { type AuditEntry, type Change, KINDS } from '../control/control-store.ts'
import type { Changes, ControlState, LastChange, UserOverride, Versioned } from '../control/state.ts'

/** What both stores do alike with the changes of administrators. */

/** So many changes are read one by one; after more, everything is. */
const MOST_CHANGES = 100

/** The value that a change sets, as JSON; `null` if it sets none. */
export function jsonOf(change: Change): string {
  return JSON.stringify('to' in change ? change.to : null) ?? 'null'
}

/** That after which they are asked for, and one more than are ever given out, which shows that there are more. */
export const CHANGES_READ = MOST_CHANGES + 2

/** @param entries the first CHANGES_READ that are remembered from the number of `last` on */
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
  readonly settings: Versioned<Changes>
}

export interface OverridesStep {
  readonly overrides: Iterable<readonly [user: string, override: Versioned<UserOverride>]>
  /** Where the next step begins; `null` at the end. */
  readonly next: string | null
}

/** Overrides in steps. It counts under the version that it began with: whoever follows applies what came meanwhile once more. */
export async function readInSteps(
  readHead: () => Promise<Head>,
  readOverrides: (from: string | null) => Promise<OverridesStep>,
): Promise<ControlState> {
  const head = await readHead()
  const overrides = new Map<string, Versioned<UserOverride>>()
  let from: string | null = null
  do {
    const step: OverridesStep = await readOverrides(from)
    for (const [user, override] of step.overrides) overrides.set(user, override)
    from = step.next
  } while (from !== null)
  return { ...head, overrides }
}
