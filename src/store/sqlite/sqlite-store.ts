import { BUCKET_MS, BUCKETS, type Bucket, bucketStart, type Tally } from '../../failures/histogram.ts'
import type { Observer } from '../../observe/observation.ts'
import { type Batch, type Decision, settleBatch } from '../../quota/charge.ts'
import { type Counter, endsAt, running } from '../../quota/counter.ts'
import { StoreError, type UsageSnapshot } from '../../quota/quota-store.ts'
import { pack, unpack } from '../packed-value.ts'
import type { Store } from '../store.ts'
import { sqliteAccessKeys } from './access-keys.ts'
import { sqliteControl } from './control.ts'
import { attempt, openDatabase, transactions } from './database.ts'
import { sqliteKnownUsers } from './known-users.ts'
import { sqliteReplicas } from './replicas.ts'
import { sqliteUsage } from './usage.ts'

export interface SqliteStoreOptions {
  /** Path of the file, made where it is missing; `:memory:` for a store that forgets. */
  readonly file: string
  /** Whether a file that can only be read is an error. Default false. */
  readonly toWrite?: boolean
  /** Milliseconds since the epoch. Default: the process clock. */
  readonly clock?: () => number
  readonly observe?: Observer
}

const SWEEP_MS = 60_000
const SWEEP_ROWS = 1000
/** 20,000 rows a second, with the event loop free in between. */
const SWEEP_SOON_MS = 50

/** Of no counter: the configuration allows no such name. */
const NO_CATEGORY = ''

/** A batch of nothing asks whether the store takes charges again. */
function isQuestion({ charges, refunds }: Batch): boolean {
  return charges.length + refunds.length === 0
}

/** A counter that a batch works on, and its bytes as they were. */
interface Touched {
  readonly user: string | null
  readonly category: string
  readonly before: Uint8Array | undefined
  readonly counter: Counter
}

