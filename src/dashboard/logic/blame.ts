import type { Counted } from './route-usage.ts'

/** Whether requests failed, and by whom: the upstream or the gateway. Pure. */

/** A share of failures that is worth alarm: below it one failure in a million would look like an outage. */
const ALARMING = 0.01

/** The other one has a share of the failures that is too small to be named with it. */
const NEARLY_ALL = 0.9

export interface Blame {
  readonly requests: number
  readonly failed: number
  /** Of the requests, 0 to 1. */
  readonly share: number
  readonly whose: 'nobody' | 'upstream' | 'gateway' | 'both'
  readonly isAlarming: boolean
  /** Of the failures, 0 to 1 each; 0 if there are none. */
  readonly of: { readonly status5xx: number; readonly status0: number; readonly gateway5xx: number }
}

export function blameOf({ requests, status5xx, status0, gateway5xx }: Counted): Blame {
  const failed = status5xx + status0 + gateway5xx
  const share = requests === 0 ? 0 : Math.min(1, failed / requests)
  const part = (count: number): number => (failed === 0 ? 0 : count / failed)
  const own = part(gateway5xx)
  return {
    requests,
    failed,
    share,
    whose: failed === 0 ? 'nobody' : own >= NEARLY_ALL ? 'gateway' : 1 - own >= NEARLY_ALL ? 'upstream' : 'both',
    isAlarming: share >= ALARMING,
    of: { status5xx: part(status5xx), status0: part(status0), gateway5xx: own },
  }
}
