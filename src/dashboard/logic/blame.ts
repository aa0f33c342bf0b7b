import { type Counted, shareOf } from './route-usage.ts'
import type { SeriesPoint } from './series.ts'
import { ALARMING } from './status.ts'

/** Whether requests failed, and by whom: the upstream or the gateway. Pure. */

/** The other one has a share of the failures that is too small to be named with it. */
const NEARLY_ALL = 0.9

/** Failures of one of both. */
export interface Part {
  readonly count: number
  /** Of the requests that it had: the forwarded ones, or all. */
  readonly whole: number
  /** 0 to 1. */
  readonly share: number
}

export interface Blame {
  /** 5xx and no response, of the forwarded requests. */
  readonly upstream: Part
  /** 5xx of the gateway itself, of all requests. */
  readonly gateway: Part
  readonly whose: 'nobody' | 'upstream' | 'gateway' | 'both'
  readonly isAlarming: boolean
}

export function blameOf({ requests, forwarded, status5xx, status0, gateway5xx }: Counted): Blame {
  const upstream = partOf(status5xx + status0, forwarded)
  const gateway = partOf(gateway5xx, requests)
  const failed = upstream.count + gateway.count
  const own = failed === 0 ? 0 : gateway.count / failed
  return {
    upstream,
    gateway,
    whose: failed === 0 ? 'nobody' : own >= NEARLY_ALL ? 'gateway' : 1 - own >= NEARLY_ALL ? 'upstream' : 'both',
    isAlarming: upstream.share >= ALARMING || gateway.share >= ALARMING,
  }
}

function partOf(count: number, whole: number): Part {
  return { count, whole, share: shareOf(count, whole) ?? 0 }
}

/** Values of a half-hour in the chart of failures, in the order of its series. */
export const VALUES = ['status0', 'status5xx', 'gateway5xx', 'forwarded', 'status4xx'] as const

/** The step in which each of both failed most: the earlier one of two alike; `null` without failures. */
export function worstSteps(points: readonly SeriesPoint[]) {
  return {
    upstream: worst(points, ([status0 = 0, status5xx = 0]) => status0 + status5xx),
    gateway: worst(points, ([, , gateway5xx = 0]) => gateway5xx),
  }
}

function worst(points: readonly SeriesPoint[], count: (values: readonly number[]) => number) {
  const most = Math.max(0, ...points.map(({ values }) => count(values)))
  const point = points.find(({ values }) => count(values) === most)
  return most === 0 || point === undefined ? null : { point, count: most }
}
