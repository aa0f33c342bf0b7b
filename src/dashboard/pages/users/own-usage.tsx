import type { UsageResponse } from '../../../contract/api.ts'
import { usePoll } from '../../api/use-poll.ts'
import { useTexts } from '../../i18n/text.tsx'
import { ownUsageOf, ownUsagePath } from '../../logic/own-usage.ts'
import type { Range } from '../../logic/range.ts'
import type { ChartSeries } from '../../logic/series.ts'
import { Loaded, Panel } from '../../ui/panel.tsx'
import { RangeSwitch, useRange } from '../../ui/range.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'

const EVERY_MS = 30_000

interface OwnUsageProps {
  readonly kind: 'user' | 'organisation'
  readonly id: string
}

/** The tokens that one user, or one organisation, used over the chosen range. */
export function OwnUsage({ kind, id }: OwnUsageProps) {
  const { t } = useTexts()
  const range = useRange()
  const poll = usePoll<UsageResponse>(ownUsagePath(kind, id, range), EVERY_MS)
  return (
    <Panel title={t('users.history')}>
      <RangeSwitch />
      <Loaded poll={poll} hasBanner>
        {(response) => <Drawn response={response} range={range} />}
      </Loaded>
    </Panel>
  )
}

function Drawn({ response, range }: { readonly response: UsageResponse; readonly range: Range }) {
  const { t, number } = useTexts()
  const { categories, points } = ownUsageOf(response, range)
  const over = response.rows.reduce((sum, row) => sum + (row.over ?? 0), 0)
  const total: ChartSeries = { label: t('history.tokens'), tone: 'tokens' }
  const parts = categories.map((label): ChartSeries => ({ label, tone: null }))
  return (
    <>
      {categories.length === 0 ? (
        <p role="status">{t('users.history.none')}</p>
      ) : (
        <SeriesChart title={t('users.history')} series={[total, ...parts]} points={points} />
      )}
      <p className="muted">
        {response.window !== null && t('users.history.runs', { window: response.window })}{' '}
        {over > 0 && t('users.history.over', { over: number(over) })}{' '}
        {(!response.complete || response.next !== null) && t('users.history.short')}
      </p>
    </>
  )
}
