/** After this many consecutive turns of the event loop with a new connection, connections come in a rush. */
const RUSH_TURNS = 128
/** In a rush, room is made for this many new connections of one household within a second. */
const MAX_ROOM = 8
const SECOND_MS = 1000

/**
 * Decides whether connections come faster than they are accepted, and whose new connections may then close others.
 *
 * Each turn accepts one connection (see `takeTurn`), so in a rush every client waits for all connections before its own. Making room and
 * responding takes longer than refusing a connection. Without this bound, addresses that reopen each closed connection would keep the
 * kernel's queue full, and the users whose connections find no room there would wait until their client tries again.
 *
 * | State | A connection comes | A turn ends without a new connection |
 * |---|---|---|
 * | calm: fewer than 128 turns in a row had a new connection | room is made | the count begins again |
 * | rush | room is made for 8 of its household in a second, the others are refused | calm |
 */
export class ConnectionRush {
  #turns = 0
  #hasCome = false
  /** For how many connections of each household room was made in the second that began at `#since`. */
  readonly #made = new Map<string, number>()
  #since = 0

  /** Notes that a connection has come. */
  came(): void {
    if (this.#turns === 0 && !this.#hasCome) setImmediate(this.#turnEnded)
    this.#hasCome = true
  }

  /** @param household of the new connection; `null` for a peer that stands for many clients */
  mayMakeRoom(household: string | null): boolean {
    if (household === null || this.#turns < RUSH_TURNS) return true
    const now = performance.now()
    if (now - this.#since >= SECOND_MS) {
      this.#made.clear()
      this.#since = now
    }
    const made = this.#made.get(household) ?? 0
    if (made >= MAX_ROOM) return false
    this.#made.set(household, made + 1)
    return true
  }

  readonly #turnEnded = (): void => {
    this.#turns = this.#hasCome ? this.#turns + 1 : 0
    this.#hasCome = false
    if (this.#turns > 0) setImmediate(this.#turnEnded)
  }
}
