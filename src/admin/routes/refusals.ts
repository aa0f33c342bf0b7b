import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { RefusalGroupsResponse, RefusalsResponse } from '../../contract/api.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { takingTurns } from '../../lib/serialize.ts'
import { periodOf } from '../../quota/calendar.ts'
import { SCOPE_TITLES } from '../../quota/refusal.ts'
import { episodePages } from '../../usage/episode-pages.ts'
import { cursorOf, GROUPINGS, KEEP_EPISODES_MS, placeOf, type RefusalFilter } from '../../usage/episodes.ts'
import { summarize } from '../../usage/refusal-groups.ts'
import { csvResponse } from '../csv-response.ts'
import type { Desk } from '../desk.ts'
import { filled, filledText, limit, moment, momentAt, only } from '../fields.ts'
import { type AdminResponse, iso, ok, type Route } from '../http.ts'
import { showRefusals } from '../refusals-shown.ts'
import { type CallOf, route } from '../route.ts'

const text = filledText(512)
const SCOPES = 'must be Personal, Organisation or Global'
const CURSOR = 'must be the `next` of the page before'

const FILTER = {
  part: text.optional().describe('A part of the id of the user or the organisation'),
  user: filled.refine(isUserId, { error: `must be a user id: ${USER_ID}` }).optional(),
  organisation: text.optional().describe('Refusals of all users of this organisation'),
  scope: z.enum(SCOPE_TITLES, { error: SCOPES }).optional(),
  category: text.optional(),
  route: text.optional().describe('The rule as the configuration writes it, for example `POST /v1/x`'),
  since: moment
    .optional()
    .describe(
      'Only entries whose last refusal was at this time or later. It is a time, a day of `usage.zone`, or a span before now',
    ),
  until: moment.optional().describe('Only entries whose first refusal was at this time or earlier'),
  shadow: only(
    'With 1, requests that passed in shadow and would have been refused, instead of the refusals',
    'what was refused',
  ),
}

const Asked = z.strictObject({
  ...FILTER,
  format: z
    .enum(['json', 'csv'], { error: 'must be json or csv' })
    .default('json')
    .describe('With csv you get all matching entries in one response'),
  limit: limit(1000, 100),
  cursor: filled.refine((cursor) => placeOf(cursor) !== null, { error: CURSOR }).optional(),
})

const STEPS = ['30m', '1h', '1d'] as const

const AskedOfGroups = z.strictObject({
  ...FILTER,
  by: z.enum(GROUPINGS, { error: `must be one of ${GROUPINGS.join(', ')}` }).default('user'),
  step: z
    .enum(STEPS, { error: `must be one of ${STEPS.join(', ')}` })
    .default('1h')
    .describe('The length of the steps in `steps`. Days are those of `usage.zone`'),
  limit: limit(100, 20),
})

/** The routes of what the quota has refused. Their steps take turns, because each request may read everything that is kept. */
export function refusalRoutes(desk: Desk): Route[] {
  const store = takingTurns(desk.store, ['readRefusals'])
  return [
    route('GET', '/api/refusals', {
      summary:
        'Lists what the quota has refused in the last 7 days, or would have refused in shadow, page by page. The newest comes first',
      query: Asked,
      responses: { 200: schemas.refusals },
      textTypes: ['text/csv'],
      handle: (call) => list(store, desk, call),
    }),
    route('GET', '/api/refusals/groups', {
      summary:
        'Counts what the quota has refused, or would have refused in shadow, by user, organisation, limit or route, and over time',
      query: AskedOfGroups,
      responses: { 200: schemas.refusalGroups },
      handle: (call) => listGroups(store, desk, call),
    }),
  ]
}

async function list(
  store: Desk['store'],
  desk: Desk,
  { query, signal }: CallOf<z.infer<typeof Asked>>,
): Promise<AdminResponse> {
  const { cursor, limit, format, ...asked } = query
  const place = cursor === undefined ? null : placeOf(cursor)
  const { at } = await store.controlVersion()
  const filter = filterAt(asked, at, desk)
  if (format === 'csv') return asCsv(store, desk, filter, at, signal)
  const { policy } = await desk.view()
  const { episodes, next } = await store.readRefusals(filter, { cursor: place, limit })
  const response: RefusalsResponse = {
    refusals: await showRefusals(store, episodes, policy, at),
    next: next === null ? null : cursorOf(next),
  }
  return ok(response)
}

type AskedFilter = Omit<RefusalFilter, 'since' | 'until'> & {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** @param at the store's time */
function filterAt({ since, until, ...filter }: AskedFilter, at: number, { setup }: Pick<Desk, 'setup'>): RefusalFilter {
  const { zone } = setup().usage
  return { ...filter, since: momentAt(since, at, zone), until: momentAt(until, at, zone) }
}

const COLUMNS = [
  ...['user', 'plan', 'organisation', 'category', 'scope', 'window', 'startedAt', 'first', 'last', 'until'],
  ...['count', 'used', 'limit', 'cost', 'source', 'routes'],
] as const

/** All matching episodes. */
function asCsv(
  store: Desk['store'],
  desk: Desk,
  filter: RefusalFilter,
  at: number,
  signal: AbortSignal,
): AdminResponse {
  async function* lines(): AsyncGenerator<readonly (string | number)[]> {
    const { policy } = await desk.view()
    for await (const episodes of episodePages(store, filter, signal)) {
      for (const refusal of await showRefusals(store, episodes, policy, at)) {
        const cells = { ...refusal, routes: refusal.routes.join(' | ') }
        yield COLUMNS.map((name) => cells[name] ?? '')
      }
    }
  }
  return csvResponse(`refusals-${iso(at).slice(0, 10)}`, COLUMNS, lines())
}

const STEP_MS = { '30m': 1_800_000, '1h': 3_600_000 } as const

/** The beginning of each step, and the end of the last one. Steps shorter than a day are aligned to UTC. */
function boundsOf(step: (typeof STEPS)[number], from: number, to: number, zone: string): number[] {
  const bounds: number[] = []
  const days = { unit: 'day', zone } as const
  const length = step === '1d' ? null : STEP_MS[step]
  const endOf = (at: number): number => (length === null ? periodOf(days, at).to : at + length)
  let at = length === null ? periodOf(days, from).from : Math.floor(from / length) * length
  for (; at < to; at = endOf(at)) bounds.push(at)
  return [...bounds, at]
}

async function listGroups(
  store: Desk['store'],
  desk: Desk,
  { query, signal }: CallOf<z.infer<typeof AskedOfGroups>>,
): Promise<AdminResponse> {
  const { by, step, limit, ...asked } = query
  const { at } = await store.controlVersion()
  const filter = filterAt(asked, at, desk)
  // Older refusals are not kept, and none is later than now.
  const from = Math.min(Math.max(filter.since ?? 0, at - KEEP_EPISODES_MS), at)
  const to = Math.max(from + 1, Math.min(filter.until ?? at, at + 1))
  const bounds = boundsOf(step, from, to, desk.setup().usage.zone)
  const { groups, steps, ...sums } = await summarize(store, { filter, by, bounds, signal })
  const response: RefusalGroupsResponse = {
    ...{ from: iso(from), to: iso(to), by, step, ...sums },
    groups: groups.slice(0, limit).map(({ last, ...group }) => ({ ...group, last: iso(last) })),
    more: Math.max(0, groups.length - limit),
    steps: steps.map(({ start, end, scopes }) => ({ start: iso(start), end: iso(end), ...scopes })),
  }
  return ok(response)
}
