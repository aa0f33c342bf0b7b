import { createHash } from 'node:crypto'
import type { AccessKeys } from '../control/held-access-keys.ts'
import { type KeySetStore, NO_KEY_SETS } from '../control/kept-key-sets.ts'
import type { Denial } from '../errors.ts'
import { createCache, endOf } from '../lib/second-chance-cache.ts'
import type { Observation, Observer } from '../observe/observation.ts'
import { faultOfCredential, readBearer } from './bearer-credential.ts'
import { type CheckPlaces, UNBOUNDED } from './check-places.ts'
import { createIntrospection, type IntrospectionOptions } from './introspection.ts'
import { closeAllBut, type FetchedKeys, type IssuerOptions, openIssuers } from './issuer.ts'
import { createJwtVerifier, type ReadJwt } from './jwt.ts'
import { SharedChecks } from './shared-checks.ts'
import { type Caller, invalid, type Verified } from './verdict.ts'
import { isAccessKey, verifyAccessKey } from './verify-access-key.ts'

export type { CheckPlaces } from './check-places.ts'
export { AuthSetupError, type IssuerOptions } from './issuer.ts'
export { type Caller, type CallerKind, callerOf, isMissing, isVerified } from './verdict.ts'

export interface AuthOptions {
  readonly issuers: readonly IssuerOptions[]
  /** Providers for credentials that are neither an access key nor a JWT of an issuer. Default none. */
  readonly introspection?: readonly IntrospectionOptions[]
  /** Paths of the claims that are forwarded. Default none. */
  readonly claims?: readonly string[]
  /** Names of the configured plans. Default none. */
  readonly plans?: readonly string[]
  /** Whether access keys are accepted. */
  readonly gatewayTokens: boolean
  readonly tokens: AccessKeys
  readonly cache: {
    /** How many credentials are remembered, 0 or more. Each takes at most 8 KiB. */
    readonly max: number
    /**
     * The longest time for which a credential is remembered, in milliseconds. Each is remembered for three quarters of it or more.
     * A JWT is forgotten at its `exp`, and an access key after at most a quarter of a second.
     */
    readonly ttlMs: number
  }
  /** The longest credential that is accepted, in characters; at least 8,192, which is the default. */
  readonly maxCredential?: number
  /** Where fetched key sets are kept for other gateways. Default nowhere. */
  readonly keySets?: KeySetStore
  /** Milliseconds since the epoch; the process clock by default. */
  readonly now?: () => number
  /** 0 to 1, to vary the time for which a credential is remembered. */
  readonly random?: () => number
  readonly observe: Observer
}

export interface Authenticator {
  /**
   * Identifies the caller of a request by its `Authorization` header. The result for a remembered credential is no promise. Rejects
   * only for a fault of the gateway.
   * @param places bounds the checks that cost more than an accepted request. Default no bound
   */
  authenticate(
    authorization: string | undefined,
    places?: () => CheckPlaces,
  ): Caller | Denial | Promise<Caller | Denial>
  /** Identifies the caller by a credential from another place. If the same credential also comes as Bearer, it is remembered once. */
  judge(credential: string, places?: () => CheckPlaces): Caller | Denial | Promise<Caller | Denial>
  /** Issuers whose tokens nobody can verify now, because no key was fetched yet, or no published key can be used. */
  withoutKeys(): readonly string[]
  /** Addresses of introspection providers that have given no usable response yet. For example, 401 and 500 are not usable. */
  unheard(): readonly string[]
  /** Whether some key set was not fetched yet, or some provider has given no usable response yet. */
  isIncomplete(): boolean
  /**
   * Tries once more to reach these issuers and providers, and gives the store the key sets that it could not take before. Is called at a
   * start, and when a store is back. Never rejects.
   */
  prepare(): Promise<void>
  /** Sources of keys by issuer and URL, for the next authenticator. */
  readonly fetched: FetchedKeys
  /** Stops fetching keys, except those that `next` still uses, and forgets all credentials. */
  close(next?: Pick<Authenticator, 'fetched'>): void
}

