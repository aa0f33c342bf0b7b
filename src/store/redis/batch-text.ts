import { isBook } from '../../quota/books.ts'
import { periodOf } from '../../quota/calendar.ts'
import type { Grant } from '../../quota/grant.ts'
import { type ChargedRun, keptMs, type Once, type Report } from '../../quota/once.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { type Limit, MOST_WINDOWS, type Window } from '../../quota/window.ts'
import { checkName, needsWide } from './form/section.ts'

/** The windows of one category. */
export interface Shape {
  readonly category: string
  readonly limits: readonly Limit[]
  readonly isWide: boolean
  /** The position of the shape, counted from 1 as in Lua. */
  readonly position: number
}

/**
 * The numbers of a plan, in this order: cost, 1 if it is forced, then shape and limits of the user, then key, shape and limits of the
 * global scope, then shape and limits of the organisation. 0 stands for none.
 */
const PLAN = [
  'COST',
  'IS_FORCED',
  'OWN_SHAPE',
  'OWN_LIMITS',
  'ALL_KEY',
  'ALL_SHAPE',
  'ALL_LIMITS',
  'THEIR_SHAPE',
  'THEIR_LIMITS',
] as const
type NumberOfEach<Names extends readonly string[]> = { readonly [I in keyof Names]: number }
type PlanNumbers = NumberOfEach<typeof PLAN>

/** The names of a plan's numbers in the scripts (script-words.ts). */
export const PLAN_WORDS: Readonly<Record<string, number>> = Object.fromEntries(
  PLAN.map((name, i) => [`PLAN_${name}`, i + 1]),
)

type Words = readonly (number | string)[]

/** The highest number of two digits of base 128. */
const MOST = 128 * 128 - 1

/**
 * A batch in the form that charge-one.lua reads. The head of that script explains each part. A method adds to the part of its
 * name, and those that return a number return the position of the addition, counted from 1 as in Lua.
 */
export class BatchText {
  readonly keys: string[] = []
  readonly shapes: Shape[] = []
  /** Two or three numbers for each charge, each as two ASCII characters. A Buffer would cost more to send than a string. */
  charges = ''
  readonly #limits: (readonly Limit[])[] = []
  readonly #plans: PlanNumbers[] = []
  readonly #refunds: Words[] = []
  readonly #uses: Words[] = []
  readonly #onces: Words[] = []
  readonly #meters: Words[] = []
  readonly #grants: Words[] = []
  #chargeCount = 0

  /** @param name a key that has no position yet */
  key(name: string): number {
    return this.keys.push(name)
  }

  /** @throws StoreError if there is no room for the category or for its windows */
  shape(category: string, limits: readonly Limit[]): Shape {
    const known = this.shapes.find((shape) => shape.category === category && sameWindows(shape.limits, limits))
    if (known !== undefined) return known
    checkName(category)
    if (limits.length < 1 || limits.length > MOST_WINDOWS) {
      throw new StoreError(`a category has 1 to ${MOST_WINDOWS} windows: ${category}`, 'other', 'no')
    }
    const isWide = needsWide(limits.map(({ window }) => window))
    const shape = { category, limits, isWide, position: this.shapes.length + 1 }
    this.shapes.push(shape)
    return shape
  }

  limits(list: readonly Limit[]): number {
    return this.#limits.indexOf(list) + 1 || this.#limits.push(list)
  }

  plan(...numbers: PlanNumbers): number {
    return this.#plans.push(numbers)
  }

