import { z } from 'zod'
import { isUserId } from '../control/user-id.ts'
import type { InTurn } from '../lib/serialize.ts'
import { isInUse } from '../quota/counter.ts'
import type { Used, UsedStep } from '../quota/quota-store.ts'
import type { Window } from '../quota/window.ts'
import { limit } from './fields.ts'
import type { FullnessRules } from './fullness.ts'
import type { FieldProblem } from './http.ts'
import { recentField, tooLongFor } from './recent-use.ts'
import { type Mark, ORDERS, type RosterPage, type RosterWish } from './roster.ts'
import { LOOKED_AT, MOST_STEPS } from './rosters.ts'
import type { View } from './state.ts'
import {
  type Entitlement,
  type Filtered,
  type FilterFields,
  filterFields,
  filterOf,
  NO_ENTITLEMENT,
  planProblem,
  type UsedFilter,
} from './used-filter.ts'

/** Pages of a list of users or organisations. */

/** The query of such a list. */
export function pageQuery(who: 'user' | 'organisation') {
  return z.strictObject({
    query: z
      .string({ error: 'must be given once' })
      .max(256, { error: 'must have at most 256 characters' })
      .default('')
      .describe(`A part of the ${who} id, whatever its letter case; the ${who} whose id it is comes first`),
    order: z
      .enum(ORDERS, {
        error: `must be one of ${ORDERS.filter((name) => !name.startsWith('-')).join(', ')}, or - before one of them`,
      })
      .optional()
      .describe(
        `The order of the list. It adds \`total\` and \`counts\`. With \`use\`, those nearest to one of their limits come first. With \`tokens\`, those with the most tokens in the longest window of each category. With \`refused\`, those with the most refusals in 24 hours. With \`full\`, those whose window is full or will be full soonest. With \`reset\`, those whose window ends soonest. A \`-\` before the word reverses the order`,
      ),
    ...filterFields,
    recent: recentField,
    limit: limit(200, 50),
    cursor: z
      .string({ error: 'must be given once' })
      .optional()
      .describe('The `next` of the page before. With an order it is the number of entries before the page'),
  })
}

type Query = z.infer<ReturnType<typeof pageQuery>> & Pick<FilterFields, 'shadow' | 'exempt' | 'organisation'>

/** The owners of a list, and how to read them. */
export interface Listed extends Filtered {
  /** One step through all owners with usage. @throws StoreError */
  readonly scan: (cursor: string | null) => Promise<UsedStep>
  /** The usage of one owner, and the store's time. @throws StoreError */
  readonly read: (id: string) => Promise<Used & { readonly at: number }>
  /** @throws StoreError */
  readonly entitlementsOf: (ids: readonly string[]) => Promise<readonly Entitlement[]>
  readonly windows: readonly Window[]
}

export interface UsedPage {
  readonly found: readonly Used[]
  /** The cursor of the next page; `null` after the last. */
  readonly next: string | null
  /** The store's time of the reading. */
  readonly at: number
}

/**
 * Where a page of the list begins. Owners with an override come first, in the order of their ids. Then come those with
 * usage, in the order of the store's scan. A full page may end in the middle of a step. The next page repeats the step and
 * goes on after the last id in the order of ids, because a step of the scan has no order of its own.
 */
interface Place {
  readonly phase: 'overrides' | 'scan'
  /** The cursor of the step; `null` for the first step of the phase. */
  readonly step: string | null
  /** The last id of the step that was shown; `null` for none. */
  readonly after: string | null
}

const CURSOR: FieldProblem = { path: 'cursor', msg: 'must be the `next` of a page: leave it out to begin' }
const START: Place = { phase: 'overrides', step: null, after: null }
/** How many of `LOOKED_AT` one request looks at if usage or plan decide who matches. A search without a hit ends with an empty page and a cursor. */
const FILTERED_AT = 50_000
/** Owners with an override are read one by one, this many at a time. Each counts as much as several of a scan. */
const READ_AT_ONCE = 50
const SCANNED_FOR_ONE = 50

export interface PageOptions {
  readonly at: number
  readonly signal: AbortSignal
  /** Shared by all searches, so that however many there are, their steps take turns. */
  readonly inTurn: InTurn
}

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function readPage(
  listed: Listed,
  query: Query,
  { at, signal, inTurn }: PageOptions,
): Promise<UsedPage | { readonly problems: readonly FieldProblem[] }> {
  const start = query.cursor === undefined ? START : readPlace(query.cursor)
  if (start === null) return { problems: [CURSOR] }
  const tooLong = tooLongFor(query.recent, query.limit)
  if (tooLong !== null) return { problems: [tooLong] }
  const filter = filterOf(query, listed)
  if ('problems' in filter) return filter
  const wanted = query.query.toLowerCase()
  // The owner who is named exactly is on the first page, so other pages leave that one out.
  const matches = (id: string) => id !== query.query && filter.hasId(id) && id.toLowerCase().includes(wanted)
  const inTurnStep: InTurn = (task) => inTurn(() => withRest(task))
  const first = query.cursor === undefined ? await named(listed, query, filter) : []
  const search = { start, matches, filter, limit: query.limit - first.length, step: inTurnStep, at, signal }
  const page = await pageOf(listed, search)
  return {
    found: [...first, ...page.found],
    next: page.next === null ? null : writePlace(page.next),
    at: page.at,
  }
}

