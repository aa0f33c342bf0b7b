import type { UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { stepOf, usageFrom } from '../../logic/range.ts'
import { type ChartSeries, pointsOf, type UsageRow } from '../../logic/series.ts'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { RangeSwitch, useRange } from '../../ui/range.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'

/** Half hours that are over stay as they are. */
const EVERY_MS = 30_000

/** Tokens, refusals and upstream errors over the chosen range, as the store has them. */
export function History() {
  const { t } = useTexts()
  const range = useRange()
  const path = `/api/usage?by=all&step=${stepOf(range)}&from=${usageFrom(range)}&limit=1000`
  const poll = usePoll<UsageResponse>(path, EVERY_MS)
  return (
    <Panel title={t('history.title')}>
      <RangeSwitch />
      <Loaded poll={poll} hasBanner>
        {(response) => <Charts response={response} />}
      </Loaded>
    </Panel>
  )
}

function Charts({ response }: { readonly response: UsageResponse }) {
  const { t } = useTexts()
  return (
    <div className="history">
      <Chart
        title={t('now.tokens')}
        series={[{ label: t('history.tokens'), tone: 'tokens' }]}
        {...{ response }}
        pick={tokensOf}
      />
      <Chart
        title={t('now.refused')}
        series={[
          { label: t('word.personal'), tone: 'personal' },
          { label: t('word.organisation'), tone: 'organisation' },
          { label: t('word.global'), tone: 'global' },
        ]}
        response={response}
        pick={refusedOf}
      />
      <Chart
        title={t('now.failed')}
        series={[
          { label: t('chart.status0Short'), tone: 'status0' },
          { label: t('chart.status5xxShort'), tone: 'status5xx' },
        ]}
        response={response}
        pick={failedOf}
      />
    </div>
  )
}

const tokensOf = ({ tokens }: UsageRow) => [tokens]
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
      <SeriesChart title={title} series={series} points={pointsOf(response, pick)} height={90} />
    </section>
  )
}
