import { dataPlaneGauges } from '../../src/app/data-plane-gauges.ts'
import { globalWindowGauges } from '../../src/app/global-window-gauges.ts'
import { HEAP } from '../../src/app/telemetry.ts'
import { connectionMetrics } from '../../src/observe/connection-metrics.ts'
import { gatewayMetrics } from '../../src/observe/gateway-metrics.ts'
import { buildMetrics } from '../../src/observe/metrics.ts'
import { quotaMetrics } from '../../src/observe/quota-metrics.ts'
import { createMeter, type GaugeSource, type Meter, type Together } from '../../src/observe/registry.ts'
import { requestMetrics } from '../../src/observe/request-metrics.ts'
import { storeMetrics } from '../../src/observe/store-metrics.ts'
import { workersGauge } from '../../src/workers/primary.ts'

/** The page of all metrics: names, types, labels and help as the source registers them, with the meanings of the labels. */

interface Metric {
  readonly name: string
  readonly kind: 'Counter' | 'Gauge' | 'Histogram'
  readonly help: string
  readonly labels: readonly string[]
  readonly together: Together
}

const none = () => 0
const gauges = (sources: readonly GaugeSource[]) => (meter: Meter) => sources.forEach(meter.gaugeSource)

const GROUPS: Readonly<Record<string, readonly ((meter: Meter) => unknown)[]>> = {
  'Requests and connections': [
    (meter) => requestMetrics(meter, true),
    connectionMetrics,
    gauges(dataPlaneGauges(() => null).filter(({ name }) => !name.startsWith('store'))),
  ],
  Quota: [quotaMetrics, gauges(globalWindowGauges(() => Promise.resolve({})))],
  Store: [storeMetrics, gauges(dataPlaneGauges(() => null).filter(({ name }) => name.startsWith('store')))],
  'The gateway itself': [
    (meter) => gatewayMetrics(meter, Date.now),
    (meter) => buildMetrics(meter, '0'),
    gauges([HEAP, workersGauge(none)]),
  ],
}

/** The meaning of a label in every metric; a metric with another meaning has its own. */
const LABELS: Readonly<Record<string, string>> = {
  alert: 'name of the alert in `alerts`',
  bound:
    'which bound was reached: `total`, `strangers` (all callers without an accepted credential), `address`, `network`, `user` or `failures`',
  cached: '`true` or `false`',
  category: 'category of the quota',
  code: '`too_many`, `too_many_of_address`, `made_room` (an idle connection was closed to make room for a new one), `too_fast`, `tls`, `proxy_protocol`, `short_records`, `short_pieces`, `slow_upload`, `pipelining`, or an [error code](error-codes.md)',
  code_class: 'class of the status, such as `2xx`',
  error: '[error code](error-codes.md) of the gateway, or `none`',
  event: 'what happened',
  fault: 'word in `edge.lenient` or `upstream.lenient` that allows the fault, such as `bare_lf`',
  file: 'path of the certificate',
  files: '`pair` or `client_authorities`',
  hash: 'first 16 characters of `sha256sum FILE`. Key sets, authorities of the upstream and of the store, an OpenAPI document and bodies of errors count, too, if the configuration names such files. Secrets, certificates, and authorities and revocation lists of clients do not count, nor do environment variables',
  issuer: 'issuer of JWTs, as written in `auth.jwt`',
  kind: '[kind of record](../stored-data.md#a-record-that-cannot-be-read)',
  listener: '`gateway` or `admin`',
  node_version: 'version of Node, such as `v26.10.0`',
  operation: 'what the gateway asked the store to do, such as `settle` or `control`',
  outcome: '[how the request ended](../log.md#outcomes)',
  plan: 'plan of the caller, or `none`',
  provider: 'provider of `auth.introspection`',
  reason: 'the reason',
  route:
    'rule as the configuration writes it, such as `GET /v1/user/:what`. Requests without a rule have `unmatched`, `gateway` (the gateway served its own path) or `none`',
  scope: '`personal`, `organisation` or `global`',
  settled: '`true` or `false`',
  source:
    'where the cost came from: `response`, `above_max` (the response named more than `max`), `request` (the body of the request), or `service` ([reported later](../deciding.md#a-service-that-asks-itself)). If the reserve was charged, the label says why: `missing`, `malformed`, `unread`, or for streams `unsaid` and `coded` (compressed)',
  thing:
    'what was used up: `requests`, `credentials`, `bodies`, `upstream_connections`, `tunnels`, `in_flight`, `checks` or `usage`',
  verdict: '`accepted`, `refused` or `unable`',
  version: 'version of Tollgate',
  warning: '[name of the warning](../runbook.md#tollgatestorewarning)',
  where: 'part of the gateway, such as `gateway` or `admin`',
  window: 'window of the limit, such as `1h`',
}

