import type { Denial } from '../errors.ts'
import { type CheckPlaces, Checks } from './check-places.ts'
import { type Payload, readFacts, type WantedFacts } from './claim-facts.ts'
import type { Issuer } from './issuer.ts'
import { readClaims } from './jwt-claims.ts'
import { decodeBase64url, member, type Outline, outlineOf, parseObject } from './jwt-encoding.ts'
import { holds, holdsInPool, LONG, type Signed } from './jwt-signature.ts'
import type { VerifyingKey } from './key-set.ts'
import { mayIssue, maySignFor } from './tenants.ts'
import { invalid, unknowable, type Verified } from './verdict.ts'

/** A JWT in compact serialisation that one of our issuers may have made. Nothing is verified yet. */
export interface ReadJwt extends Signed {
  readonly kid: string | undefined
  readonly payloadBytes: Uint8Array
  readonly outline: Outline
  /** The issuers whose rules fit the header and `iss`. At least one. */
  readonly issuers: readonly Issuer[]
}

interface Header {
  readonly alg: string
  readonly kid: string | undefined
  readonly typ: string | undefined
}

/** In characters of base64url: 1 KiB. Real headers have 50 to 150 bytes, and certificate chains are ignored anyway. */
const MAX_HEADER = Math.ceil((1024 * 4) / 3)

/**
 * A payload with up to this many commas is parsed at once, which costs less than checking its signature. Any other is parsed only
 * after its signature was verified, because anybody can make one that takes longer to parse.
 */
const MOST_COMMAS = 64

/**
 * Reading a longer payload takes as long as an ES256 check, and real ones have 300 to 1500 bytes. It too is parsed only after its
 * signature was verified, so that refusing it always counts as a failed check, of which an address has few.
 */
const LARGE = 2048

/** Header parameters that change what is signed or how the payload is read (RFC 7515, RFC 7797). The gateway supports none of them. */
const REFUSED_PARAMETERS = ['crit', 'b64', 'zip']

const MALFORMED = invalid('malformed JWT')
const BAD_SIGNATURE = invalid('bad signature')

export interface JwtVerifier {
  /** Checks everything that needs neither a key nor parsed claims. This must be cheap, because anybody may have made the token. */
  read(token: string): ReadJwt | Denial
  verify(jwt: ReadJwt, now: number, places: () => CheckPlaces): Promise<Verified | Denial>
}

/**
 * Verifies JWTs by the rules of RFC 8725, the cheapest checks first: the header, the issuer, the claims of a small payload, the
 * signature, the claims of a large payload. So most refused tokens cost no signature check and no fetch of keys. The signature covers
 * exactly the bytes that are judged, and no token is accepted before all its claims are read. `jwk`, `jku`, `x5u` and `x5c` in a token
 * are ignored.
 */
export function createJwtVerifier(issuers: readonly Issuer[], wanted: WantedFacts): JwtVerifier {
  const algorithms = new Set(issuers.flatMap((issuer) => issuer.algorithms))

  function read(token: string): ReadJwt | Denial {
    const first = token.indexOf('.')
    const second = token.indexOf('.', first + 1)
    if (first < 1 || second < first + 2 || second === token.length - 1 || token.includes('.', second + 1))
      return MALFORMED
    if (first > MAX_HEADER) return invalid('the header of the JWT has more than 1 KiB')
    const header = readHeader(token.slice(0, first))
    if (header === null) return MALFORMED
    const { alg, kid } = header
    if (!algorithms.has(alg)) return invalid('alg is not allowed for the issuer')
    const payloadBytes = decodeBase64url(token.slice(first + 1, second))
    const signature = decodeBase64url(token.slice(second + 1))
    const outline = payloadBytes === null ? null : outlineOf(payloadBytes, 'iss')
    if (payloadBytes === null || signature === null || outline === null) return MALFORMED
    const candidates = chooseIssuers(issuers, outline.text, header)
    if ('code' in candidates) return candidates
    return { alg, kid, input: token.slice(0, second), signature, payloadBytes, outline, issuers: candidates }
  }

  return { read, verify: (jwt, now, places) => verify(jwt, now, places, wanted) }
}

async function verify(
  jwt: ReadJwt,
  now: number,
  places: () => CheckPlaces,
  wanted: WantedFacts,
): Promise<Verified | Denial> {
  const isSmall = jwt.outline.commas <= MOST_COMMAS && jwt.payloadBytes.length <= LARGE
  const payload = isSmall ? payloadOf(jwt) : undefined
  if (payload === null) return MALFORMED
  const checks = new Checks(places)
  let isGood = false
  try {
    const result = await verifyForAny(jwt, payload, { now, checks, wanted })
    isGood = 'caller' in result
    return result
  } finally {
    checks.end(isGood)
  }
}

