import type { UsageResponse } from '../../contract/api.ts'
import { pointsOf, type SeriesPoint, totalOf, type UsageRow } from './series.ts'

/** What happened in 24 hours, compared with the same hours of the previous day. Pure. */

/** The question to GET /api/usage for `figuresOf`: two days in half hours. */
export const TWO_DAYS_PATH = '/api/usage?by=all&step=30m&from=48h&limit=1000'

export const FIGURES = ['requests', 'refused', 'tokens', 'failed'] as const
export type FigureName = (typeof FIGURES)[number]

export interface Figure {
  readonly name: FigureName
  /** The sum of the last 24 hours. */
  readonly sum: number
  /** The relative change since the previous day, below 0 for a decrease; `null` if that day had nothing. */
  readonly change: number | null
  /** The sum of each hour, oldest first. */
  readonly hours: readonly number[]
}

/** How many half hours a day has. */
const A_DAY = 48

const PICKS: Readonly<Record<FigureName, (row: UsageRow) => number>> = {
  requests: ({ requests = 0 }) => requests,
  refused: ({ refusedPersonal = 0, refusedOrganisation = 0, refusedGlobal = 0 }) =>
    refusedPersonal + refusedOrganisation + refusedGlobal,
  tokens: ({ tokens }) => tokens,
  failed: ({ status0 = 0, status5xx = 0 }) => status0 + status5xx,
}

/** The present half hour is compared with an equal part of the half hour a day before. */
export function figuresOf(response: Pick<UsageResponse, 'from' | 'to' | 'step' | 'rows'>): readonly Figure[] {
  const points = pointsOf(response, (row) => FIGURES.map((name) => PICKS[name](row)))
  const today = points.slice(-A_DAY)
  const before = points.slice(-2 * A_DAY, -A_DAY)
  const part = passed(points.at(-1), Date.parse(response.to))
  return FIGURES.map((name, i) => {
    const values = today.map((point) => point.values[i] ?? 0)
    const sum = totalOf(values)
    const old = before.map((point, at) => (point.values[i] ?? 0) * (at === before.length - 1 ? part : 1))
    const whole = totalOf(old)
    const hours = values.flatMap((value, at) => (at % 2 === 1 ? [value + (values[at - 1] ?? 0)] : []))
    return { name, sum, change: whole > 0 ? sum / whole - 1 : null, hours }
  })
}

/** The part of a step that has passed, 0 to 1. */
function passed(point: SeriesPoint | undefined, at: number): number {
  if (point === undefined) return 1
  const length = point.to.getTime() - point.from.getTime()
  return Math.min(1, Math.max(0, (at - point.from.getTime()) / length))
}
