import type { DatabaseSync } from 'node:sqlite'
import { type Onces, oncesOf, type Remembered } from '../../quota/once.ts'

/** A row has the receipt as JSON, which also contains the uses of further meters, since few charges have any. */
type Row = Omit<Remembered, 'receipt' | 'others'> & { readonly receipt: string }

/** The charges that are remembered by a key, as rows. Call the functions within a transaction. */
export function onceRows(database: DatabaseSync): Onces {
  const read = database.prepare(
    'SELECT body, since, start, replays, open, paid, dearest, receipt FROM once WHERE key = ?',
  )
  const write = database.prepare(
    `INSERT INTO once (key, body, since, start, replays, open, paid, dearest, receipt, ends)
     VALUES (:key, :body, :since, :start, :replays, :open, :paid, :dearest, :receipt, :ends)
     ON CONFLICT DO UPDATE SET body = excluded.body, since = excluded.since, start = excluded.start,
       replays = excluded.replays, open = excluded.open, paid = excluded.paid, dearest = excluded.dearest,
       receipt = excluded.receipt, ends = excluded.ends`,
  )
  const forget = database.prepare('DELETE FROM once WHERE key = ?')
  return oncesOf(
    (key) => {
      const row = read.get(key) as Row | undefined
      if (row === undefined) return undefined
      const { uses, ...receipt } = JSON.parse(row.receipt)
      return { ...row, receipt, ...(uses !== undefined && { others: uses }) }
    },
    (key, remembered, ends) => {
      if (remembered === undefined) forget.run(key)
      else {
        const { receipt, others: uses, ...row } = remembered
        write.run({ ...row, key, receipt: JSON.stringify({ ...receipt, uses }), ends })
      }
    },
  )
}
