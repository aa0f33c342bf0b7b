import { useElementSize } from '@mantine/hooks'
import { AxisBottom, AxisLeft } from '@visx/axis'
import { scaleLinear } from '@visx/scale'
import { LinePath } from '@visx/shape'
import { useTexts } from '../i18n/text.tsx'
import { measuredParts, type Rates } from '../logic/rates.ts'

const HEIGHT = 160
const LEFT = 46
const BOTTOM = 26
const LINES = ['requests', 'refused'] as const

/** Requests and refusals a second, as they come. The numbers stand beside it, so it is a picture to a screen reader. */
export function RateLine({ history }: { readonly history: readonly Rates[] }) {
  const { t, short, duration, clock } = useTexts()
  const { ref, width } = useElementSize()
  const first = history[0]?.at ?? 0
  const last = history.at(-1)?.at ?? 1
  const most = Math.max(1, ...history.flatMap(({ requests, refused }) => [requests, refused]))
  const x = scaleLinear({ domain: [first, last], range: [LEFT, Math.max(LEFT, width - 4)] })
  const y = scaleLinear({ domain: [0, most], range: [HEIGHT - BOTTOM, 8], nice: true })
  const label = t('now.line', { span: duration(last - first) })
  return (
    <div ref={ref} className="rate-line">
      <svg width={width} height={HEIGHT} role="img" aria-label={label}>
        <AxisLeft
          scale={y}
          left={LEFT}
          numTicks={4}
          tickFormat={(value) => short(Number(value))}
          axisClassName="axis"
        />
        <AxisBottom
          scale={x}
          top={HEIGHT - BOTTOM}
          tickValues={[first, last]}
          tickFormat={(at) => clock(new Date(Number(at)))}
          tickLabelProps={(at) => ({ textAnchor: at === first ? 'start' : 'end' })}
          axisClassName="axis"
        />
        {LINES.flatMap((field) =>
          measuredParts(history).map((part) => (
            <LinePath
              key={`${field} ${part[0]?.at}`}
              className={`line ${field}`}
              data={[...part]}
              x={(point) => x(point.at)}
              y={(point) => y(point[field])}
            />
          )),
        )}
      </svg>
      <p className="legend">
        {LINES.map((field) => (
          <span key={field} className={`key ${field}`}>
            {t(`now.${field}`)}
          </span>
        ))}
        <span className="muted">{label}</span>
      </p>
    </div>
  )
}
