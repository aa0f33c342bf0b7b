import { createHash } from 'node:crypto'
import { isUserId } from '../control/user-id.ts'
import type { Denial } from '../errors.ts'
import { createCache } from '../lib/second-chance-cache.ts'
import type { Observer } from '../observe/observation.ts'
import type { CheckPlaces } from './check-places.ts'
import {
  type FactClaims,
  idOf,
  isMeantFor,
  otherAudience,
  type Payload,
  readFacts,
  type WantedFacts,
} from './claim-facts.ts'
import { openProvider, type Provider, type ProviderOptions } from './introspection-provider.ts'
import { member } from './jwt-encoding.ts'
import type { Asker } from './provider-places.ts'
import { invalid, unknowable, type Verified } from './verdict.ts'

/** Credentials that contain no facts, so that their issuer is asked about them (RFC 7662). */

export interface IntrospectionOptions extends ProviderOptions, FactClaims {
  /** The credential must be meant for one of these; empty to allow any. */
  readonly audiences: readonly string[]
  /** The claim with the audiences, by path, as in `IssuerOptions`. */
  readonly audienceClaim: string
  readonly userClaim: string
}

export interface Introspection {
  /** Never rejects for a fault of a provider. @param at milliseconds since the epoch */
  introspect(credential: string, at: number, places: () => CheckPlaces): Promise<Verified | Denial>
  /** Addresses of the providers that have given no usable response yet. */
  unheard(): readonly string[]
  /** Asks the providers that have given no usable response yet once more. */
  prepare(): Promise<void>
  /** Questions that are under way are still waited for. */
  close(): void
}

/** How long a refusal is remembered. A credential that was used before its issuer knew it is accepted soon afterwards. */
const REFUSED_MS = 10_000
/** How many refusals are remembered. Each takes about 200 bytes. */
const MOST_REFUSED = 10_000
/** For how long a credential counts as recently accepted after its result is no longer remembered. */
const LATELY_MS = 3_600_000
/** At least this many recently accepted credentials are known. Each takes about 200 bytes. */
const MOST_GOOD = 10_000
/**
 * In tenths of a millisecond. An address pays this for each credential that is not accepted, so it may bring 40 at once and then 10 a
 * second. It pays even if the provider fails, because otherwise one credential could be brought without end.
 */
const COST = 50

/** Allowed difference of clocks, in seconds. */
const TOLERANCE = 30

const INACTIVE = invalid('the issuer does not know the credential, or it has ended')

interface Rules {
  readonly options: IntrospectionOptions
  readonly provider: Provider
}

export interface IntrospectionSetup {
  /** Asked in this order, each only if those before have refused. */
  readonly providers: readonly IntrospectionOptions[]
  readonly wanted: WantedFacts
  /** How the authenticator remembers accepted credentials. */
  readonly cache: { readonly max: number; readonly ttlMs: number }
  readonly observe: Observer
  readonly now: () => number
}

export function createIntrospection({ providers, wanted, cache, observe, now }: IntrospectionSetup): Introspection {
  const rules = providers.map((options): Rules => ({ options, provider: openProvider(options, observe) }))
  const refused = createCache<Denial>(MOST_REFUSED)
  const good = createCache<true>(Math.max(MOST_GOOD, cache.max))

  async function introspect(credential: string, at: number, places: () => CheckPlaces): Promise<Verified | Denial> {
    const key = createHash('sha256').update(credential).digest('base64')
    const known = refused.get(key, at)
    if (known !== undefined) return known
    const isKnown = good.get(key, at) === true
    const held = places()
    let spent = 0
    try {
      // This uses no place for long checks, because providers have places of their own (provider-places.ts).
      const noPlace = isKnown ? null : held.enter(COST, false)
      if (noPlace !== null) return noPlace
      const { result, wasAsked } = await ask(rules, credential, { at, wanted, isKnown, party: held.party })
      if (wasAsked && !('caller' in result)) spent = isKnown ? 0 : COST
      note(key, result, at)
      return result
    } finally {
      held.leave(spent)
    }
  }

  function note(key: string, result: Verified | Denial, at: number): void {
    if ('caller' in result) good.set(key, true, at + cache.ttlMs + LATELY_MS, now())
    else if (result.code === 'unauthorized') {
      refused.set(key, result, at + REFUSED_MS, now())
      good.delete(key)
    }
  }

  function close(): void {
    for (const { provider } of rules) provider.close()
    refused.clear()
    good.clear()
  }

  const unheard = (): readonly Provider[] =>
    rules.flatMap(({ provider }) => (provider.hasSucceeded() ? [] : [provider]))

  async function prepare(): Promise<void> {
    await Promise.all(unheard().map((provider) => provider.prepare()))
  }

  return { introspect, close, prepare, unheard: () => unheard().map(({ address }) => address) }
}

interface Question extends Asker {
  readonly at: number
  readonly wanted: WantedFacts
}

interface Judged {
  readonly result: Verified | Denial
  /** Whether any provider was asked. */
  readonly wasAsked: boolean
}

async function ask(rules: readonly Rules[], credential: string, question: Question): Promise<Judged> {
  let refused: Denial = INACTIVE
  let wasAsked = false
  for (const { options, provider } of rules) {
    const known = await provider.ask(credential, question)
    wasAsked ||= !('problem' in known) || known.wasAsked
    const result = 'problem' in known ? out(known.problem) : judge(known, options, question)
    if ('caller' in result) return { result, wasAsked }
    // "Unknown" outweighs "no", because the provider that cannot be asked may be the one that knows the credential.
    if (refused.code === 'unauthorized') refused = result
  }
  return { result: refused, wasAsked }
}

/** A client may ask again after this time. */
const RETRY_SECONDS = 1

function out(problem: string): Denial {
  return unknowable('overloaded', `introspection: ${problem}`, RETRY_SECONDS)
}

/** Applies our rules to the response of a provider, because an active credential may still be meant for another service. */
function judge(payload: Payload, options: IntrospectionOptions, { at, wanted }: Question): Verified | Denial {
  const { object } = payload
  if (member(object, 'active') !== true) return INACTIVE
  const bound = proofOf(payload)
  if (bound !== null) return invalid(bound)
  if (options.audiences.length > 0 && !isMeantFor(payload, options)) return otherAudience(payload, options)
  const [exp, nbf] = [member(object, 'exp'), member(object, 'nbf')]
  if (!isOptionalDate(exp) || !isOptionalDate(nbf)) return invalid('exp or nbf is no number')
  const until = exp === undefined ? Number.POSITIVE_INFINITY : exp * 1000
  if (at >= until) return invalid('expired', 'The token has expired.')
  if (nbf !== undefined && at / 1000 < nbf - TOLERANCE) {
    return invalid('nbf is in the future', 'The token is not valid yet.')
  }
  const user = idOf(payload, options.userClaim)
  if (!isUserId(user)) return invalid(`${options.userClaim} is no user id`)
  const facts = readFacts(payload, options, wanted)
  return 'code' in facts ? facts : { caller: { user, kind: 'introspected', ...facts }, until }
}

/** Why a credential needs a proof of possession that the gateway does not check (RFC 8705, RFC 9449); `null` if it needs none. */
function proofOf({ object }: Payload): string | null {
  const type = member(object, 'token_type')
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer') return 'the credential is no Bearer token'
  return member(object, 'cnf') === undefined ? null : 'the credential is bound to a key of its client'
}

function isOptionalDate(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value))
}
