import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AdminToken } from './session-cookie.ts'

/** How long a code is good, in milliseconds. */
export const CODE_MS = 10 * 60 * 1000
/** Of a code, at random. */
const CODE_BYTES = 32

/** The code of a sign-in link. It is in nobody's memory but that of who has the link: here is its SHA-256 only. */
export interface SignInCode {
  /**
   * A new code in base64url, good once and for CODE_MS, in this process. The one before is good no more.
   * @param token whose session it gives
   */
  issue(token: AdminToken): string
  /** Whose session a code gives, which is good no more from then on; `null` for one that is wrong, used or old. */
  take(given: string): AdminToken | null
}

interface Issued {
  readonly digest: Buffer
  readonly token: AdminToken
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** @param now milliseconds since the epoch */
export function createSignInCode(now: () => number): SignInCode {
  let issued: Issued | null = null

  function issue(token: AdminToken): string {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    issued = { digest: digest(code), token, until: now() + CODE_MS }
    return code
  }

  function take(given: string): AdminToken | null {
    if (issued === null || !timingSafeEqual(issued.digest, digest(given))) return null
    const { token, until } = issued
    issued = null
    const left = until - now()
    // A clock that was set back must not make it good for longer.
    return left > 0 && left <= CODE_MS ? token : null
  }

  return { issue, take }
}

/** Of equal length whatever is given, as timingSafeEqual wants it. */
export function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
