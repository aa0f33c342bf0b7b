import type { UsageResponse } from '../../contract/api.ts'
import { serverNow } from '../api/client.ts'
import { usePoll } from '../api/use-poll.ts'
import { number, t } from '../i18n/text.ts'
import { categoryPath, categoryUsageOf, pathBefore, type Whose } from '../logic/category-usage.ts'
import { type ChartSeries, PART_TONES, totalOf } from '../logic/series.ts'
import { Loaded } from './panel.tsx'
import { useComparing, useRange } from './range.tsx'
import { SeriesChart } from './series-chart.tsx'

const EVERY_MS = 30_000
/** Earlier usage is read seldom, because it hardly changes. */
const BEFORE_EVERY_MS = 600_000

interface CategoryChartProps {
  readonly title: string
  readonly of: Whose
  /** In pixels. Default the height of `SeriesChart`. */
  readonly height?: number
}

/** The tokens in the range of the page by category. If comparing is chosen, a line has the sums of the earlier time. */
export function CategoryChart({ title, of, height }: CategoryChartProps) {
  const path = categoryPath(of, useRange(), serverNow())
  const poll = usePoll<UsageResponse>(path, EVERY_MS)
  return (
    <Loaded poll={poll} hasBanner>
      {(response) => <Drawn title={title} path={path} response={response} height={height} />}
    </Loaded>
  )
}

interface DrawnProps {
  readonly title: string
  readonly path: string
  readonly response: UsageResponse
  readonly height: number | undefined
}

function Drawn({ title, path, response, height }: DrawnProps) {
  const { categories, points } = categoryUsageOf(response, serverNow())
  const compares = useComparing()
  const earlier = usePoll<UsageResponse>(compares ? pathBefore(path, points) : null, BEFORE_EVERY_MS).data
  const over = response.rows.reduce((sum, row) => sum + (row.over ?? 0), 0)
  const total: ChartSeries = { label: t('history.tokens'), tone: null }
  const parts = categories.map(
    (name, i): ChartSeries => ({
      label: name ?? t('series.other'),
      tone: PART_TONES[i] ?? null,
    }),
  )
  const withTotal = points.map((point) => ({
    ...point,
    values: [totalOf(point.values), ...point.values],
  }))
  return (
    <>
      {categories.length === 0 ? (
        <p role="status">{t('users.history.none')}</p>
      ) : (
        <SeriesChart
          title={title}
          {...(height !== undefined && { height })}
          series={[total, ...parts]}
          points={withTotal}
          before={
            earlier && {
              label: t(response.step === '1d' ? 'series.before.week' : 'series.before.day'),
              values: totalsOf(earlier),
            }
          }
        />
      )}
      <p className="muted">
        {isOfWindow(response) && t('users.history.runs', { window: response.window ?? '' })}{' '}
        {over > 0 && t('users.history.over', { over: number(over) })}{' '}
        {(!response.complete || response.next !== null) && t('users.history.short')}
      </p>
    </>
  )
}

/** The sum of all categories for each step. */
function totalsOf(response: UsageResponse): readonly number[] {
  return categoryUsageOf(response, Number.POSITIVE_INFINITY).points.map(({ values }) => totalOf(values))
}

/** Whether the steps are runs of a window, which days are not. */
function isOfWindow({ window, step }: UsageResponse): boolean {
  return window !== null && step !== '1d'
}
