import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { RevokedTokensResponse, TokenResponse, TokensResponse } from '../../contract/api.ts'
import {
  type AccessKeyCreation,
  creationOf,
  isRevoked,
  revocationOf,
  revocationsOf,
  rotationOf,
} from '../../control/access-key-changes.ts'
import { isTokenName, mintToken } from '../../control/access-key-record.ts'
import { type AccessKeyRecord, endOfToken, stateOfToken, unusedSince } from '../../control/access-key-store.ts'
import { planOf } from '../../control/overrides.ts'
import { timeOf } from '../../control/times.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { isObject } from '../../lib/json.ts'
import { spanMs } from '../../usage/usage-query.ts'
import { auditEntries } from '../audit-entries.ts'
import type { Desk } from '../desk.ts'
import { organisationOnce, readFields, textFor, userOnce } from '../fields.ts'
import {
  type AdminResponse,
  badFields,
  type Call,
  type FieldProblem,
  iso,
  isoOrNull,
  NO_CONTENT,
  ok,
  type Route,
  refusal,
} from '../http.ts'
import { type CallOf, route } from '../route.ts'
import { handOver, handoverWish, linkMsOf } from './handover.ts'

/** The routes of access keys. Only the response that creates an access key contains it. */
export function tokenRoutes(desk: Desk, now: () => number): Route[] {
  return [
    route('GET', '/api/tokens', {
      summary: 'Lists all access keys, or only those of one user, with a prefix, or that nobody uses',
      query: Asked,
      responses: { 200: schemas.tokens },
      handle: ({ query }) => list(desk, query, now()),
    }),
    route('POST', '/api/tokens', {
      summary: 'Makes an access key. It is shown only in this response, or by a link that shows it once',
      reads: NewToken,
      responses: { 201: schemas.newToken },
      handle: (call) => create(desk, call, now()),
    }),
    route('DELETE', '/api/tokens', {
      summary: 'Revokes all access keys of a user. They are refused within 2 seconds on every replica',
      more: 'If there are more than 500 keys, they are revoked in steps of 500. A key that is made at the same moment stays good.',
      query: Whose,
      reads: schemas.optionalReason,
      responses: { 200: schemas.revokedTokens },
      handle: (call) => revokeAll(desk, call, now()),
    }),
    route('POST', '/api/tokens/:id/rotate', {
      summary: 'Replaces an access key by a new one. The old key stays good for a while',
      more: 'If the old key has an end already, send `expiresAt` for the new key.',
      body: Rotation,
      responses: { 201: schemas.newToken },
      errors: ['not_found', 'conflict'],
      handle: (call) => rotate(desk, call, now()),
    }),
    route('DELETE', '/api/tokens/:id', {
      summary: 'Revokes an access key. It is refused within 2 seconds on every replica',
      more: 'The key and its entry in the audit are written together.',
      reads: schemas.optionalReason,
      responses: { 204: null },
      errors: ['not_found'],
      handle: (call) => revoke(desk, call, now()),
    }),
  ]
}

const USER = `must be a text of ${USER_ID}: the user on whose quota the key draws`
const ORGANISATION = `must be a text of ${USER_ID}: the organisation of that user`
const NAME = `must be a text of 1 to 64 characters without control characters: what the key is for`
const EXPIRES =
  'must be a time with its offset, for example 2030-01-31T00:00:00Z; leave it out for a key without an end'

const PREFIX = 'must be given once, with 1 to 256 characters: what the id or the name begins with'
const UNUSED = 'must be given once: a whole number and m, h or d, like 30d'
const Asked = z.strictObject({
  user: userOnce.optional().describe('Only entries of this user'),
  organisation: organisationOnce.optional().describe('Only keys that name this organisation'),
  prefix: z
    .string({ error: PREFIX })
    .min(1, { error: PREFIX })
    .max(256, { error: PREFIX })
    .optional()
    .describe('Only keys whose id or name begins with this text'),
  unused: textFor((text) => spanMs(text) !== null, UNUSED)
    .optional()
    .describe('Only keys that were neither used nor made in this time, such as 30d'),
  order: z
    .enum(['unused'], { error: 'must be unused; leave it out for the newest first' })
    .optional()
    .describe(
      'With unused, the keys that have not been used for the longest time come first. By default the newest keys come first',
    ),
})
const Whose = z.strictObject({
  user: userOnce.describe('The user whose keys are revoked'),
  organisation: organisationOnce.optional().describe('Only keys that name this organisation'),
})

