import './sparkline.css'

interface SparklineProps {
  /** Oldest first, none below 0. */
  readonly values: readonly number[]
  /** The meaning of the drawing, in words. */
  readonly label: string
}

const STEP = 4
const HEIGHT = 20

/** A bar for each value. The greatest has the height of the drawing, and 0 has no bar. */
export function Sparkline({ values, label }: SparklineProps) {
  const greatest = Math.max(1, ...values)
  const width = values.length * STEP
  return (
    <svg
      className="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
    >
      <title>{label}</title>
      {values.map((value, i) => {
        const height = value === 0 ? 0 : Math.max(1.5, (value / greatest) * HEIGHT)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a value is its place in time
          <rect key={i} x={i * STEP} y={HEIGHT - height} width={STEP - 1} height={height} />
        )
      })}
    </svg>
  )
}
