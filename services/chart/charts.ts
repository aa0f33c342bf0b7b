import type * as z from 'zod'
import type { Chart, Library } from './library.ts'
import type { chartBody, listBody, listQuery, notesBody } from './schemas.ts'
import type { Note } from './simai/notes.ts'

/** The charts of the library as the API shows them. */

export type ListQuery = z.output<typeof listQuery>

export function listCharts({ charts }: Library, query: ListQuery): z.input<typeof listBody> {
  const { page, limit, kind, difficulty, q = '', sort } = query
  const words = folded(q.trim())
  const matching = charts.filter(
    (chart) =>
      (kind === undefined || chart.kind === kind) &&
      (difficulty === undefined || chart.difficulty === difficulty) &&
      [chart.title, chart.artist, chart.designer].some((text) => folded(text).includes(words)),
  )
  const sorted = sort === 'title' ? matching.toSorted(byTitle) : matching
  const items = sorted.slice((page - 1) * limit, page * limit).map(itemOf)
  return { items, total: matching.length, page, limit }
}

/** Full width and half width, large and small letters are the same. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

const ALPHABET = new Intl.Collator('en')

/** Sorts by title. The charts of one song stay together, also if songs share a title. */
function byTitle(a: Chart, b: Chart): number {
  return ALPHABET.compare(a.title, b.title) || a.musicId - b.musicId || a.difficulty - b.difficulty
}

function itemOf(chart: Chart): z.input<typeof listBody>['items'][number] {
  const { chartKey, songId, title, artist, kind, difficulty, levelLabel, designer, musicId, level } = chart
  return { chartKey, songId, title, artist, kind, difficulty, levelLabel, designer, musicId, level }
}

export function chartDetail(chart: Chart): z.input<typeof chartBody> {
  const { bpm, first, duration, counts, maxDxScore, warnings, file } = chart
  const times = { bpm, firstSeconds: first, durationSeconds: duration }
  return { ...itemOf(chart), ...times, notes: counts, maxDxScore, warnings: [...warnings], hash: file.hash }
}

/** @param from inclusive @param to exclusive */
export function notesBetween(chart: Chart, from: number, to: number): z.input<typeof notesBody> & { notes: Note[] } {
  const notes = chart.notes.map(({ note }) => note).filter(({ time }) => time >= from && time < to)
  return { chartKey: chart.chartKey, notes: notes as (Note & z.input<typeof notesBody>['notes'][number])[] }
}
