import type { Denial } from '../errors.ts'

/** Places for checks of signatures that take long, which anybody can ask for. */
export interface CheckPlaces {
  /** @returns why there is none; where it is `null`, `leave` follows */
  enter(): Denial | null
  /** @param failed how many such checks were made for nothing, as the token turned out to be no good one */
  leave(failed: number): void
}

const FREE: CheckPlaces = { enter: () => null, leave: () => {} }
export const UNBOUNDED = (): CheckPlaces => FREE

/** Signatures that are checked for one token at most. */
const MAX_CHECKS = 10

/** The checks of one token. The first one that is not dear needs no place: it costs no more than a request that is accepted. */
export class Checks {
  readonly #places: () => CheckPlaces
  #held: CheckPlaces | null = null
  #made = 0
  #dear = 0

  constructor(places: () => CheckPlaces) {
    this.#places = places
  }

  isOver(): boolean {
    return this.#made >= MAX_CHECKS
  }

  /** @returns why the next check may not be made */
  begin(isDear: boolean): Denial | null {
    if ((isDear || this.#made > 0) && this.#held === null) {
      const places = this.#places()
      const refused = places.enter()
      if (refused !== null) return refused
      this.#held = places
    }
    this.#made++
    if (this.#held !== null) this.#dear++
    return null
  }

  end(isGood: boolean): void {
    this.#held?.leave(isGood ? 0 : this.#dear)
  }
}
