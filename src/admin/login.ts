import { createHash, timingSafeEqual } from 'node:crypto'
import { peerOf } from '../lib/peers.ts'
import { type AdminResponse, type Identity, refusal } from './http.ts'
import type { AdminToken } from './session-cookie.ts'

export interface LoginOptions {
  /** The admin tokens; none closes the API. */
  readonly credentials: readonly AdminToken[]
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Wrong tokens from one address within WINDOW_MS, above which it has to wait. */
const ATTEMPTS = 10
const WINDOW_MS = 60_000
/** Addresses remembered at once; the oldest are forgotten first. */
const MAX_ADDRESSES = 10_000

/** Checks admin tokens, and remembers the addresses that guess. */
export class Login {
  readonly #now: () => number
  readonly #known: readonly { readonly credential: AdminToken; readonly digest: Buffer }[]
  readonly #wrong = new Map<string, { count: number; until: number }>()

  constructor({ credentials, now }: LoginOptions) {
    this.#now = now
    this.#known = credentials.map((credential) => ({ credential, digest: digest(credential.token) }))
  }

  /** Whose token came from an address, or the refusal. @param given `null` if none was sent, which is no guess */
  check(given: string | null, address: string): AdminToken | AdminResponse {
    if (this.#known.length === 0) return NO_TOKEN
    if (given === null) return UNAUTHORIZED
    // Also for an address whose wrong tokens are refused: administrators share it with others behind a proxy, or in a
    // pod.
    const credential = this.#find(digest(given))
    if (credential !== null) return credential
    const peer = peerOf(address)
    const past = this.#wrong.get(peer)
    const left = past === undefined ? 0 : this.#leftOf(past)
    if (past !== undefined && past.count >= ATTEMPTS && left > 0) return tooMany(left)
    this.#remember(peer)
    return UNAUTHORIZED
  }

  /** The same for an Authorization header. */
  bearer(authorization: string | undefined, address: string): Identity | AdminResponse {
    const found = this.check(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null, address)
    return 'status' in found ? found : { name: found.name, role: found.role, expiresAt: null }
  }

  /** Compares with all of them, so that the time says nothing of the place. */
  #find(given: Buffer): AdminToken | null {
    return this.#known.filter(({ digest }) => timingSafeEqual(digest, given))[0]?.credential ?? null
  }

  #remember(peer: string): void {
    const past = this.#wrong.get(peer)
    if (past !== undefined && this.#leftOf(past) > 0) {
      past.count++
      return
    }
    this.#wrong.delete(peer)
    this.#wrong.set(peer, { count: 1, until: this.#now() + WINDOW_MS })
    const [oldest] = this.#wrong.keys()
    if (this.#wrong.size > MAX_ADDRESSES && oldest !== undefined) this.#wrong.delete(oldest)
  }

  /** Of its window, in milliseconds. A clock that was set back must not make it longer. */
  #leftOf({ until }: { readonly until: number }): number {
    const left = until - this.#now()
    return left > WINDOW_MS ? 0 : left
  }
}

const NO_TOKEN = refusal('no_admin_token', 'No admin token is configured: set admin.token to use /api.')
/** What a request gets that came without a token, or with a wrong one. */
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
