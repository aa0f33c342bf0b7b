import type { Database } from '../common/database.ts'
import type { Rating } from '../music/rating.ts'

export interface Player {
  readonly nickname: string
  readonly rating: Rating
  readonly playCount: number
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
}

/** The report of a sync about a player; `null` keeps the known value. */
export interface PlayerUpdate {
  readonly nickname: string | null
  readonly source: string | null
  readonly rating: Rating
  readonly playCount: number | null
  readonly updatedAt: number
}

/** The state at the end of a day. */
export interface Day {
  /** The day of Asia/Shanghai, as `2026-08-25`. */
  readonly date: string
  readonly rating: Rating
  readonly recordCount: number
}

/** The players and their days. Every method runs inside a transaction of the caller. */
export interface Players {
  find(qq: number): Player | null
  update(qq: number, player: PlayerUpdate): void
  setDay(qq: number, day: Day): void
  /** The days with a sync, both ends included. */
  days(qq: number, first: string, last: string): Day[]
}

interface RatingRow {
  readonly rating: number
  readonly oldRating: number
  readonly newRating: number
}
type PlayerRow = RatingRow & Omit<Player, 'rating'>
type DayRow = RatingRow & Omit<Day, 'rating'>

export function createPlayers(db: Database): Players {
  const RATING = 'rating, old_rating AS oldRating, new_rating AS newRating'
  const select = db.prepare(
    `SELECT nickname, ${RATING}, play_count AS playCount, updated_at AS updatedAt FROM players WHERE qq = ?`,
  )
  const upsert = db.prepare(
    `INSERT INTO players (qq, nickname, source, rating, old_rating, new_rating, play_count, updated_at)
     VALUES (:qq, coalesce(:nickname, ''), coalesce(:source, ''), :rating, :old, :new, coalesce(:playCount, 0), :updatedAt)
     ON CONFLICT DO UPDATE SET nickname = coalesce(:nickname, nickname), source = coalesce(:source, source),
       rating = :rating, old_rating = :old, new_rating = :new, play_count = coalesce(:playCount, play_count),
       updated_at = :updatedAt`,
  )
  const setDay = db.prepare('INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?, ?)')
  const days = db.prepare(
    `SELECT date, ${RATING}, record_count AS recordCount FROM history WHERE qq = ? AND date BETWEEN ? AND ? ORDER BY date`,
  )
  return {
    find(qq) {
      const row = select.get(qq) as unknown as PlayerRow | undefined
      if (row === undefined) return null
      const { nickname, playCount, updatedAt } = row
      return { nickname, rating: ratingOf(row), playCount, updatedAt }
    },
    update(qq, { nickname, source, rating, playCount, updatedAt }) {
      upsert.run({ qq, nickname, source, rating: rating.total, old: rating.old, new: rating.new, playCount, updatedAt })
    },
    setDay: (qq, { date, rating, recordCount }) =>
      void setDay.run(qq, date, rating.total, rating.old, rating.new, recordCount),
    days: (qq, first, last) =>
      (days.all(qq, first, last) as unknown as DayRow[]).map((row) => ({
        date: row.date,
        rating: ratingOf(row),
        recordCount: row.recordCount,
      })),
  }
}

function ratingOf({ rating, oldRating, newRating }: RatingRow): Rating {
  return { total: rating, old: oldRating, new: newRating }
}
