import type { DatabaseSync } from 'node:sqlite'
import type { GuardCounts, GuardStore } from '../../control/guard-tally.ts'
import { attempt, transactions } from './database.ts'

/** What processes have counted for guards. */
export function sqliteGuard(database: DatabaseSync): GuardStore {
  const { writing } = transactions(database)
  const sql = {
    set: database.prepare(
      'INSERT OR REPLACE INTO guard_counts (guard, instance, requests, refused) VALUES (?, ?, ?, ?)',
    ),
    forget: database.prepare('DELETE FROM guard_counts WHERE guard NOT IN (SELECT value FROM json_each(?))'),
    sum: database.prepare(
      `SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(refused), 0) AS refused FROM guard_counts
       WHERE guard = ?`,
    ),
  }

  function sumOf(guard: string): GuardCounts {
    return { ...(sql.sum.get(guard) as unknown as GuardCounts) }
  }

  function countNow(
    guard: string,
    instance: string,
    { requests, refused }: GuardCounts,
    running: readonly string[],
  ): GuardCounts {
    sql.set.run(guard, instance, requests, refused)
    sql.forget.run(JSON.stringify([guard, ...running]))
    return sumOf(guard)
  }

  return {
    countForGuard: (guard, instance, counts, running = []) =>
      attempt(() => writing(() => countNow(guard, instance, counts, running))),
    readGuard: (guard) => attempt(() => sumOf(guard)),
  }
}