/**
 * The embedded store: one SQLite file in WAL mode, one transaction for each batch. A charge of six windows costs
 * 7.6 microseconds of CPU in a batch of 16, alone 25 (Node 26.10). With `synchronous = NORMAL` what was committed outlives the process, also `kill -9`;
 * a power cut may take the last moments.
 */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { file, toWrite = false, clock = Date.now, observe = () => {} } = options
  const database = openDatabase(file, toWrite)
  const { writing, reading } = transactions(database)
  const sql = {
    read: database.prepare('SELECT windows FROM counters WHERE category = ? AND scope = ? AND user = ?'),
    write: database.prepare(
      `INSERT INTO counters (category, scope, user, windows, ends) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET windows = excluded.windows, ends = excluded.ends`,
    ),
    forget: database.prepare('DELETE FROM counters WHERE category = ? AND scope = ? AND user = ?'),
    sweep: database.prepare(
      `DELETE FROM counters WHERE (category, scope, user) IN
         (SELECT category, scope, user FROM counters WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    sweepKnown: database.prepare(
      `DELETE FROM known_users WHERE user IN (SELECT user FROM known_users WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    tally: database.prepare(
      `INSERT INTO failures (start, total, status0, status5xx, aside, aside_failed) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET total = total + excluded.total, status0 = status0 + excluded.status0,
         status5xx = status5xx + excluded.status5xx, aside = aside + excluded.aside,
         aside_failed = aside_failed + excluded.aside_failed`,
    ),
    forgetTallies: database.prepare('DELETE FROM failures WHERE start < ?'),
    tallies: database.prepare(
      `SELECT start, total, status0, status5xx, aside, aside_failed AS asideFailed FROM failures
       WHERE start >= ? ORDER BY start`,
    ),
  }
  const listeners = new Set<() => void>()
  // The sender of a batch is this very process, so the last replies need not outlive it.
  const replies = new Map<string, { sequence: number; decisions: readonly Decision[] }>()
  let sweeper = setTimeout(sweep, SWEEP_MS).unref()

  /** Takes counters away whose windows are over, and users who are forgotten: a few at a time, and soon again if there are more. */
  function sweep(): void {
    let swept = 0
    try {
      swept = Math.max(...[sql.sweep, sql.sweepKnown].map((rows) => Number(rows.run(clock()).changes)))
    } catch {
      // Another process holds the file, or the disk fails, as the next charge will report: the rows can wait a minute.
    }
    sweeper = setTimeout(sweep, swept === SWEEP_ROWS ? SWEEP_SOON_MS : SWEEP_MS).unref()
  }

  function settleNow(batch: Batch): readonly Decision[] {
    const last = replies.get(batch.instance)
    if (last?.sequence === batch.sequence) return last.decisions
    if (last !== undefined && last.sequence > batch.sequence) {
      throw new StoreError(`batch ${batch.sequence} comes after ${last.sequence}`, 'other', 'no')
    }
    const decisions = writing(() => (isQuestion(batch) ? tryToWrite() : settleInside(batch)))
    replies.set(batch.instance, { sequence: batch.sequence, decisions })
    return decisions
  }

  function settleInside(batch: Batch): Decision[] {
    const now = clock()
    const touched = new Map<string, Touched>()
    const decisions = settleBatch(
      batch,
      (user, category) => {
        const key = user === null ? category : `${category}:${user}`
        let known = touched.get(key)
        if (known === undefined) {
          known = touch(user, category)
          touched.set(key, known)
        }
        return known.counter
      },
      now,
      (aheadMs) => observe({ type: 'window_start_ahead', aheadMs }),
    )
    for (const counter of touched.values()) writeBack(counter, now)
    return decisions
  }

  /** A full disk lets everything through that writes nothing. @returns no decisions */
  function tryToWrite(): Decision[] {
    sql.write.run(NO_CATEGORY, 0, '', pack([]), 0)
    sql.forget.run(NO_CATEGORY, 0, '')
    return []
  }

  function touch(user: string | null, category: string): Touched {
    const before = readWindows(user, category)
    return { user, category, before, counter: unpack(before) }
  }

  /** A batch of refusals writes nothing, unless a window has ended. */
  function writeBack({ user, category, before, counter }: Touched, now: number): void {
    const kept = running(counter, now)
    const windows = pack(kept)
    if (kept.length === 0 || (before !== undefined && windows.equals(before))) return
    sql.write.run(category, user === null ? 1 : 0, user ?? '', windows, endsAt(kept))
  }

  function readWindows(user: string | null, category: string): Uint8Array | undefined {
    const row = sql.read.get(category, user === null ? 1 : 0, user ?? '') as { windows: Uint8Array } | undefined
    return row?.windows
  }

  function usageNow(user: string, categories: readonly string[]): UsageSnapshot {
    return {
      at: clock(),
      personal: categories.map((category) => unpack(readWindows(user, category))),
      global: categories.map((category) => unpack(readWindows(null, category))),
    }
  }

  function addTallyNow({ total, status0, status5xx, aside, asideFailed }: Tally, agoMs: number): void {
    const now = clock()
    sql.tally.run(bucketStart(now - agoMs), total, status0, status5xx, aside, asideFailed)
    sql.forgetTallies.run(bucketStart(now) - (BUCKETS - 1) * BUCKET_MS)
  }

  function readTalliesNow(): { at: number; buckets: Bucket[] } {
    const at = clock()
    const rows = sql.tallies.all(bucketStart(at) - (BUCKETS - 1) * BUCKET_MS) as unknown as Bucket[]
    return { at, buckets: rows.map((row) => ({ ...row })) }
  }

  return {
    settle: async (batch) => attempt(() => settleNow(batch)),
    readUsage: async (user, categories) => attempt(() => reading(() => usageNow(user, categories))),
    addTally: async (tally, agoMs = 0) => attempt(() => writing(() => addTallyNow(tally, agoMs))),
    readTallies: async () => attempt(readTalliesNow),
    ...sqliteAccessKeys(database, () => {
      for (const listener of [...listeners]) listener()
    }),
    ...sqliteControl(database, { clock, listeners }),
    ...sqliteUsage(database, clock),
    ...sqliteKnownUsers(database, clock),
    ...sqliteReplicas(database, clock),
    ping: async () => {
      await attempt(() => database.prepare('SELECT 1').get())
    },
    close: async () => {
      clearTimeout(sweeper)
      if (database.isOpen) database.close()
    },
  }
}
