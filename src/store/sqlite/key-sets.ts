import type { DatabaseSync } from 'node:sqlite'
import { KEEP_KEY_SET_MS, type KeySetStore } from '../../control/kept-key-sets.ts'
import { attempt, transactions } from './database.ts'

/** One row for each set, which is swept after its time. */
export function sqliteKeySets(database: DatabaseSync, clock: () => number): KeySetStore {
  const { writing } = transactions(database)
  const sql = {
    // If the clock was ahead, an older set may look newer.
    keep: database.prepare(`INSERT INTO key_sets (id, keys, fetched, ends) VALUES (:id, :text, :sent, :ends)
      ON CONFLICT (id) DO UPDATE SET keys = excluded.keys, fetched = excluded.fetched, ends = excluded.ends
      WHERE excluded.fetched >= min(fetched, :now)`),
    read: database.prepare('SELECT keys AS text, fetched FROM key_sets WHERE id = ? AND ends > ?'),
  }

  function keepNow(id: string, text: string, ageMs: number): void {
    const now = clock()
    const sent = now - ageMs
    sql.keep.run({ id, text, sent, ends: sent + KEEP_KEY_SET_MS, now })
  }

  return {
    keepKeySet: (id, text, ageMs) => attempt(() => writing(() => keepNow(id, text, ageMs))),
    readKeySet: (id) =>
      attempt(() => {
        const at = clock()
        const row = sql.read.get(id, at) as { text: string; fetched: number } | undefined
        return row === undefined ? null : { text: row.text, ageMs: Math.max(0, at - row.fetched) }
      }),
  }
}
