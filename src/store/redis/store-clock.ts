import { messageOf } from '../../errors.ts'

/**
 * The clock of Redis, as far as its last reply lets know. It says around which moment a script is given the periods of
 * calendars, and decides nothing: the script looks at the clock itself.
 */
export class StoreClock {
  /** From our monotonic clock to that of Redis, in milliseconds. Before the first reply the machine's own clock will do. */
  #ahead = Date.now() - performance.now()

  /** In milliseconds since the epoch. */
  now(): number {
    return Math.floor(performance.now() + this.#ahead)
  }

  heard(now: number): void {
    this.#ahead = now - performance.now()
  }
}

/** What a script replies that runs outside of the periods that it was given. It has written nothing then. */
const OUTSIDE = /\bCALENDAR (\d+)$/

/** A period may end between two attempts. No two periods end within three. */
const ATTEMPTS = 3

/** Runs a script that is given the periods around the moment of Redis's clock. @param send is told that moment */
export async function withinPeriods<T>(clock: StoreClock, send: (now: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(clock.now())
    } catch (error) {
      const [, now] = OUTSIDE.exec(messageOf(error)) ?? []
      if (now === undefined || attempt === ATTEMPTS) throw error
      clock.heard(Number(now))
    }
  }
}
