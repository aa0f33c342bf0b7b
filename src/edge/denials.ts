import { type Denial, denial } from '../errors.ts'
import { quotaProblem } from '../quota/problem-body.ts'
import { acceptsProblem } from '../respond/accepts-problem.ts'
import { CLOSE } from './header-rules.ts'
import type { Bound, Exhausted, Thing } from './shares.ts'

/** Denials that several steps use. */

export const SOON = { 'Retry-After': '1' }

/** @param reason the resource that is used up for all together */
export function overloaded(reason: keyof typeof TOO_MUCH): Denial {
  const msg = `${TOO_MUCH[reason]} Try again in a moment.`
  return denial('overloaded', msg, { headers: SOON, reason })
}

const TOO_MUCH = {
  'event loop': 'The gateway is too late with what it has to do.',
  charges: 'The gateway has as many charges waiting as it may.',
  connections: 'The gateway has as many connections open as it may.',
  credentials: 'As many requests as may wait for the check of their credential.',
  requests: 'The gateway has as many requests under way as it may.',
  bodies: 'The gateway awaits as many bodies as it may.',
  'upstream connections': 'All connections to the service behind the gateway are busy.',
  tunnels: 'The gateway has as many WebSockets open as it may.',
  'signature checks': 'The gateway examines as many credentials at once as it may.',
  usage: 'The gateway looks up as much usage at once as it may.',
} as const

/** @param accept of the request, see `acceptsProblem` */
export function exhausted({ thing, bound, max }: Exhausted, accept: string | undefined): Denial {
  const refused = refusalBy(bound, thing, max, accept)
  return { ...refused, share: { thing, bound } }
}

function refusalBy(bound: Bound, thing: Thing, max: number, accept: string | undefined): Denial {
  if (bound === 'total') return overloaded(TOTALS[thing])
  return bound === 'strangers' ? tooManyStrangers(thing) : tooManyInFlight(bound, thing, max, accept)
}

/** All callers without an accepted credential together hold as much as they may, so no single one is to blame. */
function tooManyStrangers(thing: Thing): Denial {
  const { what } = TOO_MANY[thing]
  const msg = `Clients without an accepted credential have as many ${what} as they may have together. Try again in a moment, or send a credential.`
  return denial('overloaded', msg, { headers: SOON, reason: `strangers' ${TOTALS[thing]}` })
}

/** One address has spent or reserved what checks may cost it in vain. A part of that comes back within a second. */
export function tooManyFailed(): Denial {
  const msg =
    'Many new credentials from this address are under examination or were not valid, so this one is not examined now. Try again in a moment.'
  const share = { thing: 'checks', bound: 'failures' } as const
  return { ...denial('too_many_in_flight', msg, { headers: SOON, reason: 'failed checks' }), share }
}

/** A long head is not looked at, because too many long heads of its address were refused. */
export function tooManyInVain(): Denial {
  const msg =
    'Many long requests from this address were refused, so this one is not looked at now. Try again in a moment.'
  const share = { thing: 'checks', bound: 'failures' } as const
  return { ...denial('too_many_in_flight', msg, { headers: SOON, reason: 'long heads in vain' }), share }
}

/** How the log names the total of each thing. */
const TOTALS = {
  connections: 'connections',
  in_flight: 'requests',
  credentials: 'credentials',
  requests: 'requests',
  bodies: 'bodies',
  upstream_connections: 'upstream connections',
  tunnels: 'tunnels',
  checks: 'signature checks',
  usage: 'usage',
} as const satisfies Record<Thing, keyof typeof TOO_MUCH>

/** How a message names the things of which there are too many, and how the RateLimit fields name the policy, without its holder. */
const TOO_MANY: Readonly<Record<Thing, { readonly what: string; readonly policy: string }>> = {
  connections: { what: 'connections', policy: 'connections' },
  in_flight: { what: 'requests under way', policy: 'in-flight' },
  credentials: { what: 'requests whose credential is still to be checked', policy: 'credentials' },
  requests: { what: 'requests under way', policy: 'in-flight' },
  bodies: { what: 'requests whose body is still to come', policy: 'bodies' },
  upstream_connections: { what: 'requests at the service behind the gateway', policy: 'upstream-connections' },
  tunnels: { what: 'WebSockets open', policy: 'tunnels' },
  checks: { what: 'credentials under examination', policy: 'checks' },
  usage: { what: 'requests for its usage under way', policy: 'usage' },
}

/**
 * The client holds its own share, while there is room for others, so this is no fault of the gateway.
 * @param accept of the request, see `acceptsProblem`
 */
export function tooManyInFlight(
  whose: 'user' | 'address' | 'network' | 'connection',
  thing: Thing,
  limit: number,
  accept: string | undefined,
): Denial {
  const { what, policy: suffix } = TOO_MANY[thing]
  const cure =
    whose === 'connection' ? 'Send fewer before the first response.' : 'Try again when one of them has ended.'
  const msg = `This ${whose} has as many ${what} as one ${whose} may have at a time. ${cure}`
  const policy = `${whose}-${suffix}`
  const fields = { 'RateLimit-Policy': `"${policy}";q=${limit};qu="concurrent-requests"`, RateLimit: `"${policy}";r=0` }
  const problem = acceptsProblem(accept) ? { problem: quotaProblem([policy], msg) } : {}
  const reason = suffix === 'in-flight' ? whose : `${whose} ${TOTALS[thing]}`
  return denial('too_many_in_flight', msg, { headers: { ...SOON, ...fields }, reason, ...problem })
}

/** The parser cannot find the end of the body, so nothing more is read from the connection. */
export function malformedBody(): Denial {
  const reason = 'the body is malformed'
  return denial('bad_request', 'The body of this request is not valid HTTP/1.1.', { headers: CLOSE, reason })
}

/** Some bodies with such blanks are valid HTTP, so the response says what to omit. */
export function blankInChunkLine(): Denial {
  const msg =
    'The body of this request has a blank behind the size, or in an extension, of a chunk. None is accepted there.'
  return denial('bad_request', msg, { headers: CLOSE, reason: 'a blank in the line that begins a chunk' })
}

export function slowBody(): Denial {
  const reason = 'the body came too slowly'
  return denial('request_timeout', 'The body of this request came too slowly.', { headers: CLOSE, reason })
}

/** For a stranger whose body comes in very short pieces, while many addresses send such bodies. */
export function tooManyPieces(): Denial {
  const msg =
    'Bodies in very short chunks come from many clients, and the gateway takes none of them without an accepted credential now. Send longer chunks, or try again in a minute.'
  return denial('overloaded', msg, { headers: { ...CLOSE, 'Retry-After': '60' }, reason: 'body in many pieces' })
}

export function tooLarge(max: number): Denial {
  return denial('payload_too_large', `The body of this request may have at most ${max} bytes.`)
}

export function targetTooLong(max: number): Denial {
  const reason = 'longer than edge.max_url'
  return denial('uri_too_long', `The request target may have at most ${max} bytes.`, { reason })
}
