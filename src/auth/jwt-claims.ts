import { isUserId } from '../control/user-id.ts'
import type { Denial } from '../errors.ts'
import { idOf, isMeantFor, otherAudience, type Payload } from './claim-facts.ts'
import type { Issuer } from './issuer.ts'
import { member } from './jwt-encoding.ts'
import { isIssuedBy } from './tenants.ts'
import { invalid } from './verdict.ts'

/** Reads the claims of a JWT by the rules of one issuer (RFC 7519, section 4.1; RFC 8725, sections 3.8 to 3.10). */

export interface Claims {
  readonly user: string
  /** `exp` in milliseconds since the epoch. */
  readonly expiresAt: number
}

/** Reads user and times, and checks issuer and audience. @param now milliseconds since the epoch */
export function readClaims(payload: Payload, issuer: Issuer, now: number): Claims | Denial {
  const { object } = payload
  if (!isIssuedBy(issuer, object)) return invalid('unknown issuer, or tid is another tenant than that of iss')
  if (!isMeantFor(payload, issuer)) return otherAudience(payload, issuer)
  const tolerance = issuer.clockToleranceSeconds
  const exp = member(object, 'exp')
  if (!isDate(exp)) return invalid('exp is missing or no number')
  if (now / 1000 >= exp + tolerance) return invalid('expired', 'The token has expired.')
  for (const claim of ['nbf', 'iat']) {
    const from = member(object, claim)
    if (from === undefined) continue
    if (!isDate(from)) return invalid(`${claim} is no number`)
    if (now / 1000 < from - tolerance) return invalid(`${claim} is in the future`, 'The token is not valid yet.')
  }
  const user = idOf(payload, issuer.userClaim)
  return isUserId(user) ? { user, expiresAt: exp * 1000 } : invalid(`${issuer.userClaim} is no user id`)
}

/** A NumericDate may have a fraction. JSON can spell a number that reads as Infinity. */
function isDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
