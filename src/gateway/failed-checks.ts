/** How many checks of forged signatures one address has had made, of those that take long. */
export interface FailedChecks {
  /** Seconds until another one may be made, whole; 0 where it may at once. @param address `null` where that says nothing */
  wait(address: string | null): number
  note(address: string | null, checks: number): void
}

/** So many at once: an office behind one address whose clients all have an old credential. */
const AT_ONCE = 200
/** And so many a second from then on: of ES512 a twentieth of a core. */
const A_SECOND = 50
/** Beyond it the address that came first is forgotten, and may have as many again. */
const MOST_ADDRESSES = 10_000

/** @param now monotonic milliseconds */
export function createFailedChecks(now: () => number = () => performance.now()): FailedChecks {
  const addresses = new Map<string, { left: number; at: number }>()

  function leftOf(address: string): number {
    const known = addresses.get(address)
    return known === undefined ? AT_ONCE : Math.min(AT_ONCE, known.left + ((now() - known.at) / 1000) * A_SECOND)
  }

  return {
    wait(address) {
      const left = address === null ? AT_ONCE : leftOf(address)
      return left >= 1 ? 0 : Math.max(1, Math.ceil((1 - left) / A_SECOND))
    },
    note(address, checks) {
      if (address === null || checks === 0) return
      // Those under way at once may all fail: none of them is owed for long.
      const left = Math.max(-A_SECOND, leftOf(address) - checks)
      addresses.delete(address)
      addresses.set(address, { left, at: now() })
      const [first] = addresses.keys()
      if (addresses.size > MOST_ADDRESSES && first !== undefined) addresses.delete(first)
    },
  }
}
