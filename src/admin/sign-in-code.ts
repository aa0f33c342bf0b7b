import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AdminToken } from './session-cookie.ts'

/** How long a code works, in milliseconds. */
export const CODE_MS = 10 * 60 * 1000
/** The size of a random code in bytes. */
const CODE_BYTES = 32

/** The code of a sign-in link. Only the owner of the link knows it; the gateway keeps its SHA-256. */
export interface SignInCode {
  /**
   * A new code in base64url for this process, which works once and for CODE_MS. It replaces the code before.
   * @param token whose session it gives
   */
  issue(token: AdminToken): string
  /** The token whose session a code gives; the code is then used up. `null` for a code that is wrong, used or too old. */
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
    // A clock that was set back must not make the code last longer.
    return left > 0 && left <= CODE_MS ? token : null
  }

  return { issue, take }
}

/** Always of equal length, as timingSafeEqual needs it. */
export function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
