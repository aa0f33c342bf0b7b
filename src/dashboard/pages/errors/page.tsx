import type { RoutesResponse, UsageResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { span, t } from '../../i18n/text.ts'
import { VALUES } from '../../logic/blame.ts'
import { halfHourOf } from '../../logic/half-hour.ts'
import { logFilter } from '../../logic/log-filter.ts'
import { stepOf, timeQuery } from '../../logic/range.ts'
import { countedIn } from '../../logic/route-usage.ts'
import { pointsOf, type SeriesPoint, type UsageRow } from '../../logic/series.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { Choice } from '../../ui/form.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { Plain } from '../../ui/plain.tsx'
import { rangeWords, useRange } from '../../ui/range.tsx'
import { Copyable } from '../../ui/small.tsx'
import { Verdict } from './blame.tsx'
import { FailingRoutes } from './failing-routes.tsx'
import { Failures } from './failures.tsx'
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

/** Counts for the chosen half-hour, or the whole range if none is chosen; and over the whole range. */
function useCounts(route: string) {
  const { half } = useFields()
  const range = useRange()
  const chosen = halfHourOf(half)
  const time = chosen === null ? timeQuery(range) : `from=${chosen.from.toISOString()}&to=${chosen.to.toISOString()}`
  // Half-hours as far back as they are kept, because one can be chosen for the whole page.
  const step = stepOf(range, serverNow()) === '1d' ? '1d' : '30m'
  const of = route === '' ? 'by=all' : `by=route&route=${encodeURIComponent(route)}`
  return {
    byRoute: usePoll<UsageResponse>(`/api/usage?by=route&${time}&limit=1000`, EVERY_MS),
    all: usePoll<UsageResponse>(route === '' ? `/api/usage?by=all&${time}` : null, EVERY_MS),
    overTime: usePoll<UsageResponse>(`/api/usage?${of}&step=${step}&${timeQuery(range)}&limit=1000`, EVERY_MS),
  }
}

/** What time the page is about: the range, or the half-hour that was chosen, with the way back. It has one place for both. */
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

interface LogFilterProps {
  /** The rule as in the configuration; empty for all. */
  readonly route: string
  /** For the whole range. */
  readonly points: readonly SeriesPoint[]
}

/** How to find the failed requests of the time in question in the log. */
function LogFilter({ route, points }: LogFilterProps) {
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
