import type { Database } from '../common/database.ts'
import type { Snapshot } from './protocol.ts'

/** What is kept of a chunk. */
export interface ChunkTrace {
  /** Of its records. */
  readonly hash: Uint8Array
  /** Where the client numbers its chunks. */
  readonly index: number | null
}

/** The last snapshot of each player; every method runs inside a transaction of the caller. */
export interface Snapshots {
  /** @param since an open one without a chunk since then has expired */
  last(qq: number, since: number): Snapshot | null
  hasSeen(qq: number, hash: Uint8Array): boolean
  /** The numbers of the chunks that have come. */
  indexes(qq: number): Set<number>
  /** Begins a snapshot and forgets the one before. */
  open(qq: number, id: string, now: number): void
  add(qq: number, chunk: ChunkTrace, now: number): void
  close(qq: number): void
}

const NO_INDEX = -1

export function createSnapshots(db: Database): Snapshots {
  const select = db.prepare('SELECT id, is_open AS isOpen, touched_at AS touchedAt FROM snapshots WHERE qq = ?')
  const begin = db.prepare('INSERT OR REPLACE INTO snapshots VALUES (?, ?, 1, ?)')
  const forget = db.prepare('DELETE FROM snapshot_chunks WHERE qq = ?')
  const touch = db.prepare('UPDATE snapshots SET touched_at = ? WHERE qq = ?')
  const end = db.prepare('UPDATE snapshots SET is_open = 0 WHERE qq = ?')
  const insert = db.prepare('INSERT OR IGNORE INTO snapshot_chunks VALUES (?, ?, ?)')
  const seen = db.prepare('SELECT 1 FROM snapshot_chunks WHERE qq = ? AND hash = ? LIMIT 1')
  const numbers = db.prepare('SELECT DISTINCT chunk_index AS number FROM snapshot_chunks WHERE qq = ?')
  return {
    last(qq, since) {
      const row = select.get(qq) as { id: string; isOpen: number; touchedAt: number } | undefined
      if (row === undefined) return null
      if (row.isOpen === 0) return { id: row.id, state: 'closed' }
      return { id: row.id, state: row.touchedAt < since ? 'expired' : 'open' }
    },
    hasSeen: (qq, hash) => seen.get(qq, hash) !== undefined,
    indexes: (qq) => new Set(numbers.all(qq).map(({ number }) => Number(number))),
    open(qq, id, now) {
      forget.run(qq)
      begin.run(qq, id, now)
    },
    add(qq, { hash, index }, now) {
      insert.run(qq, hash, index ?? NO_INDEX)
      touch.run(now, qq)
    },
    close: (qq) => void end.run(qq),
  }
}
