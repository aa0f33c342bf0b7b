import { createHash, timingSafeEqual } from 'node:crypto'
import { type Answer, refusal } from './answer.ts'

export interface LoginOptions {
  /** The admin token; `null` where none is configured. */
  readonly token: string | null
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Checks an Authorization header from an address; `null` where it is good. */
export type Login = (authorization: string | undefined, address: string) => Answer | null

/** Wrong tokens from one address within WINDOW_MS before it must wait. */
const ATTEMPTS = 10
const WINDOW_MS = 60_000
/** Addresses remembered at once; the oldest are forgotten first. */
const MAX_ADDRESSES = 10_000

export function createLogin({ token, now }: LoginOptions): Login {
  if (token === null) return () => NO_TOKEN
  const expected = digest(token)
  const wrong = new Map<string, { count: number; until: number }>()

  return function checkLogin(authorization, address) {
    const group = addressGroup(address)
    const past = wrong.get(group)
    // While it waits even the right token is refused: otherwise the guesses would go on.
    if (past !== undefined && past.count >= ATTEMPTS && now() < past.until) return tooMany(past.until - now())
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (given === undefined) return UNAUTHORIZED
    if (timingSafeEqual(digest(given), expected)) return null
    remember(group)
    return UNAUTHORIZED
  }

  function remember(group: string): void {
    const past = wrong.get(group)
    if (past !== undefined && now() < past.until) {
      past.count++
      return
    }
    wrong.delete(group)
    wrong.set(group, { count: 1, until: now() + WINDOW_MS })
    const [oldest] = wrong.keys()
    if (wrong.size > MAX_ADDRESSES && oldest !== undefined) wrong.delete(oldest)
  }
}

const NO_TOKEN = refusal('no_admin_token', 'No admin token is configured: set admin.token to use /api.')
const UNAUTHORIZED = refusal('unauthorized', 'Send the admin token as "Authorization: Bearer <token>".', {
  'www-authenticate': 'Bearer realm="tollgate-admin"',
})

function tooMany(waitMs: number): Answer {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return refusal('too_many_attempts', `Too many wrong admin tokens: try again in ${seconds} seconds.`, {
    'retry-after': String(seconds),
  })
}

/** Of equal length whatever is given, as timingSafeEqual wants it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Who counts as one: an IPv4 address, or the /64 of an IPv6 address, all of which its owner may use. */
export function addressGroup(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}
