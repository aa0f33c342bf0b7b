import { z } from 'zod'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { type InTurn, oneAtATime } from '../../lib/serialize.ts'
import { type Counter, isInUse } from '../../quota/counter.ts'
import type { Policy } from '../../quota/policy.ts'
import type { OrganisationUsage } from '../../quota/quota-store.ts'
import { windowStatus } from '../../quota/status.ts'
import type { Window } from '../../quota/window.ts'
import type { OrganisationResponse, OrganisationsResponse } from '../api.ts'
import type { Desk } from '../desk.ts'
import { limit, readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, NO_CONTENT, ok, type Route } from '../http.ts'
import * as schemas from '../schemas.ts'

/** The routes of organisations: what their users have used together. */
export function organisationRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    {
      method: 'GET',
      path: '/api/organisations',
      guard: 'read',
      doc: {
        summary: 'Organisations whose users have used something, page by page',
        query: Query,
        responses: { 200: schemas.organisations },
      },
      handle: (call) => list(desk, call, inTurn),
    },
    {
      method: 'GET',
      path: '/api/organisations/:id',
      guard: 'read',
      doc: { summary: 'The windows of one organisation', responses: { 200: schemas.organisation } },
      handle: (call) => withOrganisation(call, (id) => show(desk, id)),
    },
    {
      method: 'POST',
      path: '/api/organisations/:id/reset',
      guard: 'change',
      doc: {
        summary: 'Empties the windows of an organisation',
        body: schemas.requiredReason,
        responses: { 204: null },
      },
      handle: (call) => withOrganisation(call, (id) => reset(desk, call, id)),
    },
  ]
}

const Query = z.strictObject({
  query: z
    .string({ error: 'must be given once' })
    .max(256, { error: 'must have at most 256 characters' })
    .default('')
    .meta({ description: 'A part of the id, whatever its letter case; the organisation whose id it is comes first' }),
  limit: limit(200, 50),
  cursor: z.string({ error: 'must be given once' }).optional().meta({ description: '`next` of the page before' }),
})

const ORGANISATION = `must be an organisation in UTF-8, percent-encoded: ${USER_ID}`

async function withOrganisation(
  { params: { id } }: Call,
  handle: (organisation: string) => Promise<AdminResponse>,
): Promise<AdminResponse> {
  return isUserId(id) ? handle(id) : badFields([{ path: 'id', msg: ORGANISATION }])
}

