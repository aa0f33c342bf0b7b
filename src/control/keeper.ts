import { randomBytes } from 'node:crypto'
import { repeat } from '../lib/repeat.ts'
import { together } from '../lib/serialize.ts'
import type { Observation, Observer } from '../observe/observation.ts'
import { StoreError } from '../quota/quota-store.ts'
import type { ChangeFollower } from './change-follower.ts'
import { type AuditEntry, type Author, type Change, type ControlStore, GUARD, SCHEDULE } from './control-store.ts'
import { SETTINGS } from './forms.ts'
import { createGuardTally, type GuardCounts, type GuardStore, type GuardTally, trips } from './guard-tally.ts'
import {
  begun,
  isLive,
  isOver,
  kept,
  packedOf,
  removed,
  type Stack,
  type StackLayer,
  stackOf,
  takenBack,
} from './layers.ts'
import { treeOf } from './leaves.ts'
import type { Problem } from './problems.ts'
import type { QuotaPatchLike } from './settings.ts'
import { type Changes, type ControlState, type Guard, type Packed, storedOf } from './state.ts'

export interface KeeperOptions {
  readonly store: Pick<ControlStore, 'change'> & GuardStore
  readonly control: Pick<ChangeFollower, 'state' | 'fresh' | 'storeTime'>
  /** What is wrong with a patch under the configuration in force. */
  readonly problemsOf: (patch: QuotaPatchLike, changes: Changes) => readonly Problem[]
  /** Is called for each change that this process has made. */
  readonly onChange: (entry: AuditEntry, forgotten: number, outcome: Outcome) => void
  /** Is called for a change that the store may have made. */
  readonly onUnknown: (change: Change, author: Author) => void
  /** Is called for errors that should never happen. */
  readonly onError: (error: unknown) => void
  /** How often it looks, in milliseconds. Default 1000. */
  readonly everyMs?: number
}

/**
 * Makes scheduled changes when their time has come, and takes back changes after which too much is refused. Every process that serves
 * requests has a keeper. The version of the settings decides which of them makes a change, and the others see that it was made.
 */
export interface Keeper {
  /** Counts requests while a change is guarded. */
  readonly observer: Observer
  start(): void
  /** Looks once. Never rejects. */
  look(): Promise<void>
  close(): void
}

/** What happened to a scheduled or guarded change. */
export type Outcome =
  /** It began or ended as scheduled. */
  | 'begun'
  | 'ended'
  /** It began, but the configuration has no place for its values. Or it had ended before it could begin. */
  | 'not_made'
  /** Its guard kept it, or took it back. */
  | 'kept'
  | 'taken_back'

/**
 * What the keeper did in an entry of the audit, if administrators should be notified of it; `null` for every other entry. It is read
 * from the text of the entry, so that every replica sees it.
 */
export function upsetOf({ who, why }: Pick<AuditEntry, 'who' | 'why'>): 'not_made' | 'taken_back' | null {
  if (who === SCHEDULE && why?.startsWith(NOT_MADE)) return 'not_made'
  return who === GUARD && why?.startsWith(TAKES_BACK) ? 'taken_back' : null
}

const NOT_MADE = 'is not made as scheduled'
const TAKES_BACK = 'takes back the change of'

/** A change that is due. */
interface Due {
  readonly to: Stack
  readonly author: Author
  readonly outcome: Outcome
}

/** The counts of all processes, by guard. */
type Verdicts = ReadonlyMap<string, GuardCounts>

/** How long after the end of a guard counts may still arrive. */
const LAST_COUNTS_MS = 3000
/** How long a process whose configuration refuses a change waits for one that accepts it. */
const GRACE_MS = 5000
/** How many changes one look makes. The next look goes on. */
const MOST_AT_ONCE = 50
const MAX_WHY = 500

