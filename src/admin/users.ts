import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { overrideFrom } from '../control/overrides.ts'
import type { UserOverride, Versioned } from '../control/state.ts'
import { isUserId } from '../control/user.ts'
import type { Counter } from '../quota/counter.ts'
import { lacksRoom } from '../quota/room.ts'
import { type WindowStatuses, windowStatus } from '../quota/status.ts'
import type { UserUsage } from '../quota/store.ts'
import { type Answer, badFields, type Call, iso, NO_CONTENT, ok, type Route, refusal } from './answer.ts'
import type { LimitAnswer, OverrideAnswer, UserAnswer, UsersAnswer } from './api.ts'
import { type Desk, etag } from './desk.ts'
import { limit, readFields } from './fields.ts'
import { nearest } from './nearest.ts'
import * as schemas from './schemas.ts'
import { type InTurn, oneAtATime } from './turns.ts'
import type { View } from './view.ts'

/** The routes of users: what they have used, what was set for one of them. */
export function userRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    {
      method: 'GET',
      path: '/api/users',
      guard: 'read',
      doc: {
        summary: 'Users who have used something or have an override, page by page',
        query: PageQuery,
        answers: { 200: schemas.users },
      },
      handle: (call) => list(desk, call, inTurn),
    },
    {
      method: 'GET',
      path: '/api/users/:id',
      guard: 'read',
      doc: { summary: 'One user, with the layers of each limit', answers: { 200: schemas.user } },
      handle: (call) => withUser(call, (user) => show(desk, user)),
    },
    {
      method: 'GET',
      path: '/api/users/:id/override',
      guard: 'read',
      doc: {
        summary: 'What was set for a user',
        answers: { 200: schemas.override },
        errors: ['not_found'],
      },
      handle: (call) => withUser(call, (user) => showOverride(desk, user)),
    },
    {
      method: 'PUT',
      path: '/api/users/:id/override',
      guard: 'change',
      doc: {
        summary: 'Sets limits for a user in the place of those that were set before',
        body: schemas.overrideBody,
        ifMatch: true,
        answers: { 200: schemas.override },
        errors: ['version_conflict', 'conflict'],
      },
      handle: (call) => withUser(call, (user) => setOverride(desk, call, user)),
    },
    {
      method: 'DELETE',
      path: '/api/users/:id/override',
      guard: 'change',
      doc: {
        summary: 'Takes away what was set for a user',
        body: schemas.optionalReason,
        ifMatch: true,
        answers: { 204: null },
        errors: ['not_found', 'version_conflict', 'conflict'],
      },
      handle: (call) => withUser(call, (user) => deleteOverride(desk, call, user)),
    },
    {
      method: 'POST',
      path: '/api/users/:id/reset',
      guard: 'change',
      doc: { summary: 'Empties the windows of a user', body: schemas.requiredReason, answers: { 204: null } },
      handle: (call) => withUser(call, (user) => reset(desk, call, user)),
    },
  ]
}

const USER = 'must be a user id: 1 to 256 bytes in UTF-8 without control characters, percent-encoded'

async function withUser({ params: { id } }: Call, handle: (user: string) => Promise<Answer>): Promise<Answer> {
  return isUserId(id) ? handle(id) : badFields([{ path: 'id', msg: USER }])
}

async function show({ view, store }: Desk, user: string): Promise<Answer> {
  const now = await view()
  const { at, personal, global } = await store.standing(user, now.policy.categories)
  const windows = now.policy.categories.map((category, i): [string, LimitAnswer[]] => {
    const trace = now.policy.trace(category, user, now.origin)
    return [
      category,
      [
        ...trace.personal.map((limit) => ({ ...windowStatus('Personal', limit, personal[i], at), ...layers(limit) })),
        ...(trace.global ?? []).map((limit) => ({ ...windowStatus('Global', limit, global[i], at), ...layers(limit) })),
      ],
    ]
  })
  const override = overrideOf(now, user)
  const answer: UserAnswer = { user, windows: Object.fromEntries(windows), override }
  return ok(answer, etag(override?.version ?? 0))
}

function layers({ source, steps }: Pick<LimitAnswer, 'source' | 'steps'>) {
  return { source, steps }
}

function overrideOf({ state }: Pick<View, 'state'>, user: string): OverrideAnswer | null {
  const found = state.overrides.get(user)
  return found === undefined ? null : overrideAnswer(found)
}

function overrideAnswer({ version, value }: Versioned<UserOverride>): OverrideAnswer {
  const { limits, bypassGlobal, shadow, reason, expiresAt } = value
  return { version, limits, bypassGlobal, shadow, reason, expiresAt: expiresAt === null ? null : iso(expiresAt) }
}

async function showOverride({ control }: Desk, user: string): Promise<Answer> {
  const override = overrideOf({ state: await control.fresh() }, user)
  return override === null ? NO_OVERRIDE : ok(override, etag(override.version))
}

const NO_OVERRIDE = refusal('not_found', 'Nothing was set for this user.')

