/**
 * How often an issuer is asked for its keys. Anybody can make up a token that seems to need new keys, so tokens do not decide.
 *
 * - Without keys, once in two seconds, because every credential of the issuer waits.
 * - With keys, three times at once, and then once every ten seconds. So a rotation is noticed at once, even just
 *   after another fetch, or at most ten seconds later if somebody has used the fetches up.
 * - With keys and after a failed fetch, five seconds later at the earliest, because three more at once would fail too.
 */
export interface FetchPace {
  /** How long until the next fetch may start, in milliseconds; 0 for now. */
  waitMs(): number
  /** Notes that a fetch starts. */
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

/** @param now milliseconds since the epoch. A clock that is set back must not stop the fetching */
export function createFetchPace(state: () => FetchState, now: () => number): FetchPace {
  let lastStart = Number.NEGATIVE_INFINITY
  /** When all fetches are available again. Each fetch takes REFILL_MS to come back. */
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
    // Fetches from before the clock was set back are ignored.
    fullAt = Math.max(at, at < lastStart ? at : fullAt) + REFILL_MS
    fullAt = Math.min(fullAt, at + MOST * REFILL_MS)
    lastStart = at
  }

  return { waitMs, started }
}