function payloadOf({ payloadBytes, outline }: ReadJwt): Payload | null {
  const object = parseObject(payloadBytes, outline)
  return object && { object, bytes: payloadBytes }
}

interface Verification {
  readonly now: number
  readonly checks: Checks
  readonly wanted: WantedFacts
}

async function verifyForAny(
  jwt: ReadJwt,
  payload: Payload | undefined,
  verification: Verification,
): Promise<Verified | Denial> {
  let refused: Denial | undefined
  for (const issuer of jwt.issuers) {
    const result = await verifyFor(issuer, jwt, payload, verification)
    if ('caller' in result) return result
    // "Unknown" outweighs "no", because the right key may be among those that could not be fetched.
    if (refused === undefined || result.code !== 'unauthorized') refused = result
  }
  return refused ?? invalid('no issuer')
}

/** @param small undefined if the payload may be parsed only after its signature was verified */
async function verifyFor(
  issuer: Issuer,
  jwt: ReadJwt,
  small: Payload | undefined,
  { now, checks, wanted }: Verification,
): Promise<Verified | Denial> {
  const early = small && readClaims(small, issuer, now)
  if (early !== undefined && 'code' in early) return early
  const unsigned = await faultOfSignature(issuer, jwt, checks)
  if (unsigned !== null) return unsigned
  const payload = small ?? payloadOf(jwt)
  if (payload === null) return MALFORMED
  const claims = early ?? readClaims(payload, issuer, now)
  if ('code' in claims) return claims
  const facts = readFacts(payload, issuer, wanted)
  if ('code' in facts) return facts
  return { caller: { user: claims.user, kind: 'jwt', ...facts }, until: claims.expiresAt }
}

/** `null` if a key of the issuer has signed the token. */
async function faultOfSignature(issuer: Issuer, jwt: ReadJwt, checks: Checks): Promise<Denial | null> {
  const { alg, kid } = jwt
  const { source } = issuer
  const found = await source.find(alg, kid)
  if (found.is === 'unavailable') return unfetched(found.retryAfter)
  if (found.is === 'unknown') return invalid('no key of the issuer fits')
  if (found.is === 'ambiguous') return invalid('too many keys of the issuer fit and the token names none')
  const first = await judge(found.keys)
  if (first !== BAD_SIGNATURE) return first
  const other = await source.findOther(alg, kid, found.keys)
  if (other.is === 'unavailable') return unfetched(other.retryAfter)
  return other.is === 'keys' ? judge(other.keys) : BAD_SIGNATURE

  async function judge(keys: readonly VerifyingKey[]): Promise<Denial | null> {
    for (const { key, cost, issuer: ofKey } of keys) {
      if (!maySignFor(ofKey, issuer, jwt.outline.text)) continue
      if (checks.isOver()) break
      const refused = checks.begin(jwt.payloadBytes.length > LARGE ? cost + 1 : cost)
      if (refused !== null) return refused
      if (cost >= LONG ? await holdsInPool(jwt, key) : holds(jwt, key)) return null
    }
    return BAD_SIGNATURE
  }
}

/** The token may have a new key, but the key set cannot be fetched now, or was fetched too often. */
function unfetched(retryAfter: number): Denial {
  return unknowable(
    'overloaded',
    'the keys of the issuer cannot be fetched now, and none that is known fits',
    retryAfter,
  )
}

/** The issuers whose rules this token may fit, or the rule that it breaks. */
function chooseIssuers(
  issuers: readonly Issuer[],
  iss: string | null,
  { alg, typ }: Header,
): readonly Issuer[] | Denial {
  const ofIssuer = issuers.filter((issuer) => mayIssue(issuer, iss))
  if (ofIssuer.length === 0) return invalid('unknown issuer')
  const ofAlgorithm = ofIssuer.filter(({ algorithms }) => algorithms.includes(alg))
  if (ofAlgorithm.length === 0) return invalid('alg is not allowed for the issuer')
  const ofType = ofAlgorithm.filter(({ typ: allowed }) => allowed === undefined || isOfType(typ, allowed))
  return ofType.length === 0 ? invalid('typ is not allowed for the issuer') : ofType
}

function readHeader(text: string): Header | null {
  const bytes = decodeBase64url(text)
  const header = bytes === null ? null : parseObject(bytes)
  if (header === null || REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) return null
  const alg = member(header, 'alg')
  const kid = member(header, 'kid')
  const typ = member(header, 'typ')
  if (typeof alg !== 'string' || !isOptionalText(kid) || !isOptionalText(typ)) return null
  return { alg, kid, typ }
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
