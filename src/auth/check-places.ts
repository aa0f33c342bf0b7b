import type { Denial } from '../errors.ts'
import { LONG } from './jwt-signature.ts'

/** Who may have signatures checked that cost more than an accepted request: anybody can ask for that. */
export interface CheckPlaces {
  /**
   * @param isLong whether it is one of those of which only a bounded number may be under way
   * @returns why the check may not be made; if it is `null`, `leave` follows
   */
  enter(isLong: boolean): Denial | null
  /** @param spent what checks cost that were for nothing, as the token turned out to be no good one, in tenths of a millisecond */
  leave(spent: number): void
}

const FREE: CheckPlaces = { enter: () => null, leave: () => {} }
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
    const counts = cost > 0 || this.#made > 0
    if (counts && this.#held === null) {
      const places = this.#places()
      const refused = places.enter(cost >= LONG)
      if (refused !== null) return refused
      this.#held = places
    }
    this.#made++
    if (counts) this.#spent += Math.max(1, cost)
    return null
  }

  end(isGood: boolean): void {
    this.#held?.leave(isGood ? 0 : this.#spent)
  }
}
