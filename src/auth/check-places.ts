import type { Denial } from '../errors.ts'
import { LONG } from './jwt-signature.ts'

/** Bounds the checks of one credential that cost more than an accepted request, because anybody can cause such checks. */
export interface CheckPlaces {
  /** The client that brought the credential: an address, or the IPv6 /48 of an address. Empty if unknown. */
  readonly party: string
  /**
   * Is called before each check of the credential.
   * @param cost of the check, in tenths of a millisecond
   * @param isLong whether only a bounded number of such checks may be under way
   * @returns why the check may not be made
   */
  enter(cost: number, isLong: boolean): Denial | null
  /**
   * Is called once at the end, even if a check was not allowed.
   * @param spent the cost of checks that were made in vain, because the credential was invalid
   */
  leave(spent: number): void
}

const FREE: CheckPlaces = { party: '', enter: () => null, leave: () => {} }
export const UNBOUNDED = (): CheckPlaces => FREE

/** The most signatures that are checked for one token. */
const MAX_CHECKS = 10

/** The checks of one token. The first check is free if it costs less than an accepted request. */
export class Checks {
  readonly #places: () => CheckPlaces
  #held: CheckPlaces | null = null
  #made = 0
  #spent = 0

  constructor(places: () => CheckPlaces) {
    this.#places = places
  }

  isOver(): boolean {
    return this.#made >= MAX_CHECKS
  }

  /** @param cost of the next check, in tenths of a millisecond @returns why it may not be made */
  begin(cost: number): Denial | null {
    if (cost > 0 || this.#made > 0) {
      const counted = Math.max(1, cost)
      this.#held ??= this.#places()
      const refused = this.#held.enter(counted, cost >= LONG)
      if (refused !== null) return refused
      this.#spent += counted
    }
    this.#made++
    return null
  }

  end(isGood: boolean): void {
    this.#held?.leave(isGood ? 0 : this.#spent)
  }
}
