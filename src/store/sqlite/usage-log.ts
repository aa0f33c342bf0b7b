import type { DatabaseSync } from 'node:sqlite'
import {
  type Episode,
  type EpisodeChange,
  KEEP_EPISODES_MS,
  MOST_EPISODES,
  type Place,
  pageOf,
  withChange,
} from '../../usage/episodes.ts'
import {
  addCounts,
  inSteps,
  MOST_ROUTES,
  OTHER_ROUTES,
  oldestStart,
  packCounts,
  type SeriesEntry,
  type SeriesKind,
  type SeriesRow,
  startsOf,
  unpackCounts,
} from '../../usage/series.ts'
import { REMEMBER_FLUSH_MS, type UsageFlush, type UsageLogStore } from '../../usage/usage-log-store.ts'
import { attempt, transactions } from './database.ts'

/** Refusals that are read by one step. */
const STEP = 250
const DAY_MS = 24 * 60 * 60_000

export interface CountsRow {
  readonly kind: SeriesKind
  readonly start: number
  readonly name: string
  readonly counts: string
}

export interface EpisodeRow {
  readonly id: string
  readonly episode: string
}

/** Series and refusals, as rows. */
export function sqliteUsageLog(database: DatabaseSync, clock: () => number): UsageLogStore {
  const { writing } = transactions(database)
  const sql = statements(database)

  function addNow({ instance, sequence, series, episodes }: UsageFlush): void {
    const last = sql.lastFlush.get(instance) as { sequence: number } | undefined
    if (last !== undefined && sequence <= last.sequence) return
    const now = clock()
    sql.noteFlush.run(instance, sequence, now + REMEMBER_FLUSH_MS)
    for (const entry of series) {
      if (entry.start >= oldestStart(now) && entry.start < now + DAY_MS) add(entry)
    }
    for (const episode of episodes) if (episode.last > now - KEEP_EPISODES_MS) change(episode)
    sql.forgetSeries.run(oldestStart(now))
    if (episodes.length > 0) forgetEpisodes(now)
  }

  function add({ by, start, name, counts }: SeriesEntry): void {
    const known = sql.counts.get(by, start, name) as { counts: string } | undefined
    const isNew = known === undefined && by === 'route' && name !== OTHER_ROUTES
    // Replicas may differ about which routes are the busiest.
    if (isNew && namesOf(by, start) >= 2 * MOST_ROUTES) {
      add({ by, start, name: OTHER_ROUTES, counts })
      return
    }
    const sums = unpackCounts(known?.counts ?? '')
    addCounts(sums, counts)
    sql.putCounts.run(by, start, name, packCounts(sums))
  }

  function namesOf(by: SeriesKind, start: number): number {
    return (sql.names.get(by, start) as { names: number }).names
  }

  function change(more: EpisodeChange): void {
    const row = sql.episode.get(more.id) as EpisodeRow | undefined
    const { id, ...episode } = withChange(row === undefined ? null : episodeOf(row), more)
    sql.putEpisode.run(id, episode.last, JSON.stringify(episode))
  }

  function forgetEpisodes(now: number): void {
    sql.forgetOld.run(now - KEEP_EPISODES_MS)
    const { all } = sql.all.get() as { all: number }
    if (all > MOST_EPISODES) sql.forgetOldest.run(all - MOST_EPISODES)
  }

  async function readEpisodes(behind: Place | null): Promise<Episode[]> {
    const { last, id } = behind ?? { last: Number.MAX_SAFE_INTEGER, id: '' }
    return attempt(() => (sql.page.all(last, last, id, STEP) as unknown as EpisodeRow[]).map(episodeOf))
  }

  return {
    addUsage: (flush) => attempt(() => writing(() => addNow(flush))),
    readSeries: ({ by, from, to, name, step }) =>
      attempt(() => {
        const at = clock()
        const starts = startsOf({ from, to }, at)
        const range = [by, starts[0] ?? 0, starts.at(-1) ?? -1] as const
        const rows = name === undefined ? sql.read.all(...range) : sql.readNamed.all(...range, name)
        return { at, rows: inSteps((rows as unknown as CountsRow[]).map(rowOf), step) }
      }),
    async readRefusals(filter, page) {
      const at = clock()
      const lasting = { ...filter, since: Math.max(filter.since ?? 0, at - KEEP_EPISODES_MS) }
      return { at, ...(await pageOf(readEpisodes, lasting, page)) }
    },
  }
}

function statements(database: DatabaseSync) {
  return {
    lastFlush: database.prepare('SELECT sequence FROM flushes WHERE instance = ?'),
    noteFlush: database.prepare('INSERT OR REPLACE INTO flushes (instance, sequence, ends) VALUES (?, ?, ?)'),
    counts: database.prepare('SELECT counts FROM series WHERE kind = ? AND start = ? AND name = ?'),
    names: database.prepare('SELECT count(*) AS names FROM series WHERE kind = ? AND start = ?'),
    putCounts: database.prepare('INSERT OR REPLACE INTO series (kind, start, name, counts) VALUES (?, ?, ?, ?)'),
    forgetSeries: database.prepare('DELETE FROM series WHERE start < ?'),
    read: database.prepare('SELECT kind, start, name, counts FROM series WHERE kind = ? AND start BETWEEN ? AND ?'),
    readNamed: database.prepare(
      'SELECT kind, start, name, counts FROM series WHERE kind = ? AND start BETWEEN ? AND ? AND name = ?',
    ),
    episode: database.prepare('SELECT id, episode FROM refusals WHERE id = ?'),
    putEpisode: database.prepare('INSERT OR REPLACE INTO refusals (id, last, episode) VALUES (?, ?, ?)'),
    all: database.prepare('SELECT count(*) AS "all" FROM refusals'),
    forgetOld: database.prepare('DELETE FROM refusals WHERE last <= ?'),
    forgetOldest: database.prepare(
      'DELETE FROM refusals WHERE id IN (SELECT id FROM refusals ORDER BY last, id LIMIT ?)',
    ),
    page: database.prepare(
      `SELECT id, episode FROM refusals WHERE last < ? OR (last = ? AND id < ?) ORDER BY last DESC, id DESC LIMIT ?`,
    ),
  }
}

function rowOf({ start, name, counts }: CountsRow): SeriesRow {
  return { start, name, counts: unpackCounts(counts) }
}

export function episodeOf({ id, episode }: EpisodeRow): Episode {
  return { ...(JSON.parse(episode) as Omit<Episode, 'id'>), id }
}
