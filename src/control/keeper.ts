import { randomBytes } from 'node:crypto'
import { repeat } from '../lib/repeat.ts'
import type { Observation, Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { ChangeFollower } from './change-follower.ts'
import { type AuditEntry, type Author, type Change, type ControlStore, GUARD, SCHEDULE } from './control-store.ts'
import { createGuardTally, type GuardCounts, type GuardStore, type GuardTally, trips } from './guard-tally.ts'
import { begun, cancelled, ended, inOrder, isEnd, takenBack, unguarded } from './pending.ts'
import type { Problem } from './problems.ts'
import type { QuotaPatchLike } from './settings.ts'
import type { Changes, ControlState, End, Guard, Start } from './state.ts'

export interface KeeperOptions {
  readonly store: Pick<ControlStore, 'change'> & GuardStore
  readonly control: Pick<ChangeFollower, 'state' | 'fresh' | 'storeTime'>
  /** What is wrong with a patch under the configuration in force. */
  readonly problemsOf: (patch: QuotaPatchLike, changes: Changes) => readonly Problem[]
  /** Is notified of each change that this process has made. */
  readonly onChange: (entry: AuditEntry, forgotten: number) => void
  /** Is notified of a change that the store may have made, or not. */
  readonly onUnknown: (change: Change, author: Author) => void
  /** Is notified of what should never happen. */
  readonly onError: (error: unknown) => void
  /** How often it looks, in milliseconds. Default 1000. */
  readonly everyMs?: number
}

/**
 * Makes the changes whose time has come, and takes back those after which too much is refused. Every process that takes requests has one. The version of the settings decides which
 * of them makes a change: the others find that it was made.
 */
export interface Keeper {
  /** Counts while a change is guarded. */
  readonly observer: Observer
  start(): void
  /** Looks once. Never rejects. */
  look(): Promise<void>
  close(): void
}

/** A change that is due. */
interface Due {
  readonly to: Changes
  readonly author: Author
}

/** What all processes have counted for a guard. */
interface Verdict extends GuardCounts {
  readonly id: string
}

/** What was counted before the end of a guard may come a little later. */
const LAST_COUNTS_MS = 3000
/** A process whose configuration refuses a change waits so long for one that takes it. */
const GRACE_MS = 5000
/** Changes of one look. The next one goes on. */
const MOST_AT_ONCE = 50
const MAX_WHY = 500

export function createKeeper(options: KeeperOptions): Keeper {
  const { store, control, onError, everyMs = 1000 } = options
  const instance = randomBytes(9).toString('base64url')
  let counting: { readonly id: string; readonly tally: GuardTally } | null = null
  /** Requests are decided without the store, by other limits than those that are guarded. */
  let isOut = false
  let looking: Promise<void> | null = null
  let stop = (): void => {}

  /** One at a time. Without a guard, and anything that is due, the store is not asked. */
  function look(): Promise<void> {
    looking ??= lookNow()
      .catch((error: unknown) => {
        if (!(error instanceof StoreError)) onError(error)
      })
      .finally(() => {
        looking = null
      })
    return looking
  }

  async function lookNow(): Promise<void> {
    const guard = control.state().settings.value.pending?.guard
    const verdict = guard === undefined ? null : await verdictOf(guard)
    if (guard === undefined) {
      counting = null
      isOut = false
    }
    if (dueOf(options, control.state(), verdict, control.storeTime()) !== null) await makeAll(options, verdict)
  }

  /** @throws StoreError */
  async function verdictOf({ id, refused }: Guard): Promise<Verdict> {
    if (counting?.id !== id) counting = { id, tally: createGuardTally() }
    return { id, ...(await store.countForGuard(id, instance, counting.tally.weighed(refused))) }
  }

  function observer(seen: Observation): void {
    if (counting === null) return
    if (seen.type === 'store_out') isOut = true
    else if (seen.type === 'store_recovered') recovered(counting.id)
    if (isOut || seen.type !== 'settled' || (seen.kind !== 'charged' && seen.kind !== 'refused')) return
    counting.tally.count(seen.caller.user, seen.kind === 'refused')
  }

  /** An outage that was there before the first request was counted has made all counts its own. */
  function recovered(id: string): void {
    if (!isOut) counting = { id, tally: createGuardTally() }
    isOut = false
  }

  return {
    observer,
    start() {
      stop = repeat(() => void look(), everyMs)
    },
    look,
    close: () => stop(),
  }
}

/** One after the other, each on what is stored by then. @throws StoreError */
async function makeAll(options: KeeperOptions, verdict: Verdict | null): Promise<void> {
  const { control } = options
  for (let made = 0; made < MOST_AT_ONCE; made++) {
    const state = await control.fresh()
    const due = dueOf(options, state, verdict, control.storeTime())
    if (due === null) return
    await make(options, due, state.settings.version)
  }
}

/** Whoever was faster has made it: that is no failure. */
async function make(
  { store, onChange, onUnknown }: KeeperOptions,
  { to, author }: Due,
  expected: number,
): Promise<void> {
  const change: Change = { kind: 'settings', to }
  try {
    const changed = await store.change(change, author, expected)
    if (changed.done) onChange(changed.entry, changed.forgotten)
  } catch (error) {
    if (error instanceof StoreError && error.applied !== 'no') onUnknown(change, author)
    throw error
  }
}

/** What is to be done first at a moment of the store's clock; `null` for nothing. */
function dueOf(
  { problemsOf }: Pick<KeeperOptions, 'problemsOf'>,
  { settings: { value } }: ControlState,
  verdict: Verdict | null,
  at: number,
): Due | null {
  const { pending } = value
  if (pending === undefined) return null
  const judged = pending.guard === undefined ? null : judgement(pending.guard, value, verdict, at)
  if (judged !== null) return judged
  for (const one of inOrder(pending)) {
    if (one.at > at) return null
    if (isEnd(one)) return { to: ended(value, one), author: scheduleAuthor('ends as scheduled', one) }
    const due = beginning(one, value, at, problemsOf)
    if (due !== null) return due
  }
  return null
}

/** What becomes of a guarded change; `null` as long as that is open. */
function judgement(guard: Guard, value: Changes, verdict: Verdict | null, at: number): Due | null {
  if (verdict?.id !== guard.id) return null
  const { requests, refused } = verdict
  const share = requests === 0 ? 0 : (100 * refused) / requests
  const counted = `${share.toFixed(1)} % of ${Math.round(requests)} weighed requests were refused`
  if (trips(verdict, guard)) {
    const why = `takes back the change of ${guard.who}: ${counted}, and ${100 * guard.refused} % may be`
    return { to: takenBack(value, guard), author: { who: GUARD, why } }
  }
  if (at < guard.until + LAST_COUNTS_MS) return null
  return { to: unguarded(value), author: { who: GUARD, why: `keeps the change of ${guard.who}: ${counted}` } }
}

/** `null` if another process may take what this one refuses. */
function beginning(one: Start, value: Changes, at: number, problemsOf: KeeperOptions['problemsOf']): Due | null {
  const isOver = one.until !== null && one.until <= at
  const problems = isOver ? [] : problemsOf(one.patch as QuotaPatchLike, value)
  if (!isOver && problems.length === 0)
    return { to: begun(value, one, at), author: scheduleAuthor('begins as scheduled', one) }
  if (!isOver && at < one.at + GRACE_MS) return null
  const why = isOver ? 'its end had come before any gateway could make it' : problems.map(sentence).join('; ')
  return { to: cancelled(value, one.id), author: scheduleAuthor('is not made as scheduled', one, why) }
}

function scheduleAuthor(what: string, { who, why }: Start | End, problem: string | null = null): Author {
  const parts = [`${what} by ${who}`, why, problem].filter((part) => part !== null)
  return { who: SCHEDULE, why: [...parts.join(': ')].slice(0, 2 * MAX_WHY).join('') }
}

function sentence({ path, msg }: Problem): string {
  return `${path || 'the change'}: ${msg}`
}
