import type { DatabaseSync } from 'node:sqlite'
import { KEEP_KEY_SET_MS, type KeySetStore } from '../../control/kept-key-sets.ts'
import { attempt, transactions } from './database.ts'

/** A row for each set, which is swept when its time is over. */
export function sqliteKeySets(database: DatabaseSync, clock: () => number): KeySetStore {
  const { writing } = transactions(database)
  const sql = {
    keep: database.prepare('INSERT OR REPLACE INTO key_sets (id, keys, fetched, ends) VALUES (?, ?, ?, ?)'),
    read: database.prepare('SELECT keys AS text, fetched FROM key_sets WHERE id = ? AND ends > ?'),
  }

  function keepNow(id: string, text: string): void {
    const at = clock()
    sql.keep.run(id, text, at, at + KEEP_KEY_SET_MS)
  }

  return {
    keepKeySet: (id, text) => attempt(() => writing(() => keepNow(id, text))),
    readKeySet: (id) =>
      attempt(() => {
        const at = clock()
        const row = sql.read.get(id, at) as { text: string; fetched: number } | undefined
        return row === undefined ? null : { text: row.text, ageMs: Math.max(0, at - row.fetched) }
      }),
  }
}
