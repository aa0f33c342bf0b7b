import type { Denial } from '../errors.ts'
import { FairQueue } from '../lib/fair-queue.ts'
import { type Caller, unknowable } from './verdict.ts'

type Result = Promise<Caller | Denial>

/** How long others may join a check, which may wait for keys: a credential must not end meanwhile by more than this. */
const JOIN_MS = 1500
/** Who have joined at a time: to join costs nothing, so anybody could bring one credential that is made up in as many requests as he likes. */
const MAX_JOINED = 256
const CROWDED = unknowable('overloaded', 'too many wait for checks of credentials that others brought', 1)

/** Checks under way. Whoever brings the same credential meanwhile waits for the same result. */
export class SharedChecks {
  readonly #running = new Map<string, { readonly startedAt: number; readonly result: Result }>()
  readonly #joined = new FairQueue<() => void>(MAX_JOINED)

  /**
   * @param party who joins: if too many have, the last one of the party that has most waits no longer
   * @returns `undefined` if there is none, or only one that has begun too long ago
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
