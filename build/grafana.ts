import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Writes the Grafana dashboards of the chart, `helm/dashboards/*.json`: `node build/grafana.ts`. They are made here because
 * each panel of the format has fifty lines that are the same for all. Import the JSON files in Grafana 10.4 or newer.
 *
 * In expressions `{@}` stands for the variables of the dashboard, and `{@job}` for those that a recorded series has.
 */

const DASHBOARDS = new URL('../helm/dashboards/', import.meta.url)

interface Query {
  readonly expr: string
  /** What a line is called. */
  readonly legend: string
}

interface Panel {
  readonly title: string
  /** What it shows and what to make of it, in a sentence or two. */
  readonly about: string
  readonly unit: 'reqps' | 'percentunit' | 's' | 'short' | 'bytes' | 'none' | 'cps' | 'dateTimeFromNow'
  readonly queries: readonly Query[]
  /** Default `lines`. `table` shows the labels of each series. */
  readonly kind?: 'lines' | 'stack' | 'number' | 'bars' | 'table'
  /** From these values on it is orange, and red. */
  readonly limits?: readonly [orange: number, red: number]
  /** Of 24 columns. Default 8, of a number 4. */
  readonly width?: number
}

interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: readonly Row[]
}

/** One query. */
const q = (legend: string, expr: string): Query => ({ legend, expr })

/** The median and the 99th percentile of a histogram. */
const percentiles = (histogram: string): Query[] =>
  [0.5, 0.99].map((part) =>
    q(`p${part * 100}`, `histogram_quantile(${part}, sum by (le) (rate(${histogram}_bucket{@}[$__rate_interval])))`),
  )

