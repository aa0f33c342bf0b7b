import { createHash, timingSafeEqual } from 'node:crypto'
import { peerOf } from '../../lib/peers.ts'
import { type AdminResponse, type Identity, refusal } from '../http.ts'
import type { AdminToken } from '../session-cookie.ts'

export interface LoginOptions {
  /** The admin tokens; none closes the API. */
  readonly credentials: readonly AdminToken[]
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Checks a token that came from an address: whose it is, or the refusal. */
export interface Login {
  /** @param given `null` where none was sent, which is no guess */
  check(given: string | null, address: string): AdminToken | AdminResponse
  /** The same for an Authorization header. */
  bearer(authorization: string | undefined, address: string): Identity | AdminResponse
}

/** Wrong tokens from one address within WINDOW_MS, above which it is told to wait. */
const ATTEMPTS = 10
const WINDOW_MS = 60_000
/** Addresses remembered at once; the oldest are forgotten first. */
const MAX_ADDRESSES = 10_000

export function createLogin({ credentials, now }: LoginOptions): Login {
  const known = credentials.map((credential) => ({ credential, digest: digest(credential.token) }))
  const wrong = new Map<string, { count: number; until: number }>()

  function check(given: string | null, address: string): AdminToken | AdminResponse {
    if (known.length === 0) return NO_TOKEN
    if (given === null) return UNAUTHORIZED
    // Also of an address whose wrong tokens are refused: administrators share it with others behind a proxy, or in a pod.
    const credential = find(digest(given))
    if (credential !== null) return credential
    const peer = peerOf(address)
    const past = wrong.get(peer)
    if (past !== undefined && past.count >= ATTEMPTS && leftOf(past) > 0) return tooMany(leftOf(past))
    remember(peer)
    return UNAUTHORIZED
  }

  /** Compares with all of them, so that the time tells nothing of the place. */
  function find(given: Buffer): AdminToken | null {
    return known.filter(({ digest }) => timingSafeEqual(digest, given))[0]?.credential ?? null
  }

  function remember(peer: string): void {
    const past = wrong.get(peer)
    if (past !== undefined && leftOf(past) > 0) {
      past.count++
      return
    }
    wrong.delete(peer)
    wrong.set(peer, { count: 1, until: now() + WINDOW_MS })
    const [oldest] = wrong.keys()
    if (wrong.size > MAX_ADDRESSES && oldest !== undefined) wrong.delete(oldest)
  }

  /** Of its window, in milliseconds. A clock that was set back must not make it longer. */
  function leftOf({ until }: { readonly until: number }): number {
    const left = until - now()
    return left > WINDOW_MS ? 0 : left
  }

  function bearer(authorization: string | undefined, address: string): Identity | AdminResponse {
    const found = check(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null, address)
    return 'status' in found ? found : { name: found.name, role: found.role, expiresAt: null }
  }

  return { check, bearer }
}

const NO_TOKEN = refusal('no_admin_token', 'No admin token is configured: set admin.token to use /api.')
/** What a request is told that came without a token, or with a wrong one. */
export const UNAUTHORIZED = refusal(
  'unauthorized',
  'Send an admin token as "Authorization: Bearer <token>", or sign in on the page.',
  { 'www-authenticate': 'Bearer realm="tollgate-admin"' },
)

function tooMany(waitMs: number): AdminResponse {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return refusal('too_many_attempts', `Too many wrong admin tokens: try again in ${seconds} seconds.`, {
    'retry-after': String(seconds),
  })
}

/** Of equal length whatever is given, as timingSafeEqual wants it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