/** By metric: a label with a meaning of its own. */
const OWN_LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  auth_shadow_total: { reason: '`missing`, `invalid`, `ambiguous` or `unchecked`' },
  guard_total: { outcome: '`kept` or `taken_back`' },
  introspection_failures_total: { reason: '`timeout`, `connection`, `status`, `malformed` or `busy`' },
  scheduled_changes_total: { outcome: '`begun`, `ended` or `not_made`' },
  shadow_refusals_total: {
    scope:
      '`personal`, `organisation` or `global`, `store` (the store was out), `key` (a key of another request) or `price` (a request whose cost cannot be known)',
  },
  spans_total: { outcome: '`sent`, `failed` or `no_room`' },
  store_errors_total: {
    reason: '[why the store failed](../outage.md#why-the-store-fails)',
  },
  tunnels_ended_total: {
    reason: '`credential` (no longer valid), `blocked`, `age`, `quota` or `silence`',
  },
  upstream_errors_total: { reason: '[error code](error-codes.md), such as `upstream_timeout`' },
  worker_exits_total: { reason: 'exit code or signal' },
}

/** By metric: the page that tells more, and when the metric is missing. */
const MORE: Readonly<Record<string, string>> = {
  adaptive_factor: 'See [adaptive mode](../adaptive.md).',
  alert_events_total: 'See [alerts](../alerts.md).',
  audit_trimmed_total: '[The log](../log.md#changes-at-run-time) keeps every change.',
  auth_shadow_total: 'See [auth.shadow](../callers.md#refuse-nobody-for-a-credential-yet).',
  charges_lost_tokens_total: 'See [TollgateChargesLost](../runbook.md#tollgatechargeslost).',
  control_version: 'See [TollgateSettingsDrift](../runbook.md#tollgatesettingsdrift).',
  exempt_requests_total: 'See [who is never charged](../tuning.md#who-is-never-charged).',
  global_limit_new_users_tokens: 'See [a part for known users](../tuning.md#a-part-for-known-users).',
  guard_total: 'See [a guard](../admin-api.md#a-guard).',
  lenient_requests_total:
    'See [old clients](../edge.md#old-clients) and [an old upstream](../upstream.md#an-old-upstream).',
  outage_charges_total: 'See [while the store is out](../outage.md).',
  outage_tokens_total: 'If a worker is killed, its tokens stay unsettled.',
  over_requests_total: 'See [soft limits](../tuning.md#limits-with-something-beyond).',
  plan_refusals_total: 'This metric exists only if you use [`quota.plans`](../tuning.md#plans).',
  plan_tokens_charged_total: 'This metric exists only if you use [`quota.plans`](../tuning.md#plans).',
  plan_tokens_refunded_total: 'This metric exists only if you use [`quota.plans`](../tuning.md#plans).',
  records_left_out: 'See [TollgateRecordsLeftOut](../runbook.md#tollgaterecordsleftout).',
  replays_total: 'See [retries that cost once](../costs.md#retries-that-cost-once).',
  reserve_refusals_total: 'See [a part for known users](../tuning.md#a-part-for-known-users).',
  response_buffer_bytes: 'See [responses that are read slowly](../bounds.md#responses-that-are-read-slowly).',
  route_request_duration_seconds:
    'This metric exists only if you have [100 rules or fewer](../metrics.md#each-rule), unless you ask for it.',
  route_requests_total:
    'This metric exists only if you have [100 rules or fewer](../metrics.md#each-rule), unless you ask for it.',
  settled_costs_total: 'See [a cost known afterwards](../costs.md#a-cost-known-afterwards).',
  shadow_refusals_total: 'See [shadow](../tuning.md#1-shadow-what-would-be-refused).',
  share_refusals_total: 'See [what one client can take](../bounds.md).',
  spans_total: 'See [traces](../traces.md#the-collector).',
  store_circuit_open: 'See [while the store is out](../outage.md).',
  store_clock_offset_seconds: 'The log warns if the difference is more than 5 seconds.',
  store_evicted_keys_total: 'See [TollgateKeysEvicted](../runbook.md#tollgatekeysevicted).',
  store_warnings: 'See [TollgateStoreWarning](../runbook.md#tollgatestorewarning).',
  unknown_plan_requests_total: 'The log shows the name of the plan.',
  window_starts_corrected_total: 'See [when something is lost](../upkeep.md#when-something-is-lost).',
  worker_exits_total: 'This metric exists only if you use `workers`.',
  workers: 'This metric exists only if you use `workers`.',
}

