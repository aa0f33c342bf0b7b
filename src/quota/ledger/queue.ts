import type { Charge } from '../charge.ts'
import { StoreError } from '../quota-store.ts'
import { afterDeadline } from './after-deadline.ts'
import type { Asker } from './ledger-contract.ts'
import { abandon, isWaiting, type WaitingCharge } from './waiting-charge.ts'

export interface QueueOptions {
  /** How long the store may be silent while a charge waits for it, in milliseconds. */
  readonly deadlineMs: number
  /** When the batch under way first went out, on our clock; `null` while the batch waits for more charges. */
  readonly askedAt: () => number | null
  /** When the store responded last, on our clock. */
  readonly lastResponse: () => number
  /** How long the store's last response took, in milliseconds. The store is silent only beyond the deadline and this time. */
  readonly roundTrip: () => number
  /** Is called when a charge has waited for the deadline, and the store was silent for as long. */
  readonly onSilence: () => void
  /** Monotonic milliseconds. */
  readonly now: () => number
}

const NOBODY: readonly WaitingCharge[] = []

/**
 * The charges whose callers wait, in the order of arrival, and their deadlines.
 *
 * | A charge      | Event                                                       | Next                       |
 * |---------------|-------------------------------------------------------------|----------------------------|
 * |               | `add`                                                       | queued                     |
 * | queued        | `take`: it goes out with a batch                            | sent                       |
 * | queued        | `takeAll`: the store is out                                 | gone, as the taker decides |
 * | queued        | the store responds to others, and too late for this charge  | gone, with an error        |
 * | sent          | the store responds to others, and too late for this charge  | sent, its caller is gone   |
 * | sent          | `release`: nothing more will become known of its batch      | gone, as its batch decided |
 * | queued, sent  | its deadline passes, and the store was silent               | the same, and `onSilence`  |
 * | queued, sent  | `close`                                                     | gone, with an error        |
 */
export class Queue {
  readonly #options: QueueOptions
  #queued: WaitingCharge[] = []
  #sent = NOBODY
  /** One timer serves all, because charges expire in the order of arrival and only the oldest one matters. */
  #timer: NodeJS.Timeout | null = null

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** Charges that are queued. */
  get length(): number {
    return this.#queued.length
  }

  /** Charges of the batch under way. */
  get sent(): readonly WaitingCharge[] {
    return this.#sent
  }

  add(charge: Charge, asker: Asker): void {
    const expiresAt = this.#options.now() + this.#options.deadlineMs
    this.#queued.push({ charge, expiresAt, asker, verdict: null })
    if (this.#timer === null) this.#watch()
  }

  /** Takes the oldest charges for a batch, at most `most` of them. */
  take(most: number): readonly WaitingCharge[] {
    this.#sent = this.#queued.splice(0, most)
    return this.#sent
  }

  release(): void {
    this.#sent = NOBODY
  }

  takeAll(): readonly WaitingCharge[] {
    return this.#queued.splice(0)
  }

  /** Whether a caller waits for the batch under way. True without charges, since refunds and debts must go out though nobody waits. */
  isBatchWanted(): boolean {
    return this.#sent.length === 0 || this.#sent.some(isWaiting)
  }

  /** The batch waited this long. If the process was held up meanwhile, the store was not silent, so charges get more time. */
  excuse(ms: number): void {
    const { deadlineMs, now } = this.#options
    if (ms < deadlineMs / 4) return
    const latest = now() + deadlineMs
    for (const waiting of this.#queued) waiting.expiresAt = Math.min(waiting.expiresAt + ms, latest)
  }

  close(error: StoreError): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const waiting of [...this.#sent, ...this.#queued.splice(0)]) abandon(waiting, error)
  }

  #watch(): void {
    const oldest = this.#sent.find(isWaiting) ?? this.#queued[0]
    if (oldest === undefined) return
    this.#timer = afterDeadline(this.#dueOf(oldest) - this.#options.now(), () => this.#expire())
  }

  /**
   * A store that responds is not late only because many charges wait for it, so the deadline counts from its last
   * response, up to four times its length. A store is not late because it is far away either, so a round trip is added.
   */
  #dueOf({ expiresAt }: WaitingCharge): number {
    const { deadlineMs, lastResponse, roundTrip } = this.#options
    return Math.min(Math.max(expiresAt, lastResponse() + deadlineMs), expiresAt + 3 * deadlineMs) + roundTrip()
  }

  #expire(): void {
    const { askedAt, deadlineMs, lastResponse, roundTrip, onSilence, now } = this.#options
    this.#timer = null
    const time = now()
    const isLate = (waiting: WaitingCharge): boolean => isWaiting(waiting) && this.#dueOf(waiting) <= time
    const [oldest] = this.#queued
    const late = askedAt() !== null && (this.#sent.some(isLate) || (oldest !== undefined && isLate(oldest)))
    if (late && time - lastResponse() >= deadlineMs + roundTrip()) onSilence()
    else if (late) this.#giveUp(isLate)
    this.#watch()
  }

  /** Removes charges that are late although the store responds, because too many wait for it. */
  #giveUp(isLate: (waiting: WaitingCharge) => boolean): void {
    const error = new StoreError(
      `the store did not decide within ${4 * this.#options.deadlineMs} ms`,
      'timeout',
      'unknown',
    )
    for (const waiting of this.#sent) if (isLate(waiting)) abandon(waiting, error)
    const inTime = this.#queued.findIndex((waiting) => !isLate(waiting))
    const late = this.#queued.splice(0, inTime === -1 ? this.#queued.length : inTime)
    for (const waiting of late) abandon(waiting, error)
  }
}
