import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import { span, t } from '../i18n/text.ts'
import type { ChartSeries, SeriesPoint } from '../logic/series.ts'
import { DataTable } from './data-table.tsx'

interface SeriesTableProps {
  readonly title: string
  readonly series: readonly ChartSeries[]
  readonly points: readonly SeriesPoint[]
}

/** The same values as a table, latest first. Its rows are created only when it is open. */
export function SeriesTable({ title, series, points }: SeriesTableProps) {
  const [open, setOpen] = useState(false)
  const [onlySome, setOnlySome] = useState(true)
  const isDrawn = (_: number, i: number) => series[i]?.tone !== null
  const shown = points.filter(({ values }) => !onlySome || values.filter(isDrawn).some((value) => value !== 0))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t('series.table')}</summary>
      {open && (
        <>
          <Checkbox
            label={t('series.onlySome')}
            checked={onlySome}
            onChange={(event) => setOnlySome(event.currentTarget.checked)}
          />
          <DataTable
            look="small"
            label={title}
            columns={[
              { id: 'step', head: t('series.step'), cell: ({ from, to }: SeriesPoint) => span(from, to) },
              ...series.map(({ label }, i) => ({
                ...{ id: label, head: label },
                count: ({ values }: SeriesPoint) => values[i] ?? 0,
              })),
            ]}
            rows={shown.toReversed()}
            none={t('series.nothing')}
            keyOf={({ from }) => String(from.getTime())}
          />
        </>
      )}
    </details>
  )
}
