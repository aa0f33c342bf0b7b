import type { Observer } from '../../observe/observation.ts'
import type { Charge, Decision, Refund } from '../charge.ts'
import type { QuotaStore, StoreFailure } from '../quota-store.ts'

/**
 * Takes charges one by one and settles them with the store in batches. All that arrive while a batch is under way go
 * out together in the next one. There is one batch at a time. So a batch whose reply was lost can be sent again under
 * its sequence number until its outcome is known, and is charged once.
 * A store that leaves a charge without a response for the deadline is out. From then on nobody waits for the store.
 * Charges fail at once, or are decided on local counters if the category has a share for that. Meanwhile one batch
 * after the other asks whether the store is back. Its first response ends the outage, and what was admitted is then
 * charged there.
 */
export interface Ledger {
  /**
   * Decides one charge: by the store, or on local counters while the store is out. A local decision names its `limits`.
   * @throws StoreError if the store did not decide within the deadline or is out, and the charge cannot be decided
   * locally. Whatever the store charged for it then is given back.
   * @throws LedgerFull if more charges wait than the ledger takes
   */
  charge(charge: Charge): Promise<Decision>
  /**
   * The same, for whoever asks with each request and wants no promise, which takes 700 bytes.
   * @param asker may hear before this returns
   */
  decide(charge: Charge, asker: Asker): void
  /**
   * Gives an accepted charge back, or the refund's `amount` of tokens, which may be below 0; settled with the next batch. Call it at
   * most once for a decision. Nothing happens after `close`.
   */
  refund(refund: Refund): void
  /**
   * Windows of an organisation, or of everybody (`null`, the default), were emptied in the store: what was used of their
   * shares during an outage counts no more. What is owed is still charged. Recent refusals end with the policy that they
   * were made under.
   */
  emptied(category: string, seconds: readonly number[], organisation?: string | null): void
  /**
   * Asks the store, with a batch of nothing, whether it takes charges: a store that responds may be full, or take no
   * writes. Resolves when the store takes charges, or when it is out after the deadline. Never rejects.
   */
  ask(): Promise<void>
  /** Why the store is out, so that charges are decided without it; `null` while it is not. */
  outage(): StoreFailure | null
  /** Settles what waits and stops; after `graceMs` the ledger gives up whatever is left. */
  close(graceMs: number): Promise<void>
}

/** Who waits for the decision on a charge. One of the two is called, once; neither throws. */
export interface Asker {
  /** As `charge` resolves. */
  decided(decision: Decision): void
  /** As `charge` rejects. */
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
  /** Random for each start of a process: a sequence number counts within it. */
  readonly instance: string
  /**
   * How long the store may be silent while a charge waits for it, in milliseconds. A charge waits four times this at
   * most.
   */
  readonly deadlineMs: number
  readonly observe: Observer
  /**
   * The share of its limits that a category may use on local counters while the store is out, 0 (charges are refused) to
   * 1. Default 0 for every category.
   */
  readonly outageShare?: (category: string) => number
  /** How many users, in one category each, may be admitted during an outage. Default 50,000. */
  readonly maxOutageUsers?: number
  /**
   * How long a refusal is repeated without asking the store, in milliseconds; 0 for never. Default 250. A refund of
   * another process is seen this much later at most.
   */
  readonly repeatRefusalsMs?: number
  /** Bounds the time that one batch holds the store. Default 256. */
  readonly maxBatch?: number
  /** Default 10,000. */
  readonly maxWaiting?: number
  /**
   * How long a batch of unknown outcome is sent again, in milliseconds. Default 30 minutes; a store must remember the
   * last reply of an instance for longer.
   */
  readonly giveUpMs?: number
  /** Monotonic milliseconds. */
  readonly now?: () => number
  /** 0 to 1, for the pauses between attempts. */
  readonly random?: () => number
}
