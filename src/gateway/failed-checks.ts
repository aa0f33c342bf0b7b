import { widerNetworkOf } from '../lib/peers.ts'

/**
 * Limits what checks of credentials and long heads may cost in vain, for each address. The cost of a check is reserved before it begins,
 * and given back unless the check was in vain. So an address never begins more than it has left, however long a check takes.
 */
export interface FailedChecks {
  /** @param address `null` for a peer that stands for many clients, which has no limit */
  reservation(address: string | null): Reservation
}

/** The cost that is reserved for the checks of one credential, or for one long head. */
export interface Reservation {
  /** Call it before each check. @param cost in tenths of a millisecond, 1 to 2000 @returns whether the address may spend it */
  take(cost: number): boolean
  /** Call it once after the last check. @param spent the part that was in vain. The rest is given back */
  end(spent: number): void
}

/**
 * What an address may spend at once, in tenths of a millisecond. This is enough for 2000 checks by ES256, 200 by ES512, or 40 questions to a
 * provider. An office behind one address whose clients all have an old key may need as much.
 */
const AT_ONCE = 2000
/** What an address gets back in a second, in tenths of a millisecond. It is a twentieth of a core. */
const A_SECOND = 500
/** What an IPv6 /48 may spend, as a multiple of what one of its addresses may. */
const NETWORK = 1.5
/** If there are more accounts, the one that was used longest ago is forgotten, and may spend as much as a new one. */
const MOST_ACCOUNTS = 10_000

const UNBOUNDED: Reservation = { take: () => true, end: () => {} }

/** @param now monotonic milliseconds */
export function createFailedChecks(now: () => number = () => performance.now()): FailedChecks {
  const accounts = new Map<string, Account>()

  function reservation(address: string | null): Reservation {
    if (address === null) return UNBOUNDED
    let own: readonly Account[] = []
    let reserved = 0
    return {
      take(cost) {
        if (reserved === 0) own = accountsOf(address)
        if (own.some((account) => account.left(now()) < cost)) return false
        for (const account of own) keep(account)
        for (const account of own) account.reserve(cost)
        reserved += cost
        return true
      },
      end(spent) {
        for (const account of own) {
          account.settle(reserved, spent, now())
          if (account.isFull() && accounts.get(account.key) === account) accounts.delete(account.key)
        }
      },
    }
  }

  function accountsOf(address: string): Account[] {
    const network = widerNetworkOf(address)
    const own = accounts.get(address) ?? new Account(address, 1)
    return network === null ? [own] : [own, accounts.get(network) ?? new Account(network, NETWORK)]
  }

  /** Keeps an account as the latest. */
  function keep(account: Account): void {
    accounts.delete(account.key)
    accounts.set(account.key, account)
    const [first] = accounts.keys()
    if (accounts.size > MOST_ACCOUNTS && first !== undefined) accounts.delete(first)
  }

  return { reservation }
}

/** The account of an address or an IPv6 /48. What is left and what is reserved together never exceed AT_ONCE times its scale. */
class Account {
  readonly key: string
  readonly #scale: number
  #left: number
  #reserved = 0
  #at = Number.NEGATIVE_INFINITY

  constructor(key: string, scale: number) {
    this.key = key
    this.#scale = scale
    this.#left = AT_ONCE * scale
  }

  left(at: number): number {
    const grown = ((at - this.#at) * A_SECOND * this.#scale) / 1000
    this.#left = Math.min(AT_ONCE * this.#scale - this.#reserved, this.#left + grown)
    this.#at = at
    return this.#left
  }

  reserve(cost: number): void {
    this.#left -= cost
    this.#reserved += cost
  }

  settle(reserved: number, spent: number, at: number): void {
    this.#left = this.left(at) + reserved - spent
    this.#reserved -= reserved
  }

  isFull(): boolean {
    return this.#left >= AT_ONCE * this.#scale
  }
}
