import perf_hooks from 'node:perf_hooks'
import { expect, test, vi } from 'vitest'
import { createMetrics, type GaugeSource } from '../../src/observe/metrics.ts'
import { type Observation, TUNNEL_ENDS } from '../../src/observe/observation.ts'
import { parseMetrics } from './parse-metrics.ts'
import { refusingLimit, request } from './request.ts'
import { settled } from './settled.ts'

async function after(observations: Observation[], gauges: GaugeSource[] = []) {
  const metrics = createMetrics({ version: '1.2.3', gauges, now: () => 1_700_000_000_000 })
  for (const observation of observations) metrics.observer(observation)
  return parseMetrics(await metrics.render())
}

/** A new user was refused what is kept for known ones. */
function settledOfReserve(): Observation {
  const refused = settled({ category: 'read', cost: 1, kind: 'refused', refusedBy: refusingLimit({ scope: 'global' }) })
  const { charge, decision } = refused
  const global = [{ window: { name: '1h', seconds: 3600 }, limit: 8, kept: 2 }]
  return {
    ...refused,
    charge: { ...charge, limits: { ...charge.limits, global } },
    decision: decision === null ? null : { ...decision, global: [{ startedAt: decision.at, used: 8 }] },
  }
}

const everything: Observation[] = [
  request(),
  request({
    outcome: 'failed',
    error: 'upstream_timeout',
    httpStatus: 0,
    clientStatus: 504,
    upstreamMs: 30_000,
    durationMs: 30_001,
  }),
  request({ outcome: 'refused', error: 'quota_exceeded', httpStatus: null, clientStatus: 429, upstreamMs: null }),
  request({
    category: null,
    route: null,
    outcome: 'denied',
    error: 'no_route',
    httpStatus: null,
    clientStatus: 404,
    upstreamMs: null,
  }),
  { type: 'config_loaded', file: 'f', hash: 'h1', rules: 'r1' },
  { type: 'config_rejected', file: 'f', problems: [] },
  { type: 'config_warning', file: 'f', problem: 'p' },
  { type: 'batch_settled', charges: 3, refunds: 1, durationMs: 1.5 },
  settled({ category: 'read', cost: 4 }),
  settled({ category: 'read', kind: 'given_back', tokens: -2 }),
  settled({ category: 'read', kind: 'shadowed', refusedBy: refusingLimit() }),
  settled({ category: 'read', kind: 'shadowed', refusedBy: refusingLimit() }),
  settled({ category: 'write', kind: 'shadowed', refusedBy: 'store', at: null }),
  { type: 'unmatched', method: 'GET', path: '/v1/secret-path' },
  settledOfReserve(),
  { type: 'control_followed', version: 7 },
  { type: 'adaptive_factor', factor: 0.8 },
  { type: 'store_failed', operation: 'settle', reason: 'timeout', message: 'm' },
  { type: 'store_recovered', downMs: 1 },
  { type: 'store_out', reason: 'timeout' },
  { type: 'outage_charge', category: 'read', verdict: 'accepted' },
  { type: 'outage_charge', category: 'read', verdict: 'accepted' },
  { type: 'outage_charge', category: 'write', verdict: 'unable' },
  { type: 'outage_tokens', event: 'owed', tokens: 9 },
  { type: 'outage_tokens', event: 'settled', tokens: 4 },
  { type: 'outage_settled', tokens: 4 },
  { type: 'store_warning', warning: 'eviction', message: 'm' },
  { type: 'store_clock', offsetMs: -1500 },
  { type: 'window_start_ahead', aheadMs: 5 },
  { type: 'window_start_ahead', aheadMs: 5 },
  { type: 'outcome_unknown', charges: 3, settled: false },
  { type: 'outcome_unknown', charges: 2, settled: true },
  { type: 'credential_checked', cached: true },
  { type: 'log_lost', lines: 7 },
  { type: 'credential_checked', cached: false },
  { type: 'credential_checked', cached: false },
  { type: 'jwks_fetched', issuer: 'https://id', keys: 2 },
  { type: 'jwks_failed', issuer: 'https://id', message: 'm' },
  { type: 'introspected', provider: 'https://id/introspect', durationMs: 30 },
  { type: 'introspection_failed', provider: 'https://id/introspect', reason: 'timeout' },
  { type: 'introspection_out', provider: 'https://id/introspect', message: 'm' },
  { type: 'introspection_recovered', provider: 'https://id/introspect', downMs: 5 },
  { type: 'bad_connection', code: 'HPE_INVALID_METHOD', status: 400 },
  { type: 'certificate_loaded', listener: 'gateway', file: 'f', expiresAt: 1_800_000_000_000 },
  { type: 'upgrade_opened' },
  { type: 'upgrade_opened' },
  { type: 'upgrade_closed' },
  { type: 'tunnel_ended', why: 'age' },
  { type: 'listening', what: 'gateway', url: 'u' },
  { type: 'draining', inFlight: 0 },
  { type: 'drain_ended' },
  {
    type: 'changed',
    entry: { version: 7, who: 'ada', what: 'reset', subject: 'alice', from: null, to: null, why: 'why' },
    forgotten: 3,
  },
  ...(['not_made', 'taken_back'] as const).map((outcome) => ({
    type: 'changed' as const,
    entry: { version: 8, who: 'schedule', what: 'settings', subject: null, from: null, to: null, why: 'why' },
    forgotten: 0,
    outcome,
  })),
  { type: 'cut_off', requests: 1 },
  { type: 'internal_error', where: 'gateway', error: new Error('e') },
  { type: 'stopped' },
]