export function createKeeper(options: KeeperOptions): Keeper {
  const { store, control, onError, everyMs = 1000 } = options
  const instance = randomBytes(9).toString('base64url')
  /** The tallies of this process, by the id of the guard. */
  let counting: ReadonlyMap<string, GuardTally> = new Map()
  /** Whether requests are decided without the store, so by other limits than the guarded ones. */
  let isOut = false
  let stop = (): void => {}

  /** One look at a time. The store is not asked unless there is a guard or something is due. */
  const look = together(() =>
    lookNow().catch((error: unknown) => {
      if (!(error instanceof StoreError)) onError(error)
    }),
  )

  async function lookNow(): Promise<void> {
    const at = control.storeTime()
    const guards = stackIn(control.state()).layers.flatMap((layer) =>
      layer.guard !== undefined && isLive(layer, at) ? [layer.guard] : [],
    )
    if (guards.length === 0) isOut = false
    counting = new Map(guards.map(({ id }) => [id, counting.get(id) ?? createGuardTally()]))
    const verdicts = await verdictsOf(guards)
    if (dueOf(options, control.state(), verdicts, control.storeTime()) !== null) await makeAll(options, verdicts)
  }

  /** @throws StoreError */
  async function verdictsOf(guards: readonly Guard[]): Promise<Verdicts> {
    const verdicts = new Map<string, GuardCounts>()
    for (const { id, refused } of guards) {
      const counts = counting.get(id)?.weighed(refused) ?? { requests: 0, refused: 0 }
      const others = guards.map((guard) => guard.id)
      verdicts.set(id, await store.countForGuard(id, instance, counts, others))
    }
    return verdicts
  }

  function observer(seen: Observation): void {
    if (counting.size === 0) return
    if (seen.type === 'store_out') isOut = true
    else if (seen.type === 'store_recovered') recovered()
    if (isOut || seen.type !== 'settled' || seen.isFurther === true) return
    if (seen.kind !== 'charged' && seen.kind !== 'refused') return
    for (const tally of counting.values()) tally.count(seen.caller.user, seen.kind === 'refused')
  }

  /** If no beginning of the outage was seen, all requests since the guard began were decided in the outage, so counting begins anew. */
  function recovered(): void {
    if (!isOut) counting = new Map([...counting.keys()].map((id) => [id, createGuardTally()]))
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

/** Makes one change after the other, each on the state that is stored by then. @throws StoreError */
async function makeAll(options: KeeperOptions, verdicts: Verdicts): Promise<void> {
  const { control } = options
  for (let made = 0; made < MOST_AT_ONCE; made++) {
    const state = await control.fresh()
    const due = dueOf(options, state, verdicts, control.storeTime())
    if (due === null) return
    await make(options, due, state.settings.version)
  }
}

function stackIn(state: ControlState): Stack {
  return stackOf(SETTINGS, storedOf(state).settings.value)
}

/** It is no failure if another process was faster. */
async function make(
  { store, onChange, onUnknown }: KeeperOptions,
  { to, author, outcome }: Due,
  expected: number,
): Promise<void> {
  const change: Change = { kind: 'settings', to: (packedOf(SETTINGS, to) ?? {}) as Packed<Changes> }
  try {
    const changed = await store.change(change, author, expected)
    if (changed.done) onChange(changed.entry, changed.forgotten, outcome)
  } catch (error) {
    if (error instanceof StoreError && error.applied !== 'no') onUnknown(change, author)
    throw error
  }
}

/** What to do first at a moment of the store's clock; `null` for nothing. */
function dueOf(
  { problemsOf }: Pick<KeeperOptions, 'problemsOf'>,
  state: ControlState,
  verdicts: Verdicts,
  at: number,
): Due | null {
  const stack = stackIn(state)
  // Of two guards, the newer change probably caused the refusals that both have counted.
  for (const layer of stack.layers.toReversed()) {
    const judged = judgement(layer, stack, verdicts, at)
    if (judged !== null) return judged
  }
  for (const { layer, what } of eventsIn(stack, at)) {
    const due = what === 'end' ? ending(layer, stack) : beginning(layer, stack, state.settings.value, at, problemsOf)
    if (due !== null) return due
  }
  return null
}

interface Event {
  readonly at: number
  readonly layer: StackLayer
  readonly what: 'begin' | 'end'
}

/** Events that have happened but are in no entry of the audit yet, oldest first. */
function eventsIn({ layers }: Stack, now: number): Event[] {
  const events = layers.flatMap((layer): Event[] => {
    if (layer.begun !== true) return layer.from <= now ? [{ at: layer.from, layer, what: 'begin' }] : []
    return layer.until !== null && isOver(layer, now) ? [{ at: layer.until, layer, what: 'end' }] : []
  })
  return events.sort((a, b) => a.at - b.at)
}

/** The decision about a guarded change; `null` while it is open. */
function judgement(layer: StackLayer, stack: Stack, verdicts: Verdicts, at: number): Due | null {
  const { guard, id, begun } = layer
  const counts = guard === undefined ? undefined : verdicts.get(guard.id)
  if (guard === undefined || counts === undefined || begun !== true) return null
  const { requests, refused } = counts
  const share = requests === 0 ? 0 : (100 * refused) / requests
  const counted = `${share.toFixed(1)} % of ${Math.round(requests)} weighed requests were refused`
  if (trips(counts, guard)) {
    const why = `${TAKES_BACK} ${layer.who}: ${counted}, and ${100 * guard.refused} % may be`
    return { to: takenBack(stack, id), author: { who: GUARD, why }, outcome: 'taken_back' }
  }
  if (at < guard.until + LAST_COUNTS_MS) return null
  const why = `keeps the change of ${layer.who}: ${counted}`
  return { to: kept(stack, id, 'guard', at), author: { who: GUARD, why }, outcome: 'kept' }
}

function ending(layer: StackLayer, stack: Stack): Due {
  return { to: removed(stack, layer.id), author: scheduleAuthor('ends as scheduled', layer), outcome: 'ended' }
}

/** `null` if this process has no place for the change, but another one may have. */
function beginning(
  layer: StackLayer,
  stack: Stack,
  value: Changes,
  at: number,
  problemsOf: KeeperOptions['problemsOf'],
): Due | null {
  if (isOver(layer, at)) {
    const why = 'its end had come before any gateway could make it'
    const author = scheduleAuthor(NOT_MADE, layer, why)
    return { to: removed(stack, layer.id), author, outcome: 'not_made' }
  }
  const problems = problemsOf(treeOf(layer.leaves) as QuotaPatchLike, value)
  if (problems.length > 0 && at < layer.from + GRACE_MS) return null
  const to = begun(stack, layer.id, at)
  if (problems.length === 0) return { to, author: scheduleAuthor('begins as scheduled', layer), outcome: 'begun' }
  const author = scheduleAuthor(NOT_MADE, layer, problems.map(sentence).join('; '))
  return { to, author, outcome: 'not_made' }
}

function scheduleAuthor(what: string, { who, why }: StackLayer, problem: string | null = null): Author {
  const parts = [`${what} by ${who}`, why, problem].filter((part) => part !== null)
  return { who: SCHEDULE, why: [...parts.join(': ')].slice(0, 2 * MAX_WHY).join('') }
}

function sentence({ path, msg }: Problem): string {
  return `${path || 'the change'}: ${msg}`
}