/**
 * The longest time for which an accepted access key is remembered, in milliseconds. A revocation must be in force within 2 seconds, of which
 * the age of held access keys and the questions of tunnels, every 0.4 s, take a part too.
 */
const GATEWAY_TOKEN_MS = 250

/** The usual text before a credential. */
const USUAL = 'Bearer '
const MAX_CREDENTIAL = 8 * 1024
/** The longest header that is looked up as it is. A long credential is remembered by its hash, so that the number bounds the memory. */
const MAX_KEY = MAX_CREDENTIAL + 64

const HIT: Observation = Object.freeze({ type: 'credential_checked', cached: true })
const MISS: Observation = Object.freeze({ type: 'credential_checked', cached: false })

/** Any three parts, which a JWT in compact serialisation has. */
const JWT_SHAPED = /^[^.]+\.[^.]+\.[^.]+$/

/** Whether a provider is asked about a credential: not about a mistyped access key, nor about a JWT if there are issuers. */
function isForProvider(credential: string, hasIssuers: boolean): boolean {
  return !credential.startsWith('gw_') && !(hasIssuers && JWT_SHAPED.test(credential))
}

const NONE = { fetched: new Map() } as const

/**
 * Checks Bearer credentials: JWTs of the issuers, access keys, and credentials that a provider knows. Any other credential is
 * refused without asking anybody.
 * @param before the present authenticator. Its fetched keys go on, so that an identity provider which is out now does no harm
 * @throws AuthSetupError if an issuer or its keys cannot be used, but not if its URL does not respond
 */
export async function createAuthenticator(
  options: AuthOptions,
  before: Pick<Authenticator, 'fetched'> = NONE,
): Promise<Authenticator> {
  const { keySets: kept = NO_KEY_SETS, observe, now = Date.now } = options
  const { issuers, fetched } = await openIssuers(options.issuers, before.fetched, { kept, observe, now })
  const maxCredential = Math.max(MAX_CREDENTIAL, options.maxCredential ?? 0)
  const { claims = [], plans = [], introspection: providers = [] } = options
  const wanted = { forwarded: claims, plans: new Set(plans) }
  const jwts = createJwtVerifier(issuers, wanted)
  const introspection = createIntrospection({ providers, wanted, cache: options.cache, observe, now })
  // Up to 8 KiB the key is the credential itself, because hashing costs more than the look-up. For a longer one it is a hash.
  const accepted = createCache<Caller>(options.cache.max, endOf)
  const check = createCheck(options, issuers.length > 0, jwts, introspection, accepted)

  function authenticate(
    authorization: string | undefined,
    places: () => CheckPlaces = UNBOUNDED,
  ): Caller | Denial | Promise<Caller | Denial> {
    const at = now()
    // The header itself is the key if it has the usual spelling, so a hit costs one look-up and no parsing.
    const isKey = authorization !== undefined && authorization.length <= MAX_KEY
    const hit = isKey ? recall(authorization, at) : undefined
    if (hit !== undefined) return hit
    const credential = readBearer(authorization, maxCredential)
    if (typeof credential !== 'string') return credential
    const isUsual =
      isKey && authorization.length === credential.length + USUAL.length && authorization.startsWith(USUAL)
    const key = isUsual ? authorization : keyOf(credential)
    return (key === authorization ? undefined : recall(key, at)) ?? check(key, credential, at, places)
  }

  function judge(
    credential: string,
    places: () => CheckPlaces = UNBOUNDED,
  ): Caller | Denial | Promise<Caller | Denial> {
    const fault = faultOfCredential(credential, maxCredential)
    if (fault !== null) return fault
    const at = now()
    const key = keyOf(credential)
    return recall(key, at) ?? check(key, credential, at, places)
  }

  function recall(key: string, at: number): Caller | undefined {
    const known = accepted.get(key, at)
    if (known !== undefined) observe(HIT)
    return known
  }

  function close(next: Pick<Authenticator, 'fetched'> = NONE): void {
    closeAllBut(next.fetched, fetched)
    introspection.close()
    accepted.clear()
  }

  function withoutKeys(): readonly string[] {
    const names = issuers.filter(({ source }) => !source.hasKeys()).map(({ issuer }) => issuer)
    return [...new Set(names)]
  }

  function isIncomplete(): boolean {
    return issuers.some(({ source }) => !source.wasRead()) || introspection.unheard().length > 0
  }

  async function prepare(): Promise<void> {
    await Promise.all([introspection.prepare(), ...issuers.map(({ source }) => source.prepare())])
  }

  const { unheard } = introspection
  return { authenticate, judge, withoutKeys, unheard, isIncomplete, prepare, fetched, close }
}

