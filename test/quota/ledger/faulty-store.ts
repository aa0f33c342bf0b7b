import { settleBatch } from '../../../src/quota/arithmetic.ts'
import type { Batch, Decision } from '../../../src/quota/charge.ts'
import { EVERYBODY, type ScopeName } from '../../../src/quota/charged-scopes.ts'
import type { Counter } from '../../../src/quota/counter.ts'
import { oncesOf, type Remembered } from '../../../src/quota/once.ts'
import { type QuotaStore, StoreError } from '../../../src/quota/quota-store.ts'

/**
 * What goes wrong with one call: certainly nothing applied; the request lost on its way; the reply lost on its way
 * back; no answer ever; an error of no known kind after the batch was applied.
 */
export type Fault = 'none' | 'not_applied' | 'request_lost' | 'reply_lost' | 'silent' | 'odd_error'

/** A quota store in memory that keeps the contract of `settle` and fails as it is asked to. */
export class FaultyStore implements Pick<QuotaStore, 'settle'> {
  /** One for each call to come; after the last, `otherwise` holds. */
  faults: Fault[] = []
  otherwise: Fault = 'none'
  /** Every call waits for it, so that a test may hold a batch under way. */
  gate: Promise<void> = Promise.resolve()
  /** Every batch as it was asked for, the repeated ones too. */
  readonly calls: Batch[] = []
  mostAtOnce = 0

  readonly #counters = new Map<string, Counter>()
  readonly #remembered = new Map<string, Remembered | undefined>()
  readonly #replies = new Map<string, { sequence: number; decisions: Decision[] }>()
  #now = Date.UTC(2026, 7, 6)
  #underWay = 0

  async settle(batch: Batch): Promise<readonly Decision[]> {
    this.calls.push(batch)
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#underWay)
    try {
      await this.gate
      return await this.#response(batch, this.faults.shift() ?? this.otherwise)
    } finally {
      this.#underWay--
    }
  }

  /** Tokens used in the longest window of a user, or of everybody. */
  used(user: string | null, category = 'read'): number {
    return user === null ? this.usedIn('global', EVERYBODY, category) : this.usedIn('personal', user, category)
  }

  usedIn(scope: ScopeName, id: string, category = 'read'): number {
    return this.#counter(scope, id, category).reduce((most, entry) => Math.max(most, entry.used), 0)
  }

  /** The cost of the distinct batches that were asked for, in order of their first call. */
  distinct(): number[] {
    return [...new Map(this.calls.map((batch) => [batch.sequence, batch.charges.length])).values()]
  }

  async #response(batch: Batch, fault: Fault): Promise<readonly Decision[]> {
    if (fault === 'not_applied') throw new StoreError('down', 'connection', 'no')
    if (fault === 'request_lost') throw new StoreError('lost', 'timeout', 'unknown')
    if (fault === 'silent') return new Promise(() => {})
    const decisions = this.#apply(batch)
    if (fault === 'reply_lost') throw new StoreError('lost', 'timeout', 'unknown')
    if (fault === 'odd_error') throw 'not even an Error'
    return decisions
  }

  #apply(batch: Batch): Decision[] {
    const last = this.#replies.get(batch.instance)
    if (last?.sequence === batch.sequence) return last.decisions
    if (last !== undefined && last.sequence > batch.sequence) throw new StoreError('stale', 'other', 'no')
    const onces = oncesOf(
      (key) => this.#remembered.get(key),
      (key, remembered) => this.#remembered.set(key, remembered),
    )
    const decisions = settleBatch(
      batch,
      (...of) => this.#counter(...of),
      ++this.#now,
      () => {},
      onces,
    )
    this.#replies.set(batch.instance, { sequence: batch.sequence, decisions })
    return decisions
  }

  #counter(scope: ScopeName, id: string, category: string): Counter {
    const key = JSON.stringify([scope, id, category])
    const counter = this.#counters.get(key) ?? []
    this.#counters.set(key, counter)
    return counter
  }
}
