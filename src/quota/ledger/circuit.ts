import type { Observer } from '../../observe/observation.ts'
import { StoreError, type StoreFailure } from '../quota-store.ts'
import { afterDeadline } from './after-deadline.ts'
import type { Sender } from './sender.ts'

export interface CircuitOptions {
  /** How long the store may be silent while somebody waits for it, in milliseconds. */
  readonly deadlineMs: number
  /** When the batch under way first went out, on our clock; `null` while the batch waits for more charges. */
  readonly askedAt: () => number | null
  readonly sender: Pick<Sender, 'lastFailure' | 'miss' | 'roundTrip'>
  /** Is called when the store is out. From then on nobody waits for the store. */
  readonly onOut: (error: StoreError) => void
  readonly observe: Observer
  /** Monotonic milliseconds. */
  readonly now: () => number
}

type State =
  /** Charges go to the store. */
  | { readonly name: 'closed' }
  /** Charges go to the store, and somebody waits to learn whether the store takes charges. */
  | { readonly name: 'asking'; readonly question: PromiseWithResolvers<void> }
  /** Charges are decided without the store, and empty batches ask whether it is back. */
  | { readonly name: 'out'; readonly error: StoreError }

const CLOSED: State = { name: 'closed' }

/**
 * Whether charges go to the store.
 *
 * | State          | Event                                                           | Next             |
 * |----------------|-----------------------------------------------------------------|------------------|
 * | closed         | `ask`                                                           | asking           |
 * | asking         | the store settles no batch within the deadline                  | out              |
 * | asking         | `endQuestion`: the ledger closes                                | closed           |
 * | closed, asking | `open`: a charge waited for the deadline, and the store was silent | out           |
 * | any            | `settled`: the store settled a batch                            | closed           |
 */
export class Circuit {
  readonly #options: CircuitOptions
  #state: State = CLOSED
  /** The timer of the question. */
  #timer: NodeJS.Timeout | undefined

  constructor(options: CircuitOptions) {
    this.#options = options
  }

  /** Resolves when the store has settled a batch, when it is out, or when the question ends. */
  ask(): Promise<void> {
    if (this.#state.name === 'out') return Promise.resolve()
    if (this.#state.name === 'asking') return this.#state.question.promise
    const question = Promise.withResolvers<void>()
    this.#state = { name: 'asking', question }
    this.#watch(this.#state, this.#options.deadlineMs)
    return question.promise
  }

  endQuestion(): void {
    if (this.#state.name === 'asking') this.#become(CLOSED)
  }

  settled(): void {
    this.#become(CLOSED)
  }

  open(): void {
    const { deadlineMs, sender, onOut, observe } = this.#options
    const reason = sender.lastFailure?.reason ?? 'timeout'
    const error = new StoreError(`the store did not decide within ${deadlineMs} ms`, reason, 'unknown')
    sender.miss()
    this.#become({ name: 'out', error })
    observe({ type: 'store_out', reason })
    onOut(error)
  }

  isOut(): boolean {
    return this.#state.name === 'out'
  }

  /** Whether the store is to be asked although nothing waits for it. */
  isAsking(): boolean {
    return this.#state.name !== 'closed'
  }

  /** An error with the present reason, which may differ from the reason for which the store went out; `null` if the store is not out. */
  error(): StoreError | null {
    if (this.#state.name !== 'out') return null
    const { error } = this.#state
    const reason = this.reason() as StoreFailure
    if (reason === error.reason) return error
    const renewed = new StoreError(error.message, reason, error.applied)
    this.#state = { name: 'out', error: renewed }
    return renewed
  }

  /** Why the store is out now; `null` if it is not. */
  reason(): StoreFailure | null {
    if (this.#state.name !== 'out') return null
    return (this.#options.sender.lastFailure ?? this.#state.error).reason
  }

  #watch(asking: State, ms: number): void {
    this.#timer = afterDeadline(ms, () => {
      if (this.#state === asking) this.#lookAt(asking)
    })
  }

  /** If this process was held up before it asked, the store was not silent. */
  #lookAt(asking: State): void {
    const { deadlineMs, askedAt, sender, now } = this.#options
    const since = askedAt()
    const left = since === null ? deadlineMs : since + deadlineMs + sender.roundTrip - now()
    if (left > 0) this.#watch(asking, left)
    else this.open()
  }

  #become(next: State): void {
    const before = this.#state
    this.#state = next
    if (before.name !== 'asking') return
    clearTimeout(this.#timer)
    before.question.resolve()
  }
}