test('the circuit is shown closed at first, and once the store is back', async () => {
  const closed = await after([])
  expect(closed.value('tollgate_store_circuit_open')).toBe(0)
  const again = await after([
    { type: 'store_out', reason: 'timeout' },
    { type: 'store_recovered', downMs: 1 },
  ])
  expect(again.value('tollgate_store_circuit_open')).toBe(0)
})

test('only forwards that failed are failures of the upstream, and only workers that ended unasked are exits', async () => {
  const ended = { type: 'worker_ended', worker: 1, pid: 7, problem: null } as const
  const { samples } = await after([
    ...everything,
    request({ outcome: 'failed', error: null }),
    { ...ended, reason: 'exit 0', restartMs: null },
    { ...ended, reason: 'exit 1', restartMs: 100 },
  ])
  const counted = [...samples].filter(([name]) => /^tollgate_(upstream_errors|worker_exits)_total/.test(name))
  expect(counted).toEqual([
    ['tollgate_upstream_errors_total{reason="upstream_timeout"}', 1],
    ['tollgate_worker_exits_total{reason="exit 1"}', 1],
  ])
})

test('signing keys that could not be fetched do not count as fetched', async () => {
  const { samples } = await after([{ type: 'jwks_failed', issuer: 'https://id', message: 'm' }])
  expect([...samples.keys()].filter((name) => name.startsWith('tollgate_jwks'))).toEqual([
    'tollgate_jwks_failures_total{issuer="https://id"}',
  ])
})

test('a status that has no class is counted as other', async () => {
  const { value } = await after([request({ httpStatus: 600, clientStatus: 600 })])
  expect(value('tollgate_upstream_responses_total{code_class="other"}')).toBe(1)
})

test('a counter that an alert waits for is there as 0 before its first time, so that the first one is an increase', async () => {
  const { value } = await after([{ type: 'jwks_fetched', issuer: 'https://id', keys: 2 }])
  expect(value('tollgate_charge_outcome_unknown_total{settled="false"}')).toBe(0)
  expect(value('tollgate_unmatched_requests_total')).toBe(0)
  expect(value('tollgate_jwks_failures_total{issuer="https://id"}')).toBe(0)
  for (const why of TUNNEL_ENDS) expect(value(`tollgate_tunnels_ended_total{reason="${why}"}`)).toBe(0)
})

