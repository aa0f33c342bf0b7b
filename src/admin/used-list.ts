import { z } from 'zod'
import { isUserId } from '../control/user-id.ts'
import type { InTurn } from '../lib/serialize.ts'
import { isInUse } from '../quota/counter.ts'
import type { Window } from '../quota/window.ts'
import { limit } from './fields.ts'
import type { FieldProblem } from './http.ts'
import { type LimitsOf, nearest, type Used, type UsedStep } from './near-limit.ts'

/** Pages of a list of users, or of organisations, who have used something or have an override. */

/** The query of such a list. */
export function pageQuery(who: 'user' | 'organisation') {
  return z.strictObject({
    query: z
      .string({ error: 'must be given once' })
      .max(256, { error: 'must have at most 256 characters' })
      .default('')
      .meta({
        description: `A part of the ${who} id, whatever its letter case; the ${who} whose id it is comes first`,
      }),
    order: z
      .enum(['use', 'tokens'], { error: 'must be use or tokens; leave it out for those with an override first' })
      .optional()
      .meta({
        description:
          '`use`: those nearest to one of their limits first. `tokens`: those with the most tokens in the longest window of each category',
      }),
    limit: limit(200, 50),
    cursor: z.string({ error: 'must be given once' }).optional().meta({ description: '`next` of the page before' }),
  })
}

type Query = z.infer<ReturnType<typeof pageQuery>>

/** Whose list it is. */
export interface Listed {
  /** One step through all who have used something. @throws StoreError */
  readonly scan: (cursor: string | null) => Promise<UsedStep>
  /** What one of them has used, and the store's time. @throws StoreError */
  readonly read: (id: string) => Promise<Used & { readonly at: number }>
  readonly limitsOf: (ids: readonly string[]) => Promise<readonly LimitsOf[]>
  readonly overrides: ReadonlyMap<string, unknown>
  readonly categories: readonly string[]
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
 * Where a page of the list begins. Those with an override come first, in the order of their ids. Then come those who
 * have used something, in the order of the store's scan. A page that is full ends in the middle of a step of the scan.
 * The next page takes the same step again and goes on behind the last id, since a step has no order of its own.
 */
interface Place {
  readonly phase: 'overrides' | 'scan'
  /** Of the scan; `null` at its beginning. */
  readonly step: string | null
  /** The last id that was shown of the phase or of the step; `null` for none. */
  readonly after: string | null
}

const START: Place = { phase: 'overrides', step: null, after: null }
/** Users or organisations that one request looks at, at most: a search without a hit ends with an empty page and a cursor. */
const LOOKED_AT = 200_000
/** A step of Redis looks at keys of all kinds, and may find nobody. */
const MOST_STEPS = 2000

export interface PageOptions {
  readonly at: number
  readonly signal: AbortSignal
  /** Shared by all searches: however many search at once, they take their steps in turn. */
  readonly inTurn: InTurn
}

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function readPage(
  listed: Listed,
  query: Query,
  { at, signal, inTurn }: PageOptions,
): Promise<UsedPage | { readonly problems: readonly FieldProblem[] }> {
  const start = query.cursor === undefined ? START : readPlace(query.cursor)
  if (start === null)
    return { problems: [{ path: 'cursor', msg: 'must be the `next` of a page: leave it out to begin' }] }
  const wanted = query.query.toLowerCase()
  // Who is named exactly is on the first page, so no page meets that one again.
  const matches = (id: string) => id !== query.query && id.toLowerCase().includes(wanted)
  const first = query.cursor === undefined ? await named(listed, query) : []
  const scan = (cursor: string | null) => inTurn(() => scanStep(listed, cursor))
  const wish = { start, matches, limit: query.limit - first.length, scan, at, signal }
  const page = await pageOf(listed, wish, query.order)
  return {
    found: [...first, ...page.found],
    next: page.next === null ? null : writePlace(page.next),
    at: page.at,
  }
}

/**
 * The one whose id is what is searched for, if the list has it. Among a million others a scan may meet that one last.
 * @throws StoreError
 */
async function named({ read, overrides, windows }: Listed, { query, order }: Query): Promise<Used[]> {
  if (!isUserId(query)) return []
  const used = await read(query)
  const hasOverride = order === undefined && overrides.has(query)
  return hasOverride || isInUse(used.counters, windows, used.at) ? [used] : []
}

interface Wish {
  readonly start: Place
  readonly matches: (id: string) => boolean
  readonly limit: number
  readonly scan: Listed['scan']
  readonly at: number
  readonly signal: AbortSignal
}

interface Page {
  readonly found: readonly Used[]
  readonly next: Place | null
  readonly at: number
}

async function pageOf(listed: Listed, wish: Wish, order: Query['order']): Promise<Page> {
  if (wish.limit === 0) return { found: [], next: wish.start, at: wish.at }
  return order === undefined ? collect(listed, wish) : byUse(listed, wish, order)
}

async function collect({ overrides, read, windows }: Listed, wish: Wish): Promise<Page> {
  const { start, matches, limit, scan, signal } = wish
  const found: Used[] = []
  let place: Place | null = start
  let [lookedAt, steps] = [0, 0]
  let { at } = wish

  /** As many as there is room for, in the order of their ids. If some are left, the next page goes on behind the last. */
  function take(here: Place, some: readonly Used[], next: Place | null): void {
    const rest = some.filter(({ id }) => here.after === null || id > here.after).sort(byId)
    const shown = rest.slice(0, limit - found.length)
    found.push(...shown)
    place = shown.length < rest.length ? { ...here, after: shown.at(-1)?.id ?? here.after } : next
  }

  if (place.phase === 'overrides') {
    const some = [...overrides.keys()].filter(matches).map((id) => ({ id, counters: NO_COUNTERS }))
    take(place, some, { phase: 'scan', step: null, after: null })
    found.splice(0, found.length, ...(await Promise.all(found.map(({ id }) => read(id)))))
  }
  while (place !== null && found.length < limit && lookedAt < LOOKED_AT && steps++ < MOST_STEPS) {
    signal.throwIfAborted()
    const step = await scan(place.step)
    at = step.at
    lookedAt += step.some.length
    const some = step.some.filter(({ id }) => matches(id) && !overrides.has(id))
    const inUse = some.filter(({ counters }) => isInUse(counters, windows, at))
    take(place, inUse, step.next === null ? null : { phase: 'scan', step: step.next, after: null })
  }
  return { found, next: place, at }
}

/** The first of as many as one request looks at. The next page has those of the others. */
async function byUse(
  { limitsOf, categories }: Listed,
  { start, ...wish }: Wish,
  order: 'use' | 'tokens',
): Promise<Page> {
  const { found, next, at } = await nearest({
    ...wish,
    from: start.step,
    most: LOOKED_AT,
    mostSteps: MOST_STEPS,
    limitsOf,
    categories,
    by: order === 'use' ? 'share' : 'tokens',
  })
  return { found, next: next === null ? null : { phase: 'scan', step: next, after: null }, at }
}

/** With the event loop free between two of them. */
async function scanStep({ scan }: Listed, from: string | null): Promise<UsedStep> {
  const step = await scan(from)
  await new Promise((resolve) => setImmediate(resolve))
  return step
}

const NO_COUNTERS: Used['counters'] = new Map()

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
