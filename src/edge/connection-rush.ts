/** After this many consecutive turns of the event loop with a new connection, connections come in a rush. */
const RUSH_TURNS = 128
/** In a rush, for how many new connections of one household room is made within a second. */
const MAX_ROOM = 8
const SECOND_MS = 1000

/**
 * Decides whether connections come faster than they are accepted, and whose new connections may then close others.
 *
 * Each turn accepts one connection (see `takeTurn`), so in a rush every client waits for all connections before its own. Making room and
 * responding takes 113 µs for a connection (2026-11-29), and 53 µs if four of five are refused. Without this, addresses that reopened each
 * closed connection kept the kernel's queue full, and some of fifty users waited for a second until their client tried again.
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
