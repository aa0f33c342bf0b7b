import type { DatabaseSync } from 'node:sqlite'
import type { HandoverStore } from '../../control/handover-store.ts'
import { attempt, transactions } from './database.ts'

/** One row for each link, which is swept after its time. */
export function sqliteHandovers(database: DatabaseSync, clock: () => number): HandoverStore {
  const { writing } = transactions(database)
  const sql = {
    put: database.prepare('INSERT OR REPLACE INTO handovers (id, sealed, ends) VALUES (?, ?, ?)'),
    take: database.prepare('DELETE FROM handovers WHERE id = ? RETURNING sealed, ends'),
  }

  function takeNow(id: string): string | null {
    const row = sql.take.get(id) as { readonly sealed: string; readonly ends: number } | undefined
    return row === undefined || row.ends <= clock() ? null : row.sealed
  }

  return {
    putHandover: (id, sealed, forMs) => attempt(() => writing(() => void sql.put.run(id, sealed, clock() + forMs))),
    takeHandover: (id) => attempt(() => writing(() => takeNow(id))),
  }
}
