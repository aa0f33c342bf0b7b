import { useEffect, useRef, useState } from 'react'
import type { FailuresResponse } from '../../../admin/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { logFilter } from '../../logic/log-filter.ts'
import type { SeriesPoint } from '../../logic/series.ts'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'
import { Copyable } from '../../ui/small.tsx'

const EVERY_MS = 10_000

export function Failures() {
  const { t } = useTexts()
  const poll = usePoll<FailuresResponse>('/api/failures', EVERY_MS)
  return (
    <Panel title={t('chart.title')} text={t('chart.text')}>
      <Loaded poll={poll} hasBanner>
        {(response) => <History points={pointsOfFailures(response)} />}
      </Loaded>
    </Panel>
  )
}

function pointsOfFailures({ buckets, bucketMinutes }: FailuresResponse): SeriesPoint[] {
  return buckets.map(({ start, total, status0, status5xx }) => {
    const from = new Date(start)
    return { from, to: new Date(from.getTime() + bucketMinutes * 60_000), values: [status0, status5xx, total] }
  })
}

function History({ points }: { readonly points: readonly SeriesPoint[] }) {
  const { t } = useTexts()
  const [opened, setOpened] = useState<SeriesPoint | null>(null)
  const series = [
    { label: t('chart.status0Short'), tone: 'status0' },
    { label: t('chart.status5xxShort'), tone: 'status5xx' },
    { label: t('chart.total'), tone: null },
  ] as const
  return (
    <>
      <SeriesChart
        title={t('chart.title')}
        series={series}
        points={points}
        height={240}
        opening={{ label: t('chart.filter'), open: setOpened }}
      />
      {opened && <Filter key={opened.from.getTime()} point={opened} />}
    </>
  )
}

/** Takes the focus, because it was asked for from somewhere else. */
function Filter({ point: { from, to } }: { readonly point: SeriesPoint }) {
  const { t, span } = useTexts()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  return (
    <div className="filter">
      <h3 ref={title} tabIndex={-1}>
        {t('chart.filter')}: {span(from, to)}
      </h3>
      <p>{t('chart.filterText')}</p>
      <Copyable text={logFilter(from, to)} label={t('chart.filter')} />
    </div>
  )
}
