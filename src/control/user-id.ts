const MAX_USER_BYTES = 256

/** What a user id is, for a sentence. */
export const USER_ID = `1 to ${MAX_USER_BYTES} bytes without control characters, and neither "." nor ".."`

/** Whether a value may be a user id. A client drops "." and ".." from a path, percent-encoded too: it could ask for no such user. */
export function isUserId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_USER_BYTES) return false
  if (value === '.' || value === '..') return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value) && Buffer.byteLength(value) <= MAX_USER_BYTES
}

/** What the id of a user begins with whom an unverified key names. */
export const KEY_PREFIX = 'key:'

/** The same for one whom a claim of the key names. No hash has a colon. */
export const JWT_PREFIX = `${KEY_PREFIX}jwt:`
