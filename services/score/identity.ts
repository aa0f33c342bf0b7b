/** Longest user id, in bytes of UTF-8. */
const MAX_USER_BYTES = 256

const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

/** The user named by an `X-Tollgate-User` header, percent-decoded; `null` if it names none. */
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