const OPERATIONS: Dashboard = {
  uid: 'tollgate-operations',
  title: 'Tollgate / Operations',
  description: 'Whether the gateways work, and what they wait for. What to do about alerts: docs/runbook.md.',
  rows: [
    {
      title: 'State',
      panels: [
        {
          title: 'Gateways',
          about: 'Gateways that Prometheus scrapes. With workers a gateway counts once.',
          kind: 'number',
          unit: 'none',
          queries: [q('gateways', 'count(tollgate_build_info{@})')],
        },
        {
          title: 'Requests',
          about: 'All requests, whatever became of them.',
          kind: 'number',
          unit: 'reqps',
          queries: [q('requests', 'sum(rate(tollgate_requests_total{@}[$__rate_interval]))')],
        },
        {
          title: '5xx of the gateway',
          about:
            'Share of requests that got a 500, 502, 503 or 504 of the gateway in the last hour; the objective is 0.1 %.',
          kind: 'number',
          unit: 'percentunit',
          limits: [0.001, 0.0144],
          queries: [q('{{job}}', 'quota:request_error_ratio:rate1h{@job}')],
        },
        {
          title: 'Store is out for',
          about: 'Processes that the store does not answer.',
          kind: 'number',
          unit: 'none',
          limits: [1, 1],
          queries: [q('processes', 'sum(tollgate_store_silent{@})')],
        },
        {
          title: 'Configurations in force',
          about: 'More than one for long: replicas or workers disagree.',
          kind: 'number',
          unit: 'none',
          limits: [2, 2],
          queries: [q('configurations', 'count(count by (hash) (tollgate_config_info{@}))')],
        },
        {
          title: 'Configuration files refused',
          about: 'Gateways whose file has problems; they go on with the one before.',
          kind: 'number',
          unit: 'none',
          limits: [1, 1],
          queries: [q('gateways', 'sum(tollgate_config_last_reload_successful{@} < bool 1)')],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by outcome',
          about:
            'refused is 429, denied any other refusal of the gateway, failed a forward that failed, aborted a client that left first.',
          kind: 'stack',
          unit: 'reqps',
          queries: [q('{{outcome}}', 'sum by (outcome) (rate(tollgate_requests_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Answers of the gateway',
          about: 'Errors that the gateway answered in the place of the backend, by their code.',
          unit: 'reqps',
          queries: [
            q('{{error}}', 'sum by (error) (rate(tollgate_requests_total{@,error!="none"}[$__rate_interval]))'),
          ],
        },
        {
          title: 'Error budget burn',
          about:
            '1 uses up the error budget (0.1 % of 30 days) in 30 days. Alerts: 14.4 in 1 hour, 6 in 6 hours, 3 in a day, 1 in 3 days.',
          unit: 'none',
          queries: ['1h', '6h', '1d', '3d'].map((range) =>
            q(`{{job}} ${range}`, `quota:request_error_ratio:rate${range}{@job} / 0.001`),
          ),
        },
        {
          title: 'Duration',
          about: 'From the request to the complete answer, of all requests.',
          unit: 's',
          queries: percentiles('tollgate_request_duration_seconds'),
        },
        {
          title: 'Time that the gateway adds',
          about:
            'Duration less the time of the backend, of complete forwards. It includes one round trip to the store.',
          unit: 's',
          queries: percentiles('tollgate_overhead_seconds'),
        },
        {
          title: 'Under way',
          about: 'Requests and tunnels under way, and open tunnels, by gateway.',
          unit: 'none',
          queries: [
            q('{{instance}}', 'sum by (instance) (tollgate_inflight_requests{@})'),
            q('{{instance}} tunnels', 'sum by (instance) (tollgate_upgraded_connections{@})'),
          ],
        },
      ],
    },
    {
      title: 'Backend',
      panels: [
        {
          title: 'Answers of the backend',
          about: 'By class; 0 is a forward that failed.',
          kind: 'stack',
          unit: 'reqps',
          queries: [
            q('{{code_class}}', 'sum by (code_class) (rate(tollgate_upstream_responses_total{@}[$__rate_interval]))'),
          ],
        },
        {
          title: 'Forwards that failed',
          about: 'bad_upstream_answer: also an answer that the backend broke off in the middle.',
          unit: 'reqps',
          queries: [q('{{reason}}', 'sum by (reason) (rate(tollgate_upstream_errors_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Time of the backend',
          about: 'From dispatch to the end of its answer.',
          unit: 's',
          queries: percentiles('tollgate_upstream_duration_seconds'),
        },
      ],
    },
    {
      title: 'Store',
      panels: [
        {
          title: 'Time of the store',
          about:
            'One batch of charges and refunds. Beyond store_options.deadline (250 ms) charges are decided without it.',
          unit: 's',
          queries: percentiles('tollgate_store_batch_duration_seconds'),
        },
        {
          title: 'Calls that failed',
          about: 'By what was asked and why; docs/operating.md says what each costs.',
          unit: 'cps',
          queries: [
            q(
              '{{operation}}: {{reason}}',
              'sum by (operation, reason) (rate(tollgate_store_errors_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Charges in a batch',
          about: 'Charges and refunds that share one round trip; it grows with the load and with a slow store.',
          unit: 'short',
          queries: [
            q(
              'mean',
              'sum(rate(tollgate_store_batch_size_sum{@}[$__rate_interval])) / sum(rate(tollgate_store_batch_size_count{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Store is out',
          about:
            'Processes that the store does not answer, by gateway, and those of them that decide charges without it.',
          unit: 'none',
          queries: [
            q('{{instance}}', 'sum by (instance) (tollgate_store_silent{@})'),
            q('{{instance}} circuit', 'sum by (instance) (tollgate_store_circuit_open{@})'),
          ],
        },
        {
          title: 'Charges without the store',
          about: 'accepted and refused by the share of quota.store_outage; unable got 503.',
          unit: 'reqps',
          queries: [q('{{verdict}}', 'sum by (verdict) (rate(tollgate_outage_charges_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Charges whose reply was lost',
          about: 'settled: learnt later and counted once. Not settled: may be counted or not.',
          unit: 'cps',
          queries: [
            q(
              'settled: {{settled}}',
              'sum by (settled) (rate(tollgate_charge_outcome_unknown_total{@}[$__rate_interval]))',
            ),
          ],
        },
      ],
    },
    {
      title: 'Credentials and configuration',
      panels: [
        {
          title: 'Credential checks',
          about: 'cached: verified a moment ago and not verified again.',
          unit: 'reqps',
          queries: [
            q('cached: {{cached}}', 'sum by (cached) (rate(tollgate_credential_checks_total{@}[$__rate_interval]))'),
          ],
        },
        {
          title: 'Age of signing keys',
          about:
            'Since the last fetch that succeeded. Keys are fetched when a credential needs them, so an issuer that nobody uses ages.',
          unit: 's',
          queries: [q('{{issuer}}', 'max by (issuer) (time() - tollgate_jwks_last_success_timestamp_seconds{@})')],
        },
        {
          title: 'Fetches of signing keys that failed',
          about: 'By issuer.',
          unit: 'cps',
          queries: [q('{{issuer}}', 'sum by (issuer) (rate(tollgate_jwks_failures_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Configuration in force',
          about: 'Since when, by gateway.',
          kind: 'table',
          unit: 'dateTimeFromNow',
          queries: [
            q(
              '',
              'max by (instance) (tollgate_config_last_reload_success_timestamp_seconds{@}) * 1000 * on (instance) group_right () max by (instance, hash) (tollgate_config_info{@})',
            ),
          ],
        },
        {
          title: 'Changes at run time in force',
          about:
            'The number of the last change, by gateway. Lines that stay apart: a gateway does not follow the store.',
          unit: 'none',
          queries: [q('{{instance}}', 'max by (instance) (tollgate_control_version{@})')],
        },
        {
          title: 'Certificates end in',
          about: 'Of the listeners with TLS. New files are taken up by themselves. Empty without TLS.',
          unit: 's',
          queries: [
            q('{{listener}}', 'min by (listener) (tollgate_tls_certificate_expiry_timestamp_seconds{@}) - time()'),
          ],
        },
        {
          title: 'Versions',
          about: 'What runs.',
          kind: 'table',
          unit: 'none',
          queries: [q('', 'count by (version, node_version) (tollgate_build_info{@})')],
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'CPU',
          about: 'Cores in use, by gateway. One process uses about one core at most.',
          unit: 'short',
          queries: [q('{{instance}}', 'sum by (instance) (rate(process_cpu_seconds_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Memory',
          about: 'Resident memory, by gateway.',
          unit: 'bytes',
          queries: [q('{{instance}}', 'sum by (instance) (process_resident_memory_bytes{@})')],
        },
        {
          title: 'Event loop lag',
          about:
            'How late timers come, 99th percentile since the last scrape. Lastingly above edge.max_lag (500 ms) new requests get 503.',
          unit: 's',
          queries: [q('{{instance}}', 'max by (instance) (nodejs_eventloop_lag_p99_seconds{@})')],
        },
        {
          title: 'Connections turned away',
          about: 'Broken off before a request was served, by the code of the reason.',
          unit: 'cps',
          queries: [q('{{code}}', 'sum by (code) (rate(tollgate_bad_connections_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Workers',
          about: 'Worker processes that are ready. Empty with workers: 1.',
          unit: 'none',
          queries: [q('{{instance}}', 'sum by (instance) (tollgate_workers{@})')],
        },
        {
          title: 'Faults',
          about: 'Errors that should never happen, and workers that ended unasked.',
          unit: 'none',
          queries: [
            q('internal errors', 'sum(increase(tollgate_internal_errors_total{@}[$__rate_interval])) or vector(0)'),
            q('workers ended', 'sum(increase(tollgate_worker_exits_total{@}[$__rate_interval])) or vector(0)'),
          ],
        },
      ],
    },
  ],
}

const QUOTAS: Dashboard = {
  uid: 'tollgate-quotas',
  title: 'Tollgate / Quotas',
  description: 'What the quota admits and refuses, and how full the windows of all users together are.',
  rows: [
    {
      title: 'Global windows',
      panels: [
        {
          title: 'Used now',
          about:
            'Share of the global limit that is used. When a window is full every user gets 429 until it ends. Empty where the global scope is switched off.',
          kind: 'bars',
          unit: 'percentunit',
          limits: [0.8, 0.9],
          queries: [
            q(
              '{{category}} {{window}}',
              'max by (category, window) (tollgate_global_used_tokens{@}) / max by (category, window) (tollgate_global_limit_tokens{@})',
            ),
          ],
        },
        {
          title: 'Used',
          about:
            'Tokens that all users together have used of the window that is running. It falls to 0 when the window ends.',
          unit: 'short',
          queries: [q('{{category}} {{window}}', 'max by (category, window) (tollgate_global_used_tokens{@})')],
        },
        {
          title: 'Limit',
          about: 'It moves with the mode, the multiplier, changes at run time, and in mode adaptive with the factor.',
          unit: 'short',
          queries: [q('{{category}} {{window}}', 'max by (category, window) (tollgate_global_limit_tokens{@})')],
        },
      ],
    },
    {
      title: 'Refusals',
      panels: [
        {
          title: 'Requests refused (429)',
          about:
            'By the scope of the window that the answer names. personal: single users are over their limits. global: nobody has room.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{scope}}',
              'sum by (category, scope) (rate(tollgate_quota_refusals_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Share refused',
          about: 'Of the requests of each category.',
          unit: 'percentunit',
          queries: [
            q(
              '{{category}}',
              'sum by (category) (rate(tollgate_requests_total{@,outcome="refused"}[$__rate_interval])) / sum by (category) (rate(tollgate_requests_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Let through in shadow',
          about:
            'Requests that the quota would have refused. scope store: they could not be decided, since the store was out.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{scope}}',
              'sum by (category, scope) (rate(tollgate_shadow_refusals_total{@}[$__rate_interval]))',
            ),
          ],
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          title: 'Charged',
          about: 'Tokens a second.',
          unit: 'short',
          queries: [q('{{category}}', 'sum by (category) (rate(tollgate_tokens_charged_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Given back',
          about: 'Tokens a second, of requests that certainly never reached the backend.',
          unit: 'short',
          queries: [q('{{category}}', 'sum by (category) (rate(tollgate_tokens_refunded_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Tokens for a request',
          about: 'Mean cost of a charged request.',
          unit: 'short',
          queries: [
            q(
              '{{category}}',
              'sum by (category) (rate(tollgate_tokens_charged_total{@}[$__rate_interval])) / sum by (category) (rate(tollgate_requests_total{@,outcome=~"forwarded|failed|aborted"}[$__rate_interval]))',
            ),
          ],
        },
      ],
    },
    {
      title: 'Traffic and settings',
      panels: [
        {
          title: 'Requests by category',
          about: 'none: public routes, and requests that were refused before their route was known or charged.',
          kind: 'stack',
          unit: 'reqps',
          queries: [q('{{category}}', 'sum by (category) (rate(tollgate_requests_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Matching no route',
          about: 'Refused, forwarded or charged as unmatched says. GET /api/routes has the latest paths.',
          unit: 'reqps',
          queries: [q('unmatched', 'sum(rate(tollgate_unmatched_requests_total{@}[$__rate_interval]))')],
        },
        {
          title: 'Factor of mode adaptive',
          about:
            'What limits are multiplied by in that mode, from the failures of the last 30 minutes. Shown in every mode.',
          unit: 'none',
          queries: [q('{{instance}}', 'max by (instance) (tollgate_adaptive_factor{@})')],
        },
      ],
    },
    {
      title: 'While the store is out',
      panels: [
        {
          title: 'Charges decided without the store',
          about: 'By the share of the limits that quota.store_outage allows; unable got 503.',
          unit: 'reqps',
          queries: [
            q(
              '{{category}}, {{verdict}}',
              'sum by (category, verdict) (rate(tollgate_outage_charges_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'Tokens still to be charged',
          about: 'Admitted without the store, and not yet added to its windows. It falls to 0 when the store is back.',
          unit: 'short',
          queries: [
            q(
              'tokens',
              '(sum(tollgate_outage_tokens_total{@,event="owed"}) or vector(0)) - (sum(tollgate_outage_tokens_total{@,event!="owed"}) or vector(0))',
            ),
          ],
        },
        {
          title: 'What became of them',
          about:
            'Tokens a second. expired: their window ended first. lost: the gateway was stopped before the store was back.',
          unit: 'short',
          queries: [q('{{event}}', 'sum by (event) (rate(tollgate_outage_tokens_total{@}[$__rate_interval]))')],
        },
      ],
    },
  ],
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the variable is Grafana's
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }

const RECORDED = 'namespace=~"$namespace",job=~"$job"'
const SELECTOR = `${RECORDED},instance=~"$instance"`

const withSelectors = (expr: string): string =>
  expr.replaceAll('{@job}', `{${RECORDED}}`).replaceAll('{@', `{${SELECTOR}`)

const TYPES = { lines: 'timeseries', stack: 'timeseries', number: 'stat', bars: 'bargauge', table: 'table' } as const

const REDUCE = { calcs: ['lastNotNull'], fields: '', values: false }
const OPTIONS = {
  lines: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  number: { colorMode: 'value', graphMode: 'area', reduceOptions: REDUCE, textMode: 'auto' },
  bars: { displayMode: 'basic', orientation: 'horizontal', reduceOptions: REDUCE },
  table: { showHeader: true },
} as const

const HEIGHT = { lines: 7, stack: 7, number: 4, bars: 7, table: 7 } as const

function panelOf(panel: Panel, id: number, x: number, y: number) {
  const { title, about, unit, queries, kind = 'lines', limits } = panel
  const isLines = kind === 'lines' || kind === 'stack'
  const colors =
    limits === undefined
      ? []
      : [
          { color: 'orange', value: limits[0] },
          { color: 'red', value: limits[1] },
        ]
  return {
    id,
    type: TYPES[kind],
    title,
    description: about,
    datasource: DATASOURCE,
    gridPos: { h: HEIGHT[kind], w: widthOf(panel), x, y },
    fieldConfig: {
      defaults: {
        unit,
        // An axis that begins elsewhere makes much of little.
        min: 0,
        color: { mode: limits === undefined ? 'palette-classic' : 'thresholds' },
        thresholds: { mode: 'absolute', steps: [{ color: 'green', value: null }, ...colors] },
        ...(kind === 'bars' && { max: 1 }),
        ...(isLines && {
          custom: {
            fillOpacity: kind === 'stack' ? 30 : 5,
            showPoints: 'never',
            stacking: { group: 'A', mode: kind === 'stack' ? 'normal' : 'none' },
          },
        }),
      },
      overrides: [],
    },
    options: OPTIONS[kind === 'stack' ? 'lines' : kind],
    ...(kind === 'table' && {
      transformations: [{ id: 'organize', options: { excludeByName: { Time: true }, renameByName: {} } }],
    }),
    targets: queries.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + i),
      datasource: DATASOURCE,
      expr: withSelectors(expr),
      ...(legend !== '' && { legendFormat: legend }),
      ...(kind === 'table' && { format: 'table' }),
      ...(isLines ? { range: true } : { instant: true }),
    })),
  }
}

const widthOf = ({ kind, width = kind === 'number' ? 4 : 8 }: Panel): number => width

/** Rows of panels from left to right, 24 columns wide. */
function panelsOf(rows: readonly Row[]) {
  const panels: unknown[] = []
  let y = 0
  for (const { title, panels: inRow } of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { h: 1, w: 24, x: 0, y },
      panels: [],
    })
    y++
    let x = 0
    let height = 0
    for (const panel of inRow) {
      if (x + widthOf(panel) > 24) {
        y += height
        x = 0
      }
      panels.push(panelOf(panel, panels.length + 1, x, y))
      x += widthOf(panel)
      height = HEIGHT[panel.kind ?? 'lines']
    }
    y += height
  }
  return panels
}

/** A variable of the dashboard whose values are those of a label. */
function labelVariable(name: string, label: string, among: string, all = '.+') {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query: `label_values(tollgate_build_info${among}, ${name})`, refId: 'StandardVariableQuery' },
    // 2: also when the time range is changed, since replicas come and go.
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: all,
    current: { selected: true, text: ['All'], value: ['$__all'] },
  }
}

function dashboardOf({ uid, title, description, rows }: Dashboard) {
  return {
    uid,
    title,
    description,
    tags: ['tollgate'],
    editable: false,
    graphTooltip: 1,
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        type: 'dashboards',
        title: 'Tollgate',
        tags: ['tollgate'],
        asDropdown: false,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        tooltip: '',
        url: '',
      },
    ],
    annotations: { list: [] },
    templating: {
      list: [
        {
          name: 'datasource',
          label: 'Data source',
          type: 'datasource',
          query: 'prometheus',
          refresh: 1,
          current: { selected: true, text: 'default', value: 'default' },
        },
        // Also nothing: without Kubernetes no series has this label.
        labelVariable('namespace', 'Namespace', '', '.*'),
        labelVariable('job', 'Job', '{namespace=~"$namespace"}'),
        labelVariable('instance', 'Instance', `{${RECORDED}}`),
      ],
    },
    panels: panelsOf(rows),
  }
}

/** The text of each file by its name. */
export const FILES = new Map([
  ['operations.json', `${JSON.stringify(dashboardOf(OPERATIONS), null, 2)}\n`],
  ['quotas.json', `${JSON.stringify(dashboardOf(QUOTAS), null, 2)}\n`],
])

/** The files that are not what is made here. */
export function staleFiles(): string[] {
  return [...FILES]
    .filter(([name, text]) => readFileSync(new URL(name, DASHBOARDS), 'utf8') !== text)
    .map(([name]) => name)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of FILES) writeFileSync(new URL(name, DASHBOARDS), text)
}
