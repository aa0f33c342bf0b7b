import { Checkbox } from '@mantine/core'
import { t } from '../../i18n/text.ts'
import { HALF_HOUR_MS, halfHourOf } from '../../logic/half-hour.ts'
import type { SeriesPoint } from '../../logic/series.ts'
import { changeFields, useFields } from '../../ui/address.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useRange, useZoom } from '../../ui/range.tsx'
import { SeriesChart } from '../../ui/series-chart.tsx'

interface FailuresProps {
  /** The rule as in the configuration; empty for all. */
  readonly route: string
  /** The half-hours of the range, each with the values of `VALUES`. */
  readonly points: readonly SeriesPoint[]
}

/** Failed requests by half-hour. A click or Enter chooses one for the whole page. */
export function Failures({ route, points }: FailuresProps) {
  const { draw, half } = useFields()
  const { name, from, to } = useRange()
  const zoom = useZoom()
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
  // A day is zoomed into.
  function openPoint({ from, to }: SeriesPoint): void {
    if (to.getTime() - from.getTime() > HALF_HOUR_MS) zoom(from, to)
    else changeFields({ half: from.toISOString() })
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
