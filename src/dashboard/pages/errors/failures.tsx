import { Checkbox } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { FailuresResponse, UsageResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { logFilter } from '../../logic/log-filter.ts'
import { countedIn } from '../../logic/route-usage.ts'
import { pointsOf, pointsOfFailures, type SeriesPoint, type UsageRow } from '../../logic/series.ts'
import { useFields } from '../../ui/address.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'
import { Copyable } from '../../ui/small.tsx'

const EVERY_MS = 10_000

interface OfRouteProps {
  /** The rule as the configuration has it; empty for all. */
  readonly route: string
}

/** Errors of the upstream in the last 7 days by half hour. */
export function Failures({ route }: OfRouteProps) {
  const { t } = useTexts()
  const title = route === '' ? t('chart.title') : t('chart.titleOf', { route })
  return (
    <Panel title={title} text={t('chart.text')}>
      {route === '' ? <OfAll title={title} /> : <OfOne title={title} route={route} />}
    </Panel>
  )
}

/** Of all routes. How many were answered with 4xx only the series know. */
function OfAll({ title }: { readonly title: string }) {
  const poll = usePoll<FailuresResponse>('/api/failures', EVERY_MS)
  const usage = usePoll<UsageResponse>('/api/usage?by=all&step=30m&from=7d&limit=1000', EVERY_MS).data
  const by4xx = new Map(usage?.rows.map(({ start, status4xx = 0 }) => [Date.parse(start), status4xx]))
  return (
    <Loaded poll={poll} hasBanner>
      {(response) => {
        const points = pointsOfFailures(response, ({ total, status0, status5xx }, start) => [
          ...[status0, status5xx, total],
          by4xx.get(start) ?? 0,
        ])
        return <History title={title} points={points} route="" />
      }}
    </Loaded>
  )
}

function OfOne({ title, route }: OfRouteProps & { readonly title: string }) {
  const path = `/api/usage?by=route&route=${encodeURIComponent(route)}&step=30m&from=7d&limit=1000`
  const poll = usePoll<UsageResponse>(path, EVERY_MS)
  return (
    <Loaded poll={poll} hasBanner>
      {(response) => <History title={title} points={pointsOf(response, valuesOf)} route={route} />}
    </Loaded>
  )
}

function valuesOf(row: UsageRow): readonly number[] {
  const { status0, status5xx, forwarded, status4xx } = countedIn(row)
  return [status0, status5xx, forwarded, status4xx]
}

interface HistoryProps extends OfRouteProps {
  readonly title: string
  readonly points: readonly SeriesPoint[]
}

function History({ title, points, route }: HistoryProps) {
  const { t } = useTexts()
  const [{ draw }, change] = useFields()
  const [opened, setOpened] = useState<SeriesPoint | null>(null)
  const with4xx = draw === '4xx'
  const series = [
    { label: t('chart.status0Short'), tone: 'status0' },
    { label: t('chart.status5xxShort'), tone: 'status5xx' },
    { label: t('chart.total'), tone: null },
    { label: t('routes.status4xx'), tone: with4xx ? 'status4xx' : null },
  ] as const
  return (
    <>
      <Checkbox
        label={t('chart.draw4xx')}
        checked={with4xx}
        onChange={(event) => change({ draw: event.currentTarget.checked ? '4xx' : null })}
      />
      <SeriesChart
        title={title}
        series={series}
        points={points}
        height={240}
        opening={{ label: t('chart.filter'), open: setOpened }}
      />
      {opened && <Filter key={opened.from.getTime()} point={opened} route={route} with4xx={with4xx} />}
    </>
  )
}

interface FilterProps extends OfRouteProps {
  readonly point: SeriesPoint
  readonly with4xx: boolean
}

/** Takes the focus, because it was asked for from somewhere else. */
function Filter({ point: { from, to }, route, with4xx }: FilterProps) {
  const { t, span } = useTexts()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  const filter = logFilter(from, to, { with4xx, ...(route !== '' && { route }) })
  return (
    <div className="filter">
      <h3 ref={title} tabIndex={-1}>
        {t('chart.filter')}: {span(from, to)}
      </h3>
      <p>{t('chart.filterText')}</p>
      <Copyable text={filter} label={t('chart.filter')} />
    </div>
  )
}
