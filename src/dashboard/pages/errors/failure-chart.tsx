import { useElementSize } from '@mantine/hooks'
import { AxisBottom, AxisLeft } from '@visx/axis'
import { PatternLines } from '@visx/pattern'
import { scaleBand, scaleLinear } from '@visx/scale'
import { Bar } from '@visx/shape'
import { type KeyboardEvent, type MouseEvent, memo, useEffect, useRef, useState } from 'react'
import { useTexts } from '../../i18n/text.tsx'
import { type Bucket, moved } from '../../logic/buckets.ts'

const HEIGHT = 240
const MARGIN = { top: 10, right: 4, bottom: 26 } as const
/** Of the numbers, which stay where they are while the bars scroll. */
const NUMBERS_WIDTH = 44
/** A bar of less is not to be met with a finger; the chart scrolls instead. */
const LEAST_BAR = 2.2
const A_DAY = 48
/** Of its name, which stands behind its midnight: in the middle it would be half over the day before. */
const DAY_WIDTH = 56

/**
 * The bars of all half-hours, and above them the exact numbers of the one that is looked at. To the keyboard and to screen
 * readers it is a slider over the half-hours, whose value is what the bar says.
 */
export function FailureChart({
  buckets,
  onOpen,
}: {
  readonly buckets: readonly Bucket[]
  readonly onOpen: (bucket: Bucket) => void
}) {
  const { t, number, span } = useTexts()
  const { ref, width: seen } = useElementSize()
  const [at, setAt] = useState(buckets.length - 1)
  const cursor = useRef<SVGRectElement>(null)
  const [hovered, setHovered] = useState<number | null>(null)
  const shown = Math.min(hovered ?? at, buckets.length - 1)
  const bucket = buckets[shown]
  const width = Math.max(seen, MARGIN.right + buckets.length * LEAST_BAR)
  const x = xOf(buckets, width)

  // Where the bars are wider than the window, the one that the keyboard is at is brought into it; at first the latest.
  // biome-ignore lint/correctness/useExhaustiveDependencies: hovering must not scroll
  useEffect(() => {
    const frame = cursor.current?.closest('.chart-scroll')
    if (frame) frame.scrollLeft = (x(at) ?? 0) - frame.clientWidth / 2
  }, [at, width])

  function indexOf(event: MouseEvent<HTMLElement>): number {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left
    const index = Math.floor(left / x.step())
    return Math.min(buckets.length - 1, Math.max(0, index))
  }
  function open(index: number): void {
    const chosen = buckets[index]
    setAt(index)
    if (chosen !== undefined) onOpen(chosen)
  }
  function press(event: KeyboardEvent): void {
    const next = moved(event.key, shown, buckets.length, A_DAY)
    const opens = event.key === 'Enter' || event.key === ' '
    if (next === null && !opens) return
    event.preventDefault()
    setHovered(null)
    if (next !== null) setAt(next)
    else open(shown)
  }

  if (bucket === undefined) return null
  const words = {
    local: span(bucket.from, bucket.to),
    status0: number(bucket.status0),
    status5xx: number(bucket.status5xx),
    total: number(bucket.total),
  }
  return (
    <div className="chart">
      <Readout bucket={bucket} isLast={shown === buckets.length - 1} />
      <div className="chart-frame">
        <Numbers buckets={buckets} />
        <div ref={ref} className="chart-scroll">
          <div
            role="slider"
            tabIndex={0}
            aria-label={t('chart.label')}
            aria-valuemin={1}
            aria-valuemax={buckets.length}
            aria-valuenow={shown + 1}
            aria-valuetext={t('chart.value', words)}
            onKeyDown={press}
            onMouseMove={(event) => setHovered(indexOf(event))}
            onMouseLeave={() => setHovered(null)}
            onClick={(event) => open(indexOf(event))}
            className="chart-slider"
          >
            <svg width={width} height={HEIGHT} aria-hidden="true">
              <rect
                ref={cursor}
                className="cursor"
                x={x(shown)}
                width={x.bandwidth()}
                y={MARGIN.top}
                height={HEIGHT - MARGIN.top - MARGIN.bottom}
              />
              <Bars buckets={buckets} width={width} />
            </svg>
          </div>
        </div>
      </div>
      <p className="legend">
        <span className="key status0">{t('chart.status0')}</span>
        <span className="key status5xx">{t('chart.status5xx')}</span>
      </p>
    </div>
  )
}