  /** @param amount below 0 to charge in addition. For a use the script calculates it */
  refund(key: number, category: string, amount: number, runs: readonly ChargedRun[]): number {
    return this.#refunds.push([
      key,
      category,
      amount,
      ...runs.flatMap(({ seconds, startedAt }) => [seconds, startedAt]),
    ])
  }

  get refundCount(): number {
    return this.#refunds.length
  }

  /** @param first the position of its first refund. The refund that was added last is its last one */
  use(key: number, { meter, isFirst, since, once, cost, reserve, isUnreached }: Report, first: number): void {
    const facts = [isFirst ? 1 : 0, since, keptMs(once), cost, reserve, isUnreached ? 1 : 0]
    this.#uses.push([key, ...facts, first, this.#refunds.length, meter, ...(once.keepsReport ? [1] : [])])
  }

  /** Adds the further meters of the next charge. @param plans each followed by its organisation's key, or 0 for none */
  meters(plans: readonly number[]): void {
    this.#meters.push([this.#chargeCount + 1, ...plans])
  }

  /** Adds a grant to the next charge. @param meter 0 for the first @param account the shape in which the grant is counted */
  grant(meter: number, scope: 'personal' | 'organisation', account: Shape, { until, limit }: Grant): void {
    this.#grants.push([this.#chargeCount + 1, meter + 1, scope === 'personal' ? 1 : 2, account.position, until, limit])
  }

  /** Adds the key of the next charge. @param receipt without the starts of its runs */
  once(key: number, once: Once, receipt: string): void {
    const { body, forMs, replays, isOneUse } = once
    const words = [this.#chargeCount + 1, key, body, forMs, replays, keptMs(once), receipt]
    this.#onces.push(isOneUse ? [...words, 1] : words)
  }

  /** @param organisation its key; `null` if the plan has no windows for an organisation */
  charge(user: number, plan: number, organisation: number | null): void {
    this.#chargeCount++
    this.charges += String.fromCharCode(user >> 7, user & 127, plan >> 7, plan & 127)
    if (organisation !== null) this.charges += String.fromCharCode(organisation >> 7, organisation & 127)
  }

  /**
   * All parts except the keys and the charges.
   * @param now about the time of the store's clock, for periods of calendars
   * @param history how runs are kept; `null` if they are not
   */
  json(now: number, history: string | null): string {
    if (this.keys.length > MOST || this.#plans.length > MOST)
      throw new StoreError('the batch is too large', 'other', 'no')
    const periods = periodsOf(this.shapes, now)
    return JSON.stringify({
      shapes: this.shapes.map((shape) => shapeInWords(shape, now)),
      limits: this.#limits.map(limitsInWords),
      plans: this.#plans,
      ...(this.#refunds.length > 0 && { refunds: this.#refunds }),
      ...(periods.length > 0 && { periods }),
      ...(history !== null && { history }),
      ...(this.#onces.length > 0 && { onces: this.#onces }),
      ...(this.#uses.length > 0 && { uses: this.#uses }),
      ...(this.#meters.length > 0 && { meters: this.#meters }),
      ...(this.#grants.length > 0 && { grants: this.#grants }),
    })
  }
}

function shapeInWords({ category, limits }: Shape, now: number): Words {
  const lengths = limits.map(({ window }) => window.seconds)
  const book = limits.at(-1)?.window
  if (book?.calendar === undefined || !isBook(book)) return [...lengths, 0, 0, category]
  const { from, to } = periodOf(book.calendar, now)
  return [...lengths, from, to, category]
}

function limitsInWords(list: readonly Limit[]): number[] {
  return list.flatMap(({ window, limit }) => (isBook(window) ? [] : [limit]))
}

/** The present periods of calendar windows, except those of the books. */
function periodsOf(shapes: readonly Shape[], now: number): number[] {
  return shapes.flatMap(({ limits, position }) =>
    limits.flatMap(({ window }, i) => {
      const { calendar } = window
      if (calendar === undefined || (isBook(window) && i === limits.length - 1)) return []
      const { from, to } = periodOf(calendar, now)
      return [position, i + 1, from, to]
    }),
  )
}

function sameWindows(a: readonly Limit[], b: readonly Limit[]): boolean {
  return a === b || (a.length === b.length && a.every(({ window }, i) => sameWindow(window, b[i]?.window)))
}

/** A reload may change the zone of a calendar, and the first day of its months. */
function sameWindow(a: Window, b: Window | undefined): boolean {
  return a.seconds === b?.seconds && a.calendar?.zone === b.calendar?.zone && a.calendar?.day === b.calendar?.day
}
