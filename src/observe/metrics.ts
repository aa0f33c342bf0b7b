import type { Observation, Observer, RequestDone } from './observation.ts'
import { createMeter, type GaugeSource, type Meter, type Snapshot } from './registry.ts'

export type { GaugeSource, Sample, Snapshot } from './registry.ts'

export interface MetricsOptions {
  /** Of Tollgate, for `tollgate_build_info`. */
  readonly version: string
  readonly gauges?: readonly GaugeSource[]
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number
}

export interface Metrics {
  readonly observer: Observer
  /** All metrics in the Prometheus text format. */
  render(): Promise<string>
  /** The same as figures, for `sums.ts`. */
  snapshot(): Promise<Snapshot>
  readonly contentType: string
}

/** The reader of observations that counts. Each call has its own registry. */
export function createMetrics({ version, gauges = [], now = Date.now }: MetricsOptions): Metrics {
  const meter = createMeter()
  for (const source of gauges) meter.gaugeSource(source)
  const build = meter.gauge('build_info', 'Constant 1; the labels say what runs.', ['version', 'node_version'], 'max')
  build.set({ version, node_version: process.version }, 1)

  const countRequest = requestMetrics(meter)
  const countOther = otherMetrics(meter, now)
  return {
    observer: function measure(observation) {
      if (observation.type === 'request') countRequest(observation)
      else countOther(observation)
    },
    render: () => meter.render(),
    snapshot: () => meter.snapshot(),
    contentType: meter.contentType,
  }
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const SHORT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2]
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

function requestMetrics(meter: Meter): (done: RequestDone) => void {
  const key = joined()
  const total = meter.counter('requests_total', 'Requests by how they ended.', ['category', 'outcome', 'error'])
  const responses = meter.counter('upstream_responses_total', 'Answers of the backend; class 0 is a failed forward.', [
    'code_class',
  ])
  const errors = meter.counter('upstream_errors_total', 'Forwards that failed.', ['reason'])
  const shares = meter.counter(
    'share_refusals_total',
    'Requests refused because all together, one address or one user held as much as they may.',
    ['thing', 'bound'],
  )
  // From the start: `increase` does not see a first one that comes with its series.
  shares.add(key('upstream_connections', 'total'), 0)
  const duration = meter.histogram('request_duration_seconds', 'From request to complete answer.', SECONDS, [
    'category',
    'code_class',
  ])
  const upstream = meter.histogram(
    'upstream_duration_seconds',
    'From dispatch to the end of the answer of the backend.',
    SECONDS,
  )
  const overhead = meter.histogram(
    'overhead_seconds',
    'Request duration less upstream duration, of complete forwards.',
    SHORT_SECONDS,
  )

  return function countRequest(done) {
    const category = done.category ?? 'none'
    total.add(key(key(category, done.outcome), done.error ?? 'none'))
    duration.observe(key(category, classOf(done.clientStatus)), done.durationMs / 1000)
    if (done.share !== null) shares.add(key(done.share.thing, done.share.bound))
    if (done.httpStatus !== null) responses.add(classOf(done.httpStatus))
    if (done.outcome === 'failed' && done.error !== null) errors.add(done.error)
    if (done.upstreamMs === null || isUpgrade(done)) return
    upstream.observe('', done.upstreamMs / 1000)
    // A client that leaves, and a failed forward, end at moments that say nothing about what the gateway adds.
    if (done.outcome === 'forwarded') overhead.observe('', (done.durationMs - done.upstreamMs) / 1000)
  }
}

/**
 * Two label values as a key of a series. There are few, and a text that was looked up before is found in 36 ns, if one
 * that is put together anew takes 133.
 */
function joined(): (a: string, b: string) => string {
  const rows = new Map<string, Map<string, string>>()
  return (a, b) => {
    const row = rows.get(a) ?? added(rows, a, new Map())
    return row.get(b) ?? added(row, b, `${a}\n${b}`)
  }
}

function added<K, V>(map: Map<K, V>, key: K, value: V): V {
  map.set(key, value)
  return value
}

/** An upgrade lasts as long as its users talk, which is no latency. */
function isUpgrade({ httpStatus }: RequestDone): boolean {
  return httpStatus === 101
}

const CLASSES = ['0', '1xx', '2xx', '3xx', '4xx', '5xx']

function classOf(status: number): string {
  return CLASSES[Math.floor(status / 100)] ?? 'other'
}