function Readout({ bucket, isLast }: { readonly bucket: Bucket; readonly isLast: boolean }) {
  const { t, number, span } = useTexts()
  const { from, to, status0, status5xx, total } = bucket
  return (
    <div className="readout" aria-hidden="true">
      <div>
        <strong>{span(from, to)}</strong> <span className="muted">{t('chart.local')}</span>
        <br />
        {span(from, to, 'UTC')} <span className="muted">{t('chart.utc')}</span>
      </div>
      <div className="key status0">
        {t('chart.status0Short')}: <strong>{number(status0)}</strong>
      </div>
      <div className="key status5xx">
        {t('chart.status5xxShort')}: <strong>{number(status5xx)}</strong>
      </div>
      <div>
        {t('chart.total')}: <strong>{number(total)}</strong>
      </div>
      {isLast && <div className="muted">{t('chart.latest')}</div>}
    </div>
  )
}

function xOf(buckets: readonly Bucket[], width: number) {
  const domain = buckets.map((_, i) => i)
  return scaleBand({ domain, range: [0, width - MARGIN.right], paddingInner: 0.15 })
}

function yOf(buckets: readonly Bucket[]) {
  const most = Math.max(4, ...buckets.map(({ status0, status5xx }) => status0 + status5xx))
  return scaleLinear({ domain: [0, most], range: [HEIGHT - MARGIN.bottom, MARGIN.top], nice: true })
}

const Numbers = memo(function Numbers({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const { short } = useTexts()
  return (
    <svg width={NUMBERS_WIDTH} height={HEIGHT} aria-hidden="true">
      <AxisLeft
        scale={yOf(buckets)}
        left={NUMBERS_WIDTH - 1}
        numTicks={4}
        tickFormat={(value) => (Number.isInteger(Number(value)) ? short(Number(value)) : '')}
        axisClassName="axis"
      />
    </svg>
  )
})

/** Everything that stays as it is while one moves over the chart. */
const Bars = memo(function Bars({ buckets, width }: { readonly buckets: readonly Bucket[]; readonly width: number }) {
  const { language } = useTexts()
  const x = xOf(buckets, width)
  const y = yOf(buckets)
  const day = new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-GB', { weekday: 'short', day: 'numeric' })
  const midnights = buckets.flatMap(({ from }, i) => (from.getHours() * 60 + from.getMinutes() < 30 ? [i] : []))
  const hasRoom = (i: number) => width - (x(i) ?? 0) >= DAY_WIDTH
  return (
    <>
      <PatternLines
        id="hatch"
        width={5}
        height={5}
        orientation={['diagonal']}
        stroke="var(--status0)"
        strokeWidth={3}
      />
      {buckets.map(({ from, status0, status5xx }, i) => (
        <g key={from.getTime()}>
          {status5xx > 0 && <Part className="status5xx" x={x(i)} y={y} width={x.bandwidth()} from={0} to={status5xx} />}
          {status0 > 0 && (
            <Part className="status0" x={x(i)} y={y} width={x.bandwidth()} from={status5xx} to={status5xx + status0} />
          )}
        </g>
      ))}
      <AxisBottom
        scale={x}
        top={HEIGHT - MARGIN.bottom}
        tickValues={midnights}
        tickFormat={(i) => (hasRoom(i) ? day.format(buckets[i]?.from) : '')}
        tickLabelProps={{ textAnchor: 'start', dx: 3, dy: -4 }}
        axisClassName="axis"
      />
    </>
  )
})

/** A part of a bar: never so low that it cannot be seen. */
function Part({
  className,
  x,
  y,
  width,
  from,
  to,
}: {
  readonly className: string
  readonly x: number | undefined
  readonly y: (value: number) => number
  readonly width: number
  readonly from: number
  readonly to: number
}) {
  const bottom = y(from)
  const height = Math.max(2, bottom - y(to))
  return <Bar className={`part ${className}`} x={x ?? 0} y={bottom - height} width={width} height={height} />
}
