import type { DatabaseSync } from 'node:sqlite'
import { userOfPlace } from '../../alerts/kinds/windows.ts'
import type { Forgetting } from '../../control/control-store.ts'
import { digestOf, FORGOTTEN_MS, newSalt } from '../../control/forgetting.ts'
import { endsAt, running } from '../../quota/counter.ts'
import { isAccount } from '../../quota/grant.ts'
import type { Ending } from '../endings.ts'
import { type NamingList, objectIn, textLeft } from '../forgetting.ts'
import { pack, unpack } from '../packed-value.ts'
import type { SqliteFile } from './database.ts'

/** What is left of users who were forgotten: the windows that ran then, under a salted hash of the name. */
export interface ForgottenRows {
  /** The windows of a user that ran when the user was forgotten. The next charge moves them back to the name. */
  windowsOf(user: string, category: string, now: number): Uint8Array | undefined
  /** Replaces what is left of a user after a refund. @param windows `null` deletes it, because a charge has moved it back to the name */
  replace(user: string, category: string, windows: Uint8Array | null): void
  /** When the user was forgotten, in milliseconds since the epoch; `null` if never, or if that is no longer known. */
  since(user: string): number | null
}

interface Left {
  readonly windows: Uint8Array
  readonly since: number
  readonly ends: number
}

/** Marks the row that says when a user was forgotten. No category has this name. */
const SINCE = ''

/** Call the functions within a transaction. */
export function forgottenRows(database: DatabaseSync): ForgottenRows {
  const sql = {
    salt: database.prepare('SELECT salt FROM forgotten_salt'),
    one: database.prepare('SELECT windows, since, ends FROM forgotten WHERE digest = ? AND category = ?'),
    drop: database.prepare('DELETE FROM forgotten WHERE digest = ? AND category = ?'),
    set: database.prepare('UPDATE forgotten SET windows = ? WHERE digest = ? AND category = ?'),
  }

  /** `null` if nobody was forgotten, which is usual. */
  function placeOf(user: string): string | null {
    const row = sql.salt.get() as { salt: string } | undefined
    return row === undefined ? null : digestOf(row.salt, user)
  }

  function find(user: string, category: string): Left | undefined {
    const place = placeOf(user)
    return place === null ? undefined : (sql.one.get(place, category) as Left | undefined)
  }

  return {
    windowsOf(user, category, now) {
      const left = find(user, category)
      return left !== undefined && left.ends > now ? left.windows : undefined
    },
    replace(user, category, windows) {
      const place = placeOf(user) ?? ''
      if (windows === null) sql.drop.run(place, category)
      else sql.set.run(windows, place, category)
    },
    since: (user) => find(user, SINCE)?.since ?? null,
  }
}

/**
 * Does the work, and also removes from the disk what it deletes. SQLite would leave the bytes in free pages, and in the log until the log
 * begins anew. If another process is reading now, a later checkpoint empties the log.
 */
export async function overwriting<T>(database: DatabaseSync, work: () => Promise<T>): Promise<T> {
  database.exec('PRAGMA secure_delete = ON')
  try {
    return await work()
  } finally {
    database.exec('PRAGMA secure_delete = FAST')
    database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
  }
}

/** Where JSON may name a user: the table, the columns that identify a row, and the column with the JSON. */
const PLACES: readonly (readonly [list: NamingList, table: string, key: string, column: string])[] = [
  ['events', 'alert_events', 'id', 'happening'],
  ['refusals', 'refusals', 'id', 'episode'],
  ['settings', 'settings', 'id', 'value'],
  ['overrides', 'overrides', 'edition, user', 'value'],
  ['organisationOverrides', 'organisation_overrides', 'edition, organisation', 'value'],
  ['grants', 'grants', 'id', 'value'],
]

/** Removes everything that names a user. Call it within a transaction. */
export function sqliteForgetting(file: SqliteFile, clock: () => number): (forgetting: Forgetting) => void {
  /** Windows that run go on under the hash. */
  function keepWindows(user: string, now: number): void {
    const known = file.first<{ salt: string; ends: number }>('SELECT salt, ends FROM forgotten_salt')
    const salt = known?.salt ?? newSalt()
    const digest = digestOf(salt, user)
    const counters = 'SELECT category, windows FROM counters WHERE scope = 0 AND user = ?'
    let last = now + FORGOTTEN_MS
    for (const { category, windows } of file.all<Counted>(counters, user)) {
      // Grants are deleted with the user, so what was taken from them is not needed.
      const left = isAccount(category) ? [] : running(unpack(windows), now)
      if (left.length === 0) continue
      const ends = endsAt(left)
      last = Math.max(last, ends)
      file.put('forgotten', { digest, category, windows: pack(left), since: now, ends })
    }
    file.put('forgotten', { digest, category: SINCE, windows: pack([]), since: now, ends: now + FORGOTTEN_MS })
    file.put('forgotten_salt', { id: 1, salt, ends: Math.max(known?.ends ?? 0, last) })
  }

  function forgetIn([list, table, key, column]: (typeof PLACES)[number], forgetting: Forgetting): void {
    const here = `WHERE (${key}) = (${key.replaceAll(/\w+/g, '?')})`
    for (const { text, ...place } of file.all(`SELECT ${key}, ${column} AS text FROM ${table}`)) {
      const [known, at] = [String(text), Object.values(place)]
      const left = textLeft(list, String(at.at(-1)), known, forgetting)
      if (left === null) file.run(`DELETE FROM ${table} ${here}`, ...at)
      else if (left !== known) file.run(`UPDATE ${table} SET ${column} = ? ${here}`, left, ...at)
    }
  }

  function forgetInAudit(forgetting: Forgetting): void {
    const entries = 'SELECT version, what, subject, before, after, why FROM audit'
    for (const { version = null, before = null, after = null, ...row } of file.all(entries)) {
      const known = JSON.stringify({ ...row, from: objectIn(String(before)), to: objectIn(String(after)) })
      const left = textLeft('audit', '', known, forgetting) ?? known
      if (left === known) continue
      const { subject, why, from, to } = JSON.parse(left)
      const texts = [from === null ? before : JSON.stringify(from), to === null ? after : JSON.stringify(to)]
      const entry = 'UPDATE audit SET subject = ?, why = ?, before = ?, after = ? WHERE version = ?'
      file.run(entry, subject, why, ...texts, version)
    }
  }

  return function forget(forgetting) {
    const { user } = forgetting
    keepWindows(user, clock())
    for (const table of ['counters', 'history']) file.run(`DELETE FROM ${table} WHERE scope = 0 AND user = ?`, user)
    file.run(`DELETE FROM endings WHERE list IN ('known', 'member') AND id = ?`, user)
    file.run('DELETE FROM tokens WHERE user = ?', user)
    for (const { id } of file.all<Pick<Ending, 'id'>>(`SELECT id FROM endings WHERE list = 'claim'`)) {
      if (userOfPlace(id) === user) file.run(`DELETE FROM endings WHERE list = 'claim' AND id = ?`, id)
    }
    for (const place of PLACES) forgetIn(place, forgetting)
    forgetInAudit(forgetting)
  }
}

interface Counted {
  readonly category: string
  readonly windows: Uint8Array
}
