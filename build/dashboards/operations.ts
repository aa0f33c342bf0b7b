import { type Dashboard, percentiles, q, rateBy } from './dashboard.ts'

export const OPERATIONS: Dashboard = {
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
          about: 'Processes that the store does not answer, or that it takes no charges from.',
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
          queries: [rateBy('outcome', 'tollgate_requests_total')],
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
        {
          title: 'Busiest rules',
          about: 'The ten rules with most requests (metrics.by_route).',
          unit: 'reqps',
          queries: [
            q('{{route}}', 'topk(10, sum by (route) (rate(tollgate_route_requests_total{@}[$__rate_interval])))'),
          ],
        },
        {
          title: 'Slowest rules',
          about: 'Time within which nine of ten requests are answered, of the ten slowest rules, without WebSockets.',
          unit: 's',
          queries: [
            q(
              '{{route}}',
              'topk(10, histogram_quantile(0.9, sum by (le, route) (rate(tollgate_route_request_duration_seconds_bucket{@}[$__rate_interval]))))',
            ),
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
          queries: [rateBy('code_class', 'tollgate_upstream_responses_total')],
        },
        {
          title: 'Forwards that failed',
          about: 'bad_upstream_answer: also an answer that the backend broke off in the middle.',
          unit: 'reqps',
          queries: [rateBy('reason', 'tollgate_upstream_errors_total')],
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
          about: 'By what was asked and why; docs/outage.md says what each costs.',
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
            'Processes that the store does not answer, or that it takes no charges from, by gateway, and those of them that decide charges without it.',
          unit: 'none',
          queries: [
            q('{{instance}}', 'sum by (instance) (tollgate_store_silent{@})'),
            q('{{instance}} circuit', 'sum by (instance) (tollgate_store_circuit_open{@})'),
          ],
        },
        {
          title: 'Warnings of the store',
          about: 'What is wrong with a store that works: charges may be lost later. The log has file and cure.',
          unit: 'none',
          queries: [q('{{warning}}', 'max by (warning) (tollgate_store_warnings{@})')],
        },
        {
          title: 'Charges without the store',
          about: 'accepted and refused by the share of quota.store_outage; unable got 503.',
          unit: 'reqps',
          queries: [rateBy('verdict', 'tollgate_outage_charges_total')],
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
          queries: [rateBy('issuer', 'tollgate_jwks_failures_total')],
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
          title: 'Certificates refused',
          about: '1: new files of a listener could not be used, and those before stay. Empty without TLS.',
          unit: 'none',
          queries: [
            q(
              '{{instance}} {{listener}} {{files}}',
              'max by (instance, listener, files) (tollgate_certificate_refused{@})',
            ),
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
          queries: [rateBy('instance', 'process_cpu_seconds_total')],
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
            'How late timers come, 99th percentile since the last scrape, in the slowest process. Lastingly above edge.max_lag (500 ms) new requests get 503.',
          unit: 's',
          queries: [q('{{instance}}', 'max by (instance) (nodejs_eventloop_lag_p99_seconds{@})')],
        },
        {
          title: 'Files and heap used',
          about:
            'Open files and heap, as shares of what a process may have, of the fullest process. At 1 it takes no connection, or ends.',
          unit: 'percentunit',
          queries: [
            q('{{instance}} files', 'max by (instance) (process_open_fds{@} / process_max_fds{@})'),
            q('{{instance}} heap', 'max by (instance) (tollgate_heap_used_ratio{@})'),
          ],
        },
        {
          title: 'Connections turned away',
          about: 'Broken off before a request was served, by the code of the reason.',
          unit: 'cps',
          queries: [rateBy('code', 'tollgate_bad_connections_total')],
        },
        {
          title: 'Shares used up',
          about:
            'Requests refused because all together (total), one address or one user held as much of a thing as they may.',
          unit: 'reqps',
          queries: [
            q(
              '{{thing}}, {{bound}}',
              'sum by (thing, bound) (rate(tollgate_share_refusals_total{@}[$__rate_interval]))',
            ),
          ],
        },
        {
          title: 'WebSockets that were closed',
          about: 'What admitted them holds no longer: their credential, their user, their age, or the quota.',
          unit: 'cps',
          queries: [rateBy('reason', 'tollgate_tunnels_ended_total')],
        },
        {
          title: 'Workers',
          about: 'Worker processes that are ready. Empty with workers: 1.',
          unit: 'none',
          queries: [q('{{instance}}', 'sum by (instance) (tollgate_workers{@})')],
        },
        {
          title: 'Faults',
          about:
            'Errors that should never happen, workers that ended unasked, wrong clocks, and changes that only the log still has.',
          unit: 'none',
          queries: [
            q('internal errors', 'sum(increase(tollgate_internal_errors_total{@}[$__rate_interval])) or vector(0)'),
            q('workers ended', 'sum(increase(tollgate_worker_exits_total{@}[$__rate_interval])) or vector(0)'),
            q(
              'windows begun by a clock that was ahead',
              'sum(increase(tollgate_window_starts_corrected_total{@}[$__rate_interval])) or vector(0)',
            ),
            q(
              'changes that the audit forgot',
              'sum(increase(tollgate_audit_trimmed_total{@}[$__rate_interval])) or vector(0)',
            ),
            q(
              'records that could not be read',
              'sum(increase(tollgate_unreadable_records_total{@}[$__rate_interval])) or vector(0)',
            ),
            q('refunds that were void', 'sum(increase(tollgate_refunds_void_total{@}[$__rate_interval])) or vector(0)'),
            q(
              'scheduled changes that were not made',
              'sum(increase(tollgate_scheduled_changes_total{@,outcome="not_made"}[$__rate_interval])) or vector(0)',
            ),
            q(
              'changes that a guard took back',
              'sum(increase(tollgate_guard_total{@,outcome="taken_back"}[$__rate_interval])) or vector(0)',
            ),
            q(
              'spans that were dropped',
              'sum(increase(tollgate_spans_total{@,outcome!="sent"}[$__rate_interval])) or vector(0)',
            ),
          ],
        },
      ],
    },
  ],
}
