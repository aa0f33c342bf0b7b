import { isBook } from '../../quota/books.ts'
import { periodOf } from '../../quota/calendar.ts'
import {
  amountOf,
  type Batch,
  type Charge,
  type Counted,
  type CounterOf,
  chargedRuns,
  countedIn,
  EVERYBODY,
  type Limits,
  reportOf,
  SCOPE_NAMES,
  type ScopeName,
} from '../../quota/charge.ts'
import type { Counter } from '../../quota/counter.ts'
import { type Kept, longestKept, NO_RETENTION, type Retention } from '../../quota/history.ts'
import { keptMs, type Once } from '../../quota/once.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { type Limit, MOST_WINDOWS, type Window } from '../../quota/window.ts'
import { checkName, needsWide } from './form/section.ts'
import { type Keys, keyOf } from './keys.ts'

/**
 * A batch in the words of charge-one.lua and charge.lua. This runs for every charge in the gateway's one thread, so it makes no object
 * for a charge that the decision does not need.
 */
export interface EncodedBatch {
  /** The key of the instance first, then the keys of the counters, each once. */
  readonly keys: readonly string[]
  /** Shapes, plans and refunds. */
  readonly json: string
  /** Two or three numbers for each charge, each as two ASCII characters: a Buffer would cost more to send than a string. */
  readonly charges: string
  /** The sections that the script opens, in its order. */
  readonly opened: readonly Opened[]
  readonly counterOf: CounterOf
}

/** By scope: the first section under the key of each user and organisation, and of everybody by category. */
type Owners = Readonly<Record<ScopeName, Map<string, Section>>>

/** The windows of one category. */
export interface Shape {
  readonly category: string
  readonly limits: readonly Limit[]
  readonly isWide: boolean
  /** Position as Lua counts. */
  readonly position: number
}

/** What many charges have in common. */
interface Plan {
  readonly category: string
  readonly cost: number
  readonly limits: Limits
  readonly counted: Counted
  readonly forced: true | undefined
  /** `null` for a charge without personal windows. */
  readonly shape: Shape | null
  /** Of the organisation; `null` for a charge that has none. */
  readonly theirs: Shape | null
  readonly everybody: Section | null
  readonly all: Shape | null
}

/** One category under a key. */
interface Section {
  /** Of the key, as Lua counts. */
  readonly position: number
  readonly category: string
  /** What the script found. */
  readonly counter: Counter
  /**
   * Of the first section under a key: what the script has open there at this point of the batch. `null` for a user, whose
   * section is opened anew by each charge.
   */
  open: Shape | null
  /** Another category under the same key. */
  next: Section | null
}

interface Opened {
  readonly counter: Counter
  readonly shape: Shape
}

/** Two digits of base 128. */
const MOST = 128 * 128 - 1

/**
 * @param now where the store's clock stands about, for the periods of calendars
 * @param retention how long runs are kept. Default: not at all
 */
