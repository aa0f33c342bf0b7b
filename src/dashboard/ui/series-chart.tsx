import { Checkbox } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { type KeyboardEvent, type PointerEvent, useEffect, useId, useRef, useState } from 'react'
import { serverNow } from '../api/client.ts'
import { language, number, span, t, time } from '../i18n/text.ts'
import { DAY_MS } from '../logic/half-hour.ts'
import { type ChartSeries, moved, type SeriesPoint, sumsOf } from '../logic/series.ts'
import { DataTable } from './data-table.tsx'
import { useZoom } from './range.tsx'
import { Drawing, keyOf, MARGIN, Numbers, xOf } from './series-drawing.tsx'
import './series-chart.css'

interface SeriesChartProps {
  /** Names the chart and its table for people who cannot see their place. */
  readonly title: string
  readonly series: readonly ChartSeries[]
  /** Oldest first, all of the same length. Each has a value for each series. */
  readonly points: readonly SeriesPoint[]
  /** The sums of an earlier time, one for each point, and a name for them. Default none. */
  readonly before?: { readonly label: string; readonly values: readonly number[] } | null
  /** In pixels. Default 160. */
  readonly height?: number
  /** Index of the chosen point, which is marked; -1 (default) for none. */
  readonly marked?: number
  /** What a click, Enter or the space bar does with a point, and the name of that action. Default none. */
  readonly opening?: { readonly label: string; readonly open: (point: SeriesPoint) => void }
}

/** The least width of a bar that a pointer can hit, so a narrower chart scrolls. A week of hours fits beside two other charts. */
const LEAST_BAR = 1.75

/**
 * Values over time as stacked bars in the order of the series, with the exact values of one step above, and all values as a table below.
 * For keyboard and screen readers the chart is a slider over the steps. Dragging the pointer over several steps chooses their time for
 * this page and others.
 */
export function SeriesChart({
  title,
  series,
  points,
  before = null,
  height = 160,
  marked = -1,
  opening,
}: SeriesChartProps) {
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
  const drag = useDrag({ points, onMove: setHovered, onChoose: open })

  // If the chart is wider than its frame, it scrolls to the bar that the keyboard has chosen, at first to the latest.
  // biome-ignore lint/correctness/useExhaustiveDependencies: hovering must not scroll
  useEffect(() => {
    const frame = cursor.current?.closest('.chart-scroll')
    if (frame) frame.scrollLeft = (x(chosen) ?? 0) - frame.clientWidth / 2
  }, [chosen, width])

  const point = points[shown]
  if (point === undefined) return null
  const aDay = Math.max(1, Math.round(DAY_MS / (point.to.getTime() - point.from.getTime())))
  const drawn = { series, points, height, before: before?.values ?? null }
  const values = series.map(({ label }, i) => `${label} ${number(point.values[i] ?? 0)}`)
  if (before !== null) values.push(`${before.label} ${number(before.values[shown] ?? 0)}`)

  function indexOf(event: PointerEvent<HTMLElement>): number {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left
    return Math.min(latest, Math.max(0, Math.floor(left / x.step())))
  }
  function open(index: number): void {
    const wanted = points[index]
    setAt(index)
    if (wanted !== undefined) opening?.open(wanted)
  }
  function press(event: KeyboardEvent): void {
    const next = moved(event.key, shown, { max: latest, page: aDay })
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
      <Readout series={series} point={point} before={before} at={shown} isLatest={shown === latest} />
      <div className="chart-frame">
        <Numbers key={language} {...drawn} />
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
            {...drag.handlers(indexOf)}
            title={t('series.zoom')}
            className={opening === undefined ? 'chart-slider' : 'chart-slider opens'}
          >
            <svg width={width} height={height} aria-hidden="true">
              {points[marked] !== undefined && (
                <rect className="marked" x={x(marked)} width={x.bandwidth()} y={0} height={height - MARGIN.bottom} />
              )}
              <rect
                ref={cursor}
                className="cursor"
                x={x(Math.min(drag.from ?? shown, shown))}
                width={x.bandwidth() + x.step() * Math.abs((drag.from ?? shown) - shown)}
                y={MARGIN.top}
                height={height - MARGIN.top - MARGIN.bottom}
              />
              <Drawing key={language} id={id} width={width} {...drawn} />
            </svg>
          </div>
        </div>
      </div>
      <Sums series={series} points={points} />
      <SeriesTable title={title} series={series} points={points} />
    </div>
  )
}

interface ReadoutProps extends Pick<SeriesChartProps, 'series'> {
  readonly point: SeriesPoint
  readonly before: NonNullable<SeriesChartProps['before']> | null
  /** Index of the point. */
  readonly at: number
  readonly isLatest: boolean
}

/** The exact values of one step. */
function Readout({ series, point, before, at, isLatest }: ReadoutProps) {
  return (
    <p className="readout" aria-hidden="true">
      <strong>{span(point.from, point.to)}</strong>
      {series.map(({ label, tone }, i) => (
        <span key={label} {...(tone !== null && keyOf(tone))}>
          {label}
          {t('word.colon')}
          <strong>{number(point.values[i] ?? 0)}</strong>
        </span>
      ))}
      {before !== null && (
        <span className="key before">
          {before.label}
          {t('word.colon')}
          <strong>{number(before.values[at] ?? 0)}</strong>
        </span>
      )}
      {isLatest && point.to.getTime() > serverNow() && <span className="muted">{t('series.latest')}</span>}
    </p>
  )
}

interface DragOptions {
  readonly points: readonly SeriesPoint[]
  readonly onMove: (index: number | null) => void
  /** Called after a click on a point. */
  readonly onChoose: (index: number) => void
}

/** Choosing a range by dragging the mouse: `from` is the step where it began, `null` while nothing is dragged. A finger scrolls instead. */
function useDrag({ points, onMove, onChoose }: DragOptions) {
  const zoom = useZoom()
  const [from, setFrom] = useState<number | null>(null)
  function end(index: number): void {
    const [first, last] = [points[Math.min(from ?? index, index)], points[Math.max(from ?? index, index)]]
    setFrom(null)
    if (from === null || from === index) onChoose(index)
    else if (first !== undefined && last !== undefined) zoom(first.from, last.to)
  }
  return {
    from,
    handlers: (indexOf: (event: PointerEvent<HTMLElement>) => number) => ({
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        if (event.pointerType === 'mouse' && event.button === 0) setFrom(indexOf(event))
      },
      onPointerMove: (event: PointerEvent<HTMLElement>) => onMove(indexOf(event)),
      onPointerUp: (event: PointerEvent<HTMLElement>) => {
        if (event.button === 0) end(indexOf(event))
      },
      onPointerLeave: () => {
        setFrom(null)
        onMove(null)
      },
    }),
  }
}

/** The sum of each series over all steps, in words. */
function Sums({ series, points }: Pick<SeriesChartProps, 'series' | 'points'>) {
  const sums = sumsOf(points)
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return null
  const all = series.map(({ label }, i) => `${label} ${number(sums[i] ?? 0)}`).join(t('word.listComma'))
  const words = { from: time(first.from), to: time(last.to), sums: all }
  return <p className="muted">{t(last.to.getTime() > serverNow() ? 'series.sums' : 'series.sumsTo', words)}</p>
}

/** The same values as a table, latest first. Its rows are created only when it is open. */
function SeriesTable({ title, series, points }: Pick<SeriesChartProps, 'title' | 'series' | 'points'>) {
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
