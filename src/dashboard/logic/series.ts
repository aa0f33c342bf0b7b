import type { UsageResponse } from '../../contract/api.ts'

/** Values over time, as a chart draws them. */

/** One step of a chart. */
export interface SeriesPoint {
  readonly from: Date
  /** Behind its last moment. */
  readonly to: Date
  /** One for each series of the chart. */
  readonly values: readonly number[]
}

/** Colour and pattern of a series: `.part`, `.line` and `.key` of series-chart.css. */
export type ChartTone =
  | 'tokens'
  | 'requests'
  | 'refused'
  | 'personal'
  | 'organisation'
  | 'global'
  | 'status0'
  | 'status4xx'
  | 'status5xx'
  | 'gateway5xx'

export interface ChartSeries {
  readonly label: string
  /** `null`: it is not drawn, but stands with the others in words and in the table. */
  readonly tone: ChartTone | null
}

export type UsageRow = UsageResponse['rows'][number]

const HALF_HOUR_MS = 1_800_000
const STEP_MS = { '30m': HALF_HOUR_MS, '1h': 2 * HALF_HOUR_MS, '1d': 48 * HALF_HOUR_MS } as const

/**
 * The steps of a response without a hole: a step in which nothing was counted has no row, and is 0 in the chart.
 * @param response with rows by step, of one name
 * @param pick what is drawn of a row: one value for each series of the chart
 */
export function pointsOf(
  { from, to, step, rows }: Pick<UsageResponse, 'from' | 'to' | 'step' | 'rows'>,
  pick: (row: UsageRow) => readonly number[],
): SeriesPoint[] {
  if (step === 'range' || step === 'run') return []
  const length = STEP_MS[step]
  const floor = (time: number): number => Math.floor(time / length) * length
  const byStart = new Map(rows.map((row) => [floor(Date.parse(row.start)), pick(row)]))
  const none = pick(EMPTY).map(() => 0)
  // Only half hours that begin in the range are counted.
  const first = floor(Math.ceil(Date.parse(from) / HALF_HOUR_MS) * HALF_HOUR_MS)
  const points: SeriesPoint[] = []
  for (let start = first; start < Date.parse(to); start += length) {
    points.push({ from: new Date(start), to: new Date(start + length), values: byStart.get(start) ?? none })
  }
  return points
}

const EMPTY: UsageRow = { start: '', end: '', tokens: 0, running: false }

/** The sum of each series over all points. */
export function sumsOf(points: readonly SeriesPoint[]): number[] {
  return (points[0]?.values ?? []).map((_, i) => points.reduce((sum, { values }) => sum + (values[i] ?? 0), 0))
}

/** A point of the axis of time that has a name. */
export interface Tick {
  /** Of the point in the list. */
  readonly index: number
  /** Whether its name is a day; else it is a time of day. */
  readonly isDay: boolean
}

/** As many names as a chart has room for: of each step, each hour, some hours or each day, by how much it shows. */
export function ticksOf(points: readonly SeriesPoint[]): Tick[] {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return []
  const hours = (last.to.getTime() - first.from.getTime()) / 3_600_000
  if (hours <= 3) return points.map((_, index) => ({ index, isDay: false }))
  if (points.every(isOfDay)) return points.map((_, index) => ({ index, isDay: true }))
  const every = hours <= 8 ? 1 : hours <= 48 ? 6 : 24
  return points.flatMap(({ from }, index) => {
    const before = points[index - 1]
    // The first step of an hour, also where steps are longer or the zone is half an hour off.
    const hour = from.getHours()
    const isNew = before === undefined ? from.getMinutes() === 0 : before.from.getHours() !== hour
    return isNew && hour % every === 0 ? [{ index, isDay: every === 24 }] : []
  })
}

/** Whether a step is a day or longer. A day in which the clock goes forward has 23 hours. */
function isOfDay({ from, to }: SeriesPoint): boolean {
  return to.getTime() - from.getTime() >= 23 * 3_600_000
}

/** The days of some shorter steps, from midnight to midnight by the clock of this browser: the values of each are added up. */
export function daysOf(points: readonly SeriesPoint[]): SeriesPoint[] {
  const days = Map.groupBy(points, ({ from }) => dayOf(from).getTime())
  return [...days].map(([start, parts]) => ({
    from: new Date(start),
    to: dayOf(new Date(start), 1),
    values: sumsOf(parts),
  }))
}

/** The midnight that a moment lies behind, or one some days later. */
function dayOf(at: Date, later = 0): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + later)
}

/** Where a key of the keyboard leads from a bar: one bar, one day, or an end. `null` for other keys. */
export function moved(key: string, at: number, count: number, aDay: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -aDay,
    PageUp: aDay,
    Home: -count,
    End: count,
  }
  const step = steps[key]
  return step === undefined ? null : Math.min(count - 1, Math.max(0, at + step))
}
