const MAX_USER_BYTES = 256

/** Whether a value may be a user id: a well-formed string of 1 to 256 bytes in UTF-8 without control characters. */
export function isUserId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_USER_BYTES) return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value) && Buffer.byteLength(value) <= MAX_USER_BYTES
}
