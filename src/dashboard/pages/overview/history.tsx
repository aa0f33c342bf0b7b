import type { UsageResponse } from '../../../contract/api.ts'
import { serverNow } from '../../api/client.ts'
import { usePoll } from '../../api/use-poll.ts'
import { t } from '../../i18n/text.ts'
import { stepOf, timeQuery } from '../../logic/range.ts'
import { scopeSeries } from '../../logic/scope.ts'
import { type ChartSeries, pointsOf, type UsageRow } from '../../logic/series.ts'
import { CategoryChart } from '../../ui/category-chart.tsx'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { useRange } from '../../ui/range.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'

/** Only the latest half hours change, so more often would show little more. */
const EVERY_MS = 30_000

/** Tokens, refusals and upstream errors over the chosen range, from the store. */
export function History() {
  const range = useRange()
  const path = `/api/usage?by=all&step=${stepOf(range, serverNow())}&${timeQuery(range)}&limit=1000`
  const poll = usePoll<UsageResponse>(path, EVERY_MS)
  return (
    <Panel title={t('history.title')}>
      <Loaded poll={poll} hasBanner>
        {(response) => (
          <div className="history">
            <section>
              <h3>{t('now.tokens')}</h3>
              <CategoryChart title={t('now.tokens')} of={{ all: true }} height={90} />
            </section>
            <Chart title={t('now.refused')} series={scopeSeries()} response={response} pick={refusedOf} />
            <Chart title={t('now.failed')} series={failedSeries()} response={response} pick={failedOf} />
          </div>
        )}
      </Loaded>
    </Panel>
  )
}

function failedSeries(): readonly ChartSeries[] {
  return [
    { label: t('chart.status0Short'), tone: 'status0' },
    { label: t('chart.status5xxShort'), tone: 'status5xx' },
  ]
}

const refusedOf = (row: UsageRow) => [row.refusedPersonal ?? 0, row.refusedOrganisation ?? 0, row.refusedGlobal ?? 0]
const failedOf = ({ status0 = 0, status5xx = 0 }: UsageRow) => [status0, status5xx]

interface ChartProps {
  readonly title: string
  readonly series: readonly ChartSeries[]
  readonly response: UsageResponse
  readonly pick: (row: UsageRow) => readonly number[]
}

function Chart({ title, series, response, pick }: ChartProps) {
  return (
    <section>
      <h3>{title}</h3>
      <SeriesChart title={title} series={series} points={pointsOf(response, pick, serverNow())} height={90} />
    </section>
  )
}
