import type { Denial } from '../errors.ts'
import type { Caller } from './verdict.ts'

type Result = Promise<Caller | Denial>

/** How long others may join a check, which may wait for keys: a credential must not end meanwhile by more than this. */
const JOIN_MS = 1500

/** Checks under way. Whoever brings the same credential meanwhile waits for the same result. */
export class SharedChecks {
  readonly #running = new Map<string, { readonly startedAt: number; readonly result: Result }>()

  /** @returns `undefined` if there is none, or only one that has begun too long ago */
  join(key: string, at: number): Result | undefined {
    const check = this.#running.get(key)
    return check !== undefined && at < check.startedAt + JOIN_MS ? check.result : undefined
  }

  start(key: string, at: number, make: () => Result): Result {
    const check = { startedAt: at, result: make() }
    this.#running.set(key, check)
    const done = () => {
      if (this.#running.get(key) === check) this.#running.delete(key)
    }
    check.result.then(done, done)
    return check.result
  }
}
