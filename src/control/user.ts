const MAX_USER_BYTES = 256

/**
 * Whether a value may be a user id: a well-formed string of 1 to 256 bytes in UTF-8 without control characters.
 * A number is not taken for its digits: 1 and "1" would be one user to us and two to the issuer.
 */
export function isUserId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_USER_BYTES) return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value) && Buffer.byteLength(value) <= MAX_USER_BYTES
}
