import type { Catalogue } from '../music/catalogue.ts'
import { fromFish } from '../music/ids.ts'
import { playerRating, type Rating, scoreRating } from '../music/rating.ts'
import { dayOf } from './day.ts'
import type { ScoreRecord } from './record.ts'
import type { Records } from './records.ts'
import type { Store } from './store.ts'

/** The facts that a request reports of a player beside the scores; `null` for a fact that it leaves out. */
export interface Reported {
  readonly nickname: string | null
  readonly source: string | null
  readonly rating: number | null
  readonly oldRating: number | null
  readonly newRating: number | null
  readonly playCount: number | null
}

export const NOTHING_TOLD: Reported = {
  nickname: null,
  source: null,
  rating: null,
  oldRating: null,
  newRating: null,
  playCount: null,
}

/** Brings the facts of a player and of the day into line with the stored scores. @returns the number of these scores */
export function updateStanding(
  { players, records }: Store,
  catalogue: Catalogue,
  qq: number,
  reported: Reported,
  now: number,
): number {
  rateRecords(records, catalogue, qq)
  const stored = records.list(qq)
  const computed = playerRating(stored.map(ratedOf), catalogue)
  const rating: Rating = {
    total: reported.rating ?? computed.total,
    old: reported.oldRating ?? computed.old,
    new: reported.newRating ?? computed.new,
  }
  const { nickname, source, playCount } = reported
  players.update(qq, { nickname, source, rating, playCount, updatedAt: now })
  players.setDay(qq, { date: dayOf(now), rating, recordCount: stored.length })
  return stored.length
}

/**
 * Brings the rating of each stored score up to date. Two merged scores may be worth more than either, and the catalogue
 * may have changed since the score was sent.
 */
function rateRecords(records: Records, catalogue: Catalogue, qq: number): void {
  for (const record of records.list(qq)) {
    const rated = ratedOf(record)
    const chart = catalogue.chart(rated.musicId, rated.level)
    const ra = chart === undefined ? record.ra : scoreRating(rated, chart, catalogue)
    if (ra !== record.ra) records.put(qq, { ...record, ra }, record.mark)
  }
}

function ratedOf({ songId, levelIndex, achievement, ra, combo }: ScoreRecord) {
  const { musicId, level } = fromFish({ songId, type: 'SD', levelIndex })
  return { musicId, level, achievement, comboStatus: combo, ra }
}
