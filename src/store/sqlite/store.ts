import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { TokenRecord } from '../../control/tokens.ts'
import { BUCKET_MS, BUCKETS, type Bucket, bucketStart, type Tally } from '../../failures/histogram.ts'
import { type Batch, type Decision, settleBatch } from '../../quota/charge.ts'
import { type Counter, endsAt, running } from '../../quota/counter.ts'
import { type Standing, StoreError } from '../../quota/store.ts'
import { pack, unpack } from '../packed.ts'
import type { Store } from '../store.ts'
import { migrate } from './schema.ts'

export interface SqliteStoreOptions {
  /** Path of the file, made where it is missing; `:memory:` for a store that forgets. */
  readonly file: string
  /** Milliseconds since the epoch. Default: the process clock. */
  readonly clock?: () => number
}

/** How long a call waits for another process that holds the file, in milliseconds. */
const BUSY_MS = 200
/** The same while the file is opened, when nothing else is to be done. */
const OPEN_MS = 2000
/** A batch of another process takes 0.1 ms: so many looks, one in each turn of the event loop, before the pauses begin. */
const QUICK_LOOKS = 20
const SWEEP_MS = 60_000
const SWEEP_ROWS = 1000
/** 20,000 rows a second, with the event loop free in between. */
const SWEEP_SOON_MS = 50

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
export function openSqliteStore({ file, clock = Date.now }: SqliteStoreOptions): Store {
  const database = openDatabase(file)
  const sql = {
    begin: database.prepare('BEGIN IMMEDIATE'),
    beginReading: database.prepare('BEGIN'),
    commit: database.prepare('COMMIT'),
    rollback: database.prepare('ROLLBACK'),
    read: database.prepare('SELECT windows FROM counters WHERE category = ? AND scope = ? AND user = ?'),
    write: database.prepare(
      `INSERT INTO counters (category, scope, user, windows, ends) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET windows = excluded.windows, ends = excluded.ends`,
    ),
    sweep: database.prepare(
      `DELETE FROM counters WHERE (category, scope, user) IN
         (SELECT category, scope, user FROM counters WHERE ends <= ? LIMIT ${SWEEP_ROWS})`,
    ),
    tally: database.prepare(
      `INSERT INTO failures (start, total, status0, status5xx) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET total = total + excluded.total, status0 = status0 + excluded.status0,
         status5xx = status5xx + excluded.status5xx`,
    ),
    forgetTallies: database.prepare('DELETE FROM failures WHERE start < ?'),
    tallies: database.prepare('SELECT start, total, status0, status5xx FROM failures WHERE start >= ? ORDER BY start'),
    insertToken: database.prepare(
      `INSERT INTO tokens (hash, id, user, name, created_at, expires_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    findToken: database.prepare('SELECT * FROM tokens WHERE hash = ?'),
    listTokens: database.prepare('SELECT * FROM tokens ORDER BY created_at DESC, id'),
    revokeToken: database.prepare('UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?'),
  }
  // The sender of a batch is this very process, so the last replies need not outlive it.
  const replies = new Map<string, { sequence: number; decisions: readonly Decision[] }>()
  let sweeper = setTimeout(sweep, SWEEP_MS).unref()

  /** Takes the counters away whose windows are over: a few at a time, and soon again where there are more. */
  function sweep(): void {
    let swept = 0
    try {
      swept = Number(sql.sweep.run(clock()).changes)
    } catch {
      // Another process holds the file, or the disk fails, as the next charge will tell: the rows can wait a minute.
    }
    sweeper = setTimeout(sweep, swept === SWEEP_ROWS ? SWEEP_SOON_MS : SWEEP_MS).unref()
  }

  function settleNow(batch: Batch): readonly Decision[] {
    const last = replies.get(batch.instance)
    if (last?.sequence === batch.sequence) return last.decisions
    if (last !== undefined && last.sequence > batch.sequence) {
      throw new StoreError(`batch ${batch.sequence} comes after ${last.sequence}`, 'other', 'no')
    }
    const decisions = inTransaction(() => settleInside(batch))
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
    )
    for (const counter of touched.values()) writeBack(counter, now)
    return decisions
  }

  function touch(user: string | null, category: string): Touched {
    const before = readWindows(user, category)
    return { user, category, before, counter: unpack(before) }
  }

  /** A batch of refusals writes nothing. */
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

  function inTransaction<T>(work: () => T, begin = sql.begin): T {
    begin.run()
    try {
      const result = work()
      sql.commit.run()
      return result
    } catch (error) {
      if (database.isTransaction) sql.rollback.run()
      throw error
    }
  }

  function standingNow(user: string, categories: readonly string[]): Standing {
    return {
      at: clock(),
      personal: categories.map((category) => unpack(readWindows(user, category))),
      global: categories.map((category) => unpack(readWindows(null, category))),
    }
  }

  function addTallyNow({ total, status0, status5xx }: Tally): void {
    const start = bucketStart(clock())
    sql.tally.run(start, total, status0, status5xx)
    sql.forgetTallies.run(start - (BUCKETS - 1) * BUCKET_MS)
  }

  function readTalliesNow(): { at: number; buckets: Bucket[] } {
    const at = clock()
    const rows = sql.tallies.all(bucketStart(at) - (BUCKETS - 1) * BUCKET_MS) as unknown as Bucket[]
    return { at, buckets: rows.map((row) => ({ ...row })) }
  }

  return {
    settle: async (batch) => attempt(() => settleNow(batch)),
    standing: async (user, categories) =>
      attempt(() => inTransaction(() => standingNow(user, categories), sql.beginReading)),
    addTally: async (tally) => attempt(() => inTransaction(() => addTallyNow(tally))),
    readTallies: async () => attempt(readTalliesNow),
    insertToken: async (t) =>
      attempt(() => {
        sql.insertToken.run(t.hash, t.id, t.user, t.name, t.createdAt, t.expiresAt, t.revokedAt)
      }),
    findToken: async (hash) => attempt(() => tokenOf(sql.findToken.get(hash) as TokenRow | undefined)),
    listTokens: async () =>
      attempt(() => (sql.listTokens.all() as unknown as TokenRow[]).flatMap((row) => tokenOf(row) ?? [])),
    revokeToken: async (id, at) => attempt(() => Number(sql.revokeToken.run(at, id).changes) > 0),
    ping: async () => {
      await attempt(() => database.prepare('SELECT 1').get())
    },
    close: async () => {
      clearTimeout(sweeper)
      if (database.isOpen) database.close()
    },
  }
}

function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: OPEN_MS })
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    migrate(database)
    // From now on `attempt` waits: SQLite's own waiting would hold up the event loop.
    database.exec('PRAGMA busy_timeout = 0')
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/** While another process holds the file, looks again and again, and lets other work go on. @throws StoreError */
async function attempt<T>(work: () => T): Promise<T> {
  const until = performance.now() + BUSY_MS
  for (let looks = 0; ; looks++) {
    try {
      return work()
    } catch (error) {
      const failure = storeError(error)
      if (failure.reason !== 'busy' || performance.now() >= until) throw failure
    }
    await (looks < QUICK_LOOKS ? turn() : sleep(1))
  }
}

/** SQLite rolls a failed transaction back, so whatever went wrong, nothing was applied. */
function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : String(error)
  const { errcode } = error as { errcode?: number }
  // The low byte is the primary result code. https://www.sqlite.org/rescode.html
  const busy = errcode !== undefined && [5, 6].includes(errcode & 0xff)
  return new StoreError(`SQLite: ${message}`, busy ? 'busy' : 'other', 'no', error)
}

interface TokenRow {
  readonly hash: string
  readonly id: string
  readonly user: string
  readonly name: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly revoked_at: number | null
}

function tokenOf(row: TokenRow | undefined): TokenRecord | null {
  if (row === undefined) return null
  const { hash, id, user, name, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt } = row
  return { hash, id, user, name, createdAt, expiresAt, revokedAt }
}
