import { createHash, timingSafeEqual } from 'node:crypto'

/** Longest user id, in bytes of UTF-8. */
const MAX_USER_BYTES = 256

const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

/** A check for the shared secret. Hashing first makes the comparison independent of the length that was sent. */
export function secretCheck(secret: string): (sent: string | string[] | undefined) => boolean {
  const expected = sha256(secret)
  return (sent) => typeof sent === 'string' && timingSafeEqual(sha256(sent), expected)
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** The user named by an `X-Tollgate-User` header, percent-decoded; `null` where it names none. */
export function userFrom(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string' || !PLAIN.test(header)) return null
  const user = percentDecode(header)
  return user !== null && Buffer.byteLength(user) <= MAX_USER_BYTES ? user : null
}

function percentDecode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
