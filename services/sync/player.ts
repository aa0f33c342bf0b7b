import { toFish } from '../music/ids.ts'
import { comboName, syncName } from '../music/labels.ts'
import type { Backend, Call, Handler } from './backend.ts'
import { dayOf } from './day.ts'
import { isRefusal, NO_PLAYER, type Refusal, readBy } from './errors.ts'
import type { Day, Player } from './players.ts'
import type { ScoreRecord } from './record.ts'
import type { PlayerResponse, ResponseedRecord, SummaryResponse, TrendResponse } from './schemas/answers.ts'
import { numberIn, playerPath, trendQuery } from './schemas/requests.ts'

/** GET /api/bot/player/:qq: the player and all records. */
export const readPlayer: Handler = (backend, call) =>
  withPlayer(
    backend,
    call,
    (qq, player): PlayerResponse => ({
      ...summaryOf(qq, player),
      records: backend.store.records.list(qq).map(recordOf),
    }),
  )

/** GET /api/bot/player/:qq/summary: the player without records. */
export const readSummary: Handler = (backend, call) => withPlayer(backend, call, summaryOf)

/** GET /api/bot/player/:qq/trend: the rating by days. */
export const readTrend: Handler = async (backend, call) => {
  const query = readBy(trendQuery, { days: numberIn(call.query.days) }, 'query')
  if (isRefusal(query)) return query
  const { days } = query
  return withPlayer(backend, call, (qq, player): TrendResponse => {
    const now = backend.clock()
    const points = pointsOf(backend.store.players.days(qq, dayOf(now, days - 1), dayOf(now)))
    return { qq, nickname: player.nickname, days, points, summary: trendOf(points, player) }
  })
}

/** Finds the player of the path and calls `read`, both on one state of the data. */
async function withPlayer<T extends object>(
  { store }: Backend,
  { params }: Call,
  read: (qq: number, player: Player) => T,
): Promise<T | Refusal> {
  const path = readBy(playerPath, { qq: numberIn(params.qq) }, 'path')
  if (isRefusal(path)) return path
  return store.read(() => {
    const player = store.players.find(path.qq)
    return player === null ? NO_PLAYER : read(path.qq, player)
  })
}

function summaryOf(qq: number, { nickname, rating, playCount, updatedAt }: Player): SummaryResponse {
  return {
    qq,
    nickname,
    username: `bot_${qq}`,
    rating: rating.total,
    old_rating: rating.old,
    new_rating: rating.new,
    play_count: playCount,
    updated_at: new Date(updatedAt).toISOString(),
  }
}

function recordOf(r: ScoreRecord): ResponseedRecord {
  return {
    song_id: r.songId,
    title: r.title,
    type: toFish({ musicId: r.songId, level: r.levelIndex }).type,
    level_index: r.levelIndex,
    level: r.level,
    level_label: r.levelLabel,
    ds: r.constant / 10,
    achievements: r.achievement / 10_000,
    ra: r.ra,
    rate: r.rate,
    dxScore: r.dxScore,
    fc: comboName(r.combo),
    fs: syncName(r.sync),
  }
}

function pointsOf(days: readonly Day[]): TrendResponse['points'] {
  return days.map(({ date, rating, recordCount }, index) => ({
    date,
    rating: rating.total,
    delta: rating.total - (days[index - 1]?.rating.total ?? rating.total),
    old_rating: rating.old,
    new_rating: rating.new,
    record_count: recordCount,
  }))
}

/** Without a sync in all these days the rating has not changed. */
function trendOf(points: TrendResponse['points'], { rating }: Player): TrendResponse['summary'] {
  const start = points[0]?.rating ?? rating.total
  const end = points.at(-1)?.rating ?? rating.total
  return { start_rating: start, end_rating: end, rating_delta: end - start, days_with_data: points.length }
}
