import type { Database } from '../common/database.ts'
import type { Moment, Snapshot, SnapshotState } from './protocol.ts'

/** The facts that are kept about a chunk. */
export interface ChunkTrace {
  /** The hash of its records. */
  readonly hash: Uint8Array
  /** The number, if the client numbers its chunks. */
  readonly index: number | null
}

/** The facts with which a snapshot begins. */
export interface Beginning {
  readonly id: string
  readonly chunkCount: number | null
  readonly keepsAll: boolean
}

/**
 * The snapshots of players, also finished ones, by which late requests are recognised. A snapshot that is `open` here may
 * have expired; see `at`. Every method runs inside a transaction of the caller.
 */
export interface Snapshots {
  find(qq: number, id: string): Snapshot | null
  /** The snapshot that began last. */
  newest(qq: number): Snapshot | null
  /** The snapshots of a player, the newest first. */
  list(qq: number, limit: number): Snapshot[]
  /** The snapshot that was closed last. */
  lastClosed(qq: number): Snapshot | null
  /** Begins a snapshot, and gives up the one that is still open. */
  begin(qq: number, beginning: Beginning, now: number): Snapshot
  /** Adds a snapshot that has not begun, because a chunk of it was refused. */
  refuse(qq: number, beginning: Beginning, now: number): Snapshot
  keepAll(snapshot: Snapshot): void
  /** Remembers a refused chunk until the same chunk is added. */
  owe(snapshot: Snapshot, hash: Uint8Array): void
  isOwed(snapshot: Snapshot): boolean
  end(snapshot: Snapshot, state: SnapshotState, removed: number): void
  addChunk(snapshot: Snapshot, chunk: ChunkTrace, now: number): void
  hasSeen(snapshot: Snapshot, hash: Uint8Array): boolean
  /** How many of its chunks are remembered, accepted or refused. */
  chunks(snapshot: Snapshot): number
  /** How many chunks have been accepted. */
  taken(snapshot: Snapshot): number
  /** Whether another chunk has the number of this one. */
  isTaken(snapshot: Snapshot, chunk: ChunkTrace): boolean
  /** The numbers of the chunks that have come. */
  indexes(snapshot: Snapshot): Set<number>
  /** Forgets a few snapshots without a chunk after `since`, and the oldest data of this player beyond the bounds. */
  prune(qq: number, since: number): void
}

/** Longer than any retry, so that a late chunk is recognised. */
const REMEMBERED_MS = 7 * 24 * 60 * 60 * 1000

/** The time before which the last chunk of a forgotten snapshot came. No snapshot that is still open is so old. */
export function remember(moment: Moment): number {
  return moment.now - rememberedMs(moment)
}

/** How many milliseconds after its last chunk a snapshot is remembered, if the player does not have too many of them. */
export function rememberedMs({ idleMs }: Moment): number {
  return REMEMBERED_MS + idleMs
}

const NO_INDEX = -1
/** Stands for the number of a chunk that was refused and has not come again. */
const OWED = -2
/** The most snapshots of one player: as many as a snapshot every ten minutes makes in a week. */
const MAX_SNAPSHOTS = 1000
/** The most different chunks of one snapshot: one for each record of the largest account, with room. */
export const MAX_CHUNKS = 10_000
/** The most chunks of one player in all snapshots. The newest snapshot keeps all of its own. */
const MAX_CHUNKS_KEPT = 20_000
/** The most deleted scores of one player in all snapshots: those of the last two at least. */
const MAX_REMOVED_KEPT = 40_000
/** The most old snapshots that one request forgets, so that no request waits long. */
const MAX_PRUNED = 10

