import { type Bucket, bucketStart, type FailureStore } from '../../failures/histogram.ts'
import { isCount, shapeOf } from '../../lib/shape.ts'
import { oldestStart } from '../../usage/series.ts'
import type { RecordList, Records } from '../records.ts'
import { attempt, type SqliteFile } from './database.ts'
import { named, type Row } from './rows.ts'

/** Half hours of the histogram, as rows. */
export function failureRecords(file: SqliteFile, records: Records): RecordList<Row, Bucket> {
  return records.list({
    kind: 'failures',
    list: 'failures',
    parse: (row: Row) => (isBucket(row) ? (row as unknown as Bucket) : null),
    look: (start) => file.first(`SELECT ${COLUMNS} FROM failures WHERE start = ?`, start),
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

/** Adds to the counts of a half hour. */
function addBucket(file: SqliteFile, bucket: Bucket): void {
  const { start, total, status0, status5xx, status4xx, aside, asideFailed } = bucket
  file.run(
    `INSERT INTO failures (start, total, status0, status5xx, status4xx, aside, aside_failed) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET total = total + excluded.total, status0 = status0 + excluded.status0,
       status5xx = status5xx + excluded.status5xx, status4xx = status4xx + excluded.status4xx, aside = aside + excluded.aside,
       aside_failed = aside_failed + excluded.aside_failed`,
    ...[start, total, status0, status5xx, status4xx, aside, asideFailed],
  )
}

export function sqliteFailures(file: SqliteFile, lists: Records, clock: () => number): FailureStore {
  const records = failureRecords(file, lists)

  function readNow(): { at: number; buckets: Bucket[] } {
    const at = clock()
    const rows = file.all(`SELECT ${COLUMNS} FROM failures WHERE start >= ? ORDER BY start`, oldestStart(at))
    return { at, buckets: records.readAll(named(rows, 'start')) }
  }

  return {
    addTally: (tally, agoMs = 0) =>
      file.write(() => {
        const now = clock()
        addBucket(file, { ...tally, start: bucketStart(now - agoMs) })
        file.run('DELETE FROM failures WHERE start < ?', oldestStart(now))
      }),
    readTallies: () => attempt(readNow),
  }
}