/** Everything that does not happen once for each request, or costs one count. */
function otherMetrics(meter: Meter, now: () => number): (seen: Observation) => void {
  const charged = meter.counter('tokens_charged_total', 'Tokens charged.', ['category'])
  const unmatched = meter.counter(
    'unmatched_requests_total',
    'Requests that matched no route, whatever became of them.',
    [],
  )
  const refusals = meter.counter(
    'quota_refusals_total',
    'Requests that the quota refused with 429, by the scope of the window that the answer names.',
    ['category', 'scope'],
  )
  const ofReserve = meter.counter(
    'reserve_refusals_total',
    'Requests of new users that were refused with 429 although a global window had room, for known users only.',
    ['category'],
  )
  const shadowed = meter.counter(
    'shadow_refusals_total',
    'Requests that the quota refused and that were let through: by the scope that refused, or store where that was out.',
    ['category', 'scope'],
  )
  const refunded = meter.counter('tokens_refunded_total', 'Tokens given back.', ['category'])
  const batchSeconds = meter.histogram('store_batch_duration_seconds', 'One batch in the store.', SHORT_SECONDS)
  const batchSize = meter.histogram('store_batch_size', 'Charges and refunds settled in one batch.', SIZES)
  const storeErrors = meter.counter('store_errors_total', 'Calls that the store did not answer.', [
    'operation',
    'reason',
  ])
  const unknown = meter.counter(
    'charge_outcome_unknown_total',
    'Charges whose reply was lost; settled tells whether it was learnt later.',
    ['settled'],
  )
  // From the start: `increase` does not see a first failure that comes with its series.
  for (const settled of [true, false]) unknown.add(String(settled), 0)
  const countOutage = outageMetrics(meter)
  const clock = clockMetrics(meter)
  const credentials = meter.counter('credential_checks_total', 'Credentials checked.', ['cached'])
  const connections = meter.counter(
    'bad_connections_total',
    'Connections turned away or broken off, and requests refused because too many waited on theirs.',
    ['code'],
  )
  const internal = meter.counter('internal_errors_total', 'Errors that should never happen.', ['where'])
  const logLost = meter.counter('log_lost_lines_total', 'Lines of the log that are never written.', [])
  logLost.add('', 0)
  const workerExits = meter.counter('worker_exits_total', 'Worker processes that ended unasked.', ['reason'])
  const upgrades = meter.gauge('upgraded_connections', 'Upgraded connections that are open.')
  const ended = meter.counter('tunnels_ended_total', 'WebSockets closed since what admitted them holds no longer.', [
    'reason',
  ])
  for (const why of ['credential', 'blocked', 'age', 'quota']) ended.add(why, 0)
  const keys = jwksMetrics(meter, now)
  const config = configMetrics(meter, now)
  const control = controlMetrics(meter)
  const expiry = meter.gauge(
    'tls_certificate_expiry_timestamp_seconds',
    'When the certificate of a listener ends.',
    ['listener'],
    'min',
  )

  return function countOther(seen) {
    switch (seen.type) {
      case 'tokens_charged':
        return charged.add(seen.category, seen.cost)
      case 'tokens_refunded':
        return refunded.add(seen.category, seen.cost)
      case 'unmatched':
        return unmatched.add('')
      case 'quota_refusal':
        return refusals.add(`${seen.category}\n${seen.scope}`)
      case 'reserve_refusal':
        return ofReserve.add(seen.category)
      case 'shadow_refusal':
        return shadowed.add(`${seen.category}\n${seen.scope}`)
      case 'changed':
      case 'control_followed':
      case 'adaptive_factor':
        return control(seen)
      case 'batch_settled':
        batchSeconds.observe('', seen.durationMs / 1000)
        return batchSize.observe('', seen.charges + seen.refunds)
      case 'store_failed':
        return storeErrors.add(`${seen.operation}\n${seen.reason}`)
      case 'store_out':
      case 'store_recovered':
      case 'outage_charge':
      case 'outage_tokens':
        return countOutage(seen)
      case 'store_clock':
      case 'window_start_ahead':
        return clock(seen)
      case 'outcome_unknown':
        return unknown.add(String(seen.settled), seen.charges)
      case 'credential_checked':
        return credentials.add(String(seen.cached))
      case 'bad_connection':
        return connections.add(seen.code)
      case 'internal_error':
        return internal.add(seen.where)
      case 'log_lost':
        return logLost.add('', seen.lines)
      case 'worker_ended':
        return seen.restartMs === null ? undefined : workerExits.add(seen.reason)
      case 'upgrade_opened':
        return upgrades.inc()
      case 'upgrade_closed':
        return upgrades.dec()
      case 'tunnel_ended':
        return ended.add(seen.why)
      case 'jwks_fetched':
      case 'jwks_failed':
        return keys(seen)
      case 'config_loaded':
      case 'config_rejected':
        return config(seen)
      case 'certificate_loaded':
        return expiry.set({ listener: seen.listener }, seen.expiresAt / 1000)
    }
  }
}

