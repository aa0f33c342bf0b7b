import type { Database } from '../common/database.ts'
import type { ScoreRecord } from './record.ts'

/**
 * How a key came into the snapshot of its player, as bits: by an incremental sync meanwhile, by a chunk, by a record of a chunk that
 * cannot be stored. One with none of them is deleted at the end.
 */
export const MARK = { none: 0, incremental: 1, chunk: 2, named: 4 } as const

export type StoredRecord = ScoreRecord & { readonly mark: number }

/** Scores of players; every method runs inside a transaction of the caller. */
export interface Records {
  /** All scores of a player, by songId, then levelIndex. */
  list(qq: number): StoredRecord[]
  count(qq: number): number
  put(qq: number, record: ScoreRecord, mark: number): void
  /** Whether a chunk has brought a key. */
  hasChunk(qq: number): boolean
  clearMarks(qq: number): void
  /** Deletes what the snapshot does not have, and tells how many there were. */
  deleteUnmarked(qq: number): number
}

export function createRecords(db: Database): Records {
  const all = db.prepare(
    `SELECT song_id AS songId, level_index AS levelIndex, title, level, level_label AS levelLabel, constant,
       achievement, ra, rate, dx_score AS dxScore, combo, sync, mark
     FROM records WHERE qq = ? ORDER BY song_id, level_index`,
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
    deleteUnmarked: (qq) => Number(remove.run(qq).changes),
  }
}
