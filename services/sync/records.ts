import type { Database } from '../common/database.ts'
import type { ScoreRecord } from './record.ts'

/**
 * How a key came into the snapshot of its player, as bits: by an incremental sync meanwhile, by a chunk, or by a record
 * of a chunk that cannot be stored. A key with none of them is deleted at the end.
 */
export const MARK = { none: 0, incremental: 1, chunk: 2, named: 4 } as const

export type StoredRecord = ScoreRecord & { readonly mark: number }

/** The scores of players. Every method runs inside a transaction of the caller. */
export interface Records {
  /** All scores of a player, by songId, then levelIndex. */
  list(qq: number): StoredRecord[]
  count(qq: number): number
  put(qq: number, record: ScoreRecord, mark: number): void
  /** Whether a chunk of the player's snapshot has brought a score. */
  hasChunk(qq: number): boolean
  clearMarks(qq: number): void
  /** Deletes the scores that the snapshot does not have, keeps them as removed by it, and returns how many there were. */
  deleteUnmarked(qq: number, snapshot: number): number
  /** The scores that the end of a snapshot has deleted, as far as they are kept. */
  removedBy(snapshot: number): ScoreRecord[]
  countRemovedBy(snapshot: number): number
}

export function createRecords(db: Database): Records {
  const COLUMNS = `song_id AS songId, level_index AS levelIndex, title, level, level_label AS levelLabel, constant,
    achievement, ra, rate, dx_score AS dxScore, combo, sync`
  const all = db.prepare(`SELECT ${COLUMNS}, mark FROM records WHERE qq = ? ORDER BY song_id, level_index`)
  const removed = db.prepare(`SELECT ${COLUMNS} FROM removed_records WHERE snapshot = ?`)
  const countRemoved = db.prepare('SELECT count(*) AS count FROM removed_records WHERE snapshot = ?')
  const keep = db.prepare(
    `INSERT INTO removed_records
     SELECT :snapshot, song_id, level_index, title, level, level_label, constant, achievement, ra, rate, dx_score, combo, sync
     FROM records WHERE qq = :qq AND mark = ${MARK.none}`,
  )
  const count = db.prepare('SELECT count(*) AS count FROM records WHERE qq = ?')
  const put = db.prepare('INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const chunk = db.prepare(`SELECT 1 FROM records WHERE qq = ? AND mark & ${MARK.chunk} LIMIT 1`)
  const clear = db.prepare(`UPDATE records SET mark = ${MARK.none} WHERE qq = ? AND mark <> ${MARK.none}`)
  const remove = db.prepare(`DELETE FROM records WHERE qq = ? AND mark = ${MARK.none}`)
  return {
    list: (qq) => all.all(qq) as unknown as StoredRecord[],
    count: (qq) => Number(count.get(qq)?.count),
    put(qq, r, mark) {
      const { songId, levelIndex, title, level, levelLabel, constant, achievement, ra, rate, dxScore, combo, sync } = r
      const chart = [title, level, levelLabel, constant]
      put.run(qq, songId, levelIndex, ...chart, achievement, ra, rate, dxScore, combo, sync, mark)
    },
    hasChunk: (qq) => chunk.get(qq) !== undefined,
    clearMarks: (qq) => void clear.run(qq),
    deleteUnmarked(qq, snapshot) {
      keep.run({ qq, snapshot })
      return Number(remove.run(qq).changes)
    },
    removedBy: (snapshot) => removed.all(snapshot) as unknown as ScoreRecord[],
    countRemovedBy: (snapshot) => Number(countRemoved.get(snapshot)?.count),
  }
}
