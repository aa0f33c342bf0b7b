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
import { attempt, type SqliteFile } from './database.ts'
import { endingRows } from './endings.ts'
import { forgottenRows } from './forgotten.ts'
import { named, nameOf, type Row } from './rows.ts'

/** How many refusals one step reads. */
const STEP = 250
const DAY_MS = 24 * 60 * 60_000

const SERIES = 'SELECT kind, zone, start, name, counts FROM series WHERE kind = ? AND zone = ? AND start'
const ONE_SERIES = `${SERIES} = ? AND name = ?`
const ONE_EPISODE = 'SELECT id, episode FROM refusals WHERE id = ?'

/** Series and refusals, record by record. */
export function usageRecords(file: SqliteFile, records: Records) {
  const series = records.list({
    kind: 'series',
    list: 'series',
    parse: entryOf,
    look: (place) => {
      const [kind = '', when = '', ...name] = place.split(' ')
      const [start = '', zone = ''] = when.split('@')
      return file.first(ONE_SERIES, kind, zone, start, name.join(' '))
    },
  })
  const refusals = records.list({
    kind: 'refusal',
    list: 'refusals',
    parse: (row: Row, id) => episodeOf(String(row.episode), id),
    look: (id) => file.first(ONE_EPISODE, id),
  })
  return {
    series: (rows: readonly Row[]) => series.readAll(rows.map((row) => [placeOf(row), row])),
    refusals: (rows: readonly Row[]) => refusals.readAll(named(rows, 'id')),
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
  file: SqliteFile,
  lists: Records,
  clock: () => number,
  retention: () => Retention,
): UsageLogStore {
  const records = usageRecords(file, lists)
  const rows = endingRows(file)
  const forgotten = forgottenRows(file.database)

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
    file.run("DELETE FROM series WHERE start < ? AND zone = ''", oldestStart(now))
    forgetDays(file, oldestDay(now, retention()))
    if (episodes.length > 0) forgetEpisodes(now)
  }

  function oldest({ zone }: SeriesEntry, now: number): number {
    return zone === null ? oldestStart(now) : oldestDay(now, retention())
  }

  /** Refusals of a user before he was forgotten are forgotten too. */
  function isForgotten({ user, first }: EpisodeChange): boolean {
    const since = user === null ? null : forgotten.since(user)
    return since !== null && first <= since
  }

  function add({ by, start, zone, name, counts }: SeriesEntry): void {
    const known = file.first(ONE_SERIES, by, zone ?? '', start, name)
    const isNew = known === undefined && by === 'route' && name !== OTHER_ROUTES
    // Replicas may differ about which routes are the busiest.
    if (isNew && namesOf(by, start, zone) >= 2 * MOST_ROUTES) {
      add({ by, start, zone, name: OTHER_ROUTES, counts })
      return
    }
    const sums = noCounts()
    // A record that cannot be read is replaced.
    for (const before of known === undefined ? [] : records.series([known])) addCounts(sums, before.counts)
    addCounts(sums, counts)
    putSeries(file, { by, start, zone, name, counts: sums })
  }

  function namesOf(by: SeriesKind, start: number, zone: string | null): number {
    const count = 'SELECT count(*) AS names FROM series WHERE kind = ? AND zone = ? AND start = ?'
    return (file.first(count, by, zone ?? '', start) as { names: number }).names
  }

  function change(more: EpisodeChange): void {
    const row = file.first(ONE_EPISODE, more.id)
    const [known = null] = row === undefined ? [] : records.refusals([row])
    putEpisode(file, withChange(known, more))
  }

  function forgetEpisodes(now: number): void {
    file.run('DELETE FROM refusals WHERE last <= ?', now - KEEP_EPISODES_MS)
    const { all } = file.first('SELECT count(*) AS "all" FROM refusals') as { all: number }
    const oldest = 'SELECT id FROM refusals ORDER BY last, id LIMIT ?'
    if (all > MOST_EPISODES) file.run(`DELETE FROM refusals WHERE id IN (${oldest})`, all - MOST_EPISODES)
  }

  async function readEpisodes(behind: Place | null): Promise<Episode[]> {
    let { last, id } = behind ?? { last: Number.MAX_SAFE_INTEGER, id: '' }
    for (;;) {
      const page =
        'SELECT id, last, episode FROM refusals WHERE last < ? OR (last = ? AND id < ?) ORDER BY last DESC, id DESC LIMIT ?'
      const rows = await attempt(() => file.all(page, last, last, id, STEP))
      const found = records.refusals(rows)
      const end = rows.at(-1)
      if (found.length > 0 || end === undefined) return found
      ;[last, id] = [Number(end.last), nameOf(end.id)]
    }
  }

  return {
    addUsage: (flush) => file.write(() => addNow(flush)),
    readSeries: (question) =>
      attempt(() => {
        const { by, name, step, days } = question
        const at = clock()
        const starts = startsOf(question, at, retention())
        const range = [by, days?.zone ?? '', starts[0] ?? 0, starts.at(-1) ?? -1] as const
        const found =
          name === undefined
            ? file.all(`${SERIES} BETWEEN ? AND ?`, ...range)
            : file.all(`${SERIES} BETWEEN ? AND ? AND name = ?`, ...range, name)
        const rows = records.series(found)
        return { at, rows: days === undefined ? inSteps(rows, step) : inOrder(rows) }
      }),
    async readRefusals(filter, page) {
      const at = clock()
      const lasting = { ...filter, since: Math.max(filter.since ?? 0, at - KEEP_EPISODES_MS) }
      return { at, ...(await pageOf(readEpisodes, lasting, page)) }
    },
  }
}

export function putSeries(file: SqliteFile, { by, zone, start, name, counts }: SeriesEntry): void {
  file.put('series', { kind: by, zone: zone ?? '', start, name, counts: packCounts(counts) })
}

export function putEpisode(file: SqliteFile, { id, ...episode }: Episode): void {
  file.put('refusals', { id, last: episode.last, episode: JSON.stringify(episode) })
}

/** Deletes days that begin at a moment or before it. */
export function forgetDays(file: SqliteFile, before: number): void {
  file.run("DELETE FROM series WHERE start <= ? AND zone <> ''", before)
}
