import { timingSafeEqual } from 'node:crypto'
import { onceForEach } from '../lib/memo.ts'
import { peerOf } from '../lib/peers.ts'
import { type AdminResponse, type Identity, refusal } from './http.ts'
import type { People } from './people.ts'
import type { AdminToken } from './session-cookie.ts'
import { createSignInCode, digest, type SignInCode } from './sign-in-code.ts'
import type { TrustedProxy } from './trusted-proxy.ts'

export interface LoginOptions {
  /** The admin tokens in force. An empty list closes the API. A change makes a new list. */
  readonly credentials: () => readonly AdminToken[]
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Who may sign in, and how. */
export interface SignInOptions extends LoginOptions {
  readonly login: Login
  /** The people whom the provider in force signs in. Default nobody. */
  readonly people?: () => People | null
  /** The proxy in force that signs people in. Default none. */
  readonly proxy?: () => TrustedProxy | null
}

const digestsOf = onceForEach((tokens: readonly AdminToken[]) =>
  tokens.map((credential) => ({ credential, digest: digest(credential.token) })),
)

/** How many wrong tokens and codes one address may send within WINDOW_MS before it has to wait. */
const ATTEMPTS = 10
const WINDOW_MS = 60_000
/** How many addresses are remembered; the oldest are forgotten first. */
const MAX_ADDRESSES = 10_000

/** Checks admin tokens and codes of sign-in links, and remembers addresses that guess. */
export class Login {
  readonly #now: () => number
  readonly #credentials: LoginOptions['credentials']
  readonly #wrong = new Map<string, { count: number; until: number }>()
  readonly #code: SignInCode

  constructor({ credentials, now }: LoginOptions) {
    this.#now = now
    this.#credentials = credentials
    this.#code = createSignInCode(now)
  }

  /** The token that came from an address, or a refusal. @param given `null` if none was sent, which is no guess */
  check(given: string | null, address: string): AdminToken | AdminResponse {
    if (this.#credentials().length === 0) return NO_TOKEN
    if (given === null) return UNAUTHORIZED
    // A right token is accepted even from an address whose wrong ones are refused, because administrators may share it
    // through a proxy or pod.
    return this.#find(digest(given)) ?? this.#refuse(address, UNAUTHORIZED)
  }

  /** The token for which a sign-in link was made, or a refusal. The code of the link is then used up. */
  checkCode(given: string, address: string): AdminToken | AdminResponse {
    if (this.#credentials().length === 0) return NO_TOKEN
    return this.#code.take(given) ?? this.#refuse(address, WRONG_CODE)
  }

  /**
   * A code for a sign-in link. It works once, within 10 minutes, and replaces the code before.
   * @param token whose session it gives; one of the credentials
   */
  issueCode(token: AdminToken): string {
    return this.#code.issue(token)
  }

  /** The caller whose token is in an Authorization header, or a refusal. */
  bearer(authorization: string | undefined, address: string): Identity | AdminResponse {
    const found = this.check(/^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null, address)
    return 'status' in found ? found : { name: found.name, role: found.role, expiresAt: null }
  }

  /** Compares with all tokens, so that the time reveals nothing about the position. */
  #find(given: Buffer): AdminToken | null {
    return digestsOf(this.#credentials()).filter(({ digest }) => timingSafeEqual(digest, given))[0]?.credential ?? null
  }

  /** The response to a wrong code of another kind, such as a handover. It counts as a guess like a wrong token. */
  refuseGuess(address: string, usual: AdminResponse): AdminResponse {
    return this.#refuse(address, usual)
  }

  /** The response to a wrong token or code. */
  #refuse(address: string, usual: AdminResponse): AdminResponse {
    const peer = peerOf(address)
    const past = this.#wrong.get(peer)
    const left = past === undefined ? 0 : this.#leftOf(past)
    if (past !== undefined && past.count >= ATTEMPTS && left > 0) return tooMany(left)
    this.#remember(peer)
    return usual
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

  /** In milliseconds. A clock that was set back must not make the wait longer. */
  #leftOf({ until }: { readonly until: number }): number {
    const left = until - this.#now()
    return left > WINDOW_MS ? 0 : left
  }
}

const NO_TOKEN = refusal('no_admin_token', 'No admin token is configured: set admin.token to use /api.')
/** The response to a request without a token, or with a wrong one. */
export const UNAUTHORIZED = refusal(
  'unauthorized',
  'Send an admin token as "Authorization: Bearer <token>", or sign in on the page.',
  { 'www-authenticate': 'Bearer realm="tollgate-admin"' },
)
/** The response is the same for a used code and for one that never existed, so that it does not help somebody who guesses. */
const WRONG_CODE = refusal(
  'unauthorized',
  'This sign-in link is no longer valid: it was used, is older than 10 minutes, or the gateway was started again. Sign in with an admin token, or start the gateway in a terminal for a new link.',
  { 'www-authenticate': 'Bearer realm="tollgate-admin"' },
)

function tooMany(waitMs: number): AdminResponse {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return refusal('too_many_attempts', `Too many wrong admin tokens: try again in ${seconds} seconds.`, {
    'retry-after': String(seconds),
  })
}
