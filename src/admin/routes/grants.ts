import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { GrantGivenResponse, GrantsResponse } from '../../contract/api.ts'
import type { AuditEntry } from '../../control/control-store.ts'
import { endOfGrant } from '../../control/grants.ts'
import { categoriesOf } from '../../control/settings.ts'
import { type GivenGrant, storedOf } from '../../control/state.ts'
import { oneAtATime } from '../../lib/serialize.ts'
import { authorName, type Desk } from '../desk.ts'
import { grantsShown, shownGrant } from '../grants-shown.ts'
import { type AdminResponse, badFields, type Call, ok, type Route, refusal } from '../http.ts'
import { readIdempotencyKey } from '../idempotency-key.ts'
import { idOfGrant, MOST_LIVE, NewGrant, ownerId, readNewGrant } from '../new-grant.ts'
import { type CallOf, route } from '../route.ts'
import { unseenMark } from '../unseen.ts'

/** The routes of grants, which are extra tokens for a user or an organisation. */
export function grantRoutes(desk: Desk): Route[] {
  const inTurn = oneAtATime()
  return [
    route('GET', '/api/grants', {
      summary: 'Lists grants, including those that have ended, with the tokens that were taken from each',
      query: Asked,
      responses: { 200: schemas.grants },
      // One at a time, because it may read what is kept of many owners.
      handle: (call) => inTurn(() => list(desk, call)),
    }),
    route('POST', '/api/grants', {
      summary: 'Gives extra tokens once to a user or an organisation',
      more: 'A user or an organisation can have at most 10 grants at the same time. `until` can be at most 400 days ahead.',
      body: NewGrant,
      idempotencyKey: true,
      responses: { 201: schemas.grantGiven },
      errors: ['conflict', 'idempotency_key_reused'],
      handle: (call) => give(desk, call),
    }),
    route('DELETE', '/api/grants/:id', {
      summary:
        'Ends a grant. Within 2 seconds no replica takes tokens from it any more. Tokens that were taken stay taken',
      reads: schemas.optionalReason,
      responses: { 200: schemas.grant },
      errors: ['not_found'],
      handle: (call) => end(desk, call),
    }),
  ]
}

/** How many grants one response shows. */
const MOST_SHOWN = 500
const TOO_MANY = refusal(
  'conflict',
  `${MOST_LIVE} grants of this owner pay already: end one of them by DELETE /api/grants/{id}.`,
)
const KEY_REUSED = refusal(
  'idempotency_key_reused',
  'An earlier request with this Idempotency-Key gave another grant. To repeat it, send it exactly as before. Use a new Idempotency-Key only for a new grant.',
)

const Asked = z.strictObject({
  user: ownerId.optional().describe('Only entries of this user'),
  organisation: ownerId.optional().describe('Only entries of this organisation'),
})

async function list(desk: Desk, { query, signal }: CallOf<z.infer<typeof Asked>>): Promise<AdminResponse> {
  const stored = storedOf(await desk.control.fresh())
  const { grants, total } = await grantsShown(desk.store, stored, query, { most: MOST_SHOWN, signal })
  return ok({ grants, total } satisfies GrantsResponse)
}

/** Gives a grant. A request with the Idempotency-Key of an earlier one gets the grant that the earlier one has given. */
async function give(desk: Desk, call: Call): Promise<AdminResponse> {
  const sent = readIdempotencyKey(call.headers)
  if ('problems' in sent) return badFields(sent.problems)
  const id = idOfGrant(sent.key, authorName(call.identity))
  const known = storedOf(await desk.control.fresh()).grants.get(id)?.value
  const read = readNewGrant(call.body, id, categoriesOf(desk.setup().quota), known, desk.control.storeTime())
  if ('problems' in read) return badFields(read.problems)
  const { change, isKnown } = read.data
  if (isKnown === false) return KEY_REUSED
  const given = async (grant: GivenGrant) => {
    const [shown, mark] = await Promise.all([shownGrant(desk.store, id, grant), unseenMark(desk.store, grant)])
    return { status: 201, body: { ...shown, ...mark } satisfies GrantGivenResponse }
  }
  if (known !== undefined) return given(known)
  return desk.record(
    call,
    change,
    () => given(change.to),
    async () => {
      // The same request may have come twice at the same time.
      const isGiven = storedOf(await desk.control.fresh()).grants.has(id)
      return isGiven ? give(desk, call) : TOO_MANY
    },
  )
}

async function end(desk: Desk, call: Call): Promise<AdminResponse> {
  const id = call.params.id ?? ''
  const known = storedOf(await desk.control.fresh()).grants.get(id)?.value
  if (known === undefined) return refusal('not_found', 'No grant has this id: GET /api/grants lists them.')
  const at = desk.control.storeTime()
  if (endOfGrant(known) <= at) return ok(await shownGrant(desk.store, id, known))
  const ended = ({ to }: AuditEntry) => shownGrant(desk.store, id, to as GivenGrant)
  return desk.record(call, { kind: 'grant', id, endedAt: at }, async (entry) => ok(await ended(entry)))
}
