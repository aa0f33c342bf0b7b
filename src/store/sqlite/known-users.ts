import type { DatabaseSync } from 'node:sqlite'
import { isText, isTime, shapeOf } from '../../lib/shape.ts'
import type { KnownUserStore } from '../../quota/known-users.ts'
import type { RememberedUser } from '../copy.ts'
import type { RecordList, Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { type Row, rowsOf } from './rows.ts'

const isKnownUser = shapeOf({ user: isText, first: isTime, ends: isTime })

/** First charges as rows. */
export function knownUserRecords(database: DatabaseSync, records: Records): RecordList<Row, RememberedUser> {
  const find = rowsOf(database, 'SELECT * FROM known_users WHERE user = ?')
  return records.list({
    kind: 'known_user',
    list: 'known_users',
    parse: (row: Row) => (isKnownUser(row) ? (row as unknown as RememberedUser) : null),
    look: (user) => find.first(user),
  })
}

export function sqliteKnownUsers(database: DatabaseSync, lists: Records, clock: () => number): KnownUserStore {
  const records = knownUserRecords(database, lists)
  const { writing } = transactions(database)
  const sql = {
    find: rowsOf(database, 'SELECT * FROM known_users WHERE user = ? AND ends > ?'),
    note: database.prepare('INSERT OR REPLACE INTO known_users (user, first, ends) VALUES (?, ?, ?)'),
  }

  /** A first charge in the future was noted while the clock was ahead. */
  function firstOf(user: string, now: number): number | undefined {
    const row = sql.find.first(user, now)
    const known = row === undefined ? null : records.read(user, row)
    return known === null ? undefined : Math.min(known.first, now)
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
