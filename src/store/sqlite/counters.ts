import type { Observer } from '../../observe/observation.ts'
import { type CounterOf, settleBatch } from '../../quota/arithmetic.ts'
import type { Batch, Decision } from '../../quota/charge.ts'
import { EVERYBODY, type ScopeName } from '../../quota/charged-scopes.ts'
import { type Counter, endsAt, running } from '../../quota/counter.ts'
import { endedRuns, keptOf, longestKept, type Retention } from '../../quota/history.ts'
import type { Onces } from '../../quota/once.ts'
import { type QuotaStore, StaleBatch, type UsageSnapshot } from '../../quota/quota-store.ts'
import { reportMade } from '../../quota/receipt.ts'
import { pack, unpack } from '../packed-value.ts'
import type { Checkpoints } from './checkpoints.ts'
import { type CounterRow, CounterRows } from './counter-rows.ts'
import { attempt, type SqliteFile, storeError } from './database.ts'
import { onceRows } from './endings.ts'
import { type ForgottenRows, forgottenRows } from './forgotten.ts'
import { historyRows, type TouchedHistories } from './history-rows.ts'

/** @param retention asked for each batch, because it may change */
export function sqliteCounters(
  file: SqliteFile,
  clock: () => number,
  observe: Observer,
  retention: () => Retention,
  checkpoints: Checkpoints,
): QuotaStore {
  const rows = new CounterRows(file.database)
  const forgotten = forgottenRows(file.database)
  const touchHistories = historyRows(file.database)
  const onces = onceRows(file)
  // The sender of a batch is this process, so the last replies need not outlive it.
  const replies = new Map<string, { sequence: number; decisions: readonly Decision[] }>()

  function settleNow(batch: Batch): readonly Decision[] {
    const last = replies.get(batch.instance)
    if (last?.sequence === batch.sequence) return last.decisions
    if (last !== undefined && last.sequence > batch.sequence) {
      throw new StaleBatch(`batch ${batch.sequence} comes after ${last.sequence}`)
    }
    const made: number[] = []
    const decisions = file.writing(() => settleInside(batch, made))
    // A batch that is repeated because a report fails must not be charged again.
    replies.set(batch.instance, { sequence: batch.sequence, decisions })
    reportMade(batch.refunds, made)
    return decisions
  }

  /** @param made collects the amount of each refund of a request with a key */
  function settleInside(batch: Batch, made: number[]): Decision[] {
    if (isQuestion(batch)) {
      rows.tryToWrite()
      return []
    }
    const now = clock()
    const touched = new TouchedCounters(rows, forgotten, now)
    const histories = touchHistories()
    const onAhead = (aheadMs: number): void => observe({ type: 'window_start_ahead', aheadMs })
    const counterOf: CounterOf = (scope, id, category) => touched.counter(scope, id, category)
    const { refunds, charges } = batch
    const noting: Onces = {
      ...onces,
      report(report) {
        const amount = onces.report(report)
        made.push(amount)
        return amount
      },
    }
    settleBatch({ refunds, charges: [] }, counterOf, now, onAhead, noting, histories.takeBack)
    touched.keepRefunded()
    const decisions = settleBatch({ refunds: [], charges }, counterOf, now, onAhead, onces)
    touched.writeBack(now, histories, retention())
    histories.writeBack()
    return decisions
  }

  function usageNow(user: string, categories: readonly string[], organisation: string | null): UsageSnapshot {
    const of = (scope: ScopeName, id: string): Counter[] =>
      categories.map((category) => unpack(rows.read(scope, id, category)?.windows))
    return {
      at: clock(),
      personal: of('personal', user),
      organisation: organisation === null ? null : of('organisation', organisation),
      global: of('global', EVERYBODY),
    }
  }

  return {
    settle: async (batch) => {
      const decisions = await attempt(() => settleNow(batch)).catch((error: unknown) => {
        // The batch was rolled back, or is remembered if it is repeated. Otherwise its sender would take the outcome of an error of our own for unknown.
        throw storeError(error)
      })
      checkpoints.written()
      return decisions
    },
    readUsage: (user, categories, organisation = null) => file.read(() => usageNow(user, categories, organisation)),
  }
}

/** An empty batch asks whether the store takes charges again. */
function isQuestion({ charges, refunds }: Batch): boolean {
  return charges.length + refunds.length === 0
}

/** A counter in a batch, its row from before the batch, and its bytes after the refunds of the batch. */
interface Touched {
  readonly scope: ScopeName
  readonly id: string
  readonly category: string
  readonly before: CounterRow | undefined
  refunded: Uint8Array | undefined
  readonly counter: Counter
  /** The windows from when the user was forgotten. Only a charge moves them back to the name of the user. */
  readonly left: Uint8Array | undefined
  isCharged: boolean
}

/** The counters that one batch works on, each read once. */
class TouchedCounters {
  readonly #rows: CounterRows
  readonly #touched = new Map<string, Touched>()

  readonly #forgotten: ForgottenRows
  readonly #now: number
  #isCharging = false

  constructor(rows: CounterRows, forgotten: ForgottenRows, now: number) {
    this.#rows = rows
    this.#forgotten = forgotten
    this.#now = now
  }

  counter(scope: ScopeName, id: string, category: string): Counter {
    // A category contains no colon, so the key is unique.
    const key = `${scope}:${category}:${id}`
    let touched = this.#touched.get(key)
    if (touched === undefined) {
      const before = this.#rows.read(scope, id, category)
      const left =
        before === undefined && scope === 'personal' ? this.#forgotten.windowsOf(id, category, this.#now) : undefined
      const windows = before?.windows ?? left
      touched = { scope, id, category, before, refunded: windows, counter: unpack(windows), left, isCharged: false }
      this.#touched.set(key, touched)
    }
    if (this.#isCharging) touched.isCharged = true
    return touched.counter
  }

  /** Runs that end after this point go into the history as they are now. */
  keepRefunded(): void {
    this.#isCharging = true
    for (const touched of this.#touched.values()) touched.refunded = pack(touched.counter)
  }

  /** A batch of refusals writes nothing unless a window has ended. */
  writeBack(now: number, histories: TouchedHistories, retention: Retention): void {
    for (const touched of this.#touched.values()) {
      const { scope, id, category, before, refunded, counter, left: forgotten, isCharged } = touched
      if (forgotten !== undefined) {
        this.#forgotten.replace(id, category, isCharged ? null : pack(counter))
        if (!isCharged) continue
      }
      const kept = keptOf(retention, scope, id)
      // A counter without a running window stays as it is. Its runs go into the history when the next one starts.
      const isOver = running(counter, now).length === 0
      const left = isOver && kept !== null ? counter : running(counter, now)
      const windows = pack(left)
      if (left.length === 0 || (before !== undefined && windows.equals(before.windows))) continue
      if (kept !== null && scope !== 'global') {
        histories.add(scope, id, category, endedRuns(unpack(refunded), left, kept, now), kept, now)
      }
      const keptMs = kept === null ? 0 : longestKept(kept) * 1000
      const ends = Math.max(endsAt(left), isOver ? 0 : now) + keptMs
      this.#rows.write(scope, id, category, { windows, ends }, before)
    }
  }
}
