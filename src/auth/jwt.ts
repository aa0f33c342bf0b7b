import type { Denial } from '../errors.ts'
import { invalid, unknowable, type Verified } from './caller.ts'
import { decodeBase64url, type JsonObject, member, parseObject } from './encoding.ts'
import type { Issuer } from './issuer.ts'
import { signatureHolds } from './jose.ts'
import { isMeantFor, readClaims } from './jwt-claims.ts'
import type { VerifyingKey } from './key-set.ts'

/** A JWT in compact serialisation whose form is good. Nothing in it is verified yet. */
interface ParsedJwt {
  readonly alg: string
  readonly kid: string | undefined
  readonly typ: string | undefined
  readonly payload: JsonObject
  readonly payloadBytes: Uint8Array
}

/** Signatures that are checked for one token at most: each takes a tenth of a millisecond, and anybody can ask for it. */
const MAX_CHECKS = 10

/** Header parameters that change what the signature covers or how the payload is read (RFC 7515, RFC 7797). We have no use for any. */
const REFUSED_PARAMETERS = ['crit', 'b64', 'zip']

export type JwtVerifier = (token: string, now: number) => Promise<Verified | Denial>

/**
 * Verifies JWTs by the rules of RFC 8725. All that needs no key is judged first, so that a token which is refused anyway
 * costs no signature check and causes no fetch of keys; the signature then covers the very bytes that were judged.
 * `jwk`, `jku`, `x5u` and `x5c` in a token are never looked at.
 */
export function createJwtVerifier(issuers: readonly Issuer[]): JwtVerifier {
  return async function verifyJwt(token, now) {
    const jwt = parseJwt(token)
    if (jwt === null) return invalid('malformed JWT')
    const candidates = chooseIssuers(issuers, jwt)
    if ('code' in candidates) return candidates
    let refused: Denial | undefined
    const checks = { left: MAX_CHECKS }
    for (const issuer of candidates) {
      const result = await verifyFor(issuer, token, jwt, { now, checks })
      if ('caller' in result) return result
      // "Cannot know" outweighs "no": the key that would say yes may be among those we could not fetch.
      if (refused === undefined || result.code !== 'unauthorized') refused = result
    }
    return refused ?? invalid('no issuer')
  }
}

async function verifyFor(
  issuer: Issuer,
  token: string,
  { alg, kid, payload, payloadBytes }: ParsedJwt,
  { now, checks }: { readonly now: number; readonly checks: { left: number } },
): Promise<Verified | Denial> {
  const claims = readClaims(payload, payloadBytes, issuer, now)
  if ('code' in claims) return claims
  const found = await issuer.source.find(alg, kid)
  if (found.is === 'unavailable')
    return unknowable('overloaded', 'the keys of the issuer cannot be fetched', found.retryAfter)
  if (found.is === 'unknown') return invalid('no key of the issuer fits')
  if (found.is === 'ambiguous') return invalid('too many keys of the issuer fit and the token names none')
  const verified: Verified = { caller: { user: claims.user, kind: 'jwt' }, until: claims.expiresAt }
  if (await anyHolds(found.keys)) return verified
  const other = await issuer.source.findOther(alg, kid, found.keys)
  return other.is === 'keys' && (await anyHolds(other.keys)) ? verified : invalid('bad signature')

  async function anyHolds(keys: readonly VerifyingKey[]): Promise<boolean> {
    for (const { key } of keys) {
      if (checks.left-- > 0 && (await signatureHolds(token, key, alg))) return true
    }
    return false
  }
}

/** The issuers whose rules this token can meet, or at which of them it fails. */
function chooseIssuers(issuers: readonly Issuer[], { alg, typ, payload }: ParsedJwt): readonly Issuer[] | Denial {
  const iss = member(payload, 'iss')
  const ofIssuer = issuers.filter(({ issuer }) => issuer === iss)
  if (ofIssuer.length === 0) return invalid('unknown issuer')
  const ofAudience = ofIssuer.filter(({ audiences }) => isMeantFor(payload, audiences))
  if (ofAudience.length === 0) return invalid('meant for another audience', 'The token is not meant for this service.')
  const ofAlgorithm = ofAudience.filter(({ algorithms }) => algorithms.includes(alg))
  if (ofAlgorithm.length === 0) return invalid('alg is not allowed for the issuer')
  const ofType = ofAlgorithm.filter(({ typ: allowed }) => allowed === undefined || isOfType(typ, allowed))
  return ofType.length === 0 ? invalid('typ is not allowed for the issuer') : ofType
}

function parseJwt(token: string): ParsedJwt | null {
  const segments = token.split('.', 4)
  if (segments.length !== 3 || segments.includes('')) return null
  const [headerBytes, payloadBytes, signature] = segments.map(decodeBase64url)
  if (!headerBytes || !payloadBytes || !signature) return null
  const header = parseObject(headerBytes)
  const payload = parseObject(payloadBytes)
  if (header === null || payload === null || REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) return null
  const alg = member(header, 'alg')
  const kid = member(header, 'kid')
  const typ = member(header, 'typ')
  if (typeof alg !== 'string' || !isOptionalText(kid) || !isOptionalText(typ)) return null
  return { alg, kid, typ, payload, payloadBytes }
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

/** Media types have no case, and `application/` may be left out (RFC 7515, section 4.1.9). */
function isOfType(typ: string | undefined, allowed: readonly string[]): boolean {
  return typ !== undefined && allowed.some((one) => mediaType(one) === mediaType(typ))
}

function mediaType(typ: string): string {
  return typ.toLowerCase().replace(/^application\/(?=[^/]+$)/, '')
}
