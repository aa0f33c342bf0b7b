import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { HandedOverResponse } from '../../contract/api.ts'
import { openingOf } from '../../control/access-key-changes.ts'
import { type AccessKeyRecord, stateOfToken } from '../../control/access-key-store.ts'
import { HANDOVER } from '../../control/control-store.ts'
import { spanMs } from '../../usage/usage-query.ts'
import type { Desk } from '../desk.ts'
import { textFor } from '../fields.ts'
import { idOf, isCode, newCode, sealed, unsealed } from '../handover-link.ts'
import { type AdminResponse, type Call, iso, isoOrNull, ok, type Route, refusal } from '../http.ts'
import type { Login } from '../login.ts'
import { type CallOf, route } from '../route.ts'

/** Hands an access key over by a link, so that its maker never sees it and no chat keeps it. */

const MINUTE_MS = 60_000
const SHORTEST_MS = 5 * MINUTE_MS
const LONGEST_MS = 7 * 24 * 60 * MINUTE_MS
const USUAL = '24h'
const WISH = 'must be true, or how long the link is good, like 24h: 5m to 7d'

/** The value of `handover` in a body: how long the link works. */
export const handoverWish = z
  .union([z.literal(true), z.string()], { error: WISH })
  .refine((wish) => linkMsOf(wish) >= SHORTEST_MS && linkMsOf(wish) <= LONGEST_MS, { error: WISH })
  .optional()
  .describe(
    'Makes a link that shows the key once, instead of showing the key in the response. true stands for 24h, and a time can be from 5m to 7d',
  )

/** How long a link works, in milliseconds. */
export function linkMsOf(wish: true | string): number {
  return spanMs(wish === true ? USUAL : wish) ?? Number.NaN
}

/** Keeps a key for the person who opens the link. @throws StoreError */
export async function handOver(
  desk: Desk,
  { token, record, wish, now }: { token: string; record: AccessKeyRecord; wish: true | string; now: number },
): Promise<{ readonly path: string; readonly expiresAt: string }> {
  const code = newCode()
  const forMs = linkMsOf(wish)
  const until = now + forMs
  await desk.store.putHandover(idOf(code), sealed(JSON.stringify({ id: record.id, token, until }), code), forMs)
  // Browsers send the part after `#` to nobody, neither to us nor as a referrer.
  return { path: `/handover#${code}`, expiresAt: iso(until) }
}

const CODE = 'must be the part of a link behind the sign #'
const Opening = z.strictObject({
  code: textFor(isCode, CODE).describe('The part of the link after the sign `#`'),
})

/** In bytes. Anybody may send such a body. */
const MAX_OPENING = 1024

/** The request of a link's page that gets the key. Previews of links do not send it. */
export function handoverRoute(desk: Desk, login: Login, now: () => number): Route {
  return route('POST', '/api/handover', {
    guard: 'login',
    maxBody: MAX_OPENING,
    summary: 'Shows the access key of a link, once, to the person who has the link',
    more: 'It needs no sign-in, because the link is for somebody who cannot sign in.',
    reads: Opening,
    responses: { 200: schemas.handedOver },
    errors: ['not_found', 'too_many_attempts', 'store_unavailable', 'outcome_unknown'],
    handle: (call) => open(desk, login, call, now()),
  })
}

async function open(
  desk: Desk,
  login: Login,
  call: CallOf<Call['query'], z.infer<typeof Opening>>,
  now: number,
): Promise<AdminResponse> {
  const { code } = call.body
  const kept = await desk.store.takeHandover(idOf(code))
  const text = kept === null ? null : unsealed(kept, code)
  if (kept === null || text === null) return login.refuseGuess(call.address, NOT_VALID)
  const { id, token, until } = JSON.parse(text) as { id: string; token: string; until: number }
  try {
    const [found] = await desk.store.findTokens([id])
    const record = found?.record ?? null
    if (record === null || stateOfToken(record, now) !== 'valid') return NOT_VALID
    const { user, name, expiresAt } = record
    const response: HandedOverResponse = { user, name, token, expiresAt: isoOrNull(expiresAt) }
    const identity = { name: HANDOVER, role: 'viewer', expiresAt: null } as const
    return await desk.record({ ...call, identity, body: undefined }, openingOf(record), () => ok(response))
  } catch (error) {
    // Nobody has seen the key, so the link works again.
    await desk.store.putHandover(idOf(code), kept, Math.max(1, until - now)).catch(() => {})
    throw error
  }
}

/** The response is the same for a link that never existed. */
const NOT_VALID = refusal(
  'not_found',
  'This link is no longer valid: it was opened, its time is over, or the key was revoked. Ask whoever sent it for another one.',
)
