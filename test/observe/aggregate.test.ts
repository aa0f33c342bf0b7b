import { expect, it } from 'vitest'
import { createSums } from '../../src/observe/aggregate.ts'
import { createMetrics, type Metrics, type Snapshot } from '../../src/observe/metrics.ts'
import { parseMetrics } from './parse-metrics.ts'
import { request } from './request.ts'

let inFlight = 0
function process(hash: string, requests: number): Metrics {
  const metrics = createMetrics({
    version: '1.2.3',
    gauges: [{ name: 'inflight_requests', help: 'Under way.', read: () => inFlight }],
    now: () => 5000 * requests,
  })
  metrics.observer({ type: 'config_loaded', file: 'f', hash, rules: 'r' })
  for (let i = 0; i < requests; i++) metrics.observer(request({ durationMs: 20 }))
  return metrics
}
const FORWARDED = 'tollgate_requests_total{category="write",outcome="forwarded",error="none"}'
const SLOW = 'tollgate_request_duration_seconds_bucket{category="write",code_class="2xx",le="0.025"}'

it('counters, histograms and gauges of several processes are added', async () => {
  inFlight = 4
  const sums = createSums()
  sums.take(1, await process('a', 2).snapshot())
  sums.take(2, await process('a', 3).snapshot())
  const { value } = parseMetrics(await sums.render(await process('a', 0).snapshot()))
  expect(value(FORWARDED)).toBe(5)
  expect(value(SLOW)).toBe(5)
  expect(value('tollgate_inflight_requests')).toBe(12)
})

it('a gauge that is the same in all processes is there once, and configurations that differ show', async () => {
  const sums = createSums()
  sums.take(1, await process('old', 2).snapshot())
  sums.take(2, await process('new', 3).snapshot())
  const own = process('new', 3)
  own.observer({ type: 'config_rejected', file: 'f', problems: [] })
  const { value, samples } = parseMetrics(await sums.render(await own.snapshot()))
  const named = (name: string) => [...samples].filter(([key]) => key.startsWith(name))
  expect(named('tollgate_build_info').map(([, one]) => one)).toEqual([1])
  expect(new Map(named('tollgate_config_info'))).toEqual(
    new Map([
      ['tollgate_config_info{hash="new"}', 1],
      ['tollgate_config_info{hash="old"}', 1],
    ]),
  )
  expect(value('tollgate_config_last_reload_successful')).toBe(0)
  // The one that is behind.
  expect(value('tollgate_config_last_reload_success_timestamp_seconds')).toBe(10)
})

it('a gauge that each process has for itself shows the process that is behind, or what all agree on', async () => {
  const sums = createSums()
  for (const [worker, behind] of [0, 5].entries()) {
    const one = createMetrics({ version: '1', now: () => 100_000 - behind * 1000 })
    one.observer({ type: 'control_followed', version: 7 - behind })
    one.observer({ type: 'adaptive_factor', factor: 0.8 })
    one.observer({ type: 'jwks_fetched', issuer: 'i', keys: 1 })
    one.observer({ type: 'certificate_loaded', listener: 'gateway', file: 'f', expiresAt: 900_000 - behind * 1000 })
    sums.take(worker, await one.snapshot())
  }
  const { value } = parseMetrics(await sums.render([]))
  expect(value('tollgate_control_version')).toBe(2)
  expect(value('tollgate_adaptive_factor')).toBe(0.8)
  // The last fetch of all: a process that is idle needs no keys.
  expect(value('tollgate_jwks_last_success_timestamp_seconds{issuer="i"}')).toBe(100)
  expect(value('tollgate_tls_certificate_expiry_timestamp_seconds{listener="gateway",file="f"}')).toBe(895)
})

/** The figures of a process, with these values of gauges that prom-client looks up by itself. */
async function figuresWith(values: Readonly<Record<string, number>>): Promise<Snapshot> {
  const figures = await createMetrics({ version: '1' }).snapshot()
  return figures.map((metric) => {
    const value = values[metric.name]
    return value === undefined ? metric : { ...metric, values: [{ value, labels: {} }] }
  })
}

