import type { DatabaseSync } from 'node:sqlite'
import type { AuditBounds, AuditEntry } from '../../control/control-store.ts'
import { auditEntryOf } from '../../control/record-forms.ts'
import type { LastChange } from '../../control/state.ts'
import { CHANGES_READ } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'
import { jsonIn } from './versioned.ts'

/** The highest number in SQLite. */
const MOST = 2n ** 63n - 1n

/** The versions from which later ones can be counted. */
const OF_OURS = `version BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER - 1}`

/** The audit as rows. Call its functions within a transaction. */
export function sqliteAudit(database: DatabaseSync, records: Records, bounds: AuditBounds) {
  const one = rowsOf(database, 'SELECT * FROM audit WHERE version = ?')
  const list = records.list({
    kind: 'audit_entry',
    list: 'audit',
    parse: ({ before, after, vain, ...row }: Row) =>
      auditEntryOf({ ...row, from: jsonIn(before), to: jsonIn(after), ...(vain !== null && { vain: jsonIn(vain) }) }),
    look: (version) => one.first(version),
  })
  const sql = {
    last: rowsOf(database, `SELECT version, at FROM audit WHERE ${OF_OURS} ORDER BY version DESC LIMIT 1`),
    add: database.prepare(
      'INSERT INTO audit (version, at, who, what, subject, before, after, why, vain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    // Of entries that are older than the newest, this many of each kind stay.
    forget: database.prepare(
      `DELETE FROM audit WHERE version IN (
         SELECT version FROM (
           SELECT version, row_number() OVER (PARTITION BY what ORDER BY version DESC) AS place FROM audit WHERE version <= ?
         ) WHERE place > ?
       )`,
    ),
    forgotten: database.prepare(`SELECT coalesce(max(version), 0) - count(*) AS changes FROM audit WHERE ${OF_OURS}`),
    from: rowsOf(database, `SELECT * FROM audit WHERE version >= ? ORDER BY version LIMIT ${CHANGES_READ}`),
    before: rowsOf(database, 'SELECT * FROM audit WHERE version < ? ORDER BY version DESC LIMIT ?'),
  }

  function readable(rows: readonly Row[]): AuditEntry[] {
    return list.readAll(rows.map((row) => [nameOf(row.version), row]))
  }

  return {
    readable,

    last(): LastChange {
      const { version = 0, at = 0 } = sql.last.first() ?? {}
      return { version: Number(version), changedAt: typeof at === 'number' ? at : 0 }
    },

    /** The first CHANGES_READ from a number on. */
    from: (version: number) => readable(sql.from.all(version)),

    /** The newest readable entries, at most `limit`. */
    newest(before: number | null, limit: number): readonly AuditEntry[] {
      const entries: AuditEntry[] = []
      for (let from: number | bigint = before ?? MOST; entries.length < limit; ) {
        const rows = sql.before.all(from, limit)
        entries.push(...readable(rows))
        if (rows.length < limit) break
        from = rows.at(-1)?.version as number | bigint
      }
      return entries.slice(0, limit)
    },

    /** @param before @param after as JSON @returns how many other entries were forgotten */
    add(
      { version, at, who, what, subject, why, vain }: Omit<AuditEntry, 'from' | 'to'>,
      before: string,
      after: string,
    ): number {
      sql.add.run(version, at, who, what, subject, before, after, why, vain === undefined ? null : JSON.stringify(vain))
      return Number(sql.forget.run(version - bounds.newest, bounds.olderOfKind).changes)
    },

    forgotten: () => (sql.forgotten.get() as { changes: number }).changes,
  }
}
