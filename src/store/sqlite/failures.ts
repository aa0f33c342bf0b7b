import type { DatabaseSync } from 'node:sqlite'
import {
  BUCKET_MS,
  BUCKETS,
  type Bucket,
  bucketStart,
  type FailureStore,
  type Tally,
} from '../../failures/histogram.ts'
import { attempt, transactions } from './database.ts'

export function sqliteFailures(database: DatabaseSync, clock: () => number): FailureStore {
  const { writing } = transactions(database)
  const sql = {
    add: database.prepare(
      `INSERT INTO failures (start, total, status0, status5xx, aside, aside_failed) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET total = total + excluded.total, status0 = status0 + excluded.status0,
         status5xx = status5xx + excluded.status5xx, aside = aside + excluded.aside,
         aside_failed = aside_failed + excluded.aside_failed`,
    ),
    forget: database.prepare('DELETE FROM failures WHERE start < ?'),
    read: database.prepare(
      `SELECT start, total, status0, status5xx, aside, aside_failed AS asideFailed FROM failures
       WHERE start >= ? ORDER BY start`,
    ),
  }

  function addNow({ total, status0, status5xx, aside, asideFailed }: Tally, agoMs: number): void {
    const now = clock()
    sql.add.run(bucketStart(now - agoMs), total, status0, status5xx, aside, asideFailed)
    sql.forget.run(oldestStart(now))
  }

  function readNow(): { at: number; buckets: Bucket[] } {
    const at = clock()
    const rows = sql.read.all(oldestStart(at)) as unknown as Bucket[]
    return { at, buckets: rows.map((row) => ({ ...row })) }
  }

  return {
    addTally: (tally, agoMs = 0) => attempt(() => writing(() => addNow(tally, agoMs))),
    readTallies: () => attempt(readNow),
  }
}

function oldestStart(now: number): number {
  return bucketStart(now) - (BUCKETS - 1) * BUCKET_MS
}
