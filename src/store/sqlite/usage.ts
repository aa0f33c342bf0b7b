import type { DatabaseSync } from 'node:sqlite'
import type { Counter } from '../../quota/counter.ts'
import type { UsageStore, UserUsage } from '../../quota/quota-store.ts'
import { unpack } from '../packed-value.ts'
import { attempt } from './database.ts'

/** Users that one step reads: 1.2 milliseconds of CPU with two categories of three windows each. */
const STEP = 125

export function sqliteUsage(database: DatabaseSync, clock: () => number): UsageStore {
  const step = database.prepare(
    `SELECT user, category, windows FROM counters WHERE scope = 0 AND user IN
       (SELECT DISTINCT user FROM counters WHERE scope = 0 AND user > ? ORDER BY user LIMIT ${STEP})
     ORDER BY user`,
  )

  function scanNow(cursor: string | null): Awaited<ReturnType<UsageStore['scanUsers']>> {
    const rows = step.all(cursor ?? '') as unknown as Row[]
    const users = new Map<string, Map<string, Counter>>()
    for (const row of rows) addCounter(users, row)
    return {
      at: clock(),
      users: [...users].flatMap(usedBy),
      next: users.size < STEP ? null : (rows.at(-1)?.user ?? null),
    }
  }

  return { scanUsers: (cursor) => attempt(() => scanNow(cursor)) }
}

interface Row {
  readonly user: string
  readonly category: string
  readonly windows: Uint8Array
}

function addCounter(users: Map<string, Map<string, Counter>>, { user, category, windows }: Row): void {
  const counters = users.get(user) ?? new Map<string, Counter>()
  users.set(user, counters)
  const counter = unpack(windows)
  if (counter.length > 0) counters.set(category, counter)
}

function usedBy([user, counters]: [string, Map<string, Counter>]): UserUsage[] {
  return counters.size === 0 ? [] : [{ user, counters }]
}