test('everything observed comes out as numbers', async () => {
  const { value } = await after(everything)
  const expected: [string, number][] = [
    ['tollgate_requests_total{category="write",outcome="forwarded",error="none"}', 1],
    ['tollgate_requests_total{category="write",outcome="failed",error="upstream_timeout"}', 1],
    ['tollgate_requests_total{category="write",outcome="refused",error="quota_exceeded"}', 1],
    ['tollgate_requests_total{category="none",outcome="denied",error="no_route"}', 1],
    ['tollgate_request_duration_seconds_count{category="write",code_class="2xx"}', 1],
    ['tollgate_request_duration_seconds_sum{category="write",code_class="5xx"}', 30.001],
    ['tollgate_upstream_responses_total{code_class="2xx"}', 1],
    ['tollgate_upstream_responses_total{code_class="0"}', 1],
    ['tollgate_upstream_errors_total{reason="upstream_timeout"}', 1],
    ['tollgate_upstream_duration_seconds_count', 2],
    ['tollgate_overhead_seconds_count', 1],
    ['tollgate_store_batch_duration_seconds_sum', 0.0015],
    ['tollgate_store_batch_size_sum', 4],
    ['tollgate_tokens_charged_total{category="read"}', 4],
    ['tollgate_tokens_refunded_total{category="read"}', 2],
    ['tollgate_shadow_refusals_total{category="read",scope="personal"}', 2],
    ['tollgate_shadow_refusals_total{category="write",scope="store"}', 1],
    ['tollgate_unmatched_requests_total', 1],
    ['tollgate_quota_refusals_total{category="read",scope="global"}', 1],
    ['tollgate_reserve_refusals_total{category="read"}', 1],
    ['tollgate_control_version', 7],
    ['tollgate_audit_trimmed_total', 3],
    ['tollgate_scheduled_changes_total{outcome="not_made"}', 1],
    ['tollgate_scheduled_changes_total{outcome="begun"}', 0],
    ['tollgate_guard_total{outcome="taken_back"}', 1],
    ['tollgate_guard_total{outcome="kept"}', 0],
    ['tollgate_adaptive_factor', 0.8],
    ['tollgate_store_errors_total{operation="settle",reason="timeout"}', 1],
    ['tollgate_store_clock_offset_seconds', -1.5],
    ['tollgate_window_starts_corrected_total', 2],
    ['tollgate_charge_outcome_unknown_total{settled="false"}', 3],
    ['tollgate_charge_outcome_unknown_total{settled="true"}', 2],
    ['tollgate_store_circuit_open', 1],
    ['tollgate_outage_charges_total{category="read",verdict="accepted"}', 2],
    ['tollgate_outage_charges_total{category="write",verdict="unable"}', 1],
    ['tollgate_outage_tokens_total{event="owed"}', 9],
    ['tollgate_outage_tokens_total{event="settled"}', 4],
    ['tollgate_credential_checks_total{cached="true"}', 1],
    ['tollgate_credential_checks_total{cached="false"}', 2],
    ['tollgate_jwks_last_success_timestamp_seconds{issuer="https://id"}', 1_700_000_000],
    ['tollgate_jwks_failures_total{issuer="https://id"}', 1],
    ['tollgate_introspection_duration_seconds_count{provider="https://id/introspect"}', 1],
    ['tollgate_introspection_failures_total{provider="https://id/introspect",reason="timeout"}', 1],
    ['tollgate_introspection_failures_total{provider="https://id/introspect",reason="status"}', 0],
    ['tollgate_log_lost_lines_total', 7],
    ['tollgate_bad_connections_total{code="HPE_INVALID_METHOD"}', 1],
    ['tollgate_tls_certificate_expiry_timestamp_seconds{listener="gateway",file="f"}', 1_800_000_000],
    ['tollgate_upgraded_connections', 1],
    ['tollgate_internal_errors_total{where="gateway"}', 1],
    ['tollgate_config_last_reload_successful', 0],
    ['tollgate_config_last_reload_success_timestamp_seconds', 1_700_000_000],
    ['tollgate_config_info{hash="h1"}', 1],
    [`tollgate_build_info{version="1.2.3",node_version="${process.version}"}`, 1],
  ]
  expect(expected.map(([name]) => [name, value(name)])).toEqual(expected)
})

test('overhead is the duration less the time of the upstream, in seconds', async () => {
  const { value } = await after([request({ durationMs: 12.5, upstreamMs: 10 })])
  expect(value('tollgate_overhead_seconds_sum')).toBeCloseTo(0.0025, 10)
  expect(value('tollgate_upstream_duration_seconds_sum')).toBeCloseTo(0.01, 10)
})

test('a histogram is cumulative, ends in +Inf and agrees with its count', async () => {
  const { value } = await after([4, 5, 6, 60_000].map((durationMs) => request({ durationMs })))
  const bucket = (le: string) =>
    value(`tollgate_request_duration_seconds_bucket{category="write",code_class="2xx",le="${le}"}`)
  expect(['0.005', '0.01', '30', '+Inf'].map(bucket)).toEqual([2, 3, 3, 4])
  expect(value('tollgate_request_duration_seconds_count{category="write",code_class="2xx"}')).toBe(4)
})

