import { type Denial, denial } from '../errors.ts'

/** Whom a request is charged to. */
export interface Caller {
  /** The verified user id, as it stood in the credential: never folded, trimmed or normalised. */
  readonly user: string
  readonly kind: 'jwt' | 'gateway_token'
}

/** A caller, and the moment from which the credential no longer holds (milliseconds since the epoch; may be Infinity). */
export interface Verified {
  readonly caller: Caller
  readonly until: number
}

const MAX_USER_BYTES = 256

/**
 * Whether a value may be a user id: a well-formed string of 1 to 256 bytes in UTF-8 without control characters.
 * A number is not taken for its digits: 1 and "1" would be one user to us and two to the issuer.
 */
export function isUserId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_USER_BYTES) return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value) && Buffer.byteLength(value) <= MAX_USER_BYTES
}

const CHALLENGE = 'Bearer realm="tollgate"'

/** No Bearer credential came. The challenge has no error code then (RFC 6750, section 3.1). */
export function missing(reason: string): Denial {
  return denial('unauthorized', 'A Bearer credential is required.', {
    headers: { 'WWW-Authenticate': CHALLENGE },
    reason,
  })
}

/**
 * A credential came and is not good.
 * @param reason for the log; never the credential or a part of it
 * @param msg for the client, also as `error_description`: printable ASCII without quotes and backslashes
 */
export function invalid(reason: string, msg = 'The credential is not valid.'): Denial {
  return denial('unauthorized', msg, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token", error_description="${msg}"` },
    reason,
  })
}

/**
 * Whether the credential is good cannot be known now. A 401 would make clients throw away good credentials.
 * @param retryAfter whole seconds
 */
export function unknowable(code: 'store_unavailable' | 'overloaded', reason: string, retryAfter: number): Denial {
  return denial(code, 'The credential cannot be checked at the moment.', {
    headers: { 'Retry-After': String(retryAfter) },
    reason,
  })
}
