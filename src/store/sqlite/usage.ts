import type { StatementSync } from 'node:sqlite'
import type { Counter } from '../../quota/counter.ts'
import type { UsageStore, UsedStep } from '../../quota/quota-store.ts'
import { unpack } from '../packed-value.ts'
import { type OwnedCounter, SCOPE_NUMBERS, someCounters } from './counter-rows.ts'
import { attempt, type SqliteFile } from './database.ts'

/** Users that one step reads. A step holds our event loop for a millisecond or two. */
const STEP = 125

export function sqliteUsage(file: SqliteFile, clock: () => number): UsageStore {
  const users = someCounters(file.database, SCOPE_NUMBERS.personal, STEP)
  const organisations = someCounters(file.database, SCOPE_NUMBERS.organisation, STEP)

  function scanNow(step: StatementSync, cursor: string | null): UsedStep {
    const rows = step.all(cursor ?? '') as unknown as OwnedCounter[]
    const owners = new Map<string, Map<string, Counter>>()
    for (const row of rows) addCounter(owners, row)
    return {
      at: clock(),
      owners: [...owners].flatMap(([id, counters]) => (counters.size > 0 ? [{ id, counters }] : [])),
      next: owners.size < STEP ? null : (rows.at(-1)?.user ?? null),
    }
  }

  return {
    scanUsers: (cursor) => attempt(() => scanNow(users, cursor)),
    scanOrganisations: (cursor) => attempt(() => scanNow(organisations, cursor)),
  }
}

function addCounter(owners: Map<string, Map<string, Counter>>, { user, category, windows }: OwnedCounter): void {
  const counters = owners.get(user) ?? new Map<string, Counter>()
  owners.set(user, counters)
  const counter = unpack(windows)
  if (counter.length > 0) counters.set(category, counter)
}
