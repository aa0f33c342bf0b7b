import { type Counting, LONG_SECONDS, SHORT_SECONDS } from './counting.ts'
import { codeClass, joined } from './labels.ts'
import type { RequestDone } from './observation.ts'
import type { Meter } from './registry.ts'
import { routeMetrics } from './route-metrics.ts'

/** The faults that may pass. Their series exist from the start: `increase` does not see a first count that comes with its series. */
const OF_RESPONSES = ['bare_lf', 'control_bytes', 'identity_coding', 'line_without_colon', 'equal_lengths']
const OF_REQUESTS = ['underscore_names', 'punctuation_names', 'non_utf8_path', 'encoded_percent', 'encoded_backslash']

/** Counts each request and upgrade once, at its end. @param byRoute whether to count for each rule too */
export function requestMetrics(meter: Meter, byRoute: boolean): Counting {
  const key = joined()
  const total = meter.counter('requests_total', 'Requests, by how they ended.', ['category', 'outcome', 'error'])
  const responses = meter.counter(
    'upstream_responses_total',
    'Responses of the upstream by class of their status. Class 0 counts requests that could not be forwarded.',
    ['code_class'],
  )
  const errors = meter.counter(
    'upstream_errors_total',
    'Requests that could not be forwarded, or whose response broke off, by error code.',
    ['reason'],
  )
  const shares = meter.counter(
    'share_refusals_total',
    'Requests that were refused because all clients together, one address or one user had reached a bound.',
    ['thing', 'bound'],
  )
  // The series exists from the start: `increase` does not see a first count that comes with its series.
  shares.add(key('upstream_connections', 'total'), 0)
  const lenient = meter.counter(
    'lenient_requests_total',
    'Requests and responses with a fault that passed only because edge.lenient or upstream.lenient allows the fault.',
    ['fault'],
  )
  for (const fault of [...OF_REQUESTS, ...OF_RESPONSES]) lenient.add(fault, 0)
  const duration = meter.histogram(
    'request_duration_seconds',
    'Time from the request to the end of its response.',
    LONG_SECONDS,
    ['category', 'code_class'],
  )
  const upstream = meter.histogram(
    'upstream_duration_seconds',
    'Time from forwarding a request to the end of the upstream response, without WebSockets.',
    LONG_SECONDS,
  )
  const overhead = meter.histogram(
    'overhead_seconds',
    'Time that the gateway adds to a forwarded request, which is the duration of the request minus the duration of the upstream.',
    SHORT_SECONDS,
  )
  const countRoute = byRoute ? routeMetrics(meter) : null

  function countRequest(done: RequestDone): void {
    const category = done.category ?? 'none'
    total.add(key(key(category, done.outcome), done.error ?? 'none'))
    duration.observe(key(category, codeClass(done.clientStatus)), done.durationMs / 1000)
    countRoute?.(done)
    if (done.share !== null) shares.add(key(done.share.thing, done.share.bound))
    for (const fault of done.lenient) lenient.add(fault)
    if (done.httpStatus !== null) responses.add(codeClass(done.httpStatus))
    if (done.outcome === 'failed' && done.error !== null) errors.add(done.error)
    if (done.upstreamMs === null || isUpgrade(done)) return
    upstream.observe('', done.upstreamMs / 1000)
    // A client that leaves, and a failed forward, end at moments that say nothing about the time that the gateway adds.
    if (done.outcome === 'forwarded') overhead.observe('', (done.durationMs - done.upstreamMs) / 1000)
  }

  return { request: countRequest }
}

/** Whether it is an upgrade, which lasts as long as its users talk. That is no latency. */
function isUpgrade({ httpStatus }: RequestDone): boolean {
  return httpStatus === 101
}
