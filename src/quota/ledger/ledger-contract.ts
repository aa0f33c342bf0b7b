import type { Observer } from '../../observe/observation.ts'
import type { Charge, Decision, Refund } from '../charge.ts'
import type { QuotaStore, StoreFailure } from '../quota-store.ts'

/**
 * Takes charges one by one and settles them with the store in batches. Charges that arrive while a batch is under way
 * go out together in the next one. Because there is only one batch at a time, a batch whose reply was lost can be sent
 * again under its sequence number until its outcome is known, and is charged once. If the store leaves a charge without
 * a response for the deadline, it is out, and nobody waits for it any more. Charges then fail at once, or are decided
 * on local counters if their category has a share for that. Meanwhile one batch after the other asks whether the store
 * is back. Its first response ends the outage, and what was admitted locally is then charged in the store.
 */
export interface Ledger {
  /**
   * Decides one charge: by the store, or on local counters while the store is out. A local decision names its `limits`.
   * @throws StoreError if the store did not decide within the deadline or is out, and the charge cannot be decided
   * locally. If the store charges it all the same, the charge is given back.
   * @throws LedgerFull if more charges wait than the ledger takes
   */
  charge(charge: Charge): Promise<Decision>
  /**
   * Does the same with callbacks, for callers on every request, because a promise takes 700 bytes.
   * @param asker may be called before this returns
   */
  decide(charge: Charge, asker: Asker): void
  /**
   * Gives an accepted charge back with the next batch, or the refund's `amount` of tokens, which may be below 0. Call it at most
   * once for a decision. After `close` it does nothing.
   */
  refund(refund: Refund): void
  /**
   * Notifies the ledger that windows of an organisation, or of everybody (`null`, the default), were emptied in the store.
   * Their shares for an outage start anew. What is owed is still charged. Recent refusals need no call, because they end
   * with the policy that they were made under.
   */
  emptied(category: string, seconds: readonly number[], organisation?: string | null): void
  /**
   * Asks the store with an empty batch whether it takes charges, because a store that responds may be full or
   * read-only. Resolves when the store takes charges, or when it is out after the deadline. Never rejects.
   */
  ask(): Promise<void>
  /** Why the store is out; `null` while it is not out. */
  outage(): StoreFailure | null
  /** Settles what waits and stops. After `graceMs` the ledger gives up the rest. */
  close(graceMs: number): Promise<void>
}

/** Waits for the decision on a charge. One of the two methods is called, once. Neither may throw. */
export interface Asker {
  /** Is called where `charge` would resolve. */
  decided(decision: Decision): void
  /** Is called where `charge` would reject. */
  undecided(error: Error): void
}

export class LedgerFull extends Error {
  constructor(waiting: number) {
    super(`${waiting} charges are waiting for the store`)
    this.name = 'LedgerFull'
  }
}

export interface LedgerOptions {
  readonly store: Pick<QuotaStore, 'settle'>
  /** Random for each start of a process. Sequence numbers count within it. */
  readonly instance: string
  /**
   * How long the store may be silent while a charge waits for it, in milliseconds. A charge waits at most four times as long, and a round
   * trip to the store.
   */
  readonly deadlineMs: number
  readonly observe: Observer
  /**
   * The share of its limits that a category may use on local counters while the store is out, 0 (charges are refused) to
   * 1. Default 0 for every category.
   */
  readonly outageShare?: (category: string) => number
  /** How many pairs of user and category may be admitted during an outage. Default 50,000. */
  readonly maxOutageUsers?: number
  /**
   * How long a refusal is repeated without asking the store, in milliseconds; 0 for never. Default 250. A refund by
   * another process may be noticed this much later.
   */
  readonly repeatRefusalsMs?: number
  /** The most charges in one batch, which bounds the time that a batch holds the store. Default 256. */
  readonly maxBatch?: number
  /** The most charges that may wait. Default 10,000. */
  readonly maxWaiting?: number
  /**
   * How long a batch of unknown outcome is sent again, in milliseconds. Default 30 minutes. A store must remember the
   * last reply of an instance for longer.
   */
  readonly giveUpMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
  /** 0 to 1, for the pauses between attempts. */
  readonly random?: () => number
}
