import { type Denial, denial } from '../errors.ts'
import { invalid, missing } from './verdict.ts'

/** Room for the scheme and a few needless spaces. */
const MAX_SCHEME = 64

/** RFC 9110, section 11.4: 1*SP after the scheme, which has no case; RFC 6750, section 2.1: b64token. No comma, no tab. */
const TOKEN = /^[a-z0-9\-._~+/]+=*$/i
const BEARER = /^bearer +([a-z0-9\-._~+/]+=*)$/i

/**
 * The credential of an `Authorization` header, or why there is none.
 * @param max the longest credential that is accepted, in characters (all ASCII)
 */
export function readBearer(authorization: string | undefined, max: number): string | Denial {
  if (authorization === undefined || authorization === '') return missing('no Authorization header')
  if (authorization.length > max + MAX_SCHEME) return tooLong(max)
  const credential = BEARER.exec(authorization)?.[1]
  if (credential !== undefined) return credential.length > max ? tooLong(max) : credential
  // Another scheme is no Bearer error, so the response has the plain challenge (RFC 6750, section 3.1).
  if (!/^bearer(?![a-z0-9\-._~+/])/i.test(authorization)) return missing('another authentication scheme')
  return invalid('malformed Authorization header', 'The Authorization header is malformed.')
}

/**
 * Checks a credential from any other place for the same characters.
 * @returns why it cannot be a credential; `null` if it may be one
 */
export function faultOfCredential(credential: string, max: number): Denial | null {
  if (credential.length > max) return tooLong(max, 'credential too long')
  return TOKEN.test(credential) ? null : invalid('malformed credential', 'The credential is malformed.')
}

/** Not a 401, because the client would then fetch the same credential again. */
export function tooLong(max: number, reason = 'Authorization header too long'): Denial {
  return denial('headers_too_large', `The credential may have at most ${max} characters.`, { reason })
}
