import { BUCKET_MS, BUCKETS, type FailureHistory, fullHistory, NOTHING, plus, type Tally } from './histogram.ts'

/** The body of the public path `/usage/failure-rate`. Its fields are named as those of the public score gateway. */

interface Rates {
  /** Forwarded requests. */
  readonly calls: number
  /** The requests that are neither in `serverError` nor in `clientError`. */
  readonly codeZero: number
  /** Always 0, because the gateway knows no error code in a body. A body that is read for `settle` only says the cost. */
  readonly businessFail: number
  /** Forwarding failed, or the status was 500 or above. */
  readonly serverError: number
  /** The status was 400 to 499. */
  readonly clientError: number
  /** `codeZero / calls`, to four digits; 0 without a call. */
  readonly successRate: number
  /** `(businessFail + serverError) / calls`, likewise. */
  readonly failureRate: number
}

export interface FailureRate {
  readonly scope: 'global'
  readonly days: number
  readonly bucketMinutes: number
  /** The beginning of the first bucket, and of the last one, which is still being counted. Both are in ISO 8601. */
  readonly since: string
  readonly until: string
  readonly definitions: Readonly<Record<string, string>>
  /** All 336 half hours, oldest first. */
  readonly series: readonly (Rates & { readonly ts: string /** Seconds. */; readonly bucketUnix: number })[]
  readonly summary: Rates
}

const DEFINITIONS = {
  codeZero: 'neither serverError nor clientError; no code in a body is read',
  businessFail: 'always 0: no code in a body is read',
  serverError: 'forwarding failed, or the status was 500 or above',
  clientError: 'the status was 400 to 499',
  successRate: 'codeZero / calls',
  failureRate: '(businessFail + serverError) / calls',
}

export function failureRate({ at, buckets }: FailureHistory): FailureRate {
  const history = fullHistory(buckets, at)
  const series = history.map((bucket) => ({
    ts: new Date(bucket.start).toISOString(),
    bucketUnix: bucket.start / 1000,
    ...ratesOf(bucket),
  }))
  return {
    scope: 'global',
    days: (BUCKETS * BUCKET_MS) / 86_400_000,
    bucketMinutes: BUCKET_MS / 60_000,
    since: series[0]?.ts ?? '',
    until: series.at(-1)?.ts ?? '',
    definitions: DEFINITIONS,
    series,
    summary: ratesOf(history.reduce(plus, NOTHING)),
  }
}

function ratesOf({ total: calls, status0, status5xx, status4xx: clientError }: Tally): Rates {
  const serverError = status0 + status5xx
  const codeZero = calls - serverError - clientError
  return {
    calls,
    codeZero,
    businessFail: 0,
    serverError,
    clientError,
    successRate: share(codeZero, calls),
    failureRate: share(serverError, calls),
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000
}