async function setOverride(desk: Desk, call: Call, user: string): Promise<Answer> {
  const { at } = await desk.store.controlVersion()
  const read = overrideFrom(call.body, desk.setup().quota, at)
  if ('problems' in read) return badFields(read.problems)
  const net = readFields(schemas.overrideBody, call.body)
  if ('problems' in net) return badFields(net.problems)
  return desk.change(call, {
    versionOf: ({ overrides }) => overrides.get(user)?.version ?? null,
    changeOf({ overrides }) {
      const isSet = isDeepStrictEqual(overrides.get(user)?.value, read.override)
      return isSet ? null : { kind: 'override', user, to: read.override }
    },
    answer: () => showOverride(desk, user),
  })
}

async function deleteOverride(desk: Desk, call: Call, user: string): Promise<Answer> {
  const fields = readFields(schemas.optionalReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  let found = true
  return desk.change(call, {
    versionOf: ({ overrides }) => overrides.get(user)?.version ?? null,
    changeOf({ overrides }) {
      found = overrides.has(user)
      return found ? { kind: 'override', user, to: null } : null
    },
    answer: () => (found ? NO_CONTENT : NO_OVERRIDE),
  })
}

async function reset(desk: Desk, call: Call, user: string): Promise<Answer> {
  const fields = readFields(schemas.requiredReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  return desk.record(call, { kind: 'reset', user }, () => NO_CONTENT)
}

const PageQuery = z.strictObject({
  query: z
    .string({ error: 'must be given once' })
    .max(256, { error: 'must have at most 256 characters' })
    .default('')
    .meta({ description: 'A part of the user id, whatever its letter case' }),
  order: z
    .literal('use', { error: 'must be use; leave it out for those with an override first' })
    .optional()
    .meta({ description: 'Those nearest to one of their limits first' }),
  limit: limit(200, 50),
  cursor: z.string({ error: 'must be given once' }).optional().meta({ description: '`next` of the page before' }),
})

/**
 * Users with an override come first, in the order of their ids; then those who have used something, in the order of the
 * store's scan. A page ends in the middle of a step of the scan where it is full: the next one takes the same step again and
 * goes on behind the last id, since a step has no order of its own.
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

async function list(desk: Desk, { query, signal }: Call, inTurn: InTurn): Promise<Answer> {
  const fields = readFields(PageQuery, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { data } = fields
  const start = data.cursor === undefined ? START : readPlace(data.cursor)
  if (start === null) return badFields([{ path: 'cursor', msg: 'must be the `next` of a page: leave it out to begin' }])
  const wanted = data.query.toLowerCase()
  const matches = (user: string) => user.toLowerCase().includes(wanted)
  const view = await desk.view()
  const wish = { start, matches, limit: data.limit, signal, inTurn }
  const page = data.order === 'use' ? await byUse(desk, view, wish) : await collect(desk, view, wish)
  const answer: UsersAnswer = {
    users: page.users.map((usage) => userLine(view, usage, page.at)),
    next: page.next === null ? null : writePlace(page.next),
  }
  return ok(answer)
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

  /** As many as there is room for, in the order of their ids; where some are left, the next page goes on behind the last. */
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
    const used = found.filter(({ counters }) => isUsed(counters, at))
    take(place, used, step.next === null ? null : { phase: 'scan', step: step.next, after: null })
  }
  return { users, next: place, at }
}

/** The nearest to their limits of as many users as one request looks at; the next page has those of the others. */
async function byUse(desk: Desk, { policy }: View, { start, inTurn, ...wish }: PageWish): Promise<Page> {
  const scan = (from: string | null) => inTurn(() => scanStep(desk, from))
  const { users, next, at } = await nearest({ ...wish, scan, from: start.step, most: LOOKED_AT, policy })
  return { users, next: next === null ? null : { phase: 'scan', step: next, after: null }, at }
}

/** However many search at once, they take their steps in turn, with the event loop free between two of them. */
async function scanStep({ store }: Desk, from: string | null): ReturnType<Desk['store']['scanUsers']> {
  const step = await store.scanUsers(from)
  await new Promise((resolve) => setImmediate(resolve))
  return step
}

const NO_COUNTERS: UserUsage['counters'] = new Map()

/** What one user has used, as a scan would tell it. */
async function usageOf({ store }: Desk, { policy }: View, user: string): Promise<UserUsage> {
  const { personal } = await store.standing(user, policy.categories)
  return { user, counters: new Map(policy.categories.map((category, i) => [category, personal[i] ?? []])) }
}

function byId(a: UserUsage, b: UserUsage): number {
  return a.user < b.user ? -1 : a.user > b.user ? 1 : 0
}

/** Counters may outlive their windows in the store. */
function isUsed(counters: UserUsage['counters'], at: number): boolean {
  return [...counters.values()].some((counter: Counter) =>
    counter.some(({ seconds, startedAt }) => at < startedAt + seconds * 1000),
  )
}

function userLine(
  { policy, state, setup }: View,
  { user, counters }: UserUsage,
  at: number,
): UsersAnswer['users'][number] {
  const windows: WindowStatuses = Object.fromEntries(
    policy.categories.map((category) => [
      category,
      policy
        .limitsFor(category, user)
        .personal.map((limit) => windowStatus('Personal', limit, counters.get(category), at)),
    ]),
  )
  const blocked = Object.entries(windows).some(([category, each]) =>
    each.some((window) => lacksRoom(window, setup.cheapest.get(category))),
  )
  return { user, windows, override: overrideOf({ state }, user), blocked }
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
