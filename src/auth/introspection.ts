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

/** Credentials that say nothing by themselves: whoever issued them is asked (RFC 7662). */

export interface IntrospectionOptions extends ProviderOptions, FactClaims {
  /** A credential must be meant for one of these; empty for any. */
  readonly audiences: readonly string[]
  /** By path, as in `IssuerOptions`. */
  readonly audienceClaim: string
  readonly userClaim: string
}

export interface Introspection {
  /** Never rejects for a fault of a provider. @param at milliseconds since the epoch */
  introspect(credential: string, at: number, places: () => CheckPlaces): Promise<Verified | Denial>
  /** Addresses of the providers that have not responded once. */
  unheard(): readonly string[]
  /** Asks those. */
  prepare(): Promise<void>
  /** What is asked already is waited for. */
  close(): void
}

/** How long "no" is remembered: a credential that was used before its issuer knew it is good soon after. */
const REFUSED_MS = 10_000
/** Each has about 200 bytes. */
const MOST_REFUSED = 10_000
/** A credential whose "yes" is no longer remembered was good lately for as long as this. */
const LATELY_MS = 3_600_000
/** Fewest of those that are known to have been good lately; each has about 200 bytes. */
const MOST_GOOD = 10_000
/**
 * What a credential costs the address that brought it, unless it is a good one, in tenths of a millisecond: an address has 40 asked about
 * for nothing at once, and 10 a second from then on. One on which the provider fails costs as much: else it could be brought without end.
 */
const COST = 50

/** For clocks that differ, in seconds. */
const TOLERANCE = 30

const INACTIVE = invalid('the issuer does not know the credential, or it has ended')

interface Rules {
  readonly options: IntrospectionOptions
  readonly provider: Provider
}

export interface IntrospectionSetup {
  /** Asked in this order, each only if the ones before say "no". */
  readonly providers: readonly IntrospectionOptions[]
  readonly wanted: WantedFacts
  /** What whoever asks remembers of credentials that are good. */
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
      // This takes no place for long signatures, because a provider has places of its own (provider-places.ts).
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

  const unheard = (): readonly Provider[] => rules.flatMap(({ provider }) => (provider.hasAnswered() ? [] : [provider]))

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
  /** Whether some provider was asked. */
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
    // "Cannot know" outweighs "no": whoever would say yes may be the one that cannot be asked.
    if (refused.code === 'unauthorized') refused = result
  }
  return { result: refused, wasAsked }
}

/** As soon as this a client may ask again. */
const RETRY_SECONDS = 1

function out(problem: string): Denial {
  return unknowable('overloaded', `introspection: ${problem}`, RETRY_SECONDS)
}

/** What a provider says of a credential, held against our rules: it may be active and yet not be for us. */
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

/** Why a credential is good only with a proof that is not asked for here (RFC 8705, RFC 9449); `null` if its bearer is enough. */
function proofOf({ object }: Payload): string | null {
  const type = member(object, 'token_type')
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer') return 'the credential is no Bearer token'
  return member(object, 'cnf') === undefined ? null : 'the credential is bound to a key of its client'
}

function isOptionalDate(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value))
}