async function list({ store }: Desk, query: z.infer<typeof Asked>, now: number): Promise<AdminResponse> {
  const { user, organisation, prefix = '', unused = '0m', order } = query
  const unusedAt = now - (spanMs(unused) ?? 0)
  const isWanted = (record: AccessKeyRecord) =>
    (user === undefined || record.user === user) &&
    (organisation === undefined || record.organisation === organisation) &&
    [record.id, record.name].some((text) => text.startsWith(prefix)) &&
    (query.unused === undefined || unusedSince(record) <= unusedAt)
  const found = (await store.listTokens()).filter(isWanted)
  if (order === 'unused') found.sort((a, b) => unusedSince(a) - unusedSince(b))
  return ok({ tokens: found.map((record) => shownToken(record, now)) } satisfies TokensResponse)
}

export const NewToken = z.strictObject({
  user: textFor(isUserId, USER).describe('The user whose quota pays for the requests with this key, 1 to 256 bytes'),
  name: textFor(isTokenName, NAME).describe('What the key is for, such as laptop, 1 to 64 characters'),
  plan: z.string().nullish().describe('The plan of the user, one of quota.plans. Default none'),
  organisation: textFor(isUserId, ORGANISATION)
    .nullish()
    .describe('The organisation of the user, 1 to 256 bytes. Default none'),
  expiresAt: z.iso
    .datetime({ offset: true, error: EXPIRES })
    .nullish()
    .describe('When it ends by itself. Default never'),
  handover: handoverWish,
  reason: schemas.reason.optional(),
})

export function insistOnPlan(desk: Desk, plan: string | null | undefined): readonly FieldProblem[] {
  return plan == null ? [] : planOf(desk.setup().quota)(plan, 'plan')
}

async function create(
  desk: Desk,
  call: CallOf<Call['query'], z.infer<typeof NewToken>>,
  now: number,
): Promise<AdminResponse> {
  const { user, name, plan, organisation, expiresAt, handover } = call.body
  const noPlan = insistOnPlan(desk, plan)
  if (noPlan.length > 0) return badFields(noPlan)
  const end = accessKeyEnd(expiresAt, now)
  if (typeof end === 'object' && end !== null) return badFields(end)
  const facts = { ...(plan != null && { plan }), ...(organisation != null && { organisation }) }
  const { token, record } = mintToken({ user, name, ...facts, expiresAt: end }, now)
  return recordMade(desk, call, { token, change: creationOf(record), wish: handover, now })
}

interface Made {
  readonly token: string
  readonly change: AccessKeyCreation
  /** Set to get a link instead of the key. */
  readonly wish: z.infer<typeof handoverWish>
  readonly now: number
}

async function recordMade(desk: Desk, call: Call, { token, change, wish, now }: Made): Promise<AdminResponse> {
  const { record, to } = change
  // The link is stored first. A link without a key does no harm, but a key that nobody has seen would stay valid.
  const handover = wish === undefined ? null : await handOver(desk, { token, record, wish, now })
  const made = handover === null ? change : { ...change, to: { ...to, linkUntil: handover.expiresAt } }
  const shown = handover === null ? { token } : { handover }
  return desk.record(call, made, () => ({ status: 201, body: { ...shownToken(record, now), ...shown } }))
}

const GRACE = 'must be a whole number and m, h or d, like 24h: at most 90d, or 0m to end the old key at once'
const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const MAX_GRACE_MS = 90 * UNITS.d

function graceOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  return unit === undefined ? Number.NaN : Number(count) * UNITS[unit as keyof typeof UNITS]
}

const Rotation = z.strictObject({
  grace: textFor((text) => graceOf(text) <= MAX_GRACE_MS, GRACE)
    .optional()
    .describe(
      'How long the old key stays good after the rotation, unless it ends before, such as 24h. It can be from 0m to 90d. The default is 24h, and with a link 24h more than the time of the link',
    ),
  expiresAt: NewToken.shape.expiresAt.describe(
    'When the new key ends by itself. The default is the end of the old key',
  ),
  handover: handoverWish,
  reason: schemas.reason.optional(),
})