/** Checks a credential that is not remembered, and remembers it if it is accepted. */
function createCheck(
  { gatewayTokens, tokens, introspection = [], cache, observe, now = Date.now, random = Math.random }: AuthOptions,
  hasIssuers: boolean,
  jwts: ReturnType<typeof createJwtVerifier>,
  provider: ReturnType<typeof createIntrospection>,
  accepted: ReturnType<typeof createCache<Caller>>,
) {
  const checks = new SharedChecks()

  function check(
    key: string,
    credential: string,
    at: number,
    places: () => CheckPlaces,
  ): Caller | Denial | Promise<Caller | Denial> {
    if (isAccessKey(credential)) {
      return gatewayTokens ? checkAccessKey(key, credential, at) : invalid('access keys are switched off')
    }
    if (gatewayTokens && tokens.isImported(credential)) return checkAccessKey(key, credential, at)
    const asks = introspection.length > 0 && isForProvider(credential, hasIssuers)
    if (!asks && !credential.includes('.')) return invalid('neither a JWT nor an access key')
    const jwt = asks ? null : jwts.read(credential)
    const running = jwt !== null && 'code' in jwt ? undefined : checks.join(key, at, () => places().party)
    if (running !== undefined) return running
    observe(MISS)
    if (jwt === null) return introspect(key, credential, at, places)
    return 'code' in jwt ? jwt : checkJwt(key, jwt, at, places)
  }

  function checkAccessKey(key: string, token: string, at: number): Caller | Denial | Promise<Caller | Denial> {
    observe(MISS)
    const result = verifyAccessKey(tokens, token, at)
    return result instanceof Promise ? result.then(settle) : settle(result)

    function settle(verified: Verified | Denial): Caller | Denial {
      if ('code' in verified) return verified
      return accept(key, verified, at, Math.min(cache.ttlMs, GATEWAY_TOKEN_MS))
    }
  }

  function checkJwt(key: string, jwt: ReadJwt, at: number, places: () => CheckPlaces): Promise<Caller | Denial> {
    return checks.start(key, at, async () => {
      const verified = await jwts.verify(jwt, at, places)
      return 'code' in verified ? verified : accept(key, verified, now(), cache.ttlMs)
    })
  }

  /** The time counts from the question, because the credential may have been revoked since then. */
  function introspect(key: string, credential: string, at: number, places: () => CheckPlaces) {
    return checks.start(key, at, async () => {
      const verified = await provider.introspect(credential, at, places)
      return 'code' in verified ? verified : accept(key, verified, at, cache.ttlMs)
    })
  }

  /**
   * The times differ, because credentials that came together after a start or a peak would otherwise be verified again
   * together, which delays all other requests.
   */
  function accept(key: string, { caller, until }: Verified, since: number, longestMs: number): Caller {
    const latest = since + longestMs * (1 - random() / 4)
    accepted.set(key, caller, Math.min(until, latest), now())
    return caller
  }

  return check
}

/**
 * The key under which a credential is remembered: its header in the usual spelling, or its hash if it is long. A hash stands behind a line
 * end, which no header contains. Otherwise a header of the bare hash would be accepted in place of the credential.
 */
function keyOf(credential: string): string {
  if (credential.length <= MAX_CREDENTIAL) return USUAL + credential
  return `\n${createHash('sha256').update(credential).digest('base64')}`
}
