import { Checkbox } from '@mantine/core'
import type { RoutesResponse, UsageResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { number, share, span, t } from '../../i18n/text.ts'
import { choiceOf, VALUES } from '../../logic/blame.ts'
import { type FailingRoute, failingRoutes } from '../../logic/failing-routes.ts'
import { halfHourOf } from '../../logic/half-hour.ts'
import { hashOf } from '../../logic/location.ts'
import { logFilter } from '../../logic/log-filter.ts'
import { stepOf, timeQuery } from '../../logic/range.ts'
import { countedIn, OTHER_ROUTES, shareOf } from '../../logic/route-usage.ts'
import { pointsOf, type SeriesPoint, type UsageRow } from '../../logic/series.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { type Column, counted, DataTable } from '../../ui/data-table.tsx'
import { Choice } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { rangeWords, useRange } from '../../ui/range.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'
import { Copyable, Plain } from '../../ui/small.tsx'
import { Verdict } from './blame.tsx'
import './errors.css'

const EVERY_MS = 10_000
/** The configuration rarely changes. */
const ROUTES_EVERY_MS = 60_000

/**
 * Failures of all routes or of one: the cause, the time and the place. The address has the route, the range and the chosen half-hour.
 */
export function ErrorsPage() {
  const { route = '' } = useFields()
  const { byRoute, all, overTime } = useCounts(route)
  const rules = usePoll<RoutesResponse>('/api/routes', ROUTES_EVERY_MS).data?.routes ?? []
  const points = overTime.data === null ? null : pointsOf(overTime.data, valuesOf, serverNow())
  const rowOf = ({ rows }: UsageResponse) => (route === '' ? rows[0] : rows.find((row) => row.route === route))
  return (
    <>
      <search className="wrap ends error-search">
        <Choice
          className="route-choice"
          {...{ label: t('routes.match'), none: t('errors.allRoutes'), value: route }}
          values={rules.map(({ match }) => match)}
          onChoose={(route) => changeFields({ route })}
        />
        <span className="muted">{t('errors.byHalfHour')}</span>
      </search>
      <Panel title={t('blame.title')}>
        <TimeInQuestion />
        <Loaded poll={route === '' ? all : byRoute} hasBanner>
          {(response) => <Verdict row={rowOf(response)} points={points ?? []} />}
        </Loaded>
      </Panel>
      <Loaded poll={overTime} hasBanner>
        {() => <Failures route={route} points={points ?? []} />}
      </Loaded>
      {route === '' && byRoute.data !== null && <FailingRoutes rows={byRoute.data.rows} all={all.data?.rows[0]} />}
      <LogFilter route={route} points={points ?? []} />
    </>
  )
}

function valuesOf(row: UsageRow): readonly number[] {
  const counted = countedIn(row)
  return VALUES.map((field) => counted[field])
}

/** Counts of the chosen half-hour, or else of the range, and counts over time in the whole range. */
function useCounts(route: string) {
  const { half } = useFields()
  const range = useRange()
  const chosen = halfHourOf(half)
  const time = chosen === null ? timeQuery(range) : `from=${chosen.from.toISOString()}&to=${chosen.to.toISOString()}`
  // Where half-hours are kept they are the steps, because a half-hour can be chosen for the whole page.
  const step = stepOf(range, serverNow()) === '1d' ? '1d' : '30m'
  const of = route === '' ? 'by=all' : `by=route&route=${encodeURIComponent(route)}`
  return {
    byRoute: usePoll<UsageResponse>(`/api/usage?by=route&${time}&limit=1000`, EVERY_MS),
    all: usePoll<UsageResponse>(route === '' ? `/api/usage?by=all&${time}` : null, EVERY_MS),
    overTime: usePoll<UsageResponse>(`/api/usage?${of}&step=${step}&${timeQuery(range)}&limit=1000`, EVERY_MS),
  }
}

/** The time of the page: the range, or the chosen half-hour with a link back. Both appear in the same place. */
function TimeInQuestion() {
  const { half } = useFields()
  const range = useRange()
  const chosen = halfHourOf(half)
  return (
    <p className="wrap error-time">
      <span aria-live="polite">
        {chosen === null
          ? t(range.name === null ? 'errors.ofDates' : 'errors.ofRange', { range: rangeWords(range) })
          : t('errors.ofHalfHour', { span: span(chosen.from, chosen.to) })}
      </span>
      {chosen !== null && (
        <Plain size="compact-sm" onClick={() => changeFields({ half: null })}>
          {t('errors.wholeRange')}
        </Plain>
      )}
    </p>
  )
}

interface OfRoute {
  /** The rule as in the configuration; empty for all. */
  readonly route: string
  /** The steps of the whole range. */
  readonly points: readonly SeriesPoint[]
}

/** How to find the failed requests of the time in question in the log. */
function LogFilter({ route, points }: OfRoute) {
  const { half, draw } = useFields()
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return null
  const { from, to } = halfHourOf(half) ?? { from: first.from, to: last.to }
  const filter = logFilter(from, to, { with4xx: draw === '4xx', ...(route !== '' && { route }) })
  return (
    <details className="panel">
      <summary>{t('chart.inLog')}</summary>
      <p>{t('chart.filterText')}</p>
      <Copyable text={filter} label={t('chart.filter')} />
    </details>
  )
}

/** Failed requests by half-hour or by day. A click or Enter chooses a half-hour, or a day as the range, for the whole page. */
function Failures({ route, points }: OfRoute) {
  const { draw, half } = useFields()
  const { name, from, to } = useRange()
  const title = route === '' ? t('chart.title') : t('chart.titleOf', { route })
  const with4xx = draw === '4xx'
  const start = halfHourOf(half)?.from.getTime()
  const series = [
    { label: t('chart.status0Short'), tone: 'status0' },
    { label: t('chart.status5xxShort'), tone: 'status5xx' },
    { label: t('errors.gateway5xx'), tone: 'gateway5xx' },
    { label: t('chart.total'), tone: null },
    { label: t('routes.status4xx'), tone: with4xx ? 'status4xx' : null },
  ] as const
  function openPoint(point: SeriesPoint): void {
    const choice = choiceOf(point)
    changeFields(choice, choice.half === null)
  }
  return (
    <Panel title={title} text={t('chart.text')}>
      <Checkbox
        label={t('chart.draw4xx')}
        checked={with4xx}
        onChange={(event) => changeFields({ draw: event.currentTarget.checked ? '4xx' : null })}
      />
      <SeriesChart
        key={`${name} ${from} ${to} ${route}`}
        title={title}
        series={series}
        points={points}
        height={240}
        marked={points.findIndex(({ from }) => from.getTime() === start)}
        opening={{ label: t('chart.open'), open: openPoint }}
      />
    </Panel>
  )
}

interface FailingRoutesProps {
  /** One row for each route, with the counts of the time in question. */
  readonly rows: readonly UsageRow[]
  /** The counts of all requests together. */
  readonly all: UsageRow | undefined
}

/** The failing routes, each with a link to its errors, and failures without a route. */
function FailingRoutes({ rows, all }: FailingRoutesProps) {
  const count = (id: 'status5xx' | 'status0' | 'gateway5xx' | 'status4xx', head: string) =>
    counted<FailingRoute>(id, head, (row) => row[id])
  const shareOfForwarded = ({ status5xx, status0, forwarded }: FailingRoute) => shareOf(status5xx + status0, forwarded)
  const columns: readonly Column<FailingRoute>[] = [
    { id: 'route', head: t('routes.match'), cell: ({ route }) => <RouteLink route={route} /> },
    {
      ...{ id: 'share', head: t('errors.share'), isNumber: true },
      sort: shareOfForwarded,
      cell: (row) => {
        const part = shareOfForwarded(row)
        return part === null ? '–' : t('errors.shareOf', { share: share(part), forwarded: number(row.forwarded) })
      },
    },
    count('status5xx', t('chart.status5xxShort')),
    count('status0', t('chart.status0Short')),
    count('gateway5xx', t('errors.gateway5xx')),
    count('status4xx', t('routes.status4xx')),
  ]
  return (
    <Panel title={t('errors.routes')} text={t('errors.routesText')}>
      <DataTable
        label={t('errors.routes')}
        columns={columns}
        rows={failingRoutes(rows, all)}
        none={t('errors.noRoute')}
        keyOf={({ route }) => `${route}`}
      />
    </Panel>
  )
}

function RouteLink({ route }: Pick<FailingRoute, 'route'>) {
  const fields = useFields()
  if (route === null) return t('errors.withoutRoute')
  if (route === OTHER_ROUTES) return t('routes.others')
  return (
    <a href={hashOf('errors', null, { ...fields, route })}>
      <code>{route}</code>
    </a>
  )
}
