import { z } from 'zod'
import type { InTurn } from '../../lib/serialize.ts'
import { isInUse } from '../../quota/counter.ts'
import { type Payer, payerOf } from '../../quota/policy.ts'
import type { UserUsage } from '../../quota/quota-store.ts'
import { type WindowStatuses, windowStatus } from '../../quota/status.ts'
import { lacksRoom } from '../../quota/window.ts'
import type { UsersResponse } from '../api.ts'
import type { Desk } from '../desk.ts'
import { limit, readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, ok } from '../http.ts'
import { overrideOf } from '../override.ts'
import { planShown } from '../plan.ts'
import type { View } from '../state.ts'
import { nearest } from '../users-near-limit.ts'

/** The query of the list. */
export const PageQuery = z.strictObject({
  query: z
    .string({ error: 'must be given once' })
    .max(256, { error: 'must have at most 256 characters' })
    .default('')
    .meta({ description: 'A part of the user id, whatever its letter case; the user whose id it is comes first' }),
  order: z
    .literal('use', { error: 'must be use; leave it out for those with an override first' })
    .optional()
    .meta({ description: 'Those nearest to one of their limits first' }),
  limit: limit(200, 50),
  cursor: z.string({ error: 'must be given once' }).optional().meta({ description: '`next` of the page before' }),
})

/**
 * Where a page of the list begins. Users with an override come first, in the order of their ids. Then come those who
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
/** Users that one request looks at, at most: a search without a hit ends with an empty page and a cursor. */
const LOOKED_AT = 200_000

/** One page of the list. @throws StoreError, or the reason of the signal */
export async function listUsers(desk: Desk, { query, signal }: Call, inTurn: InTurn): Promise<AdminResponse> {
  const fields = readFields(PageQuery, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { data } = fields
  const start = data.cursor === undefined ? START : readPlace(data.cursor)
  if (start === null) return badFields([{ path: 'cursor', msg: 'must be the `next` of a page: leave it out to begin' }])
  const wanted = data.query.toLowerCase()
  // Who is named exactly is on the first page, so no page meets that user again.
  const matches = (user: string) => user !== data.query && user.toLowerCase().includes(wanted)
  const view = await desk.view()
  const first = data.cursor === undefined ? await named(desk, view, data) : []
  const wish = { start, matches, limit: data.limit - first.length, signal, inTurn }
  const page = await pageOf(desk, view, wish, data.order)
  const users = [...first, ...page.users]
  const payers = await desk.payersOf(users.map(({ user }) => user))
  const response: UsersResponse = {
    users: users.map((usage, i) => userLine(view, usage, payers[i] ?? payerOf(usage.user), page.at)),
    next: page.next === null ? null : writePlace(page.next),
  }
  return ok(response)
}

/**
 * The user whose id is what is searched for, if the list has that user. Among a million others a scan may meet that user last.
 * @throws StoreError
 */
async function named(desk: Desk, view: View, { query, order }: z.infer<typeof PageQuery>): Promise<UserUsage[]> {
  if (query === '') return []
  const usage = await usageOf(desk, view, query)
  const hasOverride = order !== 'use' && view.state.overrides.has(query)
  return hasOverride || isInUse(usage.counters, view.setup.quota.windows, view.at) ? [usage] : []
}

async function pageOf(desk: Desk, view: View, wish: PageWish, order: 'use' | undefined): Promise<Page> {
  if (wish.limit === 0) return { users: [], next: wish.start, at: view.at }
  return order === 'use' ? byUse(desk, view, wish) : collect(desk, view, wish)
}

interface PageWish {
  readonly start: Place
  readonly matches: (user: string) => boolean
  readonly limit: number
  readonly signal: AbortSignal
  /** Shared by all searches. */
  readonly inTurn: InTurn
}

interface Page {
  readonly users: readonly UserUsage[]
  readonly next: Place | null
  /** The store's time of the reading. */
  readonly at: number
}

async function collect(desk: Desk, view: View, { start, matches, limit, signal, inTurn }: PageWish): Promise<Page> {
  const users: UserUsage[] = []
  let place: Place | null = start
  let lookedAt = 0
  let at = view.at

  /** As many as there is room for, in the order of their ids. If some are left, the next page goes on behind the last. */
  function take(here: Place, found: readonly UserUsage[], next: Place | null): void {
    const rest = found.filter(({ user }) => here.after === null || user > here.after).sort(byId)
    const shown = rest.slice(0, limit - users.length)
    users.push(...shown)
    place = shown.length < rest.length ? { ...here, after: shown.at(-1)?.user ?? here.after } : next
  }

  if (place.phase === 'overrides') {
    const found = [...view.state.overrides.keys()].filter(matches).map((user) => ({ user, counters: NO_COUNTERS }))
    take(place, found, { phase: 'scan', step: null, after: null })
    users.splice(0, users.length, ...(await Promise.all(users.map(({ user }) => usageOf(desk, view, user)))))
  }
  while (place !== null && users.length < limit && lookedAt < LOOKED_AT) {
    signal.throwIfAborted()
    const step = await inTurn(() => scanStep(desk, place?.step ?? null))
    at = step.at
    lookedAt += step.users.length
    const found = step.users.filter(({ user }) => matches(user) && !view.state.overrides.has(user))
    const used = found.filter(({ counters }) => isInUse(counters, view.setup.quota.windows, at))
    take(place, used, step.next === null ? null : { phase: 'scan', step: step.next, after: null })
  }
  return { users, next: place, at }
}

/** The users nearest to their limits among as many as one request looks at. The next page has those of the others. */
async function byUse(desk: Desk, { policy }: View, { start, inTurn, ...wish }: PageWish): Promise<Page> {
  const scan = (from: string | null) => inTurn(() => scanStep(desk, from))
  const { users, next, at } = await nearest({
    ...wish,
    scan,
    payersOf: (users) => desk.payersOf(users),
    from: start.step,
    most: LOOKED_AT,
    policy,
  })
  return { users, next: next === null ? null : { phase: 'scan', step: next, after: null }, at }
}

/** However many search at once, they take their steps in turn, with the event loop free between two of them. */
async function scanStep({ store }: Desk, from: string | null): ReturnType<Desk['store']['scanUsers']> {
  const step = await store.scanUsers(from)
  await new Promise((resolve) => setImmediate(resolve))
  return step
}

const NO_COUNTERS: UserUsage['counters'] = new Map()

/** What one user has used, as a scan would give it. */
async function usageOf({ store }: Desk, { policy }: View, user: string): Promise<UserUsage> {
  const { personal } = await store.readUsage(user, policy.categories)
  return { user, counters: new Map(policy.categories.map((category, i) => [category, personal[i] ?? []])) }
}

function byId(a: UserUsage, b: UserUsage): number {
  return a.user < b.user ? -1 : a.user > b.user ? 1 : 0
}

function userLine(
  { policy, state, setup }: View,
  { user, counters }: UserUsage,
  payer: Payer,
  at: number,
): UsersResponse['users'][number] {
  const windows: WindowStatuses = Object.fromEntries(
    policy.categories.map((category) => [
      category,
      policy
        .limitsFor(category, payer)
        .personal.map((limit) => windowStatus('Personal', limit, counters.get(category), at)),
    ]),
  )
  const isFull = Object.entries(windows).some(([category, each]) =>
    each.some((window) => lacksRoom(window, setup.cheapest.get(category))),
  )
  return {
    user,
    ...planShown(policy, payer),
    windows,
    override: overrideOf(state, user),
    blocked: isFull && !setup.exempt.has(user),
  }
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
