import type { UsageResponse } from '../../contract/api.ts'
import { DAY_MS } from './half-hour.ts'
import { type Range, type Step, stepOf, timeQuery } from './range.ts'
import { PART_TONES, pointsOf, type SeriesPoint, type UsageRow } from './series.ts'

/** Usage over time, by category. Pure. */

interface CategoryUsage {
  /** Most tokens first, at most five. If there are more, the last one is `null` and stands for the rest. */
  readonly categories: readonly (string | null)[]
  /** One value for each category. */
  readonly points: readonly SeriesPoint[]
}

type Response = Pick<UsageResponse, 'from' | 'to' | 'step' | 'rows'>

/** @param now milliseconds since the epoch. Later steps are left out */
export function categoryUsageOf(response: Response, now: number): CategoryUsage {
  const all = categoriesOf(response.rows)
  const most = PART_TONES.length
  const categories = all.length > most ? [...all.slice(0, most - 1), null] : all
  const each = categories.map((name) => {
    const isOf = ({ category = '' }: UsageRow) =>
      name === null ? all.indexOf(category) >= most - 1 : category === name
    return pointsOf({ ...response, rows: summed(response.rows.filter(isOf)) }, tokensOf, now)
  })
  const points = pointsOf({ ...response, rows: summed(response.rows) }, tokensOf, now)
  return {
    categories,
    points: points.map((point, i) => ({ ...point, values: each.map((of) => of[i]?.values[0] ?? 0) })),
  }
}

const tokensOf = ({ tokens }: UsageRow) => [tokens]

/** One row for each step, with the sum of its tokens. */
function summed(rows: readonly UsageRow[]): readonly UsageRow[] {
  return [...Map.groupBy(rows, ({ start }) => start).values()].flatMap((some) => {
    const [first] = some
    return first === undefined ? [] : [{ ...first, tokens: some.reduce((sum, { tokens }) => sum + tokens, 0) }]
  })
}

function categoriesOf(rows: readonly UsageRow[]): readonly string[] {
  const sums = new Map<string, number>()
  for (const { category = '', tokens } of rows) sums.set(category, (sums.get(category) ?? 0) + tokens)
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([category]) => category)
}

export type Owner = { readonly user: string } | { readonly organisation: string }
/** Whose usage is drawn: everybody's, one user's or one organisation's. */
export type Whose = { readonly all: true } | Owner

/** The question to GET /api/usage. For one owner a day has hourly steps, and a week daily ones. */
export function categoryPath(whose: Whose, range: Range, now: number): string {
  if ('all' in whose) return pathOf('by=category', stepOf(range, now), timeQuery(range))
  const kind = 'user' in whose ? 'user' : 'organisation'
  const of = `by=${kind}&${new URLSearchParams(whose)}`
  const step = range.name === '7d' ? '1d' : range.name === '24h' ? '1h' : stepOf(range, now)
  return pathOf(of, step, timeQuery(range, 'runs'))
}

function pathOf(of: string, step: Step, time: string): string {
  return `/api/usage?${of}&step=${step}&${time}&limit=1000`
}

/** Days are compared with those a week earlier, which have the same names, and shorter steps with the previous day. */
const SHIFT_MS = { '30m': DAY_MS, '1h': DAY_MS, '1d': 7 * DAY_MS } as const

/** The same question for the earlier time, which is compared with `points`; `null` without points. */
export function pathBefore(path: string, points: readonly SeriesPoint[]): string | null {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return null
  const query = new URLSearchParams(path.slice(path.indexOf('?')))
  const shift = SHIFT_MS[(query.get('step') ?? '30m') as Step]
  query.set('from', new Date(first.from.getTime() - shift).toISOString())
  query.set('to', new Date(last.to.getTime() - shift).toISOString())
  return `/api/usage?${query}`
}
