import { AggregatorRegistry, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { registerFigures } from '../../src/node/custom-metric.ts'

const TEXT = `# HELP waits How long.
# TYPE waits histogram
waits_bucket{le="1"} NUMBER
waits_sum NUMBER
`

it('figures that are kept elsewhere are rendered, looked up and added as those of prom-client', async () => {
  let count = 1
  const registry = new Registry()
  registerFigures(registry, () => ({
    name: 'waits',
    help: 'How long.',
    type: 'histogram',
    aggregator: 'sum',
    values: [
      { metricName: 'waits_bucket', labels: { le: 1 }, value: count },
      { metricName: 'waits_sum', labels: {}, value: count },
    ],
  }))
  const textOf = (number: number): string => TEXT.replaceAll('NUMBER', String(number))
  expect(await registry.metrics()).toBe(textOf(1))
  count = 3
  expect(await registry.metrics()).toBe(textOf(3))
  const figures = await registry.getMetricsAsJSON()
  expect(await AggregatorRegistry.aggregate([figures, figures]).metrics()).toBe(textOf(6))
})
