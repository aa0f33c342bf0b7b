import { csvRow } from '../lib/csv.ts'
import { isBook } from '../quota/books.ts'
import { periodOf } from '../quota/calendar.ts'
import type { Window } from '../quota/window.ts'
import { offsetOf } from '../quota/zone-offset.ts'
import { COUNT_FIELDS, LATER_FIELDS, type SeriesCounts } from './series.ts'
import { writeUsageCursor } from './usage-cursor.ts'
import type { UsagePage } from './usage-pages.ts'
import { isOfRuns, type UsageKind, type UsageQuery, type UsageStep } from './usage-query.ts'
import type { UsageRow } from './usage-rows.ts'

/** Rows of usage in the forms for clients. */

/** What a series counts besides tokens. */
type ShownCounts = Omit<SeriesCounts, 'tokens'>

/** A row in JSON. Its name has the kind as key: `"user": "alice"`. */
export interface ShownRow extends Partial<ShownCounts> {
  readonly user?: string
  readonly organisation?: string
  readonly plan?: string
  readonly category?: string
  readonly route?: string
  readonly window?: string
  readonly start: string
  readonly end: string
  readonly tokens: number
  readonly running: boolean
}

/** @param range the ends of the query's range as texts, for the rows that begin or end there. Default each row makes its own texts */
function shownRow(query: UsageQuery, row: UsageRow, range?: Pick<ShownPage, 'from' | 'to'>): ShownRow {
  const { by, from, to } = query
  const { name, category, tokens, running, counts } = row
  const over = row.over === null ? {} : { over: row.over }
  const start = range !== undefined && row.start === from ? range.from : textOf(row.start)
  const end = range !== undefined && row.end === to ? range.to : textOf(row.end)
  const window = nameOf(row.window)
  if (counts === null && category !== null && window !== null) {
    return by === 'user'
      ? { user: name, category, window, start, end, tokens, ...over, running }
      : { organisation: name, category, window, start, end, tokens, ...over, running }
  }
  const { tokens: _also, ...others } = counts ?? { tokens: 0 }
  return { ...(by !== 'all' && { [by]: name }), start, end, tokens, running, ...others }
}

function textOf(time: number): string {
  return new Date(time).toISOString()
}

/** A page in JSON. */
export interface ShownPage {
  readonly from: string
  readonly to: string
  readonly by: UsageKind
  readonly step: UsageStep
  /** The name of the window, or `days` for the books; `null` for a series, or if rows have different windows. Each row names its window. */
  readonly window: string | null
  readonly complete: boolean
  readonly rows: ShownRow[]
  /** The cursor of the next page; `null` after the last. */
  readonly next: string | null
}

/** Stands for the books, which are no configured window. */
export const DAYS = 'days'

/** `null` for a series, and for several windows. */
export function shownWindow({ window, windows }: Pick<UsageQuery, 'window' | 'windows'>): string | null {
  const names = windows === null ? [nameOf(window)] : new Set(windows.values().map(nameOf))
  const [name = null, ...others] = names
  return others.length === 0 ? name : null
}

function nameOf(window: Window | null): string | null {
  return window === null ? null : isBook(window) ? DAYS : window.name
}

export function shownPage(query: UsageQuery, { rows, next, reachesOver }: UsagePage): ShownPage {
  const { by, step, gaps } = query
  const range = { from: textOf(query.from), to: textOf(query.to) }
  return {
    ...range,
    by,
    step,
    window: shownWindow(query),
    complete: gaps.length === 0 && !reachesOver,
    rows: rows.map((row) => shownRow(query, row, range)),
    next: next === null ? null : writeUsageCursor(query, next),
  }
}

const SHOWN_COUNTS = [...COUNT_FIELDS, ...LATER_FIELDS].filter((field) => field !== 'tokens')

/** A row of a text, which has no page around it. So each row says whether its whole range is known. */
interface TextRow extends ShownRow {
  readonly complete: boolean
  /** In the row of a grant, its id and the tokens that were taken from it. */
  readonly grant?: string
  readonly taken?: number
}

function textRow(query: UsageQuery, row: UsageRow): TextRow {
  const complete = query.gaps.length === 0 && row.isWhole
  if (row.grant === null || row.category === null) return { ...shownRow(query, row), complete }
  const { name, category, tokens, running } = row
  const { id: grant, taken } = row.grant
  const times = { start: textOf(row.start), end: textOf(row.end) }
  return { [query.by]: name, category, ...times, tokens, running, complete, grant, taken }
}

function columnsOf({ by }: UsageQuery): readonly (keyof TextRow)[] {
  const times = ['start', 'end', 'tokens', 'running', 'complete'] as const
  if (isOfRuns(by)) return [by, 'category', 'window', ...times, 'over', 'grant', 'taken']
  return [...(by === 'all' ? [] : [by]), ...times, ...SHOWN_COUNTS]
}

/** Writes a text of rows: its first line, if there is one, and the line of a row, both with line ends. */
export interface RowWriter {
  readonly contentType: string
  readonly head: string
  line(row: UsageRow): string
}

export function writerOf(format: 'csv' | 'ndjson', query: UsageQuery): RowWriter {
  if (format === 'ndjson') {
    const line = (row: UsageRow) => `${JSON.stringify(textRow(query, row))}\n`
    return { contentType: 'application/x-ndjson; charset=utf-8', head: '', line }
  }
  const columns = columnsOf(query)
  const lineOf = (cells: readonly (string | number)[]) => `${csvRow(cells)}\r\n`
  return {
    contentType: 'text/csv; charset=utf-8; header=present',
    // Without this mark a spreadsheet assumes an older character set.
    head: `\ufeff${lineOf(columns)}`,
    line(row) {
      const shown = textRow(query, row)
      return lineOf(columns.map((column) => cellOf(shown[column])))
    },
  }
}

function cellOf(value: TextRow[keyof TextRow]): string | number {
  return typeof value === 'number' ? value : String(value ?? '')
}

/** About how many characters a piece has. */
const PIECE = 32_768

/** A text of rows in pieces that are neither tiny nor large. */
export async function* piecesOf(
  writer: RowWriter,
  batches: AsyncIterable<readonly UsageRow[]>,
): AsyncGenerator<string> {
  let piece = writer.head
  for await (const rows of batches) {
    for (const row of rows) {
      piece += writer.line(row)
      if (piece.length < PIECE) continue
      yield piece
      piece = ''
    }
  }
  if (piece !== '') yield piece
}

const OF_STEP: Readonly<Record<UsageStep, string>> = {
  range: '',
  run: '-runs',
  '30m': '-half-hours',
  '1h': '-hours',
  '1d': '-days',
}

/** The name of the file without its ending: `acme-2026-11` for a month in the zone, or the first and last day of another range. */
export function fileNameOf({ name, from, to, days: { zone }, step }: UsageQuery): string {
  const month = periodOf({ unit: 'month', zone }, from)
  const [first, last] = [from, to - 1].map((at) => textOf(at + offsetOf(at, zone).ms).slice(0, 10)) as [string, string]
  const isMonth = month.from === from && month.to === to
  const range = isMonth ? first.slice(0, 7) : first === last ? first : `${first}-to-${last}`
  return `${name ?? 'usage'}-${range}${OF_STEP[step]}`
}
