import type { PartialConfig } from '../partial.ts'
import type { Finding } from '../problems.ts'
import { windowsOf } from '../window-lengths.ts'
import { placeOf } from './quota.ts'

/** The longest time in a timer of 31 bits, in milliseconds. Node, browsers and others fire a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Clients must be able to wait as long as Retry-After says. Only for windows without problems. */
export function checkRetryAfter({ quota }: Pick<PartialConfig, 'quota'>): Finding[] {
  const { retry_after_max } = quota
  if (retry_after_max !== undefined && retry_after_max <= LONGEST_TIMER_MS) return []
  const long = windowsOf(quota).find(({ ms }) => ms !== null && ms > LONGEST_TIMER_MS)
  if (long === undefined) return []
  const path = retry_after_max === undefined ? [...placeOf(quota, long.name), long.name] : ['quota', 'retry_after_max']
  const message = `window ${long.name} may make Retry-After more than ${Math.floor(LONGEST_TIMER_MS / 1000)} s, which a timer of Node or a browser takes for 1 ms, so that clients that obey it retry at once, over and over: write retry_after_max: 1d, or at most 24d`
  return [{ path, severity: 'warning', message }]
}