/** The sentence that the page adds to a metric that `workers` combine in this way. A sum needs no sentence. */
const TOGETHER: Readonly<Record<Together, string>> = {
  sum: '',
  min: ' With several workers this is the lowest value of all processes.',
  max: ' With several workers this is the highest value of all processes.',
}

const HEAD = `# Metrics, one by one

\`/metrics\` of the admin listener serves these metrics in the Prometheus text format. [What to watch](../metrics.md) has queries for common questions. \`/metrics\` also has the \`process_*\` and \`nodejs_*\` metrics that Node processes usually have.

A counter starts at 0 when the process starts and only grows, so use \`rate()\` or \`increase()\` in queries. A histogram \`NAME\` has the series \`NAME_bucket\`, \`NAME_sum\` and \`NAME_count\`. Some combinations of labels are there with 0 from the start, so that \`increase()\` sees their first count. Any other combination appears when it is counted for the first time. A metric has at most 500 combinations of labels, and the two metrics of rules have at most 50,000. Everything beyond that is counted under the label \`other\`.
`

export function metricsPage(): string {
  const groups = Object.entries(GROUPS).map(([title, register]) => ({ title, metrics: registeredBy(register) }))
  const contents = groups.map(({ title }) => `[${title}](#${title.toLowerCase().replaceAll(' ', '-')})`).join(' · ')
  const sections = groups.map(({ title, metrics }) => `## ${title}\n\n${metrics.map(sectionOf).join('\n')}`)
  return `${HEAD}\n${contents}\n\n${sections.join('\n')}`
}

function registeredBy(register: readonly ((meter: Meter) => unknown)[]): Metric[] {
  const metrics: Metric[] = []
  const real = createMeter({ takeFigures: () => ({ min: 0, max: 0, mean: 0, stddev: 0, p50: 0, p90: 0, p99: 0 }) })
  const add = (kind: Metric['kind'], name: string, help: string, labels: readonly string[], together: Together) =>
    metrics.push({ name, kind, help, labels, together })
  const meter: Meter = {
    ...real,
    counter(name, help, labels = [], most) {
      add('Counter', name, help, labels, 'sum')
      return real.counter(name, help, labels, most)
    },
    gauge(name, help, labels = [], together = 'sum') {
      add('Gauge', name, help, labels, together)
      return real.gauge(name, help, labels, together)
    },
    gaugeSource: ({ name, help, labels = [], together = 'sum' }) => void add('Gauge', name, help, labels, together),
    histogram(name, help, buckets, labels = [], most) {
      add('Histogram', name, help, labels, 'sum')
      return real.histogram(name, help, buckets, labels, most)
    },
  }
  for (const each of register) each(meter)
  return metrics.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function sectionOf({ name, kind, help, labels, together }: Metric): string {
  const more = MORE[name] === undefined ? '' : ` ${MORE[name]}`
  const meanings = labels.map((label) => `- \`${label}\`: ${meaningOf(name, label)}`)
  const list = meanings.length === 0 ? '' : `\n${meanings.join('\n')}\n`
  return `### \`tollgate_${name}\`\n\n*${kind}.* ${help}${TOGETHER[together]}${more}\n${list}`
}

function meaningOf(name: string, label: string): string {
  const meaning = OWN_LABELS[name]?.[label] ?? LABELS[label]
  if (meaning === undefined) throw new Error(`build/reference/metrics.ts does not say what ${label} of ${name} means`)
  return meaning
}
