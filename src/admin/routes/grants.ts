import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { GrantResponse, GrantsResponse } from '../../contract/api.ts'
import type { AuditEntry } from '../../control/control-store.ts'
import { endOfGrant } from '../../control/grants.ts'
import { categoriesOf } from '../../control/settings.ts'
import { type GivenGrant, storedOf } from '../../control/state.ts'
import { timeOf } from '../../control/times.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { MAX_LIMIT } from '../../quota/policy.ts'
import type { Desk } from '../desk.ts'
import { readFields } from '../fields.ts'
import { grantShown, type Taken, takenIn } from '../grants-shown.ts'
import { type AdminResponse, badFields, type Call, iso, ok, type Route, refusal } from '../http.ts'

/** The routes of grants: extra tokens that are given once, to a user or to an organisation. */
export function grantRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    {
      method: 'GET',
      path: '/api/grants',
      guard: 'read',
      doc: {
        summary: 'Grants, those that have ended too, and what was taken of each',
        query: Asked,
        responses: { 200: schemas.grants },
      },
      // It may read what is kept of many owners, so that one at a time does.
      handle: (call) => inTurn(() => list(desk, call)),
    },
    {
      method: 'POST',
      path: '/api/grants',
      guard: 'change',
      doc: {
        summary: 'Gives extra tokens once, to a user or to an organisation',
        more: 'At most 10 grants pay for one owner at the same time, and `until` may lie at most 400 days ahead.',
        body: NewGrant,
        responses: { 201: schemas.grant },
        errors: ['conflict'],
      },
      handle: (call) => give(desk, call),
    },
    {
      method: 'DELETE',
      path: '/api/grants/:id',
      guard: 'change',
      doc: {
        summary: 'Ends a grant: within 2 seconds no replica takes from it. What was taken stays taken',
        body: schemas.optionalReason,
        responses: { 200: schemas.grant },
        errors: ['not_found'],
      },
      handle: (call) => end(desk, call),
    },
  ]
}

/** Grants of one response. */
const MOST_SHOWN = 500
/** That pay one user or organisation at once: each of them is looked at by each charge of the owner. */
const MOST_LIVE = 10
const TOO_MANY = refusal(
  'conflict',
  `${MOST_LIVE} grants of this owner pay already: end one of them by DELETE /api/grants/{id}.`,
)
const MOST_DAYS = 400
const DAY_MS = 86_400_000

const id = z.string({ error: `must be ${USER_ID}` }).refine(isUserId, { error: `must be ${USER_ID}` })
const Asked = z.strictObject({
  user: id.optional().meta({ description: 'Only those of this user' }),
  organisation: id.optional().meta({ description: 'Only those of this organisation' }),
})

const TOKENS = `must be a whole number from 1 to ${MAX_LIMIT}`
const UNTIL = `must be a time with its offset, for example 2030-01-31T00:00:00Z, at most ${MOST_DAYS} days from now`
const NewGrant = z.strictObject({
  user: id.optional().meta({ description: 'Who gets the tokens; instead of an organisation' }),
  organisation: id.optional().meta({ description: 'Whose users get the tokens together; instead of a user' }),
  category: z.string().meta({ description: 'The category whose requests they pay for' }),
  tokens: z
    .int({ error: TOKENS })
    .min(1, { error: TOKENS })
    .max(MAX_LIMIT, { error: TOKENS })
    .meta({ description: 'How many: 1 to 10^12' }),
  until: z.iso
    .datetime({ offset: true, error: UNTIL })
    .meta({ description: `When the grant ends, whatever is left of it: at most ${MOST_DAYS} days from now` }),
  reason: schemas.reason,
})

/** What is kept of an owner may be long: each is read once, one after the other. */
async function list(desk: Desk, { query, signal }: Call): Promise<AdminResponse> {
  const fields = readFields(Asked, query)
  if ('problems' in fields) return badFields(fields.problems)
  const { user, organisation } = fields.data
  const state = await desk.control.fresh()
  const wanted = [...storedOf(state).grants].filter(
    ([, { value }]) =>
      (user === undefined || value.user === user) &&
      (organisation === undefined || value.organisation === organisation),
  )
  const newest = wanted.sort(([, a], [, b]) => b.value.givenAt - a.value.givenAt).slice(0, MOST_SHOWN)
  const byOwner = new Map<string, Taken>()
  const grants: GrantResponse[] = []
  for (const [id, { value }] of newest) {
    signal.throwIfAborted()
    const owner = JSON.stringify([value.user, value.organisation])
    const taken = byOwner.get(owner) ?? (await takenOfOwner(desk, value))
    byOwner.set(owner, taken)
    grants.push(grantShown(id, value, taken))
  }
  return ok({ grants, total: wanted.length } satisfies GrantsResponse)
}

/** @throws StoreError */
async function shownGrant(desk: Desk, id: string, grant: GivenGrant): Promise<GrantResponse> {
  return grantShown(id, grant, await takenOfOwner(desk, grant))
}

/** @throws StoreError */
async function takenOfOwner({ store }: Desk, { user, organisation = '' }: GivenGrant): Promise<Taken> {
  const read =
    user === undefined ? store.readHistory('organisation', organisation) : store.readHistory('personal', user)
  return takenIn(await read)
}

async function give(desk: Desk, call: Call): Promise<AdminResponse> {
  const fields = readFields(NewGrant, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const { user, organisation, category, tokens, reason } = fields.data
  if ((user === undefined) === (organisation === undefined)) {
    return badFields([{ path: 'user', msg: 'must be given, or organisation instead: a grant has one owner' }])
  }
  const categories = categoriesOf(desk.setup().quota)
  if (!categories.includes(category)) {
    return badFields([{ path: 'category', msg: `must be one of ${categories.join(', ')}` }])
  }
  await desk.control.fresh()
  const at = desk.control.storeTime()
  const until = timeOf(fields.data.until)
  if (!(until <= at + MOST_DAYS * DAY_MS)) return badFields([{ path: 'until', msg: UNTIL }])
  if (until <= at) return badFields([{ path: 'until', msg: `must be in the future: it is ${iso(at)} now` }])
  const owner = user === undefined ? { organisation } : { user }
  const grant = { ...owner, category, tokens, givenAt: at, until, reason, endedAt: null } as GivenGrant
  const made = randomBytes(6).toString('hex')
  return desk.record(
    call,
    { kind: 'grant', id: made, to: grant, most: MOST_LIVE },
    async () => ({ status: 201, body: await shownGrant(desk, made, grant) }),
    TOO_MANY,
  )
}

async function end(desk: Desk, call: Call): Promise<AdminResponse> {
  const fields = readFields(schemas.optionalReason, call.body)
  if ('problems' in fields) return badFields(fields.problems)
  const id = call.params.id ?? ''
  const known = storedOf(await desk.control.fresh()).grants.get(id)?.value
  if (known === undefined) return refusal('not_found', 'No grant has this id: GET /api/grants lists them.')
  const at = desk.control.storeTime()
  if (endOfGrant(known) <= at) return ok(await shownGrant(desk, id, known))
  const ended = ({ to }: AuditEntry) => shownGrant(desk, id, to as GivenGrant)
  return desk.record(call, { kind: 'grant', id, endedAt: at }, async (entry) => ok(await ended(entry)))
}
