/** Turns of the event loop in a row, each with a new connection, after which connections come in a rush. */
const RUSH_TURNS = 128
/** New connections of one household within a second for each of which room is made in a rush. */
const MAX_ROOM = 8
const SECOND_MS = 1000

/**
 * Whether new connections come faster than they are accepted, and who may still have others closed for his own.
 *
 * One connection is accepted in each turn (see `takeTurn`), so in a rush each client waits for all connections that came before its own.
 * With its room and its response a connection takes 113 µs (2026-11-29), and 53 µs where four of five are refused. So addresses that open
 * each connection anew as soon as it was closed kept the queue of the kernel full, and some of fifty users waited for a second until their
 * client tried again.
 *
 * | State | A connection comes | A turn ends without one |
 * |---|---|---|
 * | calm: fewer turns in a row had one | room is made | the next one is the first again |
 * | rush | room is made for 8 of its household in a second, the others are refused | calm |
 */
export class ConnectionRush {
  #turns = 0
  #hasCome = false
  /** By household, in the second that began at `#since`. */
  readonly #made = new Map<string, number>()
  #since = 0

  /** A connection is there. */
  came(): void {
    if (this.#turns === 0 && !this.#hasCome) setImmediate(this.#turnEnded)
    this.#hasCome = true
  }

  /** @param household whose new connection needs room; `null` for a peer that stands for many clients */
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
