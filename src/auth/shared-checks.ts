import type { Denial } from '../errors.ts'
import { FairQueue } from '../lib/fair-queue.ts'
import { type Caller, unknowable } from './verdict.ts'

type Result = Promise<Caller | Denial>

/**
 * For how long after a check has begun others may join it, in milliseconds. A credential that ends meanwhile is accepted for no longer than
 * this after its end.
 */
const JOIN_MS = 1500
/** How many requests may have joined at a time. Joining is free, so anybody could bring one made-up credential in any number of requests. */
const MAX_JOINED = 256
const CROWDED = unknowable('overloaded', 'too many wait for checks of credentials that others brought', 1)

/** Checks under way. Requests with the same credential wait for the same result. */
export class SharedChecks {
  readonly #running = new Map<string, { readonly startedAt: number; readonly result: Result }>()
  readonly #joined = new FairQueue<() => void>(MAX_JOINED)

  /**
   * @param party of the request. If too many have joined, the last one of the party with most of them stops waiting
   * @returns `undefined` if there is no such check, or if it began too long ago
   */
  join(key: string, at: number, party: () => string): Result | undefined {
    const check = this.#running.get(key)
    if (check === undefined || at >= check.startedAt + JOIN_MS) return undefined
    return this.#wait(check.result, party())
  }

  #wait(result: Result, party: string): Result {
    return new Promise((resolve, reject) => {
      const leave = (): void => resolve(CROWDED)
      this.#joined.push(party, leave)?.()
      const end = (): void => this.#joined.remove(party, leave)
      result.finally(end).then(resolve, reject)
    })
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