test('an upgrade, which lasts as long as its users talk, is no latency of the upstream', async () => {
  const { value } = await after([
    request({ httpStatus: 101, clientStatus: 101, durationMs: 3_600_000, upstreamMs: 3_599_999 }),
  ])
  expect(value('tollgate_upstream_duration_seconds_count')).toBe(0)
  expect(value('tollgate_overhead_seconds_count')).toBe(0)
  expect(value('tollgate_request_duration_seconds_count{category="write",code_class="1xx"}')).toBe(1)
})

test('counters keep counting over scrapes', async () => {
  const metrics = createMetrics({ version: '1' })
  for (let i = 0; i < 3; i++) {
    metrics.observer(request())
    await metrics.render()
  }
  const { value } = parseMetrics(await metrics.render())
  expect(value('tollgate_requests_total{category="write",outcome="forwarded",error="none"}')).toBe(3)
})

test('only the configuration in force has its hash shown', async () => {
  const { samples } = await after([
    { type: 'config_loaded', file: 'f', hash: 'old', rules: 'r' },
    { type: 'config_loaded', file: 'f', hash: 'new', rules: 'r' },
  ])
  expect([...samples.keys()].filter((name) => name.startsWith('tollgate_config_info'))).toEqual([
    'tollgate_config_info{hash="new"}',
  ])
})

test('gauges are read at each scrape; one that fails is left out and costs no other', async () => {
  const { value, samples } = await after(
    [],
    [
      { name: 'inflight_requests', help: 'Requests under way.', read: () => 7 },
      { name: 'store_degraded', help: 'x', read: () => Promise.reject(new Error('down')) },
      {
        name: 'global_used_tokens',
        help: 'x',
        labels: ['window'],
        read: async () => [
          { labels: { window: '1h' }, value: 3 },
          { labels: { window: '5h' }, value: 5 },
        ],
      },
    ],
  )
  expect(value('tollgate_inflight_requests')).toBe(7)
  expect(value('tollgate_global_used_tokens{window="5h"}')).toBe(5)
  expect([...samples.keys()].filter((name) => name.includes('degraded'))).toEqual([])
})

test('a gauge shows what there is at the scrape: neither what has gone, nor anything of a read that fails', async () => {
  let read = () => [{ labels: { window: '1h' }, value: 3 }]
  const source = { name: 'used_tokens', help: 'x', labels: ['window'], read: () => read() }
  const metrics = createMetrics({ version: '1', gauges: [source] })
  const shown = async (): Promise<string[]> => {
    const { samples } = parseMetrics(await metrics.render())
    return [...samples.keys()].filter((name) => name.startsWith('tollgate_used_tokens'))
  }
  expect(await shown()).toEqual(['tollgate_used_tokens{window="1h"}'])
  read = () => [{ labels: { window: '5h' }, value: 1 }]
  expect(await shown()).toEqual(['tollgate_used_tokens{window="5h"}'])
  read = () => {
    throw new Error('down')
  }
  expect(await shown()).toEqual([])
})

test('no user or path is a label, and a route only as its rule is written', async () => {
  const { text } = await after([
    request({ user: 'CANARY', route: 'GET /:name', requestId: 'CANARY', reason: 'CANARY', method: 'CANARY' }),
    { type: 'unmatched', method: 'CANARY', path: '/CANARY' },
    { type: 'store_failed', operation: 'settle', reason: 'other', message: 'CANARY' },
    { type: 'jwks_failed', issuer: 'https://id', message: 'CANARY' },
    { type: 'internal_error', where: 'gateway', error: new Error('CANARY') },
  ])
  expect(text).not.toContain('CANARY')
})

test('every label is one of these, all of which have few values', async () => {
  const { text } = await after(everything)
  const own = text.split('\n').filter((line) => line.startsWith('tollgate_'))
  const labels = own.flatMap((line) => [...line.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label))
  expect([...new Set(labels)].sort()).toEqual([
    ...[
      'bound',
      'cached',
      'category',
      'code',
      'code_class',
      'error',
      'event',
      'fault',
      'file',
      'files',
      'hash',
      'issuer',
      'kind',
      'le',
    ],
    ...['listener', 'node_version', 'operation', 'outcome', 'provider', 'reason', 'route', 'scope', 'settled'],
    ...['thing', 'verdict', 'version', 'warning', 'where'],
  ])
})

