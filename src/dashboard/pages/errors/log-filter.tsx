import { useTexts } from '../../i18n/text.tsx'
import { halfHourOf } from '../../logic/half-hour.ts'
import { logFilter } from '../../logic/log-filter.ts'
import type { SeriesPoint } from '../../logic/series.ts'
import { useFields } from '../../ui/address.tsx'
import { Copyable } from '../../ui/small.tsx'

interface LogFilterProps {
  /** The rule as the configuration has it; empty for all. */
  readonly route: string
  /** Of the whole range. */
  readonly points: readonly SeriesPoint[]
}

/** How the failed requests of the time in question are found in the log. */
export function LogFilter({ route, points }: LogFilterProps) {
  const { t } = useTexts()
  const [{ half, draw }] = useFields()
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
