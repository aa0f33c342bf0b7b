import type { KeyboardEvent, PointerEvent } from 'react'
import type { DistributionResponse } from '../../../contract/api.ts'
import { AXIS, fieldAt, type LimitLine, positionOf, steppedField } from '../../logic/distribution.ts'

interface ChartProps {
  readonly shares: DistributionResponse['shares']
  readonly line: LimitLine
  /** What the line is. */
  readonly label: string
  /** Where it stands, and what that means. */
  readonly valueText: string
  /** With a value of the field. */
  readonly onChange: (field: number) => void
}

const HEIGHT = 120
/** In tenths of the limit in force. */
const TENTHS = AXIS * 10

/** Users by their share of the limit as bars, and the limit as a line that is dragged or moved by keys. */
export function DistributionChart({ shares, line, label, valueText, onChange }: ChartProps) {
  const most = Math.max(1, ...shares.map(({ count }) => count))
  const follow = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    if (width > 0) onChange(fieldAt(line, (event.clientX - left) / width))
  }
  const press = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId)
    event.currentTarget.querySelector<HTMLElement>('[role="slider"]')?.focus({ preventScroll: true })
    // Else the browser takes the focus away again, and selects text.
    event.preventDefault()
    follow(event)
  }
  const step = (event: KeyboardEvent) => {
    const next = steppedField(line, event.key)
    if (next === null) return
    event.preventDefault()
    onChange(next)
  }
  return (
    <div className="distribution-plot">
      <div
        className="distribution-bars"
        onPointerDown={press}
        onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && follow(event)}
      >
        <Bars shares={shares} most={most} line={line} />
        <div
          className="distribution-line"
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-orientation="horizontal"
          aria-valuemin={0}
          aria-valuemax={Math.max(line.max, line.field)}
          aria-valuenow={line.field}
          aria-valuetext={valueText}
          style={{ left: `${positionOf(line) * 100}%` }}
          onKeyDown={step}
        />
      </div>
      <div className="distribution-axis" aria-hidden="true">
        {[0, 50, 100, 150].map((percent) => (
          <span key={percent} style={{ left: `${percent / AXIS}%` }}>
            {percent}%
          </span>
        ))}
      </div>
    </div>
  )
}

function Bars({ shares, most, line }: Pick<ChartProps, 'shares' | 'line'> & { readonly most: number }) {
  const tenthOfLine = positionOf(line) * TENTHS
  return (
    <svg viewBox={`0 0 ${TENTHS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {shares.map(({ from, count }) => {
        const height = count === 0 ? 0 : Math.max(2, (count / most) * (HEIGHT - 6))
        return (
          <rect
            key={from}
            className={from / 10 >= tenthOfLine ? 'above' : 'below'}
            x={from / 10 + 0.06}
            y={HEIGHT - height}
            width={0.88}
            height={height}
          />
        )
      })}
    </svg>
  )
}
