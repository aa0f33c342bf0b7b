import { isObject } from '../lib/json.ts'
import type { Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { AuditEntry, ControlStore } from './control-store.ts'
import {
  type Changes,
  type ControlState,
  type LastChange,
  UNCHANGED,
  type UserOverride,
  type Versioned,
} from './state.ts'

export interface ChangeFollowerOptions {
  readonly store: ControlStore
  /** Hears what is followed, `control_followed`, and once of each outage: `store_failed` with operation `control`. */
  readonly observe: Observer
  /** How often the store is asked for its version, in milliseconds. Default 1000. */
  readonly pollMs?: number
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly now?: () => number
}

/** Follows what administrators change, by any replica. */
export interface ChangeFollower {
  /** Reads for the first time and follows from then on. Without the store it begins with nothing changed. Never rejects. */
  start(): Promise<void>
  /** What is in force, without overrides that have expired. Parts that a change left alone are the same objects as before. */
  state(): ControlState
  /** The same with every change that was made before this call. @throws StoreError */
  fresh(): Promise<ControlState>
  /** The store's time, in milliseconds since the epoch, as far as its last answer lets know; ours before the first. */
  storeTime(): number
  /** Calls after each change of `state()`. @returns stops it */
  follow(listener: (state: ControlState) => void): () => void
  /** Calls for each change that is read one by one, before it is in force; not for those that are read as a whole. @returns stops it */
  followChanges(listener: (entry: AuditEntry) => void): () => void
  /** Reads with the follower, for what follows the same changes and is held elsewhere. There is one at most. */
  accompany(reader: CoReader): void
  /** Tells and polls no more. */
  close(): void
}

/**
 * Where it throws, it is called without these entries the next time.
 * @param entries what was changed since it was called last, oldest first; `null` if that is not known
 * @param askedAt when the store was asked, by `now` of the follower
 * @throws StoreError
 */
export type CoReader = (entries: readonly AuditEntry[] | null, askedAt: number) => Promise<void>

export function createChangeFollower(options: ChangeFollowerOptions): ChangeFollower {
  const { store, observe, pollMs = 1000, now = () => performance.now() } = options
  const listeners = new Set<Listener<ControlState>>()
  const changeListeners = new Set<Listener<AuditEntry>>()
  /** As stored, with overrides that have expired: what later changes are applied to. */
  let stored = UNCHANGED
  let current: InForce = { state: UNCHANGED, from: UNCHANGED, since: NEVER, until: Number.POSITIVE_INFINITY }
  let clock = { at: Date.now(), readAt: now() }
  let followed = 0
  let lastFell = false
  let failing = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let unsubscribe: () => void = () => {}
  let coReader: CoReader = async () => {}

  function storeTime(): number {
    return Math.floor(clock.at + now() - clock.readAt)
  }

  const ask = oneAtATime(read)

  function look(): void {
    ask().catch(ignore)
  }

  async function read(): Promise<void> {
    try {
      const askedAt = now()
      const { at, ...last } = await store.controlVersion()
      clock = { at, readAt: now() }
      const entries = await catchUp(last)
      lastFell = last.version < stored.version
      await coReader(entries, askedAt)
      failing = false
    } catch (error) {
      report(error)
      throw error
    } finally {
      publish()
    }
  }

  /** What the store does not know as its own was lost there: then nothing of it counts any more. @returns as a `CoReader` takes it */
  async function catchUp(last: LastChange): Promise<readonly AuditEntry[] | null> {
    // Once it may be the late answer of a store that is being replaced.
    if (last.version < stored.version) return lastFell ? readAll() : []
    if (last.version === stored.version && last.changedAt === stored.changedAt) return []
    const entries = await store.changesSince(stored)
    if (entries === null) return readAll()
    stored = follow(stored, entries)
    return entries
  }

  /** It is read in steps: what was changed meanwhile is applied once more. */
  async function readAll(): Promise<null> {
    const all = await store.readControl()
    stored = follow(all, (await store.changesSince(all)) ?? [])
    return null
  }

  function follow(from: ControlState, entries: readonly AuditEntry[]): ControlState {
    for (const entry of entries) for (const listener of changeListeners) inform(listener, entry)
    return applied(from, entries)
  }

  function publish(): void {
    const next = inForce(stored, current, storeTime())
    if (closed || next === current) return
    current = next
    announce(next.state)
  }

  /** What a listener could not take is not in force. */
  function announce(state: ControlState): void {
    const isTaken = [...listeners].map((listener) => inform(listener, state)).every(Boolean)
    if (!isTaken) return
    observe({ type: 'control_followed', version: state.version, before: followed })
    followed = state.version
  }

  function inform<T>(listener: Listener<T>, news: T): boolean {
    try {
      listener(news)
      return true
    } catch (error) {
      observe({ type: 'internal_error', where: 'control', error })
      return false
    }
  }

  function report(error: unknown): void {
    if (failing || closed) return
    failing = true
    if (error instanceof StoreError) {
      observe({ type: 'store_failed', operation: 'control', reason: error.reason, message: error.message })
    } else observe({ type: 'internal_error', where: 'control', error })
  }

  return {
    async start() {
      unsubscribe = store.onChange(look)
      timer = setInterval(look, pollMs).unref()
      await ask().catch(ignore)
    },
    state: () => current.state,
    async fresh() {
      await ask()
      return current.state
    },
    storeTime,
    accompany(reader) {
      coReader = reader
    },
    follow(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    followChanges(listener) {
      changeListeners.add(listener)
      return () => void changeListeners.delete(listener)
    },
    close() {
      closed = true
      clearInterval(timer)
      unsubscribe()
    },
  }
}

type Listener<T> = (news: T) => void

/** Whoever asks while the work is done waits for it to be done again: that sees what was changed before he asked. */
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

/** Nobody waits for it, or its failure was reported already. */
function ignore(): void {}

/** What is in force of a stored state. */
interface InForce {
  readonly state: ControlState
  readonly from: ControlState
  /** The store's time at which the last of those left out expired: a clock that is set back before it brings them back. */
  readonly since: number
  /** The store's time at which the next override expires. */
  readonly until: number
}

const NEVER = Number.NEGATIVE_INFINITY

/** The state without what has expired; if nothing is new, what there was before. */
function inForce(stored: ControlState, last: InForce, at: number): InForce {
  const isCurrent = at >= last.since && at < last.until
  if (isCurrent && stored === last.from) return last
  if (isCurrent && stored.overrides === last.from.overrides) {
    return { state: { ...stored, overrides: last.state.overrides }, from: stored, since: last.since, until: last.until }
  }
  const known = [...stored.overrides].filter(([, { value }]) => isOverride(value))
  const isOver = ({ expiresAt }: UserOverride): boolean => expiresAt !== null && expiresAt <= at
  const rest = known.filter(([, { value }]) => !isOver(value))
  const isWhole = rest.length === stored.overrides.size
  return {
    state: isWhole ? stored : { ...stored, overrides: new Map(rest) },
    from: stored,
    since: known.reduce(
      (last, [, { value }]) => (isOver(value) ? Math.max(last, value.expiresAt ?? last) : last),
      NEVER,
    ),
    until: rest.reduce((first, [, { value }]) => Math.min(first, value.expiresAt ?? first), Number.POSITIVE_INFINITY),
  }
}

/** One value that others wrote to the store must not keep every replica from following all the rest. */
function isOverride(value: unknown): value is UserOverride {
  if (!isObject(value)) return false
  const { limits, expiresAt } = value
  return isObject(limits) && Object.values(limits).every(isObject) && (expiresAt === null || Number.isFinite(expiresAt))
}

/** However many changes there are, the overrides are copied once. */
function applied(state: ControlState, entries: readonly AuditEntry[]): ControlState {
  let { version, changedAt, settings } = state
  let changed: Map<string, Versioned<UserOverride>> | null = null
  for (const entry of entries) {
    ;({ version, at: changedAt } = entry)
    if (entry.what === 'settings') settings = { version, value: entry.to as Changes }
    if (entry.what !== 'override' || entry.subject === null) continue
    changed ??= new Map(state.overrides)
    if (entry.to === null) changed.delete(entry.subject)
    else changed.set(entry.subject, { version, value: entry.to as UserOverride })
  }
  return { version, changedAt, settings, overrides: changed ?? state.overrides }
}