/** The owner whose id is the text of the search, if the list has it. A scan may meet that owner last. @throws StoreError */
async function named(listed: Listed, { query }: Query, filter: UsedFilter): Promise<readonly Used[]> {
  const { read, overrides, windows } = listed
  if (!isUserId(query) || !filter.hasId(query)) return []
  const used = await read(query)
  if (!overrides.has(query) && !isInUse(used.counters, windows, used.at)) return []
  return fitting(listed, filter, [used], used.at)
}

/** The owners that pass the filter. @throws StoreError */
async function fitting(
  { entitlementsOf }: Listed,
  { fits }: UsedFilter,
  some: readonly Used[],
  at: number,
): Promise<readonly Used[]> {
  if (fits === null || some.length === 0) return some
  const entitlements = await entitlementsOf(some.map(({ id }) => id))
  return some.filter((used, i) => fits(used, entitlements[i] ?? NO_ENTITLEMENT, at))
}

interface Search {
  readonly start: Place
  readonly matches: (id: string) => boolean
  readonly filter: UsedFilter
  readonly limit: number
  /** Takes turns with other searches, and then lets the event loop run. */
  readonly step: InTurn
  readonly at: number
  readonly signal: AbortSignal
}

interface Page {
  readonly found: readonly Used[]
  readonly next: Place | null
  readonly at: number
}

async function pageOf(listed: Listed, search: Search): Promise<Page> {
  if (search.limit === 0) return { found: [], next: search.start, at: search.at }
  return collect(listed, search, overriddenSteps(listed, search))
}

type Step = (cursor: string | null) => Promise<UsedStep>

/** Steps through the owners with an override, in the order of their ids. The cursor of a step is the id before it. */
function overriddenSteps({ overrides, read }: Listed, { matches, step, at }: Search): Step {
  let sorted: readonly string[] | null = null
  return async (cursor) => {
    sorted ??= [...overrides.keys()].filter(matches).sort()
    const left = cursor === null ? sorted : sorted.filter((id) => id > cursor)
    const ids = left.slice(0, READ_AT_ONCE)
    const owners = await step(() => Promise.all(ids.map(read)))
    return { at: owners[0]?.at ?? at, owners, next: ids.length < left.length ? (ids.at(-1) ?? null) : null }
  }
}

async function collect(listed: Listed, search: Search, overridden: Step): Promise<Page> {
  const { overrides, windows } = listed
  const { start, matches, filter, limit, step, signal } = search
  const most = filter.fits === null ? LOOKED_AT : FILTERED_AT
  const found: Used[] = []
  let place: Place | null = start
  let { at } = search
  let [lookedAt, steps] = [0, 0]
  while (place !== null && found.length < limit && lookedAt < most && steps++ < MOST_STEPS) {
    signal.throwIfAborted()
    const here: Place = place
    const isScan = here.phase === 'scan'
    const seen = isScan ? await step(() => listed.scan(here.step)) : await overridden(here.step)
    at = seen.at
    lookedAt += seen.owners.length * (isScan ? 1 : SCANNED_FOR_ONE)
    const isLeft = ({ id, counters }: Used) =>
      (here.after === null || id > here.after) &&
      (!isScan || (matches(id) && !overrides.has(id) && isInUse(counters, windows, at)))
    const rest = (await fitting(listed, filter, seen.owners.filter(isLeft), at)).toSorted(byId)
    // If some are left over, the next page goes on after the last.
    const shown = rest.slice(0, limit - found.length)
    found.push(...shown)
    place = shown.length < rest.length ? { ...here, after: shown.at(-1)?.id ?? here.after } : behind(here, seen, filter)
  }
  return { found, next: place, at }
}

/** The place of the step after this one; `null` after the last. */
function behind({ phase }: Place, { next }: UsedStep, { needsOverride }: UsedFilter): Place | null {
  if (next !== null) return { phase, step: next, after: null }
  return phase === 'overrides' && !needsOverride ? { phase: 'scan', step: null, after: null } : null
}

async function withRest<T>(task: () => Promise<T>): Promise<T> {
  const result = await task()
  await new Promise((resolve) => setImmediate(resolve))
  return result
}

function byId(a: Used, b: Used): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}

function writePlace({ phase, step, after }: Place): string {
  return Buffer.from(JSON.stringify([phase, step, after])).toString('base64url')
}

const Written = z.tuple([z.enum(['overrides', 'scan']), z.string().nullable(), z.string().nullable()])

function readPlace(cursor: string): Place | null {
  try {
    const [phase, step, after] = Written.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return { phase, step, after }
  } catch {
    return null
  }
}

/** The question to a roster, with the order of the query. */
export function rosterWish(
  query: Query,
  { plans }: { readonly plans: readonly string[] },
): Omit<RosterWish, 'order'> | { readonly problems: readonly FieldProblem[] } {
  const { cursor = '0', order: _, recent, ...wish } = query
  if (!/^\d{1,7}$/.test(cursor)) return { problems: [CURSOR] }
  const problem = tooLongFor(recent, query.limit) ?? planProblem(query.plan, plans)
  return problem === null ? { ...wish, offset: Number(cursor) } : { problems: [problem] }
}

/** How many entries there are, and the cursor of the next page. */
export function shownOf(
  { total, counts }: RosterPage,
  complete: boolean,
  { offset, limit }: Pick<RosterWish, 'offset' | 'limit'>,
): { total: number; counts: Readonly<Record<Mark | 'all', number>>; complete: boolean; next: string | null } {
  return { total, counts, complete, next: offset + limit < total ? String(offset + limit) : null }
}

export function rulesOf({ policy, setup }: View, at: number): FullnessRules {
  return { categories: policy.categories, cheapest: setup.cheapest, at }
}
