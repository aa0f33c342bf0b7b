import type { DatabaseSync } from 'node:sqlite'
import type { KnownUserStore } from '../../quota/known-users.ts'
import { attempt, transactions } from './database.ts'

export function sqliteKnownUsers(database: DatabaseSync, clock: () => number): KnownUserStore {
  const { writing } = transactions(database)
  const sql = {
    find: database.prepare('SELECT first FROM known_users WHERE user = ? AND ends > ?'),
    note: database.prepare('INSERT OR REPLACE INTO known_users (user, first, ends) VALUES (?, ?, ?)'),
  }

  /** A first charge in the future was noted while the clock was ahead. */
  function firstOf(user: string, now: number): number | undefined {
    const row = sql.find.get(user, now) as { first: number } | undefined
    return row === undefined ? undefined : Math.min(row.first, now)
  }

  function noteNow(users: readonly string[], rememberMs: number): number[] {
    const now = clock()
    return users.map((user) => {
      const first = firstOf(user, now) ?? now
      sql.note.run(user, first, now + rememberMs)
      return now - first
    })
  }

  function knownForNow(user: string): number | null {
    const now = clock()
    const first = firstOf(user, now)
    return first === undefined ? null : now - first
  }

  return {
    noteUsers: (users, rememberMs) => attempt(() => writing(() => noteNow(users, rememberMs))),
    knownFor: (user) => attempt(() => knownForNow(user)),
  }
}
