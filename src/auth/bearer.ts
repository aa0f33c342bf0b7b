import type { Denial } from '../errors.ts'
import { invalid, missing } from './caller.ts'

/** Longest credential that is looked at, in characters (all of them ASCII). */
export const MAX_CREDENTIAL = 8 * 1024

/** Longer than any header that can hold such a credential, with room for a few needless spaces. */
const MAX_HEADER = MAX_CREDENTIAL + 64

/** RFC 9110, section 11.4: 1*SP after the scheme, which has no case; RFC 6750, section 2.1: b64token. A comma or a tab fits nowhere. */
const BEARER = /^bearer +([a-z0-9\-._~+/]+=*)$/i

/** The credential of an `Authorization` header, or why there is none. */
export function readBearer(authorization: string | undefined): string | Denial {
  if (authorization === undefined || authorization === '') return missing('no Authorization header')
  if (authorization.length > MAX_HEADER) return invalid('Authorization header too long', 'The credential is too long.')
  const credential = BEARER.exec(authorization)?.[1]
  if (credential !== undefined) return credential
  // Another scheme is no Bearer error: the answer is the plain challenge (RFC 6750, section 3.1).
  if (!/^bearer(?![a-z0-9\-._~+/])/i.test(authorization)) return missing('another authentication scheme')
  return invalid('malformed Authorization header', 'The Authorization header is malformed.')
}