export function createSnapshots(db: Database): Snapshots {
  const COLUMNS = `number, id, state, opened_at AS openedAt, touched_at AS touchedAt, chunk_count AS chunkCount,
    keeps_all AS keepsAll, removed`
  const select = db.prepare(`SELECT ${COLUMNS} FROM snapshots WHERE qq = ? AND id = ?`)
  const newest = db.prepare(
    `SELECT ${COLUMNS} FROM snapshots WHERE qq = ? AND state <> 'refused' ORDER BY number DESC LIMIT 1`,
  )
  const list = db.prepare(`SELECT ${COLUMNS} FROM snapshots WHERE qq = ? ORDER BY number DESC LIMIT ?`)
  const lastClosed = db.prepare(
    `SELECT ${COLUMNS} FROM snapshots WHERE qq = ? AND state = 'closed' ORDER BY number DESC LIMIT 1`,
  )
  const insert = db.prepare(
    `INSERT INTO snapshots (qq, id, state, opened_at, touched_at, chunk_count, keeps_all, removed)
     VALUES (:qq, :id, :state, :now, :now, :chunkCount, :keepsAll, 0) RETURNING ${COLUMNS}`,
  )
  const giveUp = db.prepare(`UPDATE snapshots SET state = 'expired' WHERE qq = ? AND state = 'open'`)
  const forgetRefused = db.prepare(`DELETE FROM snapshots WHERE qq = ? AND id = ? AND state = 'refused'`)
  const keepAll = db.prepare('UPDATE snapshots SET keeps_all = 1 WHERE number = ?')
  const end = db.prepare('UPDATE snapshots SET state = ?, removed = ? WHERE number = ?')
  const touch = db.prepare('UPDATE snapshots SET touched_at = ? WHERE number = ?')
  const insertChunk = db.prepare('INSERT OR IGNORE INTO snapshot_chunks VALUES (?, ?, ?)')
  const seen = db.prepare(
    `SELECT 1 FROM snapshot_chunks WHERE snapshot = ? AND hash = ? AND chunk_index <> ${OWED} LIMIT 1`,
  )
  const count = db.prepare('SELECT count(*) AS count FROM snapshot_chunks WHERE snapshot = ?')
  const countTaken = db.prepare(
    `SELECT count(*) AS count FROM snapshot_chunks WHERE snapshot = ? AND chunk_index <> ${OWED}`,
  )
  const numbers = db.prepare(
    'SELECT chunk_index AS number FROM snapshot_chunks WHERE snapshot = ? AND chunk_index >= 0',
  )
  const owed = db.prepare(`SELECT hash FROM snapshot_chunks WHERE snapshot = ? AND chunk_index = ${OWED}`)
  const settle = db.prepare(`DELETE FROM snapshot_chunks WHERE snapshot = ? AND hash = ? AND chunk_index = ${OWED}`)
  const taken = db.prepare('SELECT 1 FROM snapshot_chunks WHERE snapshot = ? AND chunk_index = ? AND hash <> ? LIMIT 1')
  const add = (qq: number, state: SnapshotState, { id, chunkCount, keepsAll }: Beginning, now: number) =>
    snapshotOf(insert.get({ qq, id, state, now, chunkCount, keepsAll: Number(keepsAll) })) as Snapshot
  return {
    find: (qq, id) => snapshotOf(select.get(qq, id)),
    newest: (qq) => snapshotOf(newest.get(qq)),
    lastClosed: (qq) => snapshotOf(lastClosed.get(qq)),
    list: (qq, limit) => list.all(qq, limit).map((row) => snapshotOf(row) as Snapshot),
    begin(qq, beginning, now) {
      giveUp.run(qq)
      const refused = snapshotOf(select.get(qq, beginning.id))
      const hashes = refused === null ? [] : owed.all(refused.number).map(({ hash }) => hash as Uint8Array)
      forgetRefused.run(qq, beginning.id)
      const snapshot = add(qq, 'open', beginning, now)
      for (const hash of hashes) insertChunk.run(snapshot.number, hash, OWED)
      return snapshot
    },
    refuse: (qq, beginning, now) => add(qq, 'refused', beginning, now),
    keepAll: ({ number }) => void keepAll.run(number),
    end: ({ number }, state, removed) => void end.run(state, removed, number),
    owe: ({ number }, hash) => void insertChunk.run(number, hash, OWED),
    isOwed: ({ number }) => owed.get(number) !== undefined,
    addChunk({ number }, { hash, index }, now) {
      settle.run(number, hash)
      insertChunk.run(number, hash, index ?? NO_INDEX)
      touch.run(now, number)
    },
    hasSeen: ({ number }, hash) => seen.get(number, hash) !== undefined,
    chunks: ({ number }) => Number(count.get(number)?.count),
    taken: ({ number }) => Number(countTaken.get(number)?.count),
    isTaken: ({ number }, { hash, index }) => taken.get(number, index ?? NO_INDEX, hash) !== undefined,
    indexes: ({ number }) => new Set(numbers.all(number).map((row) => Number(row.number))),
    prune: pruningIn(db),
  }
}

function snapshotOf(row: Record<string, unknown> | undefined): Snapshot | null {
  return row === undefined ? null : ({ ...row, keepsAll: row.keepsAll === 1 } as unknown as Snapshot)
}

function pruningIn(db: Database): Snapshots['prune'] {
  const old = db.prepare(
    `DELETE FROM snapshots
     WHERE number IN (SELECT number FROM snapshots WHERE touched_at < ? ORDER BY touched_at LIMIT ${MAX_PRUNED})`,
  )
  const surplus = db.prepare(
    `DELETE FROM snapshots
     WHERE number IN (SELECT number FROM snapshots WHERE qq = ? ORDER BY number DESC LIMIT -1 OFFSET ${MAX_SNAPSHOTS})`,
  )
  const pruneChunks = pruningOf(db, 'snapshot_chunks', MAX_CHUNKS_KEPT)
  const pruneRemoved = pruningOf(db, 'removed_records', MAX_REMOVED_KEPT)
  return function prune(qq, since) {
    old.run(since)
    surplus.run(qq)
    pruneChunks(qq)
    pruneRemoved(qq)
  }
}

/** Keeps rows of the newest snapshots of a player, all or none for each snapshot. */
function pruningOf(db: Database, table: 'snapshot_chunks' | 'removed_records', most: number): (qq: number) => void {
  const counts = db.prepare(
    `SELECT snapshot, count(*) AS count FROM ${table}
     WHERE snapshot IN (SELECT number FROM snapshots WHERE qq = ?) GROUP BY snapshot ORDER BY snapshot DESC`,
  )
  const forget = db.prepare(`DELETE FROM ${table} WHERE snapshot = ?`)
  return function prune(qq) {
    let kept = 0
    for (const { snapshot, count } of counts.all(qq) as { snapshot: number; count: number }[]) {
      kept += count
      if (kept > most) forget.run(snapshot)
    }
  }
}
