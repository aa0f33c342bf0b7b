export interface GatheredNotesOptions<T> {
  /** Brings some notes to their place. Rejects if they are not kept. */
  readonly write: (notes: readonly (readonly [string, T])[]) => Promise<void>
  /** The most notes that wait at once. Further ones are dropped. Default 50,000. */
  readonly most?: number
  /** The most notes in one call, so that no call holds a store for long. Default 256. */
  readonly mostWritten?: number
  /** How long notes gather before they are written together, in milliseconds. Default 50. */
  readonly gatherMs?: number | undefined
  /** The pause after a failure, in milliseconds. Default 1000. */
  readonly pauseMs?: number | undefined
}

/** Gathers notes and writes them together, so that nobody waits. Of two notes with one name the later one counts. */
export class GatheredNotes<T> {
  readonly #write: GatheredNotesOptions<T>['write']
  readonly #most: number
  readonly #mostWritten: number
  readonly #gatherMs: number
  readonly #pauseMs: number
  readonly #waiting = new Map<string, T>()
  #isClosed = false
  #writing: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor({ write, most = 50_000, mostWritten = 256, gatherMs = 50, pauseMs = 1000 }: GatheredNotesOptions<T>) {
    this.#write = write
    this.#most = most
    this.#mostWritten = mostWritten
    this.#gatherMs = gatherMs
    this.#pauseMs = pauseMs
  }

  /** Returns at once. @returns `false` if too many notes wait already: then this one is not written */
  add(name: string, note: T): boolean {
    if (this.#waiting.size >= this.#most && !this.#waiting.has(name)) return false
    this.#waiting.set(name, note)
    this.#writeSoon(this.#gatherMs)
    return true
  }

  /** Writes the notes that still wait, until a write fails, and stops. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    await this.#writing
    await this.#writeAll()
  }

  #writeSoon(waitMs: number): void {
    if (this.#isClosed || this.#timer !== null || this.#writing !== null) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#writing = this.#writeAll().then((isDone) => {
        this.#writing = null
        if (this.#waiting.size > 0) this.#writeSoon(isDone ? this.#gatherMs : this.#pauseMs)
      })
    }, waitMs).unref()
  }

  /** Writes until no note is left. @returns `false` if a write fails: the rest is written later */
  async #writeAll(): Promise<boolean> {
    for (let some = this.#next(); some.length > 0; some = this.#next()) {
      try {
        await this.#write(some)
      } catch {
        return false
      }
      // A note that was added again meanwhile is written once more.
      for (const [name, note] of some) if (this.#waiting.get(name) === note) this.#waiting.delete(name)
    }
    return true
  }

  #next(): [string, T][] {
    return [...this.#waiting.entries().take(this.#mostWritten)]
  }
}
