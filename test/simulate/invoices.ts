import type { Window } from '../../src/quota/window.ts'
import { SERIES_KINDS, type SeriesKind } from '../../src/usage/series.ts'
import { readUsageQuery, type UsageFields, type UsageKind, type UsageRules } from '../../src/usage/usage-query.ts'
import { readUsage, type UsageSource } from '../../src/usage/usage-reading.ts'
import type { UsageRow } from '../../src/usage/usage-rows.ts'
import { type Days, dateOf, dayBegins, daysOf, monthsOf } from './calendars.ts'
import type { CounterName, Runs } from './stored.ts'
import type { SeriesSum } from './usage-books.ts'
import type { World } from './world.ts'

/** What is read of usage. */
export type Ledgers = UsageSource & {
  readCounted(): Promise<{ readonly at: number; readonly since: ReadonlyMap<string, number> }>
}

export interface InvoicesOptions {
  readonly world: World
  readonly rules: UsageRules & { readonly books: Window }
  /** Of all whose days are kept. */
  readonly counters: readonly CounterName[]
  /** What the books have of the days of a counter. */
  readonly days: (name: CounterName) => Runs
  /** What the books have of a series: of the days of a zone, or of half hours. */
  readonly series: (by: SeriesKind, zone: string | null) => readonly SeriesSum[]
}

const SCOPES = { user: 'personal', organisation: 'organisation' } as const
const HALF_HOUR_MS = 30 * 60_000
const WEEK_MS = 7 * 24 * 60 * 60_000
/** How long what was counted may be on its way to a series. */
const ON_THE_WAY_MS = 6000

type Line = Pick<UsageRow, 'name' | 'category' | 'start' | 'tokens'>

/**
 * The bill of each day and of each month in which something was used, and of the days beside them, by user and by organisation, and by all
 * that has a series: as the product answers it, and as the books have it.
 */
export class Invoices {
  readonly count = { invoices: 0, invoiced: 0, incomplete: 0, invoicedBySeries: 0, incompleteBySeries: 0 }
  readonly #options: InvoicesOptions

  constructor(options: InvoicesOptions) {
    this.#options = options
  }

  async check(store: Ledgers): Promise<void> {
    const { counters, days, rules, series } = this.#options
    const used = [...counters.flatMap(days).map(({ startedAt }) => startedAt), ...series('all', null).map(startOf)]
    const dates = used.map((moment) => dateOf(moment, rules.zone))
    for (const by of ['user', 'organisation', ...SERIES_KINDS] as const) {
      for (const month of monthsOf(dates)) {
        await this.#invoice(store, by, month, 'range')
        await this.#invoice(store, by, month, '1d')
      }
      for (const day of daysOf(dates)) await this.#invoice(store, by, day, 'range')
    }
  }

  async #invoice(store: Ledgers, by: UsageKind, { from, to }: Days, step: 'range' | '1d'): Promise<void> {
    const { rules, world } = this.#options
    const { at, since } = await store.readCounted()
    const fields: UsageFields = { by, from: String(from), to: String(to), step }
    const read = readUsageQuery(fields, { ...rules, at, since })
    if ('problems' in read) throw new Error(JSON.stringify(read.problems))
    const { query } = read
    const found = { reachesOver: false }
    const rows: UsageRow[] = []
    const signal = new AbortController().signal
    for await (const some of readUsage(store, { query, limit: 1000, signal }, found)) rows.push(...some)
    const name = `the invoice of ${from} to ${to} by ${by}, step ${step}, at ${new Date(at).toISOString()}`
    const range = { from: dayBegins(from, rules.zone), to: dayBegins(to, rules.zone) }
    const isOfRuns = by === 'user' || by === 'organisation'
    const sums = isOfRuns ? this.#runs(by) : this.#series(by, query.byDays, at)
    const expected = linesOf(this.#lines(sums, range, step))
    const shown = linesOf(isOfRuns ? rows.filter((row) => this.#isKept(by, row.name)) : rows)
    if (shown !== expected) world.fail(`${name} is [${shown}] and not [${expected}]`)
    const [counted = Number.POSITIVE_INFINITY] = since.values()
    const isKnown = range.from >= counted || (!isOfRuns && isOfHalfHours(range, counted, at))
    const isSent = isOfRuns || range.to > at || at >= range.to + ON_THE_WAY_MS
    this.#counts(isOfRuns, rows, isKnown)
    if ((isKnown && isSent) !== (query.gaps.length === 0 && !found.reachesOver)) {
      world.fail(`${name} is known: ${isKnown}, sent: ${isSent}, and says [${query.gaps.join('; ')}]`)
    }
  }

  #counts(isOfRuns: boolean, rows: readonly UsageRow[], isKnown: boolean): void {
    this.count.invoices++
    this.count[isOfRuns ? 'invoiced' : 'invoicedBySeries'] += rows.reduce((sum, { tokens }) => sum + tokens, 0)
    if (!isKnown) this.count[isOfRuns ? 'incomplete' : 'incompleteBySeries']++
  }

  #isKept(by: keyof typeof SCOPES, id: string): boolean {
    return this.#options.counters.some((name) => name.scope === SCOPES[by] && name.id === id)
  }

  #runs(by: keyof typeof SCOPES): Line[] {
    const { counters, days } = this.#options
    return counters
      .filter(({ scope }) => scope === SCOPES[by])
      .flatMap((name) =>
        days(name).map(({ startedAt, used }) => ({
          name: name.id,
          category: name.category,
          start: startedAt,
          tokens: used,
        })),
      )
  }

  /** What a clock that was ahead has counted is shown when its time comes. */
  #series(by: SeriesKind, byDays: boolean, at: number): Line[] {
    const { rules, series } = this.#options
    return series(by, byDays ? rules.zone : null)
      .filter(({ start }) => start < at + HALF_HOUR_MS)
      .map((sum) => ({ ...sum, category: null }))
  }

  #lines(sums: readonly Line[], { from, to }: Range, step: 'range' | '1d'): Line[] {
    const { zone } = this.#options.rules
    return sums
      .filter(({ start }) => start >= from && start < to)
      .map((sum) => ({ ...sum, start: step === 'range' ? from : dayBegins(dateOf(sum.start, zone), zone) }))
  }
}

interface Range {
  readonly from: number
  readonly to: number
}

/** Whether the half hours of a range are known, also if its days are not: counting began within the first of them. */
function isOfHalfHours({ from }: Range, counted: number, at: number): boolean {
  const first = Math.floor(at / HALF_HOUR_MS) * HALF_HOUR_MS - WEEK_MS + HALF_HOUR_MS
  return from % HALF_HOUR_MS === 0 && from + HALF_HOUR_MS > counted && from >= first
}

function startOf({ start }: SeriesSum): number {
  return start
}

/** Those of one name, category and start are one; nobody was billed nothing. */
function linesOf(rows: readonly Line[]): string {
  const sums = new Map<string, number>()
  for (const { name, category, start, tokens } of rows) {
    const key = `${name}/${category ?? ''} from ${new Date(start).toISOString()}`
    sums.set(key, (sums.get(key) ?? 0) + tokens)
  }
  return [...sums]
    .filter(([, tokens]) => tokens !== 0)
    .map(([key, tokens]) => `${key}: ${tokens}`)
    .sort()
    .join(', ')
}
