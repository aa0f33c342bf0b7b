import type { GuardCounts, GuardStore } from '../../control/guard-tally.ts'
import { attempt, type SqliteFile } from './database.ts'

/** What processes have counted for guards. */
export function sqliteGuard(file: SqliteFile): GuardStore {
  function sumOf(guard: string): GuardCounts {
    const sums = 'coalesce(sum(requests), 0) AS requests, coalesce(sum(refused), 0) AS refused'
    return file.first(`SELECT ${sums} FROM guard_counts WHERE guard = ?`, guard) as GuardCounts
  }

  return {
    countForGuard: (guard, instance, { requests, refused }, running = []) =>
      file.write(() => {
        file.put('guard_counts', { guard, instance, requests, refused })
        const going = JSON.stringify([guard, ...running])
        file.run('DELETE FROM guard_counts WHERE guard NOT IN (SELECT value FROM json_each(?))', going)
        return sumOf(guard)
      }),
    readGuard: (guard) => attempt(() => sumOf(guard)),
  }
}