/** For how long the old key stays valid, in milliseconds: 0, or longer than the link to the new key works. */
function graceBeside({ grace, handover }: z.infer<typeof Rotation>): number | readonly FieldProblem[] {
  const linkMs = handover === undefined ? 0 : linkMsOf(handover)
  if (grace === undefined) return linkMs + graceOf('24h')
  const graceMs = graceOf(grace)
  if (graceMs === 0 || graceMs > linkMs) return graceMs
  const msg = `must be longer than the time of the link, ${handover === true ? '24h' : handover}, since both count from the rotation: the old key would end while the link waits to be opened. 0m ends the old key at once`
  return [{ path: 'grace', msg }]
}

/** The new key has the user, the name, the plan and the organisation of the old one. */
async function rotate(desk: Desk, call: Call, now: number): Promise<AdminResponse> {
  const fields = readFields(Rotation, call.body ?? {})
  if ('problems' in fields) return badFields(fields.problems)
  const { expiresAt, handover: wish } = fields.data
  const grace = graceBeside(fields.data)
  if (typeof grace !== 'number') return badFields(grace)
  const [found] = await desk.store.findTokens([call.params.id ?? ''])
  if (found === undefined) return NOT_FOUND
  const old = found.record
  if (old === null || endOfToken(old) <= now) {
    return refusal('conflict', 'This key has ended, or cannot be read: make another one by POST /api/tokens.')
  }
  const successor = expiresAt === undefined && old.expiresAt !== null ? await successorOf(desk, old) : null
  if (successor !== null) return replacedAlready(successor)
  const end = expiresAt === undefined ? old.expiresAt : accessKeyEnd(expiresAt, now)
  if (typeof end === 'object' && end !== null) return badFields(end)
  const { id: _id, hash: _hash, createdAt: _at, revokedAt: _end, usedAt: _used, ...owner } = old
  const { token, record } = mintToken({ ...owner, expiresAt: end }, now)
  return recordMade(desk, call, { token, change: rotationOf(record, old, now + grace), wish, now })
}

/** The id of the key that replaced this key; `null` for none. A replaced key ends with its grace, and no new key may take over that end. */
async function successorOf({ store }: Desk, { id }: AccessKeyRecord): Promise<string | null> {
  for await (const { what, subject, to } of auditEntries(store)) {
    if (what !== 'token_created') continue
    if (subject === id) return null
    if (isObject(to) && isObject(to.replaces) && to.replaces.id === id) return subject
  }
  return null
}

function replacedAlready(successor: string): AdminResponse {
  const msg = `This key was replaced by ${successor} already, and ends with its grace, as another one would: rotate that one, or send expiresAt.`
  return refusal('conflict', msg)
}

/** The requested end in milliseconds since the epoch, `null` for none, or what is wrong with it. */
export function accessKeyEnd(
  expiresAt: string | null | undefined,
  now: number,
): number | null | readonly FieldProblem[] {
  const end = expiresAt == null ? null : timeOf(expiresAt)
  if (Number.isNaN(end)) return [{ path: 'expiresAt', msg: EXPIRES }]
  return end !== null && end <= now ? [{ path: 'expiresAt', msg: 'must be in the future' }] : end
}

async function revoke(desk: Desk, call: Call, now: number): Promise<AdminResponse> {
  const id = call.params.id ?? ''
  const [found] = await desk.store.findTokens([id])
  if (found === undefined) return NOT_FOUND
  if (isRevoked(found)) return NO_CONTENT
  return desk.record(call, revocationOf(found, now), () => NO_CONTENT)
}

const NOT_FOUND = refusal('not_found', 'No access key has this id: GET /api/tokens lists them.')

/** Keys that are created meanwhile stay valid. */
async function revokeAll(desk: Desk, call: CallOf<z.infer<typeof Whose>>, now: number): Promise<AdminResponse> {
  const { user, organisation } = call.query
  const named = (await desk.store.listTokens()).filter(
    (record) => organisation === undefined || record.organisation === organisation,
  )
  let revoked = 0
  for (const change of revocationsOf(user, named, now)) {
    await desk.record(call, change, () => NO_CONTENT)
    revoked += change.records.length
  }
  return ok({ user, revoked } satisfies RevokedTokensResponse)
}

/** A record as it is shown, without its hash. */
export function shownToken(record: AccessKeyRecord, now: number): TokenResponse {
  const { hash: _, createdAt, expiresAt, revokedAt, usedAt = null, ...facts } = record
  return {
    ...facts,
    createdAt: iso(createdAt),
    expiresAt: isoOrNull(expiresAt),
    revokedAt: isoOrNull(revokedAt),
    lastUsedAt: isoOrNull(usedAt),
    state: stateOfToken(record, now),
  }
}
