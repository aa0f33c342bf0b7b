import type { Denial } from '../errors.ts'
import { LONG } from './jwt-signature.ts'

/** Who may have one credential checked where that costs more than an accepted request: anybody can ask for that. */
export interface CheckPlaces {
  /** Who brought it: an address, or the IPv6 /48 of one. Empty where that is not known. */
  readonly party: string
  /**
   * Before each check of the credential.
   * @param cost of the check, in tenths of a millisecond
   * @param isLong whether it is one of those of which only a bounded number may be under way
   * @returns why the check may not be made
   */
  enter(cost: number, isLong: boolean): Denial | null
  /**
   * Once at the end, also where a check was not allowed.
   * @param spent the cost of the checks that were made for nothing, as the credential turned out to be no good one
   */
  leave(spent: number): void
}

const FREE: CheckPlaces = { party: '', enter: () => null, leave: () => {} }
export const UNBOUNDED = (): CheckPlaces => FREE

/** Signatures that are checked for one token at most. */
const MAX_CHECKS = 10

/** The checks of one token. The first one is made for everybody where it costs less than an accepted request. */
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

  /** @param cost of the next check, in tenths of a millisecond. @returns why it may not be made */
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
