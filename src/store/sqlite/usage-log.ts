import type { DatabaseSync } from 'node:sqlite'
import { isCount } from '../../lib/shape.ts'
import type { Retention } from '../../quota/history.ts'
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
  inOrder,
  inSteps,
  MOST_ROUTES,
  noCounts,
  OTHER_ROUTES,
  oldestDay,
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
import { endingRows } from './endings.ts'
import { forgottenRows } from './forgotten.ts'
import { nameOf, type Row, rowsOf } from './rows.ts'

/** Refusals that are read by one step. */
const STEP = 250
const DAY_MS = 24 * 60 * 60_000

/** Series and refusals, record by record. */
export function usageRecords(database: DatabaseSync, records: Records) {
  const counts = rowsOf(
    database,
    'SELECT kind, zone, start, name, counts FROM series WHERE kind = ? AND zone = ? AND start = ? AND name = ?',
  )
  const episode = rowsOf(database, 'SELECT id, episode FROM refusals WHERE id = ?')
  const series = records.list({
    kind: 'series',
    list: 'series',
    parse: entryOf,
    look: (place) => {
      const [kind = '', when = '', ...name] = place.split(' ')
      const [start = '', zone = ''] = when.split('@')
      return counts.first(kind, zone, start, name.join(' '))
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

function placeOf({ kind, zone, start, name }: Row): string {
  const day = nameOf(zone)
  return [nameOf(kind), day === '' ? nameOf(start) : `${nameOf(start)}@${day}`, nameOf(name)].join(' ')
}

function entryOf({ kind, zone, start, name, counts }: Row): SeriesEntry | null {
  const known = typeof counts === 'string' && typeof name === 'string' && isCount(start) ? countsOf(counts) : null
  if (known === null) return null
  const place = {
    by: kind as SeriesKind,
    start: start as number,
    zone: typeof zone === 'string' && zone !== '' ? zone : null,
  }
  return { ...place, name: name as string, counts: known }
}

/** Series and refusals, as rows. @param retention how long days are kept */
export function sqliteUsageLog(
  database: DatabaseSync,
  lists: Records,
  clock: () => number,
  retention: () => Retention,
): UsageLogStore {
  const { writing } = transactions(database)
  const sql = statements(database)
  const records = usageRecords(database, lists)
  const rows = endingRows(database)
  const forgotten = forgottenRows(database)

  function addNow({ instance, sequence, series, episodes }: UsageFlush): void {
    const last = rows.find('flush', instance)
    if (last !== undefined && sequence <= Number(last.text)) return
    const now = clock()
    rows.put('flush', instance, String(sequence), now + REMEMBER_FLUSH_MS)
    for (const entry of series) {
      if (entry.start >= oldest(entry, now) && entry.start < now + DAY_MS) add(entry)
    }
    for (const episode of episodes) {
      if (episode.last > now - KEEP_EPISODES_MS && !isForgotten(episode)) change(episode)
    }
    sql.forgetSeries.run(oldestStart(now))
    sql.forgetDays.run(oldestDay(now, retention()))
    if (episodes.length > 0) forgetEpisodes(now)
  }

  function oldest({ zone }: SeriesEntry, now: number): number {
    return zone === null ? oldestStart(now) : oldestDay(now, retention())
  }

  /** What was counted of a user before he was forgotten is forgotten too. */
  function isForgotten({ user, first }: EpisodeChange): boolean {
    const since = user === null ? null : forgotten.since(user)
    return since !== null && first <= since
  }

  function add({ by, start, zone, name, counts }: SeriesEntry): void {
    const known = sql.counts.first(by, zone ?? '', start, name)
    const isNew = known === undefined && by === 'route' && name !== OTHER_ROUTES
    // Replicas may differ about which routes are the busiest.
    if (isNew && namesOf(by, start, zone) >= 2 * MOST_ROUTES) {
      add({ by, start, zone, name: OTHER_ROUTES, counts })
      return
    }
    const sums = noCounts()
    // What cannot be read is replaced.
    for (const before of known === undefined ? [] : records.series([known])) addCounts(sums, before.counts)
    addCounts(sums, counts)
    sql.putCounts.run(by, zone ?? '', start, name, packCounts(sums))
  }

  function namesOf(by: SeriesKind, start: number, zone: string | null): number {
    return (sql.names.get(by, zone ?? '', start) as { names: number }).names
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
    readSeries: (question) =>
      attempt(() => {
        const { by, name, step, days } = question
        const at = clock()
        const starts = startsOf(question, at, retention())
        const range = [by, days?.zone ?? '', starts[0] ?? 0, starts.at(-1) ?? -1] as const
        const rows = records.series(name === undefined ? sql.read.all(...range) : sql.readNamed.all(...range, name))
        return { at, rows: days === undefined ? inSteps(rows, step) : inOrder(rows) }
      }),
    async readRefusals(filter, page) {
      const at = clock()
      const lasting = { ...filter, since: Math.max(filter.since ?? 0, at - KEEP_EPISODES_MS) }
      return { at, ...(await pageOf(readEpisodes, lasting, page)) }
    },
  }
}

/** Takes days away that begin before a moment. */
export function forgettingDays(database: DatabaseSync) {
  return database.prepare("DELETE FROM series WHERE start <= ? AND zone <> ''")
}

function statements(database: DatabaseSync) {
  return {
    counts: rowsOf(
      database,
      'SELECT kind, zone, start, name, counts FROM series WHERE kind = ? AND zone = ? AND start = ? AND name = ?',
    ),
    names: database.prepare('SELECT count(*) AS names FROM series WHERE kind = ? AND zone = ? AND start = ?'),
    putCounts: database.prepare(
      'INSERT OR REPLACE INTO series (kind, zone, start, name, counts) VALUES (?, ?, ?, ?, ?)',
    ),
    forgetSeries: database.prepare("DELETE FROM series WHERE start < ? AND zone = ''"),
    forgetDays: forgettingDays(database),
    read: rowsOf(
      database,
      'SELECT kind, zone, start, name, counts FROM series WHERE kind = ? AND zone = ? AND start BETWEEN ? AND ?',
    ),
    readNamed: rowsOf(
      database,
      'SELECT kind, zone, start, name, counts FROM series WHERE kind = ? AND zone = ? AND start BETWEEN ? AND ? AND name = ?',
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
