import type { Window } from '../../src/quota/window.ts'
import { readUsageQuery, type UsageFields, type UsageRules } from '../../src/usage/usage-query.ts'
import { readUsage, type UsageSource } from '../../src/usage/usage-reading.ts'
import type { UsageRow } from '../../src/usage/usage-rows.ts'
import { type Days, dateOf, dayBegins, daysOf, monthsOf } from './calendars.ts'
import type { CounterName, Runs } from './stored.ts'
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
}

const KINDS = { user: 'personal', organisation: 'organisation' } as const

/**
 * The bill of each day and of each month in which something was used, and of the days beside them, by user and by organisation: as the
 * product answers it, and as the books have it.
 */
export class Invoices {
  readonly count = { invoices: 0, invoiced: 0, incomplete: 0 }
  readonly #options: InvoicesOptions

  constructor(options: InvoicesOptions) {
    this.#options = options
  }

  async check(store: Ledgers): Promise<void> {
    const { counters, days, rules } = this.#options
    const used = counters.flatMap(days).map(({ startedAt }) => dateOf(startedAt, rules.zone))
    for (const by of ['user', 'organisation'] as const) {
      for (const month of monthsOf(used)) {
        await this.#invoice(store, by, month, 'range')
        await this.#invoice(store, by, month, '1d')
      }
      for (const day of daysOf(used)) await this.#invoice(store, by, day, 'range')
    }
  }

  async #invoice(store: Ledgers, by: keyof typeof KINDS, { from, to }: Days, step: 'range' | '1d'): Promise<void> {
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
    const name = `the invoice of ${from} to ${to} by ${by}, step ${step},`
    const expected = this.#expected(by, { from, to }, step)
    this.count.invoices++
    this.count.invoiced += rows.reduce((sum, { tokens }) => sum + tokens, 0)
    const shown = linesOf(rows.filter((row) => this.#isKept(by, row.name)))
    if (shown !== expected) world.fail(`${name} is [${shown}] and not [${expected}]`)
    const [counted = Number.POSITIVE_INFINITY] = since.values()
    const isKnown = dayBegins(from, rules.zone) >= counted
    if (!isKnown) this.count.incomplete++
    if (isKnown !== (query.gaps.length === 0 && !found.reachesOver)) {
      world.fail(`${name} is known: ${isKnown}, and says [${query.gaps.join('; ')}]`)
    }
  }

  #isKept(by: keyof typeof KINDS, id: string): boolean {
    return this.#options.counters.some((name) => name.scope === KINDS[by] && name.id === id)
  }

  #expected(by: keyof typeof KINDS, range: Days, step: 'range' | '1d'): string {
    const { counters, days, rules } = this.#options
    const { zone } = rules
    const [from, to] = [dayBegins(range.from, zone), dayBegins(range.to, zone)]
    const lines: Pick<UsageRow, 'name' | 'category' | 'start' | 'tokens'>[] = []
    for (const { scope, id, category } of counters) {
      if (scope !== KINDS[by]) continue
      for (const { startedAt, used } of days({ scope, id, category })) {
        if (startedAt < from || startedAt >= to) continue
        const start = step === 'range' ? from : dayBegins(dateOf(startedAt, zone), zone)
        lines.push({ name: id, category, start, tokens: used })
      }
    }
    return linesOf(lines)
  }
}

/** Those of one name, category and start are one. */
function linesOf(rows: readonly Pick<UsageRow, 'name' | 'category' | 'start' | 'tokens'>[]): string {
  const sums = new Map<string, number>()
  for (const { name, category, start, tokens } of rows) {
    const key = `${name}/${category} from ${new Date(start).toISOString()}`
    sums.set(key, (sums.get(key) ?? 0) + tokens)
  }
  return [...sums]
    .map(([key, tokens]) => `${key}: ${tokens}`)
    .sort()
    .join(', ')
}