test('every name keeps the rules: prefix, base units, _total for counters only, a help for each', async () => {
  const { types, helps } = await after(everything)
  for (const [name, type] of types) {
    expect(name).toMatch(/^(tollgate|process|nodejs)_/)
    expect(helps.get(name)?.length, name).toBeGreaterThan(5)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    if (!name.startsWith('tollgate_')) continue
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb)(_|$)/)
  }
  expect(types.get('process_cpu_seconds_total')).toBe('counter')
  expect(types.get('nodejs_eventloop_lag_p99_seconds')).toBe('gauge')
})

test('the event loop is measured by ours, and prom-client does not wake the process for that', async () => {
  const monitoring = vi.spyOn(perf_hooks, 'monitorEventLoopDelay')
  const figures = { min: 0.001, max: 0.007, mean: 0.002, stddev: 0.003, p50: 0.004, p90: 0.005, p99: 0.006 }
  const metrics = createMetrics({ version: '1', delay: { takeFigures: () => figures } })
  const day = 86_400_000
  for (const [options] of monitoring.mock.calls) expect(options?.resolution).toBeGreaterThan(day)
  monitoring.mockRestore()
  const { value } = parseMetrics(await metrics.render())
  for (const [name, figure] of Object.entries(figures))
    expect(value(`nodejs_eventloop_lag_${name}_seconds`)).toBe(figure)
  expect(value('nodejs_eventloop_lag_seconds')).toBeGreaterThan(0)
})

test('two sets of metrics in one process do not share a count', async () => {
  createMetrics({ version: '1' }).observer(request())
  const { samples } = await after([])
  expect([...samples.keys()].filter((name) => name.startsWith('tollgate_requests_total'))).toEqual([])
})

const DENIED = { outcome: 'denied', httpStatus: null, route: null } as const

test('requests of each rule are counted by how they ended, and measured', async () => {
  const { value } = await after([
    request({ route: 'GET /a', durationMs: 4 }),
    request({ route: 'GET /a', durationMs: 40, clientStatus: 503, httpStatus: 503 }),
    request({ route: 'GET /b', outcome: 'refused', error: 'quota_exceeded', httpStatus: null, clientStatus: 429 }),
  ])
  const counted = (labels: string) => value(`tollgate_route_requests_total{${labels}}`)
  expect(counted('route="GET /a",outcome="forwarded",code_class="2xx"')).toBe(1)
  expect(counted('route="GET /a",outcome="forwarded",code_class="5xx"')).toBe(1)
  expect(counted('route="GET /b",outcome="refused",code_class="4xx"')).toBe(1)
  expect(value('tollgate_route_request_duration_seconds_count{route="GET /a"}')).toBe(2)
  expect(value('tollgate_route_request_duration_seconds_bucket{route="GET /a",le="0.005"}')).toBe(1)
})

test('requests that no rule took have one name for each reason, whatever path they asked for', async () => {
  const { value } = await after([
    request({ ...DENIED, error: 'no_route', clientStatus: 404 }),
    request({ ...DENIED, error: 'unauthorized', clientStatus: 401 }),
    request({ route: null, outcome: 'answered', httpStatus: null }),
  ])
  const counted = ['unmatched', 'none', 'gateway'].map((route) =>
    value(`tollgate_route_request_duration_seconds_count{route="${route}"}`),
  )
  expect(counted).toEqual([1, 1, 1])
})

test('requests of each rule have no duration that is the time for which a WebSocket was open', async () => {
  const { value } = await after([request({ route: 'GET /live', httpStatus: 101, clientStatus: 101 })])
  expect(value('tollgate_route_requests_total{route="GET /live",outcome="forwarded",code_class="1xx"}')).toBe(1)
  expect(value('tollgate_route_request_duration_seconds_count{route="GET /live"}')).toBeUndefined()
})

test('requests of each rule have 24 series a rule at most', async () => {
  const outcomes = ['forwarded', 'refused', 'denied', 'failed', 'aborted'] as const
  const statuses = {
    forwarded: [200, 304, 404, 500],
    refused: [429],
    denied: [401, 503],
    failed: [502],
    aborted: [499],
  }
  const all = outcomes.flatMap((outcome) => statuses[outcome].map((clientStatus) => request({ outcome, clientStatus })))
  const { text } = await after(all)
  expect(text.split('\n').filter((line) => line.includes('route="'))).toHaveLength(24)
})

test('requests of each rule are not counted where the configuration does not want it', async () => {
  const metrics = createMetrics({ version: '1', byRoute: false })
  metrics.observer(request())
  expect(await metrics.render()).not.toContain('tollgate_route_')
})
