import { AxisBottom, AxisLeft } from '@visx/axis'
import { PatternLines } from '@visx/pattern'
import { scaleBand, scaleLinear } from '@visx/scale'
import { Bar, LinePath } from '@visx/shape'
import { type CSSProperties, memo } from 'react'
import { language, short } from '../i18n/text.ts'
import { type ChartSeries, type ChartTone, type SeriesPoint, ticksOf } from '../logic/series.ts'

/** The drawn parts of a chart over time. They are not drawn anew while the pointer moves over the chart. */

export const MARGIN = { top: 10, right: 4, bottom: 26 } as const
/** The width in pixels of the numbers, which stay in place while the bars scroll. */
const NUMBERS_WIDTH = 44
/**
 * The width of a label on the time axis, in pixels. The label is to the right of its moment, because a centred one would cover the time before it.
 * A day without room for its weekday has only its number.
 */
const NAME_WIDTH = { day: { en: 45, zh: 58 }, number: { en: 21, zh: 33 }, time: 40 } as const

interface DrawingProps {
  readonly series: readonly ChartSeries[]
  readonly points: readonly SeriesPoint[]
  /** The sums of an earlier time, one for each point, as a line over the bars; `null` for none. */
  readonly before: readonly number[] | null
  readonly height: number
}

export function xOf(points: readonly SeriesPoint[], width: number) {
  const domain = points.map((_, i) => i)
  return scaleBand({ domain, range: [0, width - MARGIN.right], paddingInner: 0.15 })
}

function yOf({ series, points, before, height }: DrawingProps) {
  const high = points.map(({ values }) =>
    values.reduce((sum, value, i) => (series[i]?.tone === null ? sum : sum + value), 0),
  )
  return scaleLinear({
    domain: [0, Math.max(4, ...high, ...(before ?? []))],
    range: [height - MARGIN.bottom, MARGIN.top],
    nice: true,
  })
}

export const Numbers = memo(function Numbers(props: DrawingProps) {
  return (
    <svg width={NUMBERS_WIDTH} height={props.height} aria-hidden="true">
      <AxisLeft
        scale={yOf(props)}
        left={NUMBERS_WIDTH - 1}
        numTicks={props.height < 200 ? 3 : 4}
        tickFormat={(value) => (Number.isInteger(Number(value)) ? short(Number(value)) : '')}
        axisClassName="axis"
      />
    </svg>
  )
})

export const Drawing = memo(function Drawing({
  id,
  width,
  ...props
}: DrawingProps & { readonly id: string; readonly width: number }) {
  const { points, before, height } = props
  const x = xOf(points, width)
  const y = yOf(props)
  return (
    <>
      <Patterns id={id} />
      <Bars id={id} x={x} y={y} {...props} />
      {before !== null && (
        <LinePath
          className="line before"
          data={[...before]}
          x={(_, i) => (x(i) ?? 0) + x.bandwidth() / 2}
          y={(value) => y(value)}
        />
      )}
      <Times points={points} x={x} width={width} top={height - MARGIN.bottom} />
    </>
  )
})

type X = ReturnType<typeof xOf>

interface BarsProps extends Pick<DrawingProps, 'series' | 'points'> {
  readonly id: string
  readonly x: X
  readonly y: ReturnType<typeof yOf>
}

/** Directions of hatching, so that tones differ without their colours. */
const HATCHED = {
  status0: 'diagonal',
  organisation: 'diagonalRightToLeft',
  gateway5xx: 'diagonalRightToLeft',
  status4xx: 'horizontal',
  part2: 'diagonal',
  part3: 'horizontal',
  part4: 'diagonalRightToLeft',
  part5: 'vertical',
} as const

function Patterns({ id }: { readonly id: string }) {
  return Object.entries(HATCHED).map(([tone, orientation]) => (
    <PatternLines
      key={tone}
      id={`${id}-${tone}`}
      width={5}
      height={5}
      orientation={[orientation]}
      stroke={`var(--${tone})`}
      strokeWidth={3}
    />
  ))
}

const LEANS = { diagonal: '135deg', diagonalRightToLeft: '45deg', horizontal: '0deg', vertical: '90deg' } as const

function isHatched(tone: ChartTone): tone is keyof typeof HATCHED {
  return tone in HATCHED
}

/** The mark before the name of a series. */
export function keyOf(tone: ChartTone) {
  const lean = isHatched(tone) ? LEANS[HATCHED[tone]] : undefined
  const style = { '--tone': `var(--${tone})`, '--lean': lean } as CSSProperties
  return { className: `key ${tone}${lean === undefined ? '' : ' hatched'}`, style }
}

function Bars({ id, x, y, series, points }: BarsProps) {
  return points.map(({ from, values }, i) => {
    let below = 0
    const parts = series.map(({ label, tone }, k) => {
      const value = values[k] ?? 0
      if (tone === null || value <= 0) return null
      const bottom = y(below)
      below += value
      // A part is at least 2 pixels high, so that it can be seen.
      const height = Math.max(2, bottom - y(below))
      return (
        <Bar
          key={label}
          className={`part ${tone}`}
          fill={isHatched(tone) ? `url("#${id}-${tone}")` : `var(--${tone})`}
          stroke={`var(--${tone})`}
          strokeWidth={0.5}
          x={x(i) ?? 0}
          y={bottom - height}
          width={x.bandwidth()}
          height={height}
        />
      )
    })
    return <g key={from.getTime()}>{parts}</g>
  })
}

interface TimesProps {
  readonly points: readonly SeriesPoint[]
  readonly x: X
  readonly width: number
  readonly top: number
}

function Times({ points, x, width, top }: TimesProps) {
  const locale = language === 'zh' ? 'zh-CN' : 'en-GB'
  const day = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric' })
  const number = new Intl.DateTimeFormat(locale, { day: 'numeric' })
  const time = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const ticks = ticksOf(points)
  function nameOf(i: number): string {
    const at = ticks.findIndex(({ index }) => index === i)
    const next = ticks[at + 1]
    const room = (next === undefined ? width : (x(next.index) ?? width)) - (x(i) ?? 0)
    const from = points[i]?.from
    if (!ticks[at]?.isDay) return room >= NAME_WIDTH.time ? time.format(from) : ''
    if (room >= NAME_WIDTH.day[language]) return day.format(from)
    return room >= NAME_WIDTH.number[language] ? number.format(from) : ''
  }
  return (
    <AxisBottom
      scale={x}
      top={top}
      tickValues={ticks.map(({ index }) => index)}
      tickFormat={nameOf}
      tickLabelProps={{ textAnchor: 'start', dx: 3, dy: -4 }}
      axisClassName="axis"
    />
  )
}
