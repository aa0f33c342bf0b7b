/**
 * How often an issuer is asked for its keys, whatever tokens come: anybody can make up one that calls for it.
 *
 * - Without keys, once in two seconds: every credential of the issuer waits.
 * - With keys, three times at once, and once more each ten seconds from then on. So a rotation is seen at once, also just after another fetch,
 *   and where somebody uses the fetches up, ten seconds later at most.
 * - After a fetch that failed, five seconds later at the earliest: the next three would fail too.
 */
export interface FetchPace {
  /** How long until the next fetch may start, in milliseconds; 0 for now. */
  waitMs(): number
  /** A fetch starts. */
  started(): void
}

const WITHOUT_KEYS_MS = 2000
const AFTER_FAILURE_MS = 5000
const MOST = 3
const REFILL_MS = 10_000

export interface FetchState {
  readonly hasKeys: boolean
  readonly hasFailed: boolean
}

/** @param now milliseconds since the epoch: a clock that is set back must not stop the fetching */
export function createFetchPace(state: () => FetchState, now: () => number): FetchPace {
  let lastStart = Number.NEGATIVE_INFINITY
  /** The moment at which all fetches are there again: each takes REFILL_MS of the time before. */
  let fullAt = Number.NEGATIVE_INFINITY

  function waitMs(): number {
    const at = now()
    if (at < lastStart) return 0
    const { hasKeys, hasFailed } = state()
    if (!hasKeys) return Math.max(0, lastStart + WITHOUT_KEYS_MS - at)
    const pause = hasFailed ? lastStart + AFTER_FAILURE_MS - at : 0
    return Math.max(0, pause, fullAt - at - (MOST - 1) * REFILL_MS)
  }

  function started(): void {
    const at = now()
    // Whatever was used before the clock was set back says nothing.
    fullAt = Math.max(at, at < lastStart ? at : fullAt) + REFILL_MS
    fullAt = Math.min(fullAt, at + MOST * REFILL_MS)
    lastStart = at
  }

  return { waitMs, started }
}
