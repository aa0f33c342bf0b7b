import type { DatabaseSync } from 'node:sqlite'
import type { Observer } from '../../observe/observation.ts'
import { type Batch, type Decision, settleBatch } from '../../quota/charge.ts'
import { type Counter, running } from '../../quota/counter.ts'
import { type QuotaStore, StoreError } from '../../quota/quota-store.ts'
import { pack, unpack } from '../packed-value.ts'
import { CounterRows } from './counter-rows.ts'
import { attempt, transactions } from './database.ts'

export function sqliteCounters(database: DatabaseSync, clock: () => number, observe: Observer): QuotaStore {
  const { writing, reading } = transactions(database)
  const rows = new CounterRows(database)
  // The sender of a batch is this very process, so the last replies need not outlive it.
  const replies = new Map<string, { sequence: number; decisions: readonly Decision[] }>()

  function settleNow(batch: Batch): readonly Decision[] {
    const last = replies.get(batch.instance)
    if (last?.sequence === batch.sequence) return last.decisions
    if (last !== undefined && last.sequence > batch.sequence) {
      throw new StoreError(`batch ${batch.sequence} comes after ${last.sequence}`, 'other', 'no')
    }
    const decisions = writing(() => settleInside(batch))
    replies.set(batch.instance, { sequence: batch.sequence, decisions })
    return decisions
  }

  function settleInside(batch: Batch): Decision[] {
    if (isQuestion(batch)) {
      rows.tryToWrite()
      return []
    }
    const now = clock()
    const touched = new TouchedCounters(rows)
    const onAhead = (aheadMs: number): void => observe({ type: 'window_start_ahead', aheadMs })
    const decisions = settleBatch(batch, (user, category) => touched.counter(user, category), now, onAhead)
    touched.writeBack(now)
    return decisions
  }

  function usageNow(user: string, categories: readonly string[]): Awaited<ReturnType<QuotaStore['readUsage']>> {
    return {
      at: clock(),
      personal: categories.map((category) => unpack(rows.read(user, category))),
      global: categories.map((category) => unpack(rows.read(null, category))),
    }
  }

  return {
    settle: (batch) => attempt(() => settleNow(batch)),
    readUsage: (user, categories) => attempt(() => reading(() => usageNow(user, categories))),
  }
}

/** A batch of nothing asks whether the store takes charges again. */
function isQuestion({ charges, refunds }: Batch): boolean {
  return charges.length + refunds.length === 0
}

/** A counter that a batch works on, and its bytes as they were. */
interface Touched {
  readonly user: string | null
  readonly category: string
  readonly before: Uint8Array | undefined
  readonly counter: Counter
}

/** The counters that one batch works on, each read once. */
class TouchedCounters {
  readonly #rows: CounterRows
  readonly #touched = new Map<string, Touched>()

  constructor(rows: CounterRows) {
    this.#rows = rows
  }

  counter(user: string | null, category: string): Counter {
    const key = user === null ? category : `${category}:${user}`
    let touched = this.#touched.get(key)
    if (touched === undefined) {
      const before = this.#rows.read(user, category)
      touched = { user, category, before, counter: unpack(before) }
      this.#touched.set(key, touched)
    }
    return touched.counter
  }

  /** A batch of refusals writes nothing, unless a window has ended. */
  writeBack(now: number): void {
    for (const { user, category, before, counter } of this.#touched.values()) {
      const kept = running(counter, now)
      const windows = pack(kept)
      if (kept.length === 0 || (before !== undefined && windows.equals(before))) continue
      this.#rows.write(user, category, kept, windows)
    }
  }
}
