import { Gauge, type Registry } from 'prom-client'
import type { DelayFigures, EventLoopDelay } from '../lib/event-loop-delay.ts'

/** The usual gauges of a Node process. If one of several processes falls behind, a mean with idle ones would hide it. */
const GAUGES = [
  { figure: 'min', help: 'The minimum recorded event loop delay.', aggregator: 'min' },
  { figure: 'max', help: 'The maximum recorded event loop delay.', aggregator: 'max' },
  { figure: 'mean', help: 'The mean of the recorded event loop delays.', aggregator: 'max' },
  { figure: 'stddev', help: 'The standard deviation of the recorded event loop delays.', aggregator: 'max' },
  { figure: 'p50', help: 'The 50th percentile of the recorded event loop delays.', aggregator: 'max' },
  { figure: 'p90', help: 'The 90th percentile of the recorded event loop delays.', aggregator: 'max' },
  { figure: 'p99', help: 'The 99th percentile of the recorded event loop delays.', aggregator: 'max' },
] as const satisfies readonly { readonly figure: keyof DelayFigures; readonly [key: string]: string }[]

const nameOf = (figure: keyof DelayFigures): string => `nodejs_eventloop_lag_${figure}_seconds`
const NOW = 'nodejs_eventloop_lag_seconds'

/** The names of prom-client's own gauges, which these replace. */
export const DELAY_NAMES: readonly string[] = [NOW, ...GAUGES.map(({ figure }) => nameOf(figure))]

/** Registers how late the event loop is: at the moment of a scrape, and since the scrape before. */
export function delayGauges(registry: Registry, delay: Pick<EventLoopDelay, 'takeFigures'>): void {
  const registers = [registry]
  // It is the first gauge that a scrape collects, so it takes the figures for the others.
  new Gauge({
    name: NOW,
    help: 'Lag of event loop in seconds.',
    aggregator: 'max',
    registers,
    async collect() {
      const figures = delay.takeFigures()
      for (const [figure, gauge] of gauges) gauge.set(figures[figure])
      const begin = performance.now()
      await new Promise(setImmediate)
      this.set((performance.now() - begin) / 1000)
    },
  })
  const gauges = GAUGES.map(({ figure, help, aggregator }) => {
    return [figure, new Gauge({ name: nameOf(figure), help, aggregator, registers })] as const
  })
}
