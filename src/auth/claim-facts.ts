import { isUserId } from '../control/user-id.ts'
import type { Denial } from '../errors.ts'
import { jsonAt } from '../lib/json-path.ts'
import { forwardable, integerOf } from './claim-path.ts'
import { type JsonObject, member } from './jwt-encoding.ts'
import { type Caller, invalid } from './verdict.ts'

/** Facts about a caller in claims, which come from a JWT or an introspection response. */

/** The source of claims. */
export interface Payload {
  /** Made by `parseObject`. */
  readonly object: JsonObject
  readonly bytes: Uint8Array
}

/** Whether a claim, `aud` by default, equals one of the audiences, or is a list of texts that contains one. */
export function isMeantFor(
  payload: Payload,
  { audiences, audienceClaim = 'aud' }: { readonly audiences: readonly string[]; readonly audienceClaim?: string },
): boolean {
  const named = textsOf(payload, audienceClaim)
  const list: readonly unknown[] = Array.isArray(named) ? named : [named]
  return list.every((one) => typeof one === 'string') && list.some((one) => audiences.includes(one))
}

/** Names the cure for operators: most providers name the service in tokens only if they are configured to. */
export function otherAudience(
  payload: Payload,
  { audienceClaim = 'aud' }: { readonly audienceClaim?: string },
): Denial {
  const has =
    textsOf(payload, audienceClaim) === undefined
      ? 'it has no claim'
      : 'no audience of the configuration is in its claim'
  const reason = `meant for another audience: ${has} ${audienceClaim}. Let the provider put yours there, or set audience and audience_claim to what the token has (Keycloak: azp, Cognito: client_id; docs/guides/identity-providers.md)`
  return invalid(reason, 'The token is not meant for this service.')
}

/** The facts about a caller besides the user. */
export type Facts = Pick<Caller, 'organisation' | 'plan' | 'periodDay' | 'claims'>

/** Which claims contain the facts. */
export interface FactClaims {
  /** The path of a claim, as for `userClaim`; none by default. */
  readonly planClaim?: string | null
  readonly organisationClaim?: string | null
  readonly periodDayClaim?: string | null
}

/** The facts that are read for every issuer and provider. */
export interface WantedFacts {
  /** Paths of the claims to forward. */
  readonly forwarded: readonly string[]
  /** Names of the configured plans. */
  readonly plans: ReadonlySet<string>
}

/**
 * Reads the plan, the organisation, the first day of months and the claims to forward. A claim that is missing or null is ignored. A
 * claim of a wrong form is refused, because a caller without his organisation would evade its limits.
 */
export function readFacts(payload: Payload, claims: FactClaims, { forwarded, plans }: WantedFacts): Facts | Denial {
  const { planClaim = null, organisationClaim = null, periodDayClaim = null } = claims
  const plan = planClaim === null ? null : planIn(idOf(payload, planClaim), plans)
  const organisation = organisationClaim === null ? null : (idOf(payload, organisationClaim) ?? null)
  if (plan !== null && !isUserId(plan)) return invalid(`${planClaim} is no name of a plan`)
  if (organisation !== null && !isUserId(organisation))
    return invalid(`${organisationClaim} is no name of an organisation`)
  const facts = { plan, organisation, claims: forwarded.length === 0 ? NO_CLAIMS : forwardedClaims(payload, forwarded) }
  const day = periodDayClaim === null ? null : dayIn(idOf(payload, periodDayClaim))
  if (day === null) return facts
  return day === 'wrong' ? invalid(`${periodDayClaim} is no day from 1 to 31`) : { ...facts, periodDay: day }
}

const DAY = /^([1-9]|[12]\d|3[01])$/

/** As for plans, the values that identity providers write for users without a day are ignored. */
function dayIn(claim: unknown): number | 'wrong' | null {
  if (claim === undefined || claim === null || claim === '' || claim === false) return null
  return typeof claim === 'string' && DAY.test(claim) ? Number(claim) : 'wrong'
}

/**
 * Returns what may be the name of a plan. A list, which may also contain groups and roles, gives the first configured plan, or else its
 * first name, so that a misspelt plan is noticed. Identity providers write `""` and `false` for users without a plan.
 */
function planIn(claim: unknown, plans: ReadonlySet<string>): unknown {
  if (claim === undefined || claim === '' || claim === false) return null
  if (!Array.isArray(claim)) return claim
  const names = claim.map((one) => (Number.isSafeInteger(one) ? String(one) : (one as unknown))).filter(isUserId)
  return names.find((name) => plans.has(name)) ?? names[0] ?? null
}

const NO_CLAIMS = Object.freeze({})

function forwardedClaims({ bytes }: Payload, paths: readonly string[]): Record<string, string> {
  const text = textOf(bytes)
  const found = paths.map((path) => {
    const json = jsonAt(text, path)
    return [path, json === null ? null : forwardable(json)] as const
  })
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== null))
}

/**
 * Returns what may be an id: a text, or the digits of a whole number, which some issuers use to number their users. Any
 * other value is returned as it is; undefined if there is no such claim.
 */
export function idOf({ object, bytes }: Payload, path: string): unknown {
  const plain = member(object, path)
  if (plain !== undefined && typeof plain !== 'number') return plain
  const json = plain === undefined && !path.includes('.') ? null : jsonAt(textOf(bytes), path)
  if (json === null) return undefined
  return integerOf(json) ?? (JSON.parse(json) as unknown)
}

/** Returns a claim that may be a text or a list of texts, as it is; undefined if there is no such claim. */
function textsOf({ object, bytes }: Payload, path: string): unknown {
  const plain = member(object, path)
  const json = plain === undefined && path.includes('.') ? jsonAt(textOf(bytes), path) : null
  return json === null ? plain : JSON.parse(json)
}

/** The bytes are UTF-8, because they were parsed before. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}
