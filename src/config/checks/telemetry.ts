import { isLoopback } from '../addresses.ts'
import type { PartialConfig } from '../partial.ts'
import type { Finding } from '../problems.ts'

/** Finds spans that go nowhere, or that others can read. */
export function checkTelemetry({ telemetry, upstream }: PartialConfig): Finding[] {
  if (telemetry === undefined) return []
  const { otlp, sample, headers } = telemetry
  const warning = (key: string, message: string): Finding => ({
    path: ['telemetry', key],
    message,
    severity: 'warning',
  })
  const url = otlp === undefined ? null : new URL(otlp)
  const isInClear = url !== null && url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  return [
    ...(url?.port === '4317'
      ? [warning('otlp', 'port 4317 is that of OTLP over gRPC, which is not spoken: collectors take HTTP on 4318')]
      : []),
    ...(isInClear && (headers?.size ?? 0) > 0
      ? [warning('headers', 'go to the collector in clear text: write an https URL in telemetry.otlp')]
      : []),
    ...(sample === 0
      ? [warning('sample', 'is 0, so no request has a span, and the upstream is told to record none: remove telemetry')]
      : []),
    ...((upstream.remove_headers ?? []).some((name) => name.toLowerCase() === 'traceparent')
      ? [
          warning(
            'otlp',
            'traces end at the gateway, since upstream.remove_headers has traceparent: remove it from that list',
          ),
        ]
      : []),
  ]
}
