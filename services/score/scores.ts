import type { Database } from '../common/database.ts'
import { scoreRank } from '../music/achievement.ts'
import type { Result } from '../music/best.ts'
import type { ScoreKey } from './schemas/requests.ts'

/** A score to store, already judged. */
export interface NewScore extends ScoreKey, Result {}

/** A stored score as clients see it. */
export interface MusicDetail extends Omit<NewScore, 'dxScore'> {
  readonly playCount: number
  readonly deluxscoreMax: number
  /** The rank of the achievement, from 0 for D to 13 for SSS+. */
  readonly scoreRank: number
  readonly extNum1: 0
}

export type Written = 'created' | 'updated' | 'unchanged'

/** The scores of players. Every method runs inside a transaction of the caller. */
export interface Scores {
  find(player: number, key: ScoreKey): MusicDetail | undefined
  /** All scores of a player, by musicId, then level. */
  list(player: number): MusicDetail[]
  /** Stores the score as it is, also if it is worse than the old one. The play count is kept, or 1 for a new score. */
  put(player: number, score: NewScore): Written
  setPlayCount(player: number, key: ScoreKey, playCount: number): void
  delete(player: number, key: ScoreKey): void
  /** Deletes all scores of a player. @returns how many there were */
  clear(player: number): number
}

type Row = NewScore & { readonly playCount: number }

const COLUMNS = `music_id AS musicId, level, play_count AS playCount, achievement,
  combo_status AS comboStatus, sync_status AS syncStatus, dx_score AS dxScore`

export function createScores(db: Database): Scores {
  const KEY = 'player = ? AND music_id = ? AND level = ?'
  const one = db.prepare(`SELECT ${COLUMNS} FROM scores WHERE ${KEY}`)
  const all = db.prepare(`SELECT ${COLUMNS} FROM scores WHERE player = ? ORDER BY music_id, level`)
  const upsert = db.prepare(
    `INSERT INTO scores (player, music_id, level, play_count, achievement, combo_status, sync_status, dx_score)
     VALUES (?, ?, ?, 1, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET achievement = excluded.achievement, combo_status = excluded.combo_status,
       sync_status = excluded.sync_status, dx_score = excluded.dx_score`,
  )
  const count = db.prepare(`UPDATE scores SET play_count = ? WHERE ${KEY}`)
  const remove = db.prepare(`DELETE FROM scores WHERE ${KEY}`)
  const removeAll = db.prepare('DELETE FROM scores WHERE player = ?')

  const row = (player: number, key: ScoreKey) => one.get(player, key.musicId, key.level) as unknown as Row | undefined

  return {
    find(player, key) {
      const found = row(player, key)
      return found && detailOf(found)
    },
    list: (player) => (all.all(player) as unknown as Row[]).map(detailOf),
    put(player, score) {
      const before = row(player, score)
      if (before !== undefined && isSame(before, score)) return 'unchanged'
      const { musicId, level, achievement, comboStatus, syncStatus, dxScore } = score
      upsert.run(player, musicId, level, achievement, comboStatus, syncStatus, dxScore)
      return before === undefined ? 'created' : 'updated'
    },
    setPlayCount: (player, key, playCount) => void count.run(playCount, player, key.musicId, key.level),
    delete: (player, key) => void remove.run(player, key.musicId, key.level),
    clear: (player) => Number(removeAll.run(player).changes),
  }
}

function isSame(a: NewScore, b: NewScore): boolean {
  return (
    a.achievement === b.achievement &&
    a.comboStatus === b.comboStatus &&
    a.syncStatus === b.syncStatus &&
    a.dxScore === b.dxScore
  )
}

function detailOf({ dxScore: deluxscoreMax, ...row }: Row): MusicDetail {
  return { ...row, deluxscoreMax, scoreRank: scoreRank(row.achievement), extNum1: 0 }
}
