import { amountOf, type Batch, type Charge, type Decision, type Limits, settleBatch } from '../../quota/charge.ts'
import type { AheadListener, Counter } from '../../quota/counter.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { type Limit, MOST_WINDOWS, type Usage } from '../../quota/window.ts'
import type { Keys } from './keys.ts'
import { checkName, fitsShort, numbersSize, read48, startAt, usedAt } from './sections.ts'

/**
 * A batch in the words of charge.lua, and its reply in ours. This runs for every charge in the gateway's one thread, so
 * it makes no object for a charge that the decision does not need.
 */
export interface EncodedBatch {
  /** The key of the instance first, then the keys of the counters, each once. */
  readonly keys: readonly string[]
  /** Shapes, plans and refunds. */
  readonly json: string
  /** Two numbers for each charge, each as two ASCII characters: a Buffer would cost more to send than a string. */
  readonly charges: string
  /** The sections that the script opens, in its order. */
  readonly opened: readonly Opened[]
  readonly users: ReadonlyMap<string, Section>
  readonly everybody: ReadonlyMap<string, Section>
}

/** The windows of one category. */
interface Shape {
  readonly category: string
  readonly limits: readonly Limit[]
  readonly isShort: boolean
  /** Position as Lua counts. */
  readonly position: number
}

/** What many charges have in common. */
interface Plan {
  readonly category: string
  readonly cost: number
  readonly limits: Limits
  readonly forced: true | undefined
  /** `null` for a charge in the global scope alone. */
  readonly shape: Shape | null
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
   * What the section is open as at this point of the batch. `null` for a user, whose section is opened anew by each
   * charge.
   */
  shape: Shape | null
  /** Another category of the same user. */
  next: Section | null
}

interface Opened {
  readonly counter: Counter
  readonly shape: Shape
}

/** Two digits of base 128. */
const MOST = 128 * 128 - 1

/** @param mayBeShort whether all who share the store read the short form of a section. Default: not so */
export function encodeBatch(batch: Batch, keys: Keys, mayBeShort = false): EncodedBatch {
  const names = [keys.instance(batch.instance)]
  const users = new Map<string, Section>()
  const everybody = new Map<string, Section>()
  const shapes: Shape[] = []
  const plans: Plan[] = []
  const opened: Opened[] = []

  function own(user: string, category: string): Section {
    const first = users.get(user)
    if (first !== undefined) return sectionOf(first, category)
    const section = { position: names.push(keys.user(user)), category, counter: [], shape: null, next: null }
    users.set(user, section)
    return section
  }

  function global(category: string): Section {
    let section = everybody.get(category)
    if (section === undefined) {
      section = { position: names.push(keys.everybody(category)), category, counter: [], shape: null, next: null }
      everybody.set(category, section)
    }
    return section
  }

  function shapeOf(category: string, limits: readonly Limit[]): Shape {
    const isShort = mayBeShort && fitsShort(category, limits)
    const known = shapes.find(
      (shape) => shape.category === category && shape.isShort === isShort && sameWindows(shape.limits, limits),
    )
    if (known !== undefined) return known
    const shape = { category, limits: checked(category, limits), isShort, position: shapes.length + 1 }
    shapes.push(shape)
    return shape
  }

  /** Charges that follow each other are mostly alike; limits are made once for each change of settings. */
  function planOf({ category, cost, limits, forced }: Charge): number {
    for (let i = plans.length - 1; i >= 0; i--) {
      const plan = plans[i] as Plan
      if (plan.limits === limits && plan.cost === cost && plan.category === category && plan.forced === forced) {
        return i + 1
      }
    }
    const shape = forced && limits.personal.length === 0 ? null : shapeOf(category, limits.personal)
    const all = limits.global === null ? null : shapeOf(category, limits.global)
    const everybody = all === null ? null : global(category)
    return plans.push({ category, cost, limits, forced, shape, everybody, all })
  }

  function refund(
    { position }: Section,
    category: string,
    amount: number,
    limits: readonly Limit[],
    usages: readonly Usage[],
  ): void {
    const runs = limits.flatMap(({ window }, i) => [window.seconds, usages[i]?.startedAt ?? 0])
    r.push([position, category, amount, ...runs])
  }

  const r: (number | string)[][] = []
  for (const back of batch.refunds) {
    const { charge, decision } = back
    const { user, category } = charge
    const amount = amountOf(back)
    refund(own(user, category), category, amount, charge.limits.personal, decision.personal)
    if (charge.limits.global === null || decision.global === null) continue
    refund(global(category), category, amount, charge.limits.global, decision.global)
  }

  let charges = ''
  for (const charge of batch.charges) {
    const { counter, position: key } = own(charge.user, charge.category)
    const position = planOf(charge)
    const { shape, everybody, all } = plans[position - 1] as Plan
    if (shape !== null) opened.push({ counter, shape })
    if (everybody !== null && all !== null && everybody.shape !== all) {
      everybody.shape = all
      opened.push({ counter: everybody.counter, shape: all })
    }
    charges += String.fromCharCode(key >> 7, key & 127, position >> 7, position & 127)
  }
  if (names.length > MOST || plans.length > MOST) throw new StoreError('the batch is too large', 'other', 'no')

  const s = shapes.map(({ category, isShort, limits }) => [
    category,
    isShort ? 1 : 0,
    ...limits.map(({ window }) => window.seconds),
  ])
  const lists: (readonly Limit[])[] = []
  const limitsOf = (list: readonly Limit[]): number => lists.indexOf(list) + 1 || lists.push(list)
  const p = plans.map(({ cost, shape, limits, forced, everybody, all }) => {
    const plan = [cost, forced ? 1 : 0, shape?.position ?? 0, limitsOf(limits.personal)]
    if (everybody !== null && all !== null && limits.global !== null) {
      plan.push(everybody.position, all.position, limitsOf(limits.global))
    }
    return plan
  })
  const l = lists.map((list) => list.map(({ limit }) => limit))
  return { keys: names, json: JSON.stringify({ s, l, p, r }), charges, opened, users, everybody }
}

