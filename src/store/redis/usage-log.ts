import type { Retention } from '../../quota/history.ts'
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
  inOrder,
  inSteps,
  keepDaysMs,
  MOST_DAY_MS,
  MOST_ROUTES,
  OTHER_ROUTES,
  packCounts,
  SERIES_MS,
  type SeriesEntry,
  type SeriesKind,
  type SeriesQuestion,
  type SeriesRow,
  startsOf,
} from '../../usage/series.ts'
import { REMEMBER_FLUSH_MS, type UsageFlush, type UsageLogStore } from '../../usage/usage-log-store.ts'
import { countsOf, episodeOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { call, lookedUp, pairsOf, reading, run, timeOf, UNREADABLE } from './calls.ts'
import type { RedisClient } from './client.ts'
import { keyThatHolds } from './key-that-holds.ts'
import type { Keys } from './keys.ts'
import { keysBeginning } from './scanned-keys.ts'

/** How many half hours or days one step reads. */
const STEP = 48
/** How many refusals one step reads. */
const EPISODES_STEP = 250
/** How many keys of the database one step looks at. */
const KEYS_STEP = 250

/**
 * Series are hashes, one for each half hour or day and kind. Refusals are a hash, and a sorted set for their order.
 * @param retention how long days are kept
 */
export function redisUsageLog(
  redis: RedisClient,
  keys: Keys,
  records: Records,
  retention: () => Retention,
): UsageLogStore {
  const { seriesRows, readEpisodes } = usageRecords(redis, keys, records)

  async function addUsage(flush: UsageFlush): Promise<void> {
    const sent = encodeFlush(flush, keys)
    const bounds = [SERIES_MS, KEEP_EPISODES_MS, MOST_EPISODES, OTHER_ROUTES, MOST_EPISODE_ROUTES]
    const args = [flush.sequence, REMEMBER_FLUSH_MS, sent.json, ...bounds, keepDaysMs(retention())]
    await run(redis, 'addUsage', sent.keys, args)
  }

  return {
    addUsage,
    async readSeries(question) {
      const { name, step, days } = question
      const at = await timeOf(redis)
      const rows: SeriesRow[] = []
      const places = placesOf(question, startsOf(question, at, retention()))
      for await (const some of seriesRows(places, name)) rows.push(...some)
      return { at, rows: days === undefined ? inSteps(rows, step) : inOrder(rows) }
    },
    async readRefusals(filter, page) {
      const at = await timeOf(redis)
      const oldest = at - KEEP_EPISODES_MS
      const lasting = { ...filter, since: Math.max(filter.since ?? 0, oldest) }
      return { at, ...(await pageOf(readEpisodes, lasting, page)) }
    },
  }
}

/** A flush in the form that flush.lua reads. */
function encodeFlush({ instance, series, episodes }: UsageFlush, keys: Keys): { keys: string[]; json: string } {
  const names = [keys.flush(instance), keys.refusals, keys.refusalTimes]
  const positions = new Map<string, number>()
  const positionOf = ({ by, start, zone }: SeriesEntry): number => {
    const name = keys.series(by, start, zone)
    const position = positions.get(name) ?? names.push(name)
    positions.set(name, position)
    return position
  }
  const s = series.map((entry) => [
    positionOf(entry),
    entry.start,
    entry.name,
    packCounts(entry.counts),
    // Processes may differ about which routes are the busiest.
    entry.by === 'route' ? 2 * MOST_ROUTES : 0,
    entry.zone === null ? 0 : 1,
  ])
  const e = episodes.map(({ id, ...episode }) => [id, episode])
  return { keys: names, json: JSON.stringify({ s, e }) }
}

/** The place of the rows of a series. */
export type SeriesPlace = Pick<SeriesEntry, 'by' | 'start' | 'zone'>

function placesOf({ by, days }: SeriesQuestion, starts: readonly number[]): SeriesPlace[] {
  return starts.map((start) => ({ by, start, zone: days?.zone ?? null }))
}

/** Series and refusals as they are read, record by record. */
export function usageRecords(redis: RedisClient, keys: Keys, records: Records) {
  return { ...seriesRecords(redis, keys, records), ...refusalRecords(redis, keys, records) }
}

function seriesRecords(redis: RedisClient, keys: Keys, records: Records) {
  /** The name of a record consists of the kind, the start, for days the zone, and the name of the row. */
  const listOf = (list: string, isOfDays: boolean) =>
    records.list({
      kind: 'series',
      list,
      parse: countsOf,
      look: (place) => {
        const [by = '', start = '', ...name] = place.split(' ')
        const zone = isOfDays ? (name.shift() ?? '') : null
        return lookedUp(() => redis.hget(keys.series(by as SeriesKind, Number(start), zone), name.join(' ')))
      },
    })
  const [halfHours, days] = [listOf(`${keys.all}series:`, false), listOf(keys.seriesDays, true)]

  function countsAt({ by, start, zone }: SeriesPlace, name: string, text: string) {
    return zone === null
      ? halfHours.read(`${by} ${start} ${name}`, text)
      : days.read(`${by} ${start} ${zone} ${name}`, text)
  }

  function rowOf(place: SeriesPlace, name: string, text: string): SeriesRow[] {
    const counts = countsAt(place, name, text)
    return counts === null ? [] : [{ start: place.start, name, counts }]
  }

  /** @param only reads the rows of this name alone. Default all rows */
  async function* seriesRows(places: readonly SeriesPlace[], only?: string): AsyncGenerator<SeriesRow[]> {
    for (let i = 0; i < places.length; i += STEP) {
      const some = places.slice(i, i + STEP)
      const found = await reading<(Record<string, string> | string | null)[]>(
        redis,
        (commands) => {
          for (const { by, start, zone } of some) {
            const key = keys.series(by, start, zone)
            if (only === undefined) commands.hgetall(key)
            else commands.hget(key, only)
          }
        },
        () => ({ '': UNREADABLE }),
      )
      yield some.flatMap((place, k) => {
        const row = found[k] ?? {}
        const texts = typeof row === 'string' ? { [only ?? '']: row } : row
        return Object.entries(texts).flatMap(([name, text]) => rowOf(place, name, text))
      })
    }
  }

  return { seriesRows }
}

function refusalRecords(redis: RedisClient, keys: Keys, records: Records) {
  const refusals = records.list({
    kind: 'refusal',
    list: keys.refusals,
    parse: episodeOf,
    look: (id) => lookedUp(() => redis.hget(keys.refusals, id)),
  })
  const order = keyThatHolds(records, 'refusal', keys.refusalTimes, () => redis.zcard(keys.refusalTimes))

  /** One step after a place. Several refusals may have the same time, so those up to the place are skipped. */
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

  /** Refusals that disappeared meanwhile are left out. One that was refused again keeps its earlier place. */
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

  return { readEpisodes }
}

type Multi = ReturnType<RedisClient['multi']>

/** For a copy. */
export function writeSeries(multi: Multi, keys: Keys, entries: readonly SeriesEntry[]): void {
  for (const { by, start, zone, name, counts } of entries) {
    const key = keys.series(by, start, zone)
    multi.hset(key, name, packCounts(counts))
    // Readers leave out older days if `usage.keep` is shorter.
    multi.pexpireat(key, start + (zone === null ? SERIES_MS : MOST_DAY_MS))
  }
}

/** Deletes days that need not be kept any more. */
export async function forgetDays(redis: RedisClient, keys: Keys, kept: Retention): Promise<void> {
  const lastsMs = keepDaysMs(kept)
  for await (const names of keysBeginning(redis, keys, keys.seriesDays, KEYS_STEP)) {
    if (names.length === 0) continue
    const at = await timeOf(redis)
    const leftMs = (name: string): number => (dayOfKey(keys, name)?.start ?? 0) + lastsMs - at
    await Promise.all(names.map((name) => call(() => redis.pexpire(name, leftMs(name)))))
  }
}

/** @returns the place of a day; `null` for any other key */
export function dayOfKey(keys: Keys, key: string): SeriesPlace | null {
  if (!key.startsWith(keys.seriesDays)) return null
  const [by = '', start = '', ...zone] = key.slice(keys.seriesDays.length).split(':')
  return { by: by as SeriesKind, start: Number(start), zone: zone.join(':') }
}

export function writeEpisodes(multi: Multi, keys: Keys, episodes: readonly Episode[]): void {
  for (const { id, ...episode } of episodes) {
    multi.hset(keys.refusals, id, JSON.stringify(episode))
    multi.zadd(keys.refusalTimes, episode.last, id)
  }
  for (const key of [keys.refusals, keys.refusalTimes]) multi.pexpire(key, KEEP_EPISODES_MS)
}
