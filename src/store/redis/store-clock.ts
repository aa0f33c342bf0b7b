import { messageOf } from '../../errors.ts'

/**
 * The clock of Redis, estimated from its last reply. The gateway needs the estimate to send a script the periods of
 * calendars that begin around now. The script itself reads the real clock of Redis.
 */
export class StoreClock {
  /** Milliseconds from our monotonic clock to the clock of Redis. Until the first reply the machine's clock is used. */
  #ahead = Date.now() - performance.now()

  /** In milliseconds since the epoch. */
  now(): number {
    return Math.floor(performance.now() + this.#ahead)
  }

  heard(now: number): void {
    this.#ahead = now - performance.now()
  }
}

/** The reply of a script that runs outside of the periods that it was given. It has written nothing. */
const OUTSIDE = /\bCALENDAR (\d+)$/

/** One period may end between two attempts, but never two within three attempts. */
const ATTEMPTS = 3

/** Runs a script with the calendar periods for the present time of Redis. @param send gets that time */
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
