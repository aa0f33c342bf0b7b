const MAX_USER_BYTES = 256

/** The definition of a user id, for a sentence. */
export const USER_ID = `1 to ${MAX_USER_BYTES} bytes without control characters, and neither "." nor ".."`

/** Whether a value may be a user id. Clients remove "." and ".." from a path, so they could not ask for such a user. */
export function isUserId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_USER_BYTES) return false
  if (value === '.' || value === '..') return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value) && Buffer.byteLength(value) <= MAX_USER_BYTES
}

/** The prefix of the id of a user who is named by an unverified key. */
export const KEY_PREFIX = 'key:'

/** The prefix of the id of a user who is named by a claim of such a key. It differs from `key:` and a hash, which has no colon. */
export const JWT_PREFIX = `${KEY_PREFIX}jwt:`