function sameWindows(a: readonly Limit[], b: readonly Limit[]): boolean {
  return a === b || (a.length === b.length && a.every(({ window }, i) => window.seconds === b[i]?.window.seconds))
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
    section.next ??= { position: first.position, category, counter: [], shape: null, next: null }
  }
}

const PREFIX = 'batch:'.length

/**
 * The script replies with its time, its verdicts and the windows as it found them. Every number of the decisions
 * follows from these by the same arithmetic, which costs Redis nothing.
 */
export function decodeReply(
  reply: unknown,
  batch: Batch,
  sent: EncodedBatch,
  onAhead?: AheadListener,
): readonly Decision[] {
  if (!Buffer.isBuffer(reply) || reply.length < PREFIX + 12) throw unexpected('no time in the reply')
  const now = read48(reply, PREFIX + 6)
  const verdicts = PREFIX + 12
  let at = verdicts + batch.charges.length
  for (const { counter, shape } of sent.opened) {
    const end = at + numbersSize(shape.limits.length, shape.isShort)
    if (end > reply.length) throw unexpected('it is too short')
    addWindows(counter, shape, reply, at)
    at = end
  }
  if (at !== reply.length) throw unexpected('it is too long')

  const find = (user: string | null, category: string): Counter => {
    const section = user === null ? sent.everybody.get(category) : sent.users.get(user)
    if (section === undefined) throw unexpected('a counter was not asked for')
    return sectionOf(section, category).counter
  }
  // The script opens sections after the refunds.
  const decisions = settleBatch({ refunds: [], charges: batch.charges }, find, now, onAhead)
  for (let i = 0; i < decisions.length; i++) {
    if (decisions[i]?.accepted !== (reply[verdicts + i] === 0x31)) {
      throw unexpected('the script decided otherwise than the arithmetic')
    }
  }
  return decisions
}

/**
 * The first reading of a window stays in front and counts if the batch reads the window again. The arithmetic leaves
 * out the windows that have ended.
 */
function addWindows(counter: Counter, { limits, isShort }: Shape, reply: Buffer, at: number): void {
  const windows = limits.length
  for (let i = 0; i < windows; i++) {
    counter.push({
      seconds: (limits[i] as Limit).window.seconds,
      startedAt: startAt(reply, at, i, isShort),
      used: usedAt(reply, at, windows, i, isShort),
    })
  }
}

function unexpected(what: string): StoreError {
  return new StoreError(`unexpected reply of charge.lua: ${what}`, 'other', 'unknown')
}
