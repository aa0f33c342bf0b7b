import { useElementSize } from '@mantine/hooks'
import { type KeyboardEvent, type MouseEvent, useEffect, useId, useRef, useState } from 'react'
import { useTexts } from '../i18n/text.tsx'
import { type ChartSeries, moved, type SeriesPoint, sumsOf } from '../logic/series.ts'
import { Drawing, MARGIN, Numbers, xOf } from './series-drawing.tsx'
import './series-chart.css'
import { SeriesTable } from './series-table.tsx'

interface SeriesChartProps {
  /** Names the chart and its table for whoever cannot see where they stand. */
  readonly title: string
  readonly series: readonly ChartSeries[]
  /** Oldest first, of one length. Each has a value for each of the series. */
  readonly points: readonly SeriesPoint[]
  /** `bars` (default) stand on each other in the order of the series. */
  readonly shape?: 'bars' | 'lines'
  /** In pixels. Default 160. */
  readonly height?: number
  /** Index of a point that was chosen, which is marked; -1 (default) for none. */
  readonly marked?: number
  /** What a click or Enter does with a point, and how that is called. */
  readonly opening?: { readonly label: string; readonly open: (point: SeriesPoint) => void }
}

/** A bar of less is not to be met with a pointer; the chart scrolls instead. A week of hours fits beside two other charts. */
const LEAST_BAR = 1.75
const DAY_MS = 86_400_000

/**
 * Values over time, above them the exact ones of the step that is looked at, and all of them as a table below. To the keyboard and to
 * screen readers the chart is a slider over the steps.
 */
export function SeriesChart({
  title,
  series,
  points,
  shape = 'bars',
  height = 160,
  marked = -1,
  opening,
}: SeriesChartProps) {
  const { t, number, span } = useTexts()
  const { ref, width: seen } = useElementSize()
  const [at, setAt] = useState<number | null>(null)
  const [hovered, setHovered] = useState<number | null>(null)
  const cursor = useRef<SVGRectElement>(null)
  const id = useId().replace(/\W/g, '')
  const latest = points.length - 1
  const chosen = Math.min(at ?? latest, latest)
  const shown = Math.min(hovered ?? chosen, latest)
  const width = Math.max(seen, MARGIN.right + points.length * LEAST_BAR)
  const x = xOf(points, width)

  // Where the bars are wider than the window, the one that the keyboard is at is brought into it; at first the latest.
  // biome-ignore lint/correctness/useExhaustiveDependencies: hovering must not scroll
  useEffect(() => {
    const frame = cursor.current?.closest('.chart-scroll')
    if (frame) frame.scrollLeft = (x(chosen) ?? 0) - frame.clientWidth / 2
  }, [chosen, width])

  const point = points[shown]
  if (point === undefined) return null
  const aDay = Math.max(1, Math.round(DAY_MS / (point.to.getTime() - point.from.getTime())))
  const values = series.map(({ label }, i) => `${label} ${number(point.values[i] ?? 0)}`)

  function indexOf(event: MouseEvent<HTMLElement>): number {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left
    return Math.min(latest, Math.max(0, Math.floor(left / x.step())))
  }
  function open(index: number): void {
    const wanted = points[index]
    setAt(index)
    if (wanted !== undefined) opening?.open(wanted)
  }
  function press(event: KeyboardEvent): void {
    const next = moved(event.key, shown, points.length, aDay)
    const opens = opening !== undefined && (event.key === 'Enter' || event.key === ' ')
    if (next === null && !opens) return
    event.preventDefault()
    setHovered(null)
    if (next !== null) setAt(next)
    else open(shown)
  }

  const keys = t(opening === undefined ? 'series.keys' : 'series.keysOpen', { open: opening?.label ?? '' })
  return (
    <div className="chart">
      <p className="readout" aria-hidden="true">
        <strong>{span(point.from, point.to)}</strong>
        {series.map(({ label, tone }, i) => (
          <span key={label} className={tone === null ? undefined : `key ${tone} ${shape}`}>
            {label}: <strong>{number(point.values[i] ?? 0)}</strong>
          </span>
        ))}
        {shown === latest && <span className="muted">{t('series.latest')}</span>}
      </p>
      <div className="chart-frame">
        <Numbers series={series} points={points} shape={shape} height={height} />
        <div ref={ref} className="chart-scroll">
          <div
            role="slider"
            tabIndex={0}
            aria-label={`${title}. ${keys}`}
            aria-valuemin={1}
            aria-valuemax={points.length}
            aria-valuenow={shown + 1}
            aria-valuetext={`${span(point.from, point.to)}: ${values.join(t('word.listComma'))}`}
            onKeyDown={press}
            onMouseMove={(event) => setHovered(indexOf(event))}
            onMouseLeave={() => setHovered(null)}
            onClick={(event) => open(indexOf(event))}
            className={opening === undefined ? 'chart-slider' : 'chart-slider opens'}
          >
            <svg width={width} height={height} aria-hidden="true">
              {points[marked] !== undefined && (
                <rect className="marked" x={x(marked)} width={x.bandwidth()} y={0} height={height - MARGIN.bottom} />
              )}
              <rect
                ref={cursor}
                className="cursor"
                x={x(shown)}
                width={x.bandwidth()}
                y={MARGIN.top}
                height={height - MARGIN.top - MARGIN.bottom}
              />
              <Drawing id={id} series={series} points={points} shape={shape} width={width} height={height} />
            </svg>
          </div>
        </div>
      </div>
      <Legend series={series} points={points} />
      <SeriesTable title={title} series={series} points={points} />
    </div>
  )
}

/** The sums of all that is shown. */
function Legend({ series, points }: Pick<SeriesChartProps, 'series' | 'points'>) {
  const { t, number, time } = useTexts()
  const sums = sumsOf(points)
  const first = points[0]
  if (first === undefined) return null
  const all = series.map(({ label }, i) => `${label} ${number(sums[i] ?? 0)}`).join(t('word.listComma'))
  return <p className="muted">{t('series.sums', { from: time(first.from), sums: all })}</p>
}
