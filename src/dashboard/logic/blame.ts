import { HALF_HOUR_MS } from './half-hour.ts'
import type { Changes } from './location.ts'
import { type Counted, shareOf } from './route-usage.ts'
import type { SeriesPoint } from './series.ts'
import { ALARMING } from './status.ts'

/** Whether requests failed, and whether the upstream or the gateway is to blame. Pure. */

/** One side is blamed alone if it has at least this share of the failures. */
const NEARLY_ALL = 0.9

/** The failures of one side. */
export interface Part {
  readonly count: number
  /** The requests of which the failures are a part: the forwarded ones for the upstream, all for the gateway. */
  readonly whole: number
  /** 0 to 1. */
  readonly share: number
}

export interface Blame {
  /** 5xx and no response, as a part of the forwarded requests. */
  readonly upstream: Part
  /** 5xx of the gateway itself, as a part of all requests. */
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

/** The values of each step in the chart of failures, in the order of its series. */
export const VALUES = ['status0', 'status5xx', 'gateway5xx', 'forwarded', 'status4xx'] as const

/** The step in which each side failed most, the earlier one if two are equal; `null` without failures. */
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

/** How the address chooses a step for the whole page: a half-hour within the range, or a longer step as the range. */
export function choiceOf({ from, to }: SeriesPoint): Changes {
  const [start, end] = [from.toISOString(), to.toISOString()]
  if (to.getTime() - from.getTime() <= HALF_HOUR_MS) return { half: start }
  return { from: start, to: end, half: null, range: null }
}
