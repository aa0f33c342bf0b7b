import type { PreviewResponse } from '../contract/api.ts'
import { inSlices } from '../lib/slices.ts'
import { everyStep } from '../lib/steps.ts'
import type { HistoryStore, OwnerHistory } from '../quota/history-store.ts'
import { type Policy, payerOf } from '../quota/policy.ts'
import { endOf, type Limit } from '../quota/window.ts'
import type { Desk } from './desk.ts'

type Row = PreviewResponse['yesterday']['rows'][number]
type Over = Row['of']

/** The runs of a past time, compared with limits that somebody is about to set. */
export interface LookBack extends Pick<PreviewResponse['yesterday'], 'scanned' | 'rows'> {
  /** Runs that ended after `from` or ran at `to` count. In milliseconds since the epoch by the store's clock. */
  readonly from: number
  readonly to: number
}

export interface LookBackOptions {
  readonly desk: Pick<Desk, 'payersOf'> & { readonly store: Pick<HistoryStore, 'scanHistory'> }
  /** Makes the future limits. A policy remembers users with an override, so each step makes a new one. */
  readonly next: () => Policy
  /** Users to whom nothing is charged. */
  readonly exempt: ReadonlySet<string>
  /** How far back, in milliseconds. */
  readonly spanMs: number
  /** Ends the search between two steps. */
  readonly signal?: AbortSignal
}

/**
 * Looks at the kept runs of every user in steps, with the event loop and the store free in between. Users in shadow mode and exempt
 * users do not count. The limits are those that each user would have now, with today's plan and override.
 * @throws StoreError, or the reason of the signal
 */
export async function lookBack(options: LookBackOptions): Promise<LookBack> {
  const { desk, next, exempt, spanMs, signal } = options
  const tally = createTally(next())
  /** A scan may return a user twice. */
  const seen = new Set<string>()
  const slices = inSlices()
  let range: Range = { from: 0, to: 0 }
  for await (const step of everyStep((cursor: string | null) => desk.store.scanHistory('personal', cursor), signal)) {
    if (range.to === 0) range = { from: step.at - spanMs, to: step.at }
    const policy = next()
    const owners = step.owners.filter(({ id }) => !seen.has(id) && !exempt.has(id) && !policy.isShadowed(id))
    const payers = await desk.payersOf(owners.map(({ id }) => id))
    for (const [i, owner] of owners.entries()) {
      if (tally.add(owner, (category) => policy.limitsFor(category, payers[i] ?? payerOf(owner.id)).personal, range)) {
        seen.add(owner.id)
      }
      if (slices.isOver()) await slices.next()
    }
  }
  return { ...range, scanned: seen.size, rows: tally.rows() }
}

interface Range {
  readonly from: number
  readonly to: number
}

type LimitsOf = (category: string) => readonly Limit[]
type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type Sums = { readonly of: Mutable<Over>; readonly above: Mutable<Over> }

/** Sums by category and by the length of the window, which is its identity. */
function createTally(policy: Policy) {
  const order = policy.categories.flatMap((category) =>
    policy.limitsOf(category).personal.map(({ window }) => ({ category, window })),
  )
  const sums = new Map<string, Sums>(
    order.map(({ category, window }) => [keyOf(category, window.seconds), { of: none(), above: none() }]),
  )
  const longestMs = Math.max(0, ...order.map(({ window }) => window.seconds * 1000))

  /** @returns whether the user has such a run */
  function add(owner: OwnerHistory, limitsOf: LimitsOf, { from, to }: Range): boolean {
    const runs = new Set<Sums>()
    const over = new Set<Sums>()
    const limits = new Map<string, readonly Limit[]>()
    owner.eachRun(from - longestMs, to + 1, (category, seconds, startedAt, tokens) => {
      const sum = sums.get(keyOf(category, seconds))
      if (sum === undefined) return
      const own = limits.get(category) ?? limitsOf(category)
      limits.set(category, own)
      const limit = own.find(({ window }) => window.seconds === seconds)
      if (limit === undefined || endOf(limit.window, startedAt) <= from) return
      runs.add(sum)
      count(sum.of, tokens)
      if (tokens <= limit.limit) return
      over.add(sum)
      count(sum.above, tokens - limit.limit)
    })
    for (const { of } of runs) of.users++
    for (const { above } of over) above.users++
    return runs.size > 0
  }

  const rows = (): Row[] =>
    order.map(({ category, window }) => {
      const { of, above } = sums.get(keyOf(category, window.seconds)) as Sums
      return { category, window: window.name, of, above }
    })
  return { add, rows }
}

function count(over: Mutable<Over>, tokens: number): void {
  over.runs++
  over.tokens += tokens
}

function none(): Mutable<Over> {
  return { users: 0, runs: 0, tokens: 0 }
}

function keyOf(category: string, seconds: number): string {
  return `${seconds} ${category}`
}
