import type { DatabaseSync } from 'node:sqlite'
import { isCount } from '../../lib/shape.ts'
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
  noCounts,
  OTHER_ROUTES,
  oldestStart,
  packCounts,
  type SeriesEntry,
  type SeriesKind,
  startsOf,
} from '../../usage/series.ts'
import { REMEMBER_FLUSH_MS, type UsageFlush, type UsageLogStore } from '../../usage/usage-log-store.ts'
import { countsOf, episodeOf } from '../record-forms.ts'
import type { Records } from '../records.ts'
import { attempt, transactions } from './database.ts'
import { forgottenRows } from './forgotten.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'

/** Refusals that are read by one step. */
const STEP = 250
const DAY_MS = 24 * 60 * 60_000

/** Series and refusals, record by record. */
export function usageRecords(database: DatabaseSync, records: Records) {
  const counts = rowsOf(
    database,
    'SELECT kind, start, name, counts FROM series WHERE kind = ? AND start = ? AND name = ?',
  )
  const episode = rowsOf(database, 'SELECT id, episode FROM refusals WHERE id = ?')
  const series = records.list({
    kind: 'series',
    list: 'series',
    parse: entryOf,
    look: (place) => {
      const [kind = '', start = '', ...name] = place.split(' ')
      return counts.first(kind, start, name.join(' '))
    },
  })
  const refusals = records.list({
    kind: 'refusal',
    list: 'refusals',
    parse: (row: Row, id) => episodeOf(String(row.episode), id),
    look: (id) => episode.first(id),
  })
  return {
    series: (rows: readonly Row[]) => series.readAll(rows.map((row) => [placeOf(row), row])),
    refusals: (rows: readonly Row[]) => refusals.readAll(rows.map((row) => [nameOf(row.id), row])),
  }
}

function placeOf({ kind, start, name }: Row): string {
  return [kind, start, name].map(nameOf).join(' ')
}

function entryOf({ kind, start, name, counts }: Row): SeriesEntry | null {
  const known = typeof counts === 'string' && typeof name === 'string' && isCount(start) ? countsOf(counts) : null
  return known === null ? null : { by: kind as SeriesKind, start: start as number, name: name as string, counts: known }
}

/** Series and refusals, as rows. */
export function sqliteUsageLog(database: DatabaseSync, lists: Records, clock: () => number): UsageLogStore {
  const { writing } = transactions(database)
  const sql = statements(database)
  const records = usageRecords(database, lists)
  const forgotten = forgottenRows(database)

  function addNow({ instance, sequence, series, episodes }: UsageFlush): void {
    const last = sql.lastFlush.get(instance) as { sequence: number } | undefined
    if (last !== undefined && sequence <= last.sequence) return
    const now = clock()
    sql.noteFlush.run(instance, sequence, now + REMEMBER_FLUSH_MS)
    for (const entry of series) {
      if (entry.start >= oldestStart(now) && entry.start < now + DAY_MS) add(entry)
    }
    for (const episode of episodes) {
      if (episode.last > now - KEEP_EPISODES_MS && !isForgotten(episode)) change(episode)
    }
    sql.forgetSeries.run(oldestStart(now))
    if (episodes.length > 0) forgetEpisodes(now)
  }

  /** What was counted of a user before he was forgotten is forgotten too. */
  function isForgotten({ user, first }: EpisodeChange): boolean {
    const since = user === null ? null : forgotten.since(user)
    return since !== null && first <= since
  }

  function add({ by, start, name, counts }: SeriesEntry): void {
    const known = sql.counts.first(by, start, name)
    const isNew = known === undefined && by === 'route' && name !== OTHER_ROUTES
    // Replicas may differ about which routes are the busiest.
    if (isNew && namesOf(by, start) >= 2 * MOST_ROUTES) {
      add({ by, start, name: OTHER_ROUTES, counts })
      return
    }
    const sums = noCounts()
    // What cannot be read is replaced.
    for (const before of known === undefined ? [] : records.series([known])) addCounts(sums, before.counts)
    addCounts(sums, counts)
    sql.putCounts.run(by, start, name, packCounts(sums))
  }

  function namesOf(by: SeriesKind, start: number): number {
    return (sql.names.get(by, start) as { names: number }).names
  }

  function change(more: EpisodeChange): void {
    const row = sql.episode.first(more.id)
    const [known = null] = row === undefined ? [] : records.refusals([row])
    const { id, ...episode } = withChange(known, more)
    sql.putEpisode.run(id, episode.last, JSON.stringify(episode))
  }

  function forgetEpisodes(now: number): void {
    sql.forgetOld.run(now - KEEP_EPISODES_MS)
    const { all } = sql.all.get() as { all: number }
    if (all > MOST_EPISODES) sql.forgetOldest.run(all - MOST_EPISODES)
  }

  async function readEpisodes(behind: Place | null): Promise<Episode[]> {
    let { last, id } = behind ?? { last: Number.MAX_SAFE_INTEGER, id: '' }
    for (;;) {
      const rows = await attempt(() => sql.page.all(last, last, id, STEP))
      const found = records.refusals(rows)
      const end = rows.at(-1)
      if (found.length > 0 || end === undefined) return found
      ;[last, id] = [Number(end.last), nameOf(end.id)]
    }
  }

  return {
    addUsage: (flush) => attempt(() => writing(() => addNow(flush))),
    readSeries: ({ by, from, to, name, step }) =>
      attempt(() => {
        const at = clock()
        const starts = startsOf({ from, to }, at)
        const range = [by, starts[0] ?? 0, starts.at(-1) ?? -1] as const
        const rows = name === undefined ? sql.read.all(...range) : sql.readNamed.all(...range, name)
        return { at, rows: inSteps(records.series(rows), step) }
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
    counts: rowsOf(database, 'SELECT kind, start, name, counts FROM series WHERE kind = ? AND start = ? AND name = ?'),
    names: database.prepare('SELECT count(*) AS names FROM series WHERE kind = ? AND start = ?'),
    putCounts: database.prepare('INSERT OR REPLACE INTO series (kind, start, name, counts) VALUES (?, ?, ?, ?)'),
    forgetSeries: database.prepare('DELETE FROM series WHERE start < ?'),
    read: rowsOf(database, 'SELECT kind, start, name, counts FROM series WHERE kind = ? AND start BETWEEN ? AND ?'),
    readNamed: rowsOf(
      database,
      'SELECT kind, start, name, counts FROM series WHERE kind = ? AND start BETWEEN ? AND ? AND name = ?',
    ),
    episode: rowsOf(database, 'SELECT id, episode FROM refusals WHERE id = ?'),
    putEpisode: database.prepare('INSERT OR REPLACE INTO refusals (id, last, episode) VALUES (?, ?, ?)'),
    all: database.prepare('SELECT count(*) AS "all" FROM refusals'),
    forgetOld: database.prepare('DELETE FROM refusals WHERE last <= ?'),
    forgetOldest: database.prepare(
      'DELETE FROM refusals WHERE id IN (SELECT id FROM refusals ORDER BY last, id LIMIT ?)',
    ),
    page: rowsOf(
      database,
      `SELECT id, last, episode FROM refusals WHERE last < ? OR (last = ? AND id < ?) ORDER BY last DESC, id DESC LIMIT ?`,
    ),
  }
}
