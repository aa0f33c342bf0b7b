import { type Denial, denial } from '../errors.ts'
import { invalid, missing } from './verdict.ts'

/** The scheme, with room for a few needless spaces. */
const MAX_SCHEME = 64

/** RFC 9110, section 11.4: 1*SP after the scheme, which has no case; RFC 6750, section 2.1: b64token. A comma or a tab fits nowhere. */
const TOKEN = /^[a-z0-9\-._~+/]+=*$/i
const BEARER = /^bearer +([a-z0-9\-._~+/]+=*)$/i

/**
 * The credential of an `Authorization` header, or why there is none.
 * @param max longest credential that is looked at, in characters (all of them ASCII)
 */
export function readBearer(authorization: string | undefined, max: number): string | Denial {
  if (authorization === undefined || authorization === '') return missing('no Authorization header')
  if (authorization.length > max + MAX_SCHEME) return tooLong(max)
  const credential = BEARER.exec(authorization)?.[1]
  if (credential !== undefined) return credential.length > max ? tooLong(max) : credential
  // Another scheme is no Bearer error: the answer is the plain challenge (RFC 6750, section 3.1).
  if (!/^bearer(?![a-z0-9\-._~+/])/i.test(authorization)) return missing('another authentication scheme')
  return invalid('malformed Authorization header', 'The Authorization header is malformed.')
}

/**
 * A credential that stands by itself, wherever it came from: of the same characters.
 * @returns why it is none; `null` if it may be one
 */
export function faultOfCredential(credential: string, max: number): Denial | null {
  if (credential.length > max) return tooLong(max, 'credential too long')
  return TOKEN.test(credential) ? null : invalid('malformed credential', 'The credential is malformed.')
}

/** No 401: it would have the client fetch the same credential again. */
export function tooLong(max: number, reason = 'Authorization header too long'): Denial {
  return denial('headers_too_large', `The credential may have at most ${max} characters.`, { reason })
}
