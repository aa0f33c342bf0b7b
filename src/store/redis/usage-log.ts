import {
  type Episode,
  isBehind,
  KEEP_EPISODES_MS,
  MOST_EPISODE_ROUTES,
  MOST_EPISODES,
  type Place,
  pageOf,
} from '../../usage/episodes.ts'
import {
  inSteps,
  MOST_ROUTES,
  OTHER_ROUTES,
  packCounts,
  SERIES_MS,
  type SeriesEntry,
  type SeriesKind,
  type SeriesRow,
  startsOf,
} from '../../usage/series.ts'
import { REMEMBER_FLUSH_MS, type UsageFlush, type UsageLogStore } from '../../usage/usage-log-store.ts'
import { countsOf, episodeOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { call, lookedUp, milliseconds, pairsOf, reading, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import { keyThatHolds } from './key-that-holds.ts'
import type { Keys } from './keys.ts'

/** Half hours, or refusals, that are read by one step. */
const STEP = 48
const EPISODES_STEP = 250

/** Series by a hash for each half hour and kind; refusals by a hash, and their order by a sorted set. */
export function redisUsageLog(redis: RedisClient, keys: Keys, records: Records): UsageLogStore {
  const { seriesRows, namedRows, readEpisodes } = usageRecords(redis, keys, records)

  async function addUsage(flush: UsageFlush): Promise<void> {
    const sent = encodeFlush(flush, keys)
    const bounds = [SERIES_MS, KEEP_EPISODES_MS, MOST_EPISODES, OTHER_ROUTES, MOST_EPISODE_ROUTES].map(String)
    await call(() =>
      redis.addUsage(
        sent.keys.length,
        ...sent.keys,
        String(flush.sequence),
        String(REMEMBER_FLUSH_MS),
        sent.json,
        ...bounds,
      ),
    )
  }

  return {
    addUsage,
    async readSeries({ by, from, to, name, step }) {
      const at = await timeOf(redis)
      const rows: SeriesRow[] = []
      const starts = startsOf({ from, to }, at)
      const read = name === undefined ? seriesRows(by, starts) : namedRows({ by, name }, starts)
      for await (const some of read) rows.push(...some)
      return { at, rows: inSteps(rows, step) }
    },
    async readRefusals(filter, page) {
      const at = await timeOf(redis)
      const oldest = at - KEEP_EPISODES_MS
      const lasting = { ...filter, since: Math.max(filter.since ?? 0, oldest) }
      return { at, ...(await pageOf(readEpisodes, lasting, page)) }
    },
  }
}

async function timeOf(redis: RedisClient): Promise<number> {
  const [time] = await reading<[[string, string]]>(redis, (commands) => commands.time())
  return milliseconds(time)
}

/** A flush in the words of flush.lua. */
function encodeFlush({ instance, series, episodes }: UsageFlush, keys: Keys): { keys: string[]; json: string } {
  const names = [keys.flush(instance), keys.refusals, keys.refusalTimes]
  const positions = new Map<string, number>()
  const positionOf = ({ by, start }: SeriesEntry): number => {
    const name = keys.series(by, start)
    const position = positions.get(name) ?? names.push(name)
    positions.set(name, position)
    return position
  }
  const s = series.map((entry) => [
    positionOf(entry),
    entry.start,
    entry.name,
    packCounts(entry.counts),
    // Replicas may differ about which routes are the busiest.
    entry.by === 'route' ? 2 * MOST_ROUTES : 0,
  ])
  const e = episodes.map(({ id, ...episode }) => [id, episode])
  return { keys: names, json: JSON.stringify({ s, e }) }
}

/** Series and refusals as they are read, record by record. */
export function usageRecords(redis: RedisClient, keys: Keys, records: Records) {
  const series = records.list({
    kind: 'series',
    list: `${keys.all}series:`,
    parse: countsOf,
    look: (place) => {
      const [by = '', start = '', ...name] = place.split(' ')
      return lookedUp(() => redis.hget(keys.series(by as SeriesKind, Number(start)), name.join(' ')))
    },
  })
  const refusals = records.list({
    kind: 'refusal',
    list: keys.refusals,
    parse: episodeOf,
    look: (id) => lookedUp(() => redis.hget(keys.refusals, id)),
  })
  const order = keyThatHolds(records, 'refusal', keys.refusalTimes, () => redis.zcard(keys.refusalTimes))

  function rowOf(by: SeriesKind, start: number, name: string, text: string): SeriesRow[] {
    const counts = series.read(`${by} ${start} ${name}`, text)
    return counts === null ? [] : [{ start, name, counts }]
  }

  async function* seriesRows(by: SeriesKind, starts: readonly number[]): AsyncGenerator<SeriesRow[]> {
    for (let i = 0; i < starts.length; i += STEP) {
      const some = starts.slice(i, i + STEP)
      const hashes = await reading<Record<string, string>[]>(
        redis,
        (commands) => {
          for (const start of some) commands.hgetall(keys.series(by, start))
        },
        () => ({ '': UNREADABLE }),
      )
      yield hashes.flatMap((hash, k) =>
        Object.entries(hash).flatMap(([name, text]) => rowOf(by, some[k] ?? 0, name, text)),
      )
    }
  }

  /** The rows of one name, without those of the others. */
  async function* namedRows(
    { by, name }: Pick<SeriesEntry, 'by' | 'name'>,
    starts: readonly number[],
  ): AsyncGenerator<SeriesRow[]> {
    for (let i = 0; i < starts.length; i += STEP) {
      const some = starts.slice(i, i + STEP)
      const texts = await reading<(string | null)[]>(
        redis,
        (commands) => {
          for (const start of some) commands.hget(keys.series(by, start), name)
        },
        (k) => series.read(`${by} ${some[k] ?? 0} `, UNREADABLE),
      )
      yield texts.flatMap((text, k) => (text === null ? [] : rowOf(by, some[k] ?? 0, name, text)))
    }
  }

  /** One step behind a place. Many may have one time, so those in front of the place are passed over. */
  async function readEpisodes(behind: Place | null): Promise<Episode[]> {
    for (let offset = 0; ; offset += EPISODES_STEP) {
      const max = behind === null ? '+inf' : String(behind.last)
      const ranked = await call(
        () =>
          redis.zrange(keys.refusalTimes, max, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, EPISODES_STEP, 'WITHSCORES'),
        () => order.lost('', []),
      )
      if (ranked.length === 0) return []
      const places = pairsOf(ranked).map(([id, last]) => ({ id, last: Number(last) }))
      const next = behind === null ? places : places.filter((place) => isBehind(place, behind))
      if (next.length === 0) continue
      const found = await episodesAt(next)
      if (found.length > 0) return found
    }
  }

  /** One that went meanwhile is left out; one that was refused again has its place from before. */
  async function episodesAt(places: readonly Place[]): Promise<Episode[]> {
    const texts = await reading<(string | null)[]>(
      redis,
      (commands) => {
        for (const { id } of places) commands.hget(keys.refusals, id)
      },
      () => refusals.read('', UNREADABLE),
    )
    return places.flatMap(({ id, last }, i) => {
      const text = texts[i] ?? null
      const episode = text === null ? null : refusals.read(id, text)
      return episode === null ? [] : [{ ...episode, last }]
    })
  }

  return { seriesRows, namedRows, readEpisodes }
}

type Multi = ReturnType<RedisClient['multi']>

/** For a copy. @param at of the target's clock */
export function writeSeries(multi: Multi, keys: Keys, entries: readonly SeriesEntry[]): void {
  for (const { by, start, name, counts } of entries) {
    const key = keys.series(by, start)
    multi.hset(key, name, packCounts(counts))
    multi.pexpireat(key, start + SERIES_MS)
  }
}

export function writeEpisodes(multi: Multi, keys: Keys, episodes: readonly Episode[]): void {
  for (const { id, ...episode } of episodes) {
    multi.hset(keys.refusals, id, JSON.stringify(episode))
    multi.zadd(keys.refusalTimes, episode.last, id)
  }
  for (const key of [keys.refusals, keys.refusalTimes]) multi.pexpire(key, KEEP_EPISODES_MS)
}