function outageMetrics(meter: Meter) {
  const circuit = meter.gauge(
    'store_circuit_open',
    'Processes that decide charges without the store: it does not answer, is full, or takes no writes.',
  )
  const charges = meter.counter(
    'outage_charges_total',
    'Charges decided without the store; unable are those that got 503.',
    ['category', 'verdict'],
  )
  const tokens = meter.counter(
    'outage_tokens_total',
    'Tokens admitted without the store (owed) and what became of them: owed less all others is still to be charged.',
    ['event'],
  )
  type Seen = { type: 'store_out' | 'store_recovered' | 'outage_charge' | 'outage_tokens' }
  return function countOutage(seen: Extract<Observation, Seen>) {
    switch (seen.type) {
      case 'store_out':
        return circuit.set(1)
      case 'store_recovered':
        return circuit.set(0)
      case 'outage_charge':
        return charges.add(`${seen.category}\n${seen.verdict}`)
      case 'outage_tokens':
        return tokens.add(seen.event, seen.tokens)
    }
  }
}

function clockMetrics(meter: Meter) {
  const offset = meter.gauge(
    'store_clock_offset_seconds',
    'The clock of the store less that of the gateway: windows run by the one, credentials end by the other.',
    [],
    'max',
  )
  const corrected = meter.counter(
    'window_starts_corrected_total',
    'Windows that had started in the future, by the clock of the store, and count as started now.',
    [],
  )
  corrected.add('', 0)
  return function countClock(seen: Extract<Observation, { type: 'store_clock' | 'window_start_ahead' }>): void {
    if (seen.type === 'store_clock') offset.set(seen.offsetMs / 1000)
    else corrected.add('')
  }
}

function jwksMetrics(meter: Meter, now: () => number) {
  const success = meter.gauge(
    'jwks_last_success_timestamp_seconds',
    'When the signing keys were fetched last.',
    ['issuer'],
    'min',
  )
  const failures = meter.counter('jwks_failures_total', 'Fetches of signing keys that failed.', ['issuer'])
  return function countJwks(seen: Extract<Observation, { type: 'jwks_fetched' | 'jwks_failed' }>): void {
    if (seen.type === 'jwks_fetched') success.set({ issuer: seen.issuer }, now() / 1000)
    failures.add(seen.issuer, seen.type === 'jwks_failed' ? 1 : 0)
  }
}

/** Processes that follow the same store show the same. */
function controlMetrics(meter: Meter) {
  const version = meter.gauge('control_version', 'The last change at run time that is in force.', [], 'min')
  const factor = meter.gauge('adaptive_factor', 'Factor of mode adaptive, whichever mode is in force.', [], 'max')
  const trimmed = meter.counter('audit_trimmed_total', 'Entries that the audit forgot for newer ones.', [])
  trimmed.add('', 0)
  type Seen = { type: 'changed' | 'control_followed' | 'adaptive_factor' }
  return function countControl(seen: Extract<Observation, Seen>): void {
    if (seen.type === 'changed') trimmed.add('', seen.forgotten)
    else if (seen.type === 'control_followed') version.set(seen.version)
    else factor.set(seen.factor)
  }
}

function configMetrics(meter: Meter, now: () => number) {
  const info = meter.gauge('config_info', 'Constant 1; the hash tells replicas apart that disagree.', ['hash'], 'max')
  const good = meter.gauge(
    'config_last_reload_successful',
    'Whether the configuration file was accepted when last read.',
    [],
    'min',
  )
  const loaded = meter.gauge(
    'config_last_reload_success_timestamp_seconds',
    'When the configuration in force was read.',
    [],
    'min',
  )
  return function countConfig(seen: Extract<Observation, { type: 'config_loaded' | 'config_rejected' }>): void {
    good.set(seen.type === 'config_loaded' ? 1 : 0)
    if (seen.type === 'config_rejected') return
    loaded.set(now() / 1000)
    // Only the hash in force: with the old ones beside it every reload would look like replicas that disagree.
    info.reset()
    info.set({ hash: seen.hash }, 1)
  }
}
