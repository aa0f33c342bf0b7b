import { repeat } from '../lib/repeat.ts'
import type { Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { AuditEntry, ControlStore } from './control-store.ts'
import { inForce, NOTHING_CHANGED } from './in-force.ts'
import type { ControlState } from './state.ts'
import { StoredState } from './stored-state.ts'

export interface ChangeFollowerOptions {
  readonly store: ControlStore
  /** Is notified of what is followed (`control_followed`), and of each outage once (`store_failed` with operation `control`). */
  readonly observe: Observer
  /** How often the store is asked for its version, in milliseconds. Default 1000. */
  readonly pollMs?: number
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

/** Follows changes by administrators at any replica. */
export interface ChangeFollower {
  /** Reads once, and follows from then on. If the store is out, nothing counts as changed at first. Never rejects. */
  start(): Promise<void>
  /** What is in force, without expired overrides. Parts that did not change are the same objects as before. */
  state(): ControlState
  /** What is in force, including every change that was made before this call. @throws StoreError */
  fresh(): Promise<ControlState>
  /** The store's time by its last response, in milliseconds since the epoch; the time of this process before the first response. */
  storeTime(): number
  /** When the store last responded, in monotonic milliseconds; minus infinity before the first response. */
  heardAt(): number
  /** Calls the listener after each change of `state()`. @returns stops it */
  follow(listener: (state: ControlState) => void): () => void
  /** Calls the listener for each change that is read from the audit, before the change is in force. @returns stops it */
  followChanges(listener: (entry: AuditEntry) => void): () => void
  /** Lets somebody else who holds the same changes read together with the follower. There is at most one. */
  accompany(reader: CoReader): void
  /** Stops polling and calling listeners. */
  close(): void
}

/**
 * Reads together with the follower. If it throws, the next call does not contain these entries again.
 * @param entries the changes since the last call, oldest first; `null` if they are unknown
 * @param askedAt when the store was asked, by `now` of the follower
 * @throws StoreError
 */
export type CoReader = (entries: readonly AuditEntry[] | null, askedAt: number) => Promise<void>

export function createChangeFollower(options: ChangeFollowerOptions): ChangeFollower {
  const { store, observe, pollMs = 1000, now = () => performance.now() } = options
  return new PollingFollower({ store, observe, pollMs, now })
}

class PollingFollower implements ChangeFollower {
  readonly #options: Required<ChangeFollowerOptions>
  readonly #listeners: Listeners<ControlState>
  readonly #changeListeners: Listeners<AuditEntry>
  readonly #stored: StoredState
  readonly #ask = oneAtATime(() => this.#read())
  #current = NOTHING_CHANGED
  #clock: { readonly at: number; readonly readAt: number }
  #heardAt = Number.NEGATIVE_INFINITY
  /** The latest version that all listeners have accepted. */
  #followed = 0
  /** Whether the present outage was reported. */
  #isOutReported = false
  #coReader: CoReader = async () => {}
  #unfollow: () => void = () => {}
  #closed = false

  constructor(options: Required<ChangeFollowerOptions>) {
    this.#options = options
    this.#listeners = new Listeners(options.observe)
    this.#changeListeners = new Listeners(options.observe)
    this.#stored = new StoredState(options.store, (entry) => this.#changeListeners.inform(entry))
    this.#clock = { at: Date.now(), readAt: options.now() }
  }

  async start(): Promise<void> {
    const { store, pollMs } = this.#options
    const look = (): void => void this.#ask().catch(ignore)
    const unsubscribe = store.onChange(look)
    const stopPolling = repeat(look, pollMs)
    this.#unfollow = () => {
      stopPolling()
      unsubscribe()
    }
    await this.#ask().catch(ignore)
  }

  state(): ControlState {
    return this.#current.state
  }

  async fresh(): Promise<ControlState> {
    await this.#ask()
    return this.#current.state
  }

  storeTime(): number {
    return Math.floor(this.#clock.at + this.#options.now() - this.#clock.readAt)
  }

  heardAt(): number {
    return this.#heardAt
  }

  accompany(reader: CoReader): void {
    this.#coReader = reader
  }

  follow(listener: (state: ControlState) => void): () => void {
    return this.#listeners.add(listener)
  }

  followChanges(listener: (entry: AuditEntry) => void): () => void {
    return this.#changeListeners.add(listener)
  }

  close(): void {
    this.#closed = true
    this.#unfollow()
  }

  async #read(): Promise<void> {
    const { store, now } = this.#options
    try {
      const askedAt = now()
      const { at, ...last } = await store.controlVersion()
      this.#heardAt = now()
      this.#clock = { at, readAt: this.#heardAt }
      const entries = await this.#stored.catchUp(last)
      await this.#coReader(entries, askedAt)
      this.#isOutReported = false
    } catch (error) {
      this.#report(error)
      throw error
    } finally {
      this.#publish()
    }
  }

  #report(error: unknown): void {
    const { observe } = this.#options
    if (this.#isOutReported || this.#closed) return
    this.#isOutReported = true
    if (error instanceof StoreError) {
      observe({ type: 'store_failed', operation: 'control', reason: error.reason, message: error.message })
    } else observe({ type: 'internal_error', where: 'control', error })
  }

  #publish(): void {
    const next = inForce(this.#stored.state, this.#current, this.storeTime())
    if (this.#closed || next === this.#current) return
    this.#current = next
    this.#announce(next.state)
  }

  /** A state that some listener could not accept is not reported as followed. */
  #announce(state: ControlState): void {
    if (!this.#listeners.inform(state)) return
    this.#options.observe({ type: 'control_followed', version: state.version, before: this.#followed })
    this.#followed = state.version
  }
}

/** A listener that throws does not keep the others from being called. */
class Listeners<T> {
  readonly #observe: Observer
  readonly #listeners = new Set<(news: T) => void>()

  constructor(observe: Observer) {
    this.#observe = observe
  }

  /** @returns removes the listener */
  add(listener: (news: T) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** @returns whether every listener accepted it */
  inform(news: T): boolean {
    return [...this.#listeners].map((listener) => this.#informOne(listener, news)).every(Boolean)
  }

  #informOne(listener: (news: T) => void, news: T): boolean {
    try {
      listener(news)
      return true
    } catch (error) {
      this.#observe({ type: 'internal_error', where: 'control', error })
      return false
    }
  }
}

/** A call during a run of the work waits for another run, which sees everything that was changed before the call. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> = Promise.resolve()
  let next: Promise<void> | null = null

  function begin(): Promise<void> {
    next = null
    current = work()
    return current
  }

  return function ask() {
    next ??= current.then(ignore, ignore).then(begin)
    return next
  }
}

/** For a promise that nobody awaits, or whose failure was reported already. */
function ignore(): void {}
