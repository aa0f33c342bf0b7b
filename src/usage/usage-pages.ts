import { inSlices } from '../lib/slices.ts'
import { everyStep } from '../lib/steps.ts'
import { createTop } from '../lib/top.ts'
import type { OwnerHistory } from '../quota/history-store.ts'
import type { OwnerTerms } from './beyond.ts'
import { BEGIN, isBehindRow, type UsagePlace } from './usage-cursor.ts'
import type { UsageQuery } from './usage-query.ts'
import { byTokens, compare, type Found, rowsOfGrants, rowsOfRuns, type UsageRow } from './usage-rows.ts'

/** Some owners who may have used something, and where the next step begins; `next` is `null` at the end. */
export interface OwnerStep {
  /** The store's time. */
  readonly at: number
  readonly owners: readonly OwnerHistory[]
  /** What is known of these owners besides their runs, by their ids. Default nothing. */
  readonly terms?: ReadonlyMap<string, OwnerTerms>
  readonly next: string | null
}

/** One step through all owners. They come in no order, and a scan may return an owner in two steps. @throws StoreError */
export type OwnerSteps = (cursor: string | null) => Promise<OwnerStep>

export interface PageOptions {
  readonly query: UsageQuery
  readonly steps: OwnerSteps
  /** Default the beginning. */
  readonly from?: UsagePlace
  /** The most rows of the page. */
  readonly limit: number
  /** After how many owners the page ends. The step that reaches this number is looked at completely. */
  readonly most: number
  readonly signal: AbortSignal
}

export interface UsagePage {
  readonly rows: readonly UsageRow[]
  /** `null` at the end. */
  readonly next: UsagePlace | null
  /** Whether a run reaches over an end of the range. */
  readonly reachesOver: boolean
}

/**
 * One page, in the order of the scan's steps, and by name within a step. A full page may end in the middle of a step. The next page
 * repeats the step and goes on after the last row, because a step has no order of its own.
 */
export async function pageOfRuns({ query, steps, from = BEGIN, limit, most, signal }: PageOptions): Promise<UsagePage> {
  const rows: UsageRow[] = []
  const found: Found = { reachesOver: false }
  const slices = inSlices()
  let place = from
  for (let lookedAt = 0; lookedAt < most; ) {
    signal.throwIfAborted()
    const { at, owners, terms, next } = await steps(place.step)
    const { after } = place
    for (const owner of byName(owners)) {
      if (after !== null && compare(owner.id, after.name) < 0) continue
      for (const row of rowsOfRuns(owner, query, at, found, terms?.get(owner.id))) {
        if (after !== null && !isBehindRow(row, after, query)) continue
        if (rows.length === limit) return { rows, next: behind(place.step, rows.at(-1)), ...found }
        rows.push(row)
      }
      if (slices.isOver()) await slices.next()
    }
    if (next === null) return { rows, next: null, ...found }
    lookedAt += owners.length
    place = { step: next, after: null }
    if (rows.length === limit) break
  }
  return { rows, next: place, ...found }
}

function behind(step: string | null, row: UsageRow | undefined): UsagePlace {
  if (row === undefined) return { step, after: null }
  const { name, category, place } = row
  return { step, after: { name, category, place } }
}

function byName(owners: readonly OwnerHistory[]): readonly OwnerHistory[] {
  return owners.toSorted((a, b) => compare(a.id, b.id))
}

/** The rows with the most tokens among as many owners as one request looks at. The next page has those of further owners. */
export async function topOfRuns({ query, steps, from = BEGIN, limit, most, signal }: PageOptions): Promise<UsagePage> {
  const top = createTop(limit, byTokens)
  const found: Found = { reachesOver: false }
  const seen = new Set<string>()
  const slices = inSlices()
  let { step } = from
  for (let lookedAt = 0; ; ) {
    signal.throwIfAborted()
    const { at, owners, terms, next } = await steps(step)
    for (const owner of owners) {
      const rows = seen.has(owner.id) ? [] : rowsOfRuns(owner, query, at, found, terms?.get(owner.id))
      if (rows.length > 0) seen.add(owner.id)
      for (const row of rows) top.add(row)
      if (slices.isOver()) await slices.next()
    }
    step = next
    lookedAt += owners.length
    if (next === null || lookedAt >= most) break
  }
  return { rows: top.values(), next: step === null ? null : { step, after: null }, ...found }
}

/** All rows in parts, including those of grants. The reader sets the pace. An owner whom a scan returns twice has his rows once. */
export async function* allOfRuns(
  query: UsageQuery,
  steps: OwnerSteps,
  signal: AbortSignal,
  found: Found,
): AsyncGenerator<readonly UsageRow[]> {
  const seen = new Set<string>()
  const slices = inSlices()
  for await (const { at, owners, terms } of everyStep(steps, signal)) {
    for (const owner of owners) {
      const own = terms?.get(owner.id)
      const runs = seen.has(owner.id) ? [] : rowsOfRuns(owner, query, at, found, own)
      const grants = seen.has(owner.id) || own === undefined ? [] : rowsOfGrants(owner, query, at, own)
      const rows = [...runs, ...grants]
      if (rows.length > 0) {
        seen.add(owner.id)
        yield rows
      }
      if (slices.isOver()) await slices.next()
    }
  }
}

/** One page of the rows of one owner. @param at the store's time of the reading @param terms of the owner */
export function pageOfOwner(
  owner: OwnerHistory,
  query: UsageQuery,
  at: number,
  { from, limit, terms }: { readonly from: UsagePlace; readonly limit: number; readonly terms: OwnerTerms },
): UsagePage {
  const found: Found = { reachesOver: false }
  const rows = rowsOfRuns(owner, query, at, found, terms)
  return pageOf(rows, query, from, limit, found.reachesOver)
}

/** One page of the rows of series, or those with the most tokens. */
export function pageOfSeries(rows: readonly UsageRow[], query: UsageQuery, from: UsagePlace, limit: number): UsagePage {
  if (query.isRanked) return { rows: rows.toSorted(byTokens).slice(0, limit), next: null, reachesOver: false }
  return pageOf(rows, query, from, limit, false)
}

/** @param rows all of them, in order */
function pageOf(
  rows: readonly UsageRow[],
  query: UsageQuery,
  { after }: UsagePlace,
  limit: number,
  reachesOver: boolean,
): UsagePage {
  const rest = after === null ? rows : rows.filter((row) => isBehindRow(row, after, query))
  if (rest.length <= limit) return { rows: rest, next: null, reachesOver }
  const shown = rest.slice(0, limit)
  return { rows: shown, next: behind(null, shown.at(-1)), reachesOver }
}