export function encodeBatch(
  batch: Batch,
  keys: Keys,
  now = Date.now(),
  retention: Retention = NO_RETENTION,
): EncodedBatch {
  const names = [keys.instance(batch.instance)]
  const owners: Owners = { personal: new Map(), organisation: new Map(), global: new Map() }
  const shapes: Shape[] = []
  const plans: Plan[] = []
  const opened: Opened[] = []
  const anonymous: number[] = []
  const hasHistory = longestKept(retention) > 0 || retention.anonymousSeconds > 0

  /** The first section under the key of a user, of an organisation, or of everybody in the category. */
  function ownerOf(scope: ScopeName, id: string, category: string): Section {
    const name = scope === 'global' ? category : id
    let first = owners[scope].get(name)
    if (first === undefined) {
      first = { position: names.push(keyOf(keys, scope, name)), category, counter: [], open: null, next: null }
      owners[scope].set(name, first)
      if (hasHistory && scope === 'personal' && retention.isAnonymous(id)) anonymous.push(first.position)
    }
    return first
  }

  function shapeOf(category: string, limits: readonly Limit[]): Shape {
    const known = shapes.find((shape) => shape.category === category && sameWindows(shape.limits, limits))
    if (known !== undefined) return known
    const isWide = needsWide(limits.map(({ window }) => window))
    const shape = { category, limits: checked(category, limits), isWide, position: shapes.length + 1 }
    shapes.push(shape)
    return shape
  }

  /** Charges that follow each other are mostly alike; limits are made once for each change of settings. */
  function planOf(charge: Charge): number {
    const { category, cost, limits, forced } = charge
    const counted = countedIn(charge)
    const hasTheirs = counted.organisation.length > 0
    for (let i = plans.length - 1; i >= 0; i--) {
      const plan = plans[i] as Plan
      if (
        plan.limits === limits &&
        plan.cost === cost &&
        plan.category === category &&
        plan.forced === forced &&
        (plan.theirs !== null) === hasTheirs
      ) {
        return i + 1
      }
    }
    const shape = forced && counted.personal.length === 0 ? null : shapeOf(category, counted.personal)
    const theirs = hasTheirs ? shapeOf(category, counted.organisation) : null
    const all = limits.global === null ? null : shapeOf(category, limits.global)
    const everybody = all === null ? null : ownerOf('global', EVERYBODY, category)
    return plans.push({ category, cost, limits, counted, forced, shape, theirs, everybody, all })
  }

  function open(first: Section, shape: Shape): void {
    if (first.open === shape) return
    first.open = shape
    opened.push({ counter: sectionOf(first, shape.category).counter, shape })
  }

  const remembered = new Map<string, number>()

  function rememberedAt({ key }: Once): number {
    const position = remembered.get(key) ?? names.push(keys.once(key))
    remembered.set(key, position)
    return position
  }

  const r: (number | string)[][] = []
  const u: (number | string)[][] = []
  for (const back of batch.refunds) {
    const before = r.length
    for (const { scope, id, category, runs } of chargedRuns(back)) {
      const { position } = ownerOf(scope, id, category)
      const named = runs.flatMap(({ seconds, startedAt }) => [seconds, startedAt])
      r.push([position, category, amountOf(back), ...named])
    }
    const report = reportOf(back)
    if (report === null) continue
    const { once, isFirst, since, cost, reserve, isUnreached } = report
    const use = [isFirst ? 1 : 0, since, keptMs(once), cost, reserve, isUnreached ? 1 : 0]
    u.push([rememberedAt(once), ...use, before + 1, r.length])
  }

  const o: (number | string)[][] = []
  let charges = ''
  let number = 0
  for (const charge of batch.charges) {
    number++
    const { user, organisation, category, once } = charge
    if (once !== undefined) o.push([number, rememberedAt(once), ...ruleOf(once), receiptText(charge)])
    const own = ownerOf('personal', user, category)
    const position = planOf(charge)
    const { shape, theirs, everybody, all } = plans[position - 1] as Plan
    if (shape !== null) opened.push({ counter: sectionOf(own, category).counter, shape })
    charges += String.fromCharCode(own.position >> 7, own.position & 127, position >> 7, position & 127)
    if (theirs !== null) {
      const first = ownerOf('organisation', organisation ?? '', category)
      open(first, theirs)
      charges += String.fromCharCode(first.position >> 7, first.position & 127)
    }
    if (everybody !== null && all !== null) open(everybody, all)
  }
  if (names.length > MOST || plans.length > MOST) throw new StoreError('the batch is too large', 'other', 'no')

  const s = shapes.map((shape) => shapeInWords(shape, now))
  const lists: (readonly Limit[])[] = []
  const limitsOf = (list: readonly Limit[]): number => lists.indexOf(list) + 1 || lists.push(list)
  const p = plans.map(({ cost, shape, counted, forced, theirs, everybody, all }) => {
    const plan = [cost, forced ? 1 : 0, shape?.position ?? 0, limitsOf(counted.personal)]
    if (everybody !== null && all !== null) plan.push(everybody.position, all.position, limitsOf(counted.global))
    if (theirs === null) return plan
    if (everybody === null) plan.push(0, 0, 0)
    return [...plan, theirs.position, limitsOf(counted.organisation)]
  })
  const l = lists.map((list) => list.flatMap(({ window, limit }) => (isBook(window) ? [] : [limit])))
  const h = hasHistory && [...historyRule(keys, retention), retention.anonymousSeconds, ...anonymous].join(' ')
  const seldom = {
    ...(r.length > 0 && { r }),
    ...periodsOf(shapes, now),
    ...(h && { h }),
    ...(o.length > 0 && { o }),
    ...(u.length > 0 && { u }),
  }
  const counterOf: CounterOf = (scope, id, of) => {
    const first = owners[scope].get(scope === 'global' ? of : id)
    if (first === undefined) throw notAsked()
    return sectionOf(first, of).counter
  }
  return { keys: names, json: JSON.stringify({ s, l, p, ...seldom }), charges, opened, counterOf }
}

