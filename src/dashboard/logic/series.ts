import type { UsageResponse } from '../../contract/api.ts'
import { DAY_MS, HALF_HOUR_MS } from './half-hour.ts'

/** Values over time for a chart. */

/** One step of a chart. */
export interface SeriesPoint {
  readonly from: Date
  /** The first moment after the step. */
  readonly to: Date
  /** One for each series of the chart. */
  readonly values: readonly number[]
}

/** Colour and pattern of a series. */
export type ChartTone =
  | 'personal'
  | 'organisation'
  | 'global'
  | 'status0'
  | 'status4xx'
  | 'status5xx'
  | 'gateway5xx'
  | PartTone

/** Tones for categories, routes and other series without a colour of their own, which get them in the order of their size. */
export const PART_TONES = ['part1', 'part2', 'part3', 'part4', 'part5'] as const
export type PartTone = (typeof PART_TONES)[number]

export interface ChartSeries {
  readonly label: string
  /** `null` if the series is not drawn, but appears in words and in the table. */
  readonly tone: ChartTone | null
}

export type UsageRow = UsageResponse['rows'][number]

const STEP_MS = { '30m': HALF_HOUR_MS, '1h': 2 * HALF_HOUR_MS, '1d': DAY_MS } as const
/** The most by which a zone's clock is set. A day may have 23 or 25 hours. */
const CLOCK_SET_MS = 4 * HALF_HOUR_MS

/**
 * The steps of a response without gaps. A step without counts has no row, and is 0 in the chart.
 * @param response with rows by step, for one name
 * @param pick the values of a row, one for each series of the chart
 * @param now milliseconds since the epoch. Later steps are not drawn. Default all
 */
export function pointsOf(
  { from, to, step, rows }: Pick<UsageResponse, 'from' | 'to' | 'step' | 'rows'>,
  pick: (row: UsageRow) => readonly number[],
  now = Number.POSITIVE_INFINITY,
): SeriesPoint[] {
  if (step === 'range' || step === 'run') return []
  const end = Math.min(Date.parse(to), now)
  if (step === '1d') return daysOf(rows, Date.parse(from), end, pick)
  const length = STEP_MS[step]
  const floor = (time: number): number => Math.floor(time / length) * length
  const byStart = new Map(rows.map((row) => [floor(Date.parse(row.start)), pick(row)]))
  const none = pick(EMPTY).map(() => 0)
  // Only half hours that begin in the range count.
  const first = floor(Math.ceil(Date.parse(from) / HALF_HOUR_MS) * HALF_HOUR_MS)
  const points: SeriesPoint[] = []
  for (let start = first; start < end; start += length) {
    points.push({ from: new Date(start), to: new Date(start + length), values: byStart.get(start) ?? none })
  }
  return points
}

/** Days in the API's zone. Each begins where its row does, or about a day after the previous one. */
function daysOf(
  rows: readonly UsageRow[],
  from: number,
  to: number,
  pick: (row: UsageRow) => readonly number[],
): SeriesPoint[] {
  const starts = rows.map((row) => ({ at: Date.parse(row.start), values: pick(row) }))
  const none = pick(EMPTY).map(() => 0)
  const points: SeriesPoint[] = []
  for (let at = from; at < to; ) {
    const row = starts.find((each) => Math.abs(each.at - at) <= CLOCK_SET_MS)
    const begin = row?.at ?? at
    points.push({ from: new Date(begin), to: new Date(begin + DAY_MS), values: row?.values ?? none })
    at = begin + DAY_MS
  }
  return points
}

const EMPTY: UsageRow = { start: '', end: '', tokens: 0, running: false }

/** The sum of each series over all points. */
export function sumsOf(points: readonly SeriesPoint[]): number[] {
  return (points[0]?.values ?? []).map((_, i) => points.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))
}

export function totalOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** A point on the time axis that has a label. */
export interface Tick {
  /** The index of the point in the list. */
  readonly index: number
  /** Whether the label is a day, and not a time of day. */
  readonly isDay: boolean
}

/** As many labels as fit: one for each step, each hour, some hours or each day, depending on the range. */
export function ticksOf(points: readonly SeriesPoint[]): Tick[] {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return []
  const hours = (last.to.getTime() - first.from.getTime()) / 3_600_000
  if (hours <= 3) return points.map((_, index) => ({ index, isDay: false }))
  if (points.every(isOfDay)) return points.map((_, index) => ({ index, isDay: true }))
  const every = hours <= 8 ? 1 : hours <= 48 ? 6 : 24
  return points.flatMap(({ from }, index) => {
    const before = points[index - 1]
    // The first step of an hour, even if steps are longer or the zone is off by half an hour.
    const hour = from.getHours()
    const isNew = before === undefined ? from.getMinutes() === 0 : before.from.getHours() !== hour
    return isNew && hour % every === 0 ? [{ index, isDay: every === 24 }] : []
  })
}

/** Whether a step is a day or longer. A day in which the clock is set forward has 23 hours. */
function isOfDay({ from, to }: SeriesPoint): boolean {
  return to.getTime() - from.getTime() >= 23 * 3_600_000
}

/**
 * Where a key of the keyboard leads on a slider from 0 to `max`: a step, a page of steps, or an end. `null` for other keys.
 * @param page how much Page Up adds; in charts a day
 */
export function moved(key: string, at: number, { max, step = 1, page }: SliderKeys): number | null {
  const next = {
    ...{ ArrowLeft: at - step, ArrowDown: at - step, ArrowRight: at + step, ArrowUp: at + step },
    ...{ PageDown: at - page, PageUp: at + page, Home: 0, End: max },
  }[key]
  return next === undefined ? null : Math.min(max, Math.max(0, next))
}

interface SliderKeys {
  readonly max: number
  readonly step?: number
  readonly page: number
}
