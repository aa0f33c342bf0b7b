import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { RefusalsResponse, RefusedUsersResponse } from '../../contract/api.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { SCOPE_TITLES } from '../../quota/refusal.ts'
import { cursorOf, placeOf } from '../../usage/episodes.ts'
import { mostRefused } from '../../usage/refused-users.ts'
import { spanMs, timeOf } from '../../usage/usage-query.ts'
import type { Desk } from '../desk.ts'
import { limit, readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, iso, ok, type Route } from '../http.ts'
import { showRefusals } from '../refusals-shown.ts'
import { only } from '../used-filter.ts'

const text = z.string({ error: 'must be given once' }).min(1, { error: 'must not be empty' })
const SHORT = 'must have at most 512 characters'
const SCOPES = 'must be Personal, Organisation or Global'
const CURSOR = 'must be the `next` of the page before'

const moment = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-20T10:00:00Z' })
  .transform((time) => Date.parse(time))

const Asked = z.strictObject({
  user: text.refine(isUserId, { error: `must be a user id: ${USER_ID}` }).optional(),
  organisation: text.max(512, { error: SHORT }).optional().meta({ description: 'Refusals of all its users' }),
  scope: z.enum(SCOPE_TITLES, { error: SCOPES }).optional(),
  category: text.max(512, { error: SHORT }).optional(),
  route: text
    .max(512, { error: SHORT })
    .optional()
    .meta({ description: 'The rule as the configuration has it, for example `POST /v1/x`' }),
  since: moment.optional().meta({ description: 'Only what was refused last at this time or later' }),
  until: moment.optional().meta({ description: 'Only what was refused first at this time or earlier' }),
  shadow: only(
    'What would have been refused and was let through in shadow, instead of what was refused',
    'what was refused',
  ),
  limit: limit(1000, 100),
  cursor: text.refine((cursor) => placeOf(cursor) !== null, { error: CURSOR }).optional(),
})

const BEGIN = 'must be a time like 2026-11-01T00:00:00Z, a day like 2026-11-01, or a span before now like 6h or 7d'

const AskedOfUsers = z.strictObject({
  from: text
    .refine((from) => spanMs(from) !== null || timeOf(from) !== null, { error: BEGIN })
    .default('1d')
    .meta({ description: 'Only refusals whose entry ends then or later: a time, or a span before now' }),
  shadow: only(
    'Whose requests would have been refused and were let through in shadow, instead of those refused',
    'those refused',
  ),
  limit: limit(100, 10),
})

/** The routes of what the quota has refused. */
export function refusalRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    {
      method: 'GET',
      path: '/api/refusals',
      guard: 'read',
      doc: {
        summary: 'What the quota has refused in the last 7 days, or would have in shadow, latest first, page by page',
        query: Asked,
        responses: { 200: schemas.refusals },
      },
      handle: (call) => list(desk, call),
    },
    {
      method: 'GET',
      path: '/api/refusals/users',
      guard: 'read',
      doc: {
        summary: 'Whose requests the quota refused most, or would have in shadow',
        query: AskedOfUsers,
        responses: { 200: schemas.refusedUsers },
      },
      // It may read all that is kept, so that one at a time does.
      handle: (call) => inTurn(() => listUsers(desk, call)),
    },
  ]
}

async function list({ store, setup }: Desk, { query }: Call): Promise<AdminResponse> {
  const fields = readFields(Asked, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { cursor, limit, ...filter } = fields.data
  const place = cursor === undefined ? null : placeOf(cursor)
  const { at } = await store.controlVersion()
  const { episodes, next } = await store.readRefusals(filter, { cursor: place, limit })
  const response: RefusalsResponse = {
    refusals: await showRefusals(store, episodes, setup().quota.windows, at),
    next: next === null ? null : cursorOf(next),
  }
  return ok(response)
}

async function listUsers(desk: Desk, { query, signal }: Call): Promise<AdminResponse> {
  const fields = readFields(AskedOfUsers, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { from, limit, shadow } = fields.data
  await desk.control.fresh()
  const span = spanMs(from)
  const since = span === null ? (timeOf(from) ?? 0) : Math.max(0, desk.control.storeTime() - span)
  const users = await mostRefused(desk.store, { since, shadow, limit, signal })
  const response: RefusedUsersResponse = {
    from: iso(since),
    users: users.map(({ last, ...user }) => ({ ...user, last: iso(last) })),
  }
  return ok(response)
}