/** How many bytes all keys have in common, and for how many seconds runs are kept. */
export function historyRule(keys: Keys, { longestSeconds, shorterSeconds }: Kept): [number, number, number] {
  return [Buffer.byteLength(keys.all), longestSeconds, shorterSeconds]
}

function ruleOf(once: Once): (number | string)[] {
  return [once.body, once.forMs, once.replays, keptMs(once)]
}

/** A receipt but for the starts of its runs, which the script adds. Read by `receiptIn`. */
function receiptText(charge: Charge): string {
  const { category, organisation } = charge
  const counted = countedIn(charge)
  const lengths = SCOPE_NAMES.map((scope) => counted[scope].map(({ window }) => window.seconds))
  return JSON.stringify([category, counted.organisation.length === 0 ? null : organisation, ...lengths])
}

function shapeInWords({ category, limits }: Shape, now: number): (number | string)[] {
  const lengths = limits.map(({ window }) => window.seconds)
  const book = limits.at(-1)?.window
  if (book?.calendar === undefined || !isBook(book)) return [...lengths, 0, 0, category]
  const { from, to } = periodOf(book.calendar, now)
  return [...lengths, from, to, category]
}

/** Nothing without calendar windows that limit. */
function periodsOf(shapes: readonly Shape[], now: number): { readonly c?: readonly number[] } {
  const c = shapes.flatMap(({ limits, position }) =>
    limits.flatMap(({ window }, i) => {
      const { calendar } = window
      if (calendar === undefined || (isBook(window) && i === limits.length - 1)) return []
      const { from, to } = periodOf(calendar, now)
      return [position, i + 1, from, to]
    }),
  )
  return c.length === 0 ? {} : { c }
}

function sameWindows(a: readonly Limit[], b: readonly Limit[]): boolean {
  return a === b || (a.length === b.length && a.every(({ window }, i) => sameWindow(window, b[i]?.window)))
}

/** A reload may change the zone of a calendar. */
function sameWindow(a: Window, b: Window | undefined): boolean {
  return a.seconds === b?.seconds && a.calendar?.zone === b.calendar?.zone
}

/** The configuration allows no others; a section has no room for them. */
function checked(category: string, limits: readonly Limit[]): readonly Limit[] {
  checkName(category)
  if (limits.length < 1 || limits.length > MOST_WINDOWS) {
    throw new StoreError(`a category has 1 to ${MOST_WINDOWS} windows: ${category}`, 'other', 'no')
  }
  return limits
}

function sectionOf(first: Section, category: string): Section {
  for (let section = first; ; section = section.next) {
    if (section.category === category) return section
    section.next ??= { position: first.position, category, counter: [], open: null, next: null }
  }
}

export function unexpected(what: string): StoreError {
  return new StoreError(`unexpected reply to a batch: ${what}`, 'other', 'unknown')
}

export function notAsked(): StoreError {
  return unexpected('a counter was not asked for')
}
