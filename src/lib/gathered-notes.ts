export interface GatheredNotesOptions<T> {
  /** Brings some notes to where they are kept. Rejects if they are not kept. */
  readonly write: (notes: readonly (readonly [string, T])[]) => Promise<void>
  /** Notes that wait at once; further ones are dropped. Default 50,000. */
  readonly most?: number
  /** How long notes gather before they are written together, in milliseconds. Default 50. */
  readonly gatherMs?: number
}

/** Notes in one call: it bounds how long it holds a store. */
const MOST_WRITTEN = 256
/** After a failure, in milliseconds. */
const PAUSE_MS = 1000

/** Notes that are gathered and written together, so that nobody waits for it. Of two of one name the later one counts. */
export class GatheredNotes<T> {
  readonly #write: GatheredNotesOptions<T>['write']
  readonly #most: number
  readonly #gatherMs: number
  readonly #waiting = new Map<string, T>()
  #writing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor({ write, most = 50_000, gatherMs = 50 }: GatheredNotesOptions<T>) {
    this.#write = write
    this.#most = most
    this.#gatherMs = gatherMs
  }

  /** Returns at once. @returns `false` if too many wait already: then nothing is written */
  add(name: string, note: T): boolean {
    if (this.#waiting.size >= this.#most) return false
    this.#waiting.set(name, note)
    this.#writeSoon(this.#gatherMs)
    return true
  }

  /** Writes what waits still. Never rejects. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    await this.#writing
    await this.#writeAll()
  }

  #writeSoon(waitMs: number): void {
    if (this.#timer !== null || this.#writing !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#writing = this.#writeAll().then((isDone) => {
        this.#writing = null
        if (this.#waiting.size > 0) this.#writeSoon(isDone ? this.#gatherMs : PAUSE_MS)
      })
    }, waitMs).unref()
  }

  /** Goes on until all are written. @returns `false` if that fails: what is left is written later */
  async #writeAll(): Promise<boolean> {
    for (let some = this.#next(); some.length > 0; some = this.#next()) {
      try {
        await this.#write(some)
      } catch {
        return false
      }
      // What was noted anew meanwhile is written once more.
      for (const [name, note] of some) if (this.#waiting.get(name) === note) this.#waiting.delete(name)
    }
    return true
  }

  #next(): [string, T][] {
    return [...this.#waiting.entries().take(MOST_WRITTEN)]
  }
}
