import type { DatabaseSync } from 'node:sqlite'
import {
  BUCKET_MS,
  BUCKETS,
  type Bucket,
  bucketStart,
  type FailureStore,
  type Tally,
} from '../../failures/histogram.ts'
import { isCount, shapeOf } from '../../lib/shape.ts'
import type { RecordList, Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'

/** Half hours of the histogram, as rows. */
export function failureRecords(database: DatabaseSync, records: Records): RecordList<Row, Bucket> {
  const find = rowsOf(database, `SELECT ${COLUMNS} FROM failures WHERE start = ?`)
  return records.list({
    kind: 'failures',
    list: 'failures',
    parse: (row: Row) => (isBucket(row) ? (row as unknown as Bucket) : null),
    look: (start) => find.first(start),
  })
}

export const COLUMNS = 'start, total, status0, status5xx, status4xx, aside, aside_failed AS asideFailed'

const isBucket = shapeOf({
  start: isCount,
  total: isCount,
  status0: isCount,
  status5xx: isCount,
  status4xx: isCount,
  aside: isCount,
  asideFailed: isCount,
})

export function sqliteFailures(database: DatabaseSync, lists: Records, clock: () => number): FailureStore {
  const records = failureRecords(database, lists)
  const { writing } = transactions(database)
  const sql = {
    add: database.prepare(
      `INSERT INTO failures (start, total, status0, status5xx, status4xx, aside, aside_failed) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET total = total + excluded.total, status0 = status0 + excluded.status0,
         status5xx = status5xx + excluded.status5xx, status4xx = status4xx + excluded.status4xx, aside = aside + excluded.aside,
         aside_failed = aside_failed + excluded.aside_failed`,
    ),
    forget: database.prepare('DELETE FROM failures WHERE start < ?'),
    read: rowsOf(database, `SELECT ${COLUMNS} FROM failures WHERE start >= ? ORDER BY start`),
  }

  function addNow({ total, status0, status5xx, status4xx, aside, asideFailed }: Tally, agoMs: number): void {
    const now = clock()
    sql.add.run(bucketStart(now - agoMs), total, status0, status5xx, status4xx, aside, asideFailed)
    sql.forget.run(oldestStart(now))
  }

  function readNow(): { at: number; buckets: Bucket[] } {
    const at = clock()
    const rows = sql.read.all(oldestStart(at))
    return { at, buckets: records.readAll(rows.map((row) => [nameOf(row.start), row])) }
  }

  return {
    addTally: (tally, agoMs = 0) => attempt(() => writing(() => addNow(tally, agoMs))),
    readTallies: () => attempt(readNow),
  }
}

function oldestStart(now: number): number {
  return bucketStart(now) - (BUCKETS - 1) * BUCKET_MS
}