it('what fills up or falls behind is of the process that is worst, so that one full worker is seen among idle ones', async () => {
  const sums = createSums()
  const idle = { process_open_fds: 12, process_max_fds: 64, process_start_time_seconds: 2000 }
  sums.take(1, await figuresWith({ ...idle, process_open_fds: 63, nodejs_eventloop_lag_p99_seconds: 0.7 }))
  sums.take(2, await figuresWith({ ...idle, nodejs_eventloop_lag_p99_seconds: 0.01 }))
  const own = await figuresWith({ ...idle, process_start_time_seconds: 1000, nodejs_eventloop_lag_p99_seconds: 0.01 })
  const { value } = parseMetrics(await sums.render(own))
  // Their ratio is what TollgateOpenFilesNearLimit reads.
  expect([value('process_open_fds'), value('process_max_fds')]).toEqual([63, 64])
  expect(value('nodejs_eventloop_lag_p99_seconds')).toBe(0.7)
  expect(value('process_start_time_seconds')).toBe(1000)
})

it('what fills up or falls behind is that of a gauge of ours too, if the gauge says so', async () => {
  const sums = createSums()
  for (const [worker, used] of [0.2, 0.9, 0.1].entries()) {
    const gauge = { name: 'heap_used_ratio', help: 'h', together: 'max', read: () => used } as const
    sums.take(worker, await createMetrics({ version: '1', gauges: [gauge] }).snapshot())
  }
  expect(parseMetrics(await sums.render([])).value('tollgate_heap_used_ratio')).toBe(0.9)
})

it('what fills up or falls behind is not what a process reads as 0 that never learns it: a store whose clock is behind is seen', async () => {
  const sums = createSums()
  for (const worker of [1, 2]) {
    const one = createMetrics({ version: '1' })
    one.observer({ type: 'store_clock', offsetMs: -20_000 })
    sums.take(worker, await one.snapshot())
  }
  const { value } = parseMetrics(await sums.render(await createMetrics({ version: '1' }).snapshot()))
  expect(value('tollgate_store_clock_offset_seconds')).toBe(-20)
  // A process that has followed no change yet is behind.
  expect(value('tollgate_control_version')).toBe(0)
})

it('what fills up or falls behind is seen if a process has reported again before somebody scrapes, and once', async () => {
  const sums = createSums()
  const lag = async (value: number) => figuresWith({ nodejs_eventloop_lag_p99_seconds: value })
  const scraped = async () => parseMetrics(await sums.render(await lag(0.01))).value('nodejs_eventloop_lag_p99_seconds')
  for (const seconds of [0.01, 0.8, 0.02]) sums.take(1, await lag(seconds))
  expect(await scraped()).toBe(0.8)
  sums.take(1, await lag(0.02))
  expect(await scraped()).toBe(0.02)
})

it('newer figures of a process take the place of its older ones', async () => {
  const sums = createSums()
  sums.take(1, await process('a', 2).snapshot())
  sums.take(1, await process('a', 7).snapshot())
  expect(parseMetrics(await sums.render([])).value(FORWARDED)).toBe(7)
})

it('a process that has ended leaves its counts and no gauges, and the next in its place counts on', async () => {
  inFlight = 4
  const sums = createSums()
  for (let life = 0; life < 3; life++) {
    sums.take(1, await process('a', 2).snapshot())
    await sums.bury(1)
  }
  sums.take(1, await process('a', 1).snapshot())
  const during = sums.bury(1)
  const meanwhile = parseMetrics(await sums.render([]))
  await during
  const after = parseMetrics(await sums.render([]))
  for (const { value, samples } of [meanwhile, after]) {
    expect(value(FORWARDED)).toBe(7)
    expect(value(SLOW)).toBe(7)
    expect([...samples.keys()].filter((name) => /inflight|config_info/.test(name))).toEqual([])
  }
})

it('a process that ends while another is put to the sums is counted too', async () => {
  const sums = createSums()
  for (const worker of [1, 2, 3, 4, 5]) sums.take(worker, await process('a', 2).snapshot())
  const ends: Promise<void>[] = []
  for (const worker of [1, 2, 3, 4, 5]) {
    ends.push(sums.bury(worker))
    await Promise.resolve()
  }
  await Promise.all(ends)
  expect(parseMetrics(await sums.render([])).value(FORWARDED)).toBe(10)
})

it('a process that never reported changes nothing', async () => {
  const sums = createSums()
  await sums.bury(1)
  expect(parseMetrics(await sums.render(await process('a', 2).snapshot())).value(FORWARDED)).toBe(2)
})
