/** What checks of forged signatures one address has had made, of those that cost more than an accepted request. */
export interface FailedChecks {
  /** Seconds until another one may be made, whole; 0 if it may be made at once. @param address `null` if the peer stands for many clients */
  wait(address: string | null): number
  /** @param spent on checks that were for nothing, in tenths of a millisecond */
  note(address: string | null, spent: number): void
}

/** So much at once, in tenths of a millisecond: 2000 checks by ES256, 200 by ES512, as of an office behind one address whose clients all have an old key. */
const AT_ONCE = 2000
/** And so much a second from then on, a twentieth of a core. */
const A_SECOND = 500
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
    note(address, spent) {
      if (address === null || spent === 0) return
      // Those under way at once may all fail: none of them is owed for long.
      const left = Math.max(-A_SECOND, leftOf(address) - spent)
      addresses.delete(address)
      addresses.set(address, { left, at: now() })
      const [first] = addresses.keys()
      if (addresses.size > MOST_ADDRESSES && first !== undefined) addresses.delete(first)
    },
  }
}
