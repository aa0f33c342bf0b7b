import { BUCKET_MS, BUCKETS, type Bucket, type FailureHistory, fullHistory } from './histogram.ts'

/** How often requests fail, for everybody: the histogram in the fields of the public score gateway. */

interface Rates {
  /** Forwarded requests. */
  readonly calls: number
  /** Those that failed in neither way. The gateway does not read codes of the service in a body. */
  readonly codeZero: number
  /** Always 0, as that takes such a code. */
  readonly businessFail: number
  /** Forwarding failed, or the status was 500 or above. */
  readonly serverError: number
  /** Always 0: the histogram has no status below 500, and they are in `codeZero`. */
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
  /** Begin of the first bucket and of the last one, which is still counted. */
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
  clientError: 'always 0: a status below 500 counts as codeZero',
  successRate: 'codeZero / calls',
  failureRate: '(businessFail + serverError) / calls',
}

export function failureRate({ at, buckets }: FailureHistory): FailureRate {
  const history = fullHistory(buckets, at)
  const series = history.map((bucket) => ({
    ts: new Date(bucket.start).toISOString(),
    bucketUnix: bucket.start / 1000,
    ...ratesOf(bucket.total, bucket.status0 + bucket.status5xx),
  }))
  const sum = (of: (bucket: Bucket) => number) => history.reduce((all, bucket) => all + of(bucket), 0)
  return {
    scope: 'global',
    days: (BUCKETS * BUCKET_MS) / 86_400_000,
    bucketMinutes: BUCKET_MS / 60_000,
    since: series[0]?.ts ?? '',
    until: series.at(-1)?.ts ?? '',
    definitions: DEFINITIONS,
    series,
    summary: ratesOf(
      sum(({ total }) => total),
      sum(({ status0, status5xx }) => status0 + status5xx),
    ),
  }
}

function ratesOf(calls: number, serverError: number): Rates {
  const codeZero = calls - serverError
  return {
    calls,
    codeZero,
    businessFail: 0,
    serverError,
    clientError: 0,
    successRate: share(codeZero, calls),
    failureRate: share(serverError, calls),
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000
}