async function list(desk: Desk, { query, signal }: Call, inTurn: InTurn): Promise<AdminResponse> {
  const fields = readFields(Query, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { data } = fields
  const start = data.cursor === undefined ? START : readPlace(data.cursor)
  if (start === null) return badFields([{ path: 'cursor', msg: 'must be the `next` of a page: leave it out to begin' }])
  const { policy } = await desk.view()
  const first = data.cursor === undefined && data.query !== '' ? await named(desk, policy, data.query) : []
  const wanted = data.query.toLowerCase()
  // Who is named exactly is on the first page, so no page meets that organisation again.
  const matches = (id: string) => id !== data.query && id.toLowerCase().includes(wanted)
  const wish = { start, matches, limit: data.limit - first.length, signal, inTurn }
  const { found, at, next } = await collect(desk, wish)
  const response: OrganisationsResponse = {
    organisations: [...first, ...found.map((usage) => shown(policy, usage, at))],
    next: next === null ? null : Buffer.from(JSON.stringify([next.step, next.after])).toString('base64url'),
  }
  return ok(response)
}

/** Where a page begins: within a step of the scan, which has no order of its own, behind the last id that was shown. */
interface Place {
  readonly step: string | null
  readonly after: string | null
}

const START: Place = { step: null, after: null }
const Written = z.tuple([z.string().nullable(), z.string().nullable()])

function readPlace(cursor: string): Place | null {
  try {
    const [step, after] = Written.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return { step, after }
  } catch {
    return null
  }
}

interface Wish {
  readonly start: Place
  readonly matches: (id: string) => boolean
  readonly limit: number
  readonly signal: AbortSignal
  readonly inTurn: InTurn
}

/** Steps that one request takes at most: a search without a hit ends with an empty page and a cursor. */
const MOST_STEPS = 1000

async function collect({ store, setup }: Desk, { start, matches, limit, signal, inTurn }: Wish) {
  type Step = Awaited<ReturnType<typeof store.scanOrganisations>>
  const found: OrganisationUsage[] = []
  let place: Place | null = start
  let at = 0
  const { windows } = setup().quota
  for (let steps = 0; place !== null && found.length < limit && steps < MOST_STEPS; steps++) {
    signal.throwIfAborted()
    const { step, after }: Place = place
    const scanned: Step = await inTurn(() => store.scanOrganisations(step))
    at = scanned.at
    const rest = scanned.organisations
      .filter(
        ({ organisation: id, counters }) =>
          matches(id) && (after === null || id > after) && isInUse(counters, windows, at),
      )
      .sort((a, b) => (a.organisation < b.organisation ? -1 : 1))
    const some = rest.slice(0, limit - found.length)
    found.push(...some)
    if (some.length < rest.length) place = { step, after: some.at(-1)?.organisation ?? after }
    else place = scanned.next === null ? null : { step: scanned.next, after: null }
  }
  return { found, at, next: place }
}

async function named(desk: Desk, policy: Policy, id: string): Promise<OrganisationResponse[]> {
  if (!isUserId(id)) return []
  const { at, counters } = await usageOf(desk, policy, id)
  return isInUse(counters, desk.setup().quota.windows, at) ? [shown(policy, { organisation: id, counters }, at)] : []
}

async function show(desk: Desk, id: string): Promise<AdminResponse> {
  const { policy } = await desk.view()
  const { at, counters } = await usageOf(desk, policy, id)
  return ok(shown(policy, { organisation: id, counters }, at))
}

async function usageOf({ store }: Desk, { categories }: Policy, id: string) {
  const { at, organisation } = await store.readUsage(ANYBODY, categories, id)
  const counters = new Map(categories.map((category, i): [string, Counter] => [category, organisation?.[i] ?? []]))
  return { at, counters }
}

/** Whose own usage is not looked at. */
const ANYBODY = 'anybody'

function shown(policy: Policy, { organisation, counters }: OrganisationUsage, at: number): OrganisationResponse {
  const windows = policy.categories.map((category): [string, OrganisationResponse['windows'][string]] => [
    category,
    limitsByWindow(policy, category).map(({ window, limits }) => {
      const status = windowStatus('Organisation', { window, limit: 0 }, counters.get(category), at)
      const { used, startedAt, resetAt } = status
      return { window: window.name, limits, used, startedAt, resetAt }
    }),
  ])
  return { organisation, windows: Object.fromEntries(windows) }
}

/** The windows that some plan limits for organisations, shortest first, with the limits by plan. */
function limitsByWindow(policy: Policy, category: string) {
  const byLength = new Map<number, { readonly window: Window; readonly limits: Record<string, number> }>()
  for (const plan of policy.plans) {
    for (const { window, limit } of policy.limitsOf(category, plan).organisation ?? []) {
      const row = byLength.get(window.seconds) ?? { window, limits: {} }
      byLength.set(window.seconds, row)
      row.limits[plan] = limit
    }
  }
  return [...byLength.values()].sort((a, b) => a.window.seconds - b.window.seconds)
}

/** Category by category, each with its entry in the audit. */
async function reset(desk: Desk, call: Call, organisation: string): Promise<AdminResponse> {
  const fields = readFields(schemas.requiredReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const { windows, baselines } = desk.setup().quota
  for (const category of baselines.personal.keys()) {
    await desk.record(call, { kind: 'quota_reset', organisation, category, windows, all: true }, () => NO_CONTENT)
  }
  return NO_CONTENT
}
