import type { AuditBounds, AuditEntry } from '../../control/control-store.ts'
import { auditEntryOf } from '../../control/record-forms.ts'
import type { LastChange } from '../../control/state.ts'
import { CHANGES_READ } from '../change-catch-up.ts'
import type { Records } from '../records.ts'
import type { SqliteFile } from './database.ts'
import { named, type Row } from './rows.ts'
import { jsonIn } from './versioned.ts'

/** The highest number in SQLite. */
const MOST = 2n ** 63n - 1n

/** The versions that a change of ours can have. One more is still a safe integer. */
const OF_OURS = `version BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER - 1}`

/** The audit as rows. Call its functions within a transaction. */
export function sqliteAudit(file: SqliteFile, records: Records, bounds: AuditBounds) {
  const list = records.list({
    kind: 'audit_entry',
    list: 'audit',
    parse: ({ before, after, vain, ...row }: Row) =>
      auditEntryOf({ ...row, from: jsonIn(before), to: jsonIn(after), ...(vain !== null && { vain: jsonIn(vain) }) }),
    look: (version) => file.first('SELECT * FROM audit WHERE version = ?', version),
  })
  const readable = (rows: readonly Row[]): AuditEntry[] => list.readAll(named(rows, 'version'))

  return {
    readable,

    last(): LastChange {
      const { version = 0, at = 0 } =
        file.first(`SELECT version, at FROM audit WHERE ${OF_OURS} ORDER BY version DESC LIMIT 1`) ?? {}
      return { version: Number(version), changedAt: typeof at === 'number' ? at : 0 }
    },

    /** The readable ones of the first CHANGES_READ entries from a number on. */
    from: (version: number) =>
      readable(file.all(`SELECT * FROM audit WHERE version >= ? ORDER BY version LIMIT ${CHANGES_READ}`, version)),

    /** The newest readable entries, at most `limit`. */
    newest(before: number | null, limit: number): readonly AuditEntry[] {
      const entries: AuditEntry[] = []
      for (let from: number | bigint = before ?? MOST; entries.length < limit; ) {
        const rows = file.all('SELECT * FROM audit WHERE version < ? ORDER BY version DESC LIMIT ?', from, limit)
        entries.push(...readable(rows))
        if (rows.length < limit) break
        from = rows.at(-1)?.version as number | bigint
      }
      return entries.slice(0, limit)
    },

    /** @param before the value before the change, as JSON @param after the value after it, as JSON */
    put({ vain, ...entry }: Omit<AuditEntry, 'from' | 'to'>, before: string, after: string): void {
      const { version, at, who, what, subject, why } = entry
      const ofChange = { before, after, vain: vain === undefined ? null : JSON.stringify(vain) }
      file.put('audit', { version, at, who, what, subject, why, ...ofChange })
    },

    /** Deletes old entries. Some of each kind stay beside the newest ones. @param version of the last entry @returns how many were deleted */
    forget(version: number): number {
      return file.run(
        `DELETE FROM audit WHERE version IN (
           SELECT version FROM (
             SELECT version, row_number() OVER (PARTITION BY what ORDER BY version DESC) AS place FROM audit WHERE version <= ?
           ) WHERE place > ?
         )`,
        ...[version - bounds.newest, bounds.olderOfKind],
      )
    },

    forgotten(): number {
      const count = `SELECT coalesce(max(version), 0) - count(*) AS changes FROM audit WHERE ${OF_OURS}`
      return (file.first(count) as { changes: number }).changes
    },
  }
}
