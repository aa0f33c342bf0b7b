import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { RevokedTokensResponse, TokenResponse } from '../../contract/api.ts'
import { creationOf, isRevoked, revocationOf, revocationsOf } from '../../control/access-key-changes.ts'
import { isTokenName, mintToken } from '../../control/access-key-record.ts'
import type { AccessKeyRecord } from '../../control/access-key-store.ts'
import { planOf } from '../../control/overrides.ts'
import { timeOf } from '../../control/times.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import type { Desk } from '../desk.ts'
import { readFields } from '../fields.ts'
import { type AdminResponse, badFields, type Call, iso, NO_CONTENT, ok, type Route, refusal } from '../http.ts'

/** The routes of access keys. The access key itself is in one response only: the one that makes it. */
export function tokenRoutes(desk: Desk, now: () => number): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/tokens',
      guard: 'read',
      doc: { summary: 'All gateway tokens, or those of one user', query: Asked, responses: { 200: schemas.tokens } },
      handle: (call) => list(desk, call),
    },
    {
      method: 'POST',
      path: '/api/tokens',
      guard: 'change',
      doc: {
        summary: 'Makes a gateway token, which is shown this once',
        body: NewToken,
        responses: { 201: schemas.madeToken },
      },
      handle: (call) => create(desk, call, now()),
    },
    {
      method: 'DELETE',
      path: '/api/tokens',
      guard: 'change',
      doc: {
        summary: 'Revokes all gateway tokens of a user together: they are refused within 2 seconds on every replica',
        query: Whose,
        body: schemas.optionalReason,
        responses: { 200: schemas.revokedTokens },
      },
      handle: (call) => revokeAll(desk, call, now()),
    },
    {
      method: 'DELETE',
      path: '/api/tokens/:id',
      guard: 'change',
      doc: {
        summary: 'Revokes a gateway token: it is refused within 2 seconds on every replica',
        body: schemas.optionalReason,
        responses: { 204: null },
        errors: ['not_found'],
      },
      handle: (call) => revoke(desk, call, now()),
    },
  ]
}

const USER = `must be a text of ${USER_ID}: the user on whose quota the token draws`
const ORGANISATION = `must be a text of ${USER_ID}: the organisation of that user`
const NAME = `must be a text of 1 to 64 characters without control characters: what the token is for`
const EXPIRES =
  'must be a time with its offset, for example 2030-01-31T00:00:00Z; leave it out for a token without an end'

const whose = z.string({ error: 'must be given once' }).refine(isUserId, { error: `must be a user id: ${USER_ID}` })
const Asked = z.strictObject({ user: whose.optional().meta({ description: 'Only those of this user' }) })
const Whose = z.strictObject({ user: whose.meta({ description: 'The user whose tokens are revoked' }) })

async function list({ store }: Desk, { query }: Call): Promise<AdminResponse> {
  const fields = readFields(Asked, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { user } = fields.data
  const all = await store.listTokens()
  return ok({ tokens: all.filter((record) => user === undefined || record.user === user).map(shownToken) })
}

const NewToken = z.strictObject({
  user: z
    .string({ error: USER })
    .refine(isUserId, { error: USER })
    .meta({ description: 'The user on whose quota the token draws: 1 to 256 bytes' }),
  name: z
    .string({ error: NAME })
    .refine(isTokenName, { error: NAME })
    .meta({ description: 'What the token is for: 1 to 64 characters' }),
  plan: z.string().nullish().meta({ description: 'The plan of its user: one of quota.plans. Default none' }),
  organisation: z
    .string({ error: ORGANISATION })
    .refine(isUserId, { error: ORGANISATION })
    .nullish()
    .meta({ description: 'The organisation of its user: 1 to 256 bytes. Default none' }),
  expiresAt: z.iso
    .datetime({ offset: true, error: EXPIRES })
    .nullish()
    .meta({ description: 'When it ends by itself. Default never' }),
  reason: schemas.reason.optional(),
})

async function create(desk: Desk, call: Call, now: number): Promise<AdminResponse> {
  const fields = readFields(NewToken, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const { user, name, plan, organisation, expiresAt } = fields.data
  const noPlan = plan == null ? [] : planOf(desk.setup().quota)(plan, 'plan')
  if (noPlan.length > 0) return badFields(noPlan)
  const end = expiresAt == null ? null : timeOf(expiresAt)
  if (Number.isNaN(end)) return badFields([{ path: 'expiresAt', msg: EXPIRES }])
  if (end !== null && end <= now) return badFields([{ path: 'expiresAt', msg: 'must be in the future' }])
  const facts = { ...(plan != null && { plan }), ...(organisation != null && { organisation }) }
  const { token, record } = mintToken({ user, name, ...facts, expiresAt: end }, now)
  return desk.record(call, creationOf(record), () => ({ status: 201, body: { ...shownToken(record), token } }))
}

async function revoke(desk: Desk, call: Call, now: number): Promise<AdminResponse> {
  const fields = readFields(schemas.optionalReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const id = call.params.id ?? ''
  const [found] = await desk.store.findTokens([id])
  if (found === undefined) return refusal('not_found', 'No token has this id: GET /api/tokens lists them.')
  if (isRevoked(found)) return NO_CONTENT
  return desk.record(call, revocationOf(found, now), () => NO_CONTENT)
}

/** Those that are made meanwhile stay. */
async function revokeAll(desk: Desk, call: Call, now: number): Promise<AdminResponse> {
  const [asked, reason] = [readFields(Whose, call.query), readFields(schemas.optionalReason, call.body)]
  if ('problems' in asked) return badFields(asked.problems)
  if ('problems' in reason) return badFields(reason.problems)
  const { user } = asked.data
  let revoked = 0
  for (const change of revocationsOf(user, await desk.store.listTokens(), now)) {
    await desk.record(call, change, () => NO_CONTENT)
    revoked += change.records.length
  }
  return ok({ user, revoked } satisfies RevokedTokensResponse)
}

/** A record as it is shown: without its hash. */
export function shownToken({ hash: _, createdAt, expiresAt, revokedAt, ...record }: AccessKeyRecord): TokenResponse {
  const time = (at: number | null) => (at === null ? null : iso(at))
  return { ...record, createdAt: iso(createdAt), expiresAt: time(expiresAt), revokedAt: time(revokedAt) }
}
