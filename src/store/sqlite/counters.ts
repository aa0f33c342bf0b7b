import type { DatabaseSync } from 'node:sqlite'
import type { Observer } from '../../observe/observation.ts'
import {
  type Batch,
  type CounterOf,
  type Decision,
  EVERYBODY,
  type ScopeName,
  settleBatch,
} from '../../quota/charge.ts'
import { type Counter, running } from '../../quota/counter.ts'
import { type QuotaStore, StoreError, type UsageSnapshot } from '../../quota/quota-store.ts'
import { pack, unpack } from '../packed-value.ts'
import { CounterRows } from './counter-rows.ts'
import { attempt, transactions } from './database.ts'
import { onceRows } from './once-rows.ts'

export function sqliteCounters(database: DatabaseSync, clock: () => number, observe: Observer): QuotaStore {
  const { writing, reading } = transactions(database)
  const rows = new CounterRows(database)
  const onces = onceRows(database)
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
    const counterOf: CounterOf = (scope, id, category) => touched.counter(scope, id, category)
    const decisions = settleBatch(batch, counterOf, now, onAhead, onces)
    touched.writeBack(now)
    return decisions
  }

  function usageNow(user: string, categories: readonly string[], organisation: string | null): UsageSnapshot {
    const of = (scope: ScopeName, id: string): Counter[] =>
      categories.map((category) => unpack(rows.read(scope, id, category)))
    return {
      at: clock(),
      personal: of('personal', user),
      organisation: organisation === null ? null : of('organisation', organisation),
      global: of('global', EVERYBODY),
    }
  }

  return {
    settle: (batch) => attempt(() => settleNow(batch)),
    readUsage: (user, categories, organisation = null) =>
      attempt(() => reading(() => usageNow(user, categories, organisation))),
  }
}

/** A batch of nothing asks whether the store takes charges again. */
function isQuestion({ charges, refunds }: Batch): boolean {
  return charges.length + refunds.length === 0
}

/** A counter that a batch works on, and its bytes as they were. */
interface Touched {
  readonly scope: ScopeName
  readonly id: string
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

  counter(scope: ScopeName, id: string, category: string): Counter {
    // Categories hold no colon.
    const key = `${scope}:${category}:${id}`
    let touched = this.#touched.get(key)
    if (touched === undefined) {
      const before = this.#rows.read(scope, id, category)
      touched = { scope, id, category, before, counter: unpack(before) }
      this.#touched.set(key, touched)
    }
    return touched.counter
  }

  /** A batch of refusals writes nothing, unless a window has ended. */
  writeBack(now: number): void {
    for (const { scope, id, category, before, counter } of this.#touched.values()) {
      const kept = running(counter, now)
      const windows = pack(kept)
      if (kept.length === 0 || (before !== undefined && windows.equals(before))) continue
      this.#rows.write(scope, id, category, kept, windows)
    }
  }
}
