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
  /** Position as Lua counts. */
  readonly position: number
}

/**
 * The numbers of a plan, in their order: cost, whether it is forced (1), then for the user the shape and the limits, for everybody the
 * key, the shape and the limits, and for the organisation the shape and the limits. 0 is none.
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

/** What the scripts call the numbers of a plan (script-words.ts). */
export const PLAN_WORDS: Readonly<Record<string, number>> = Object.fromEntries(
  PLAN.map((name, i) => [`PLAN_${name}`, i + 1]),
)

type Words = readonly (number | string)[]

/** Two digits of base 128. */
const MOST = 128 * 128 - 1

/**
 * A batch on its way to charge-one.lua, whose head says what each part means. A method adds to the part of its name, and gives the
 * position by which other parts name what was added, as Lua counts.
 */
export class BatchText {
  readonly keys: string[] = []
  readonly shapes: Shape[] = []
  /** Two or three numbers for each charge, each as two ASCII characters: a Buffer would cost more to send than a string. */
  charges = ''
  readonly #limits: (readonly Limit[])[] = []
  readonly #plans: PlanNumbers[] = []
  readonly #refunds: Words[] = []
  readonly #uses: Words[] = []
  readonly #onces: Words[] = []
  readonly #meters: Words[] = []
  readonly #grants: Words[] = []
  #chargeCount = 0

  /** @param name one that has no position yet */
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

  /** @param amount below 0 is charged; that of a use is made by the script */
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

  /** @param first of its refunds; the last is the one that was added last */
  use(key: number, { meter, isFirst, since, once, cost, reserve, isUnreached }: Report, first: number): void {
    const facts = [isFirst ? 1 : 0, since, keptMs(once), cost, reserve, isUnreached ? 1 : 0]
    this.#uses.push([key, ...facts, first, this.#refunds.length, meter, ...(once.keepsReport ? [1] : [])])
  }

  /** Of the next charge. @param plans with the key of the organisation for each; 0 where the plan has no windows for one */
  meters(plans: readonly number[]): void {
    this.#meters.push([this.#chargeCount + 1, ...plans])
  }

  /** Of the next charge. @param meter 0 for the first @param account the shape in which the grant is counted */
  grant(meter: number, scope: 'personal' | 'organisation', account: Shape, { until, limit }: Grant): void {
    this.#grants.push([this.#chargeCount + 1, meter + 1, scope === 'personal' ? 1 : 2, account.position, until, limit])
  }

  /** Of the next charge. @param receipt without its starts */
  once(key: number, once: Once, receipt: string): void {
    const { body, forMs, replays, isOneUse } = once
    const words = [this.#chargeCount + 1, key, body, forMs, replays, keptMs(once), receipt]
    this.#onces.push(isOneUse ? [...words, 1] : words)
  }

  /** @param organisation its key; `null` where the plan has no windows for one */
  charge(user: number, plan: number, organisation: number | null): void {
    this.#chargeCount++
    this.charges += String.fromCharCode(user >> 7, user & 127, plan >> 7, plan & 127)
    if (organisation !== null) this.charges += String.fromCharCode(organisation >> 7, organisation & 127)
  }

  /**
   * All parts but the keys and the charges.
   * @param now where the store's clock stands about, for the periods of calendars
   * @param history how runs are kept; `null` for not at all
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

/** Of calendar windows that limit. */
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

/** A reload may change the zone of a calendar, and the day with which its months begin. */
function sameWindow(a: Window, b: Window | undefined): boolean {
  return a.seconds === b?.seconds && a.calendar?.zone === b.calendar?.zone && a.calendar?.day === b.calendar?.day
}
