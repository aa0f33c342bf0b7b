import type { KeySetStore } from '../control/kept-key-sets.ts'
import { messageOf } from '../errors.ts'
import type { Observer } from '../observe/observation.ts'
import { ALGORITHMS } from './algorithms.ts'
import type { FactClaims } from './claim-facts.ts'
import { keysFromFile, keysFromSecrets } from './fixed-keys.ts'
import { keysFromUrl } from './jwks.ts'
import { keySetUrl } from './jwks-fetch.ts'
import type { KeySource } from './key-set.ts'
import type { Tenants } from './tenants.ts'

export interface IssuerOptions extends FactClaims {
  /**
   * Compared with `iss` character by character, or as a template if there are `tenants` (tenants.ts). Several issuers may have the same
   * name and different audiences.
   */
  readonly issuer: string
  /** Default: the issuer has one name, and `tid` is ignored. */
  readonly tenants?: Tenants
  /** A token must be meant for one of these. At least one. */
  readonly audiences: readonly string[]
  /** The claim with the audiences, by path. Default `aud`. */
  readonly audienceClaim?: string
  /** `url`: https, or http to this machine. `secret`: its UTF-8 bytes are the key, and those of `previous` are accepted too. */
  readonly keys:
    | { readonly kind: 'url'; readonly url: string }
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'secret'; readonly secret: string; readonly previous?: string }
  /** Allowed values of `alg`. HS256, HS384 and HS512 need a secret, and a secret needs one of these. */
  readonly algorithms: readonly string[]
  /** The claim that holds the user id, by path, for example `sub` or `app.user` (lib/json-path.ts). */
  readonly userClaim: string
  /** Allowed difference of clocks in seconds, 0 or more. A token is still never remembered beyond its `exp`. */
  readonly clockToleranceSeconds: number
  /** Allowed values of the header's `typ`, for example `at+jwt`. Default any. */
  readonly typ?: readonly string[]
}

/** An issuer with its keys. */
export interface Issuer extends Omit<IssuerOptions, 'keys'> {
  readonly source: KeySource
}

/** What is wrong with the configured issuers. Each problem begins with its place, for example `auth.jwt[0].algorithms`. */
export class AuthSetupError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'AuthSetupError'
    this.problems = problems
  }
}

/** Sources of keys, keyed by issuer and URL. */
export type FetchedKeys = ReadonlyMap<string, KeySource>

/**
 * @param before sources that were opened earlier. Those that are named again go on with the keys that they have fetched
 * @throws AuthSetupError with the problems of all issuers. The new sources are then closed, but none of `before`
 */
export async function openIssuers(
  all: readonly IssuerOptions[],
  before: FetchedKeys,
  surroundings: { readonly kept: KeySetStore; readonly observe: Observer; readonly now: () => number },
): Promise<{ readonly issuers: readonly Issuer[]; readonly fetched: FetchedKeys }> {
  const fetched = new Map<string, KeySource>()
  // Two audiences of one issuer share its keys, and so the limit on fetches.
  function fetchedFrom(issuer: string, url: string): KeySource {
    const name = JSON.stringify([issuer, url])
    const source =
      fetched.get(name) ?? before.get(name) ?? keysFromUrl({ issuer, url: keySetUrl(url), ...surroundings })
    fetched.set(name, source)
    return source
  }
  const results = await Promise.all(all.map((options, i) => openIssuer(options, `auth.jwt[${i}]`, fetchedFrom)))
  const problems = results.filter((result) => typeof result === 'string')
  if (problems.length === 0) return { issuers: results.filter((result) => typeof result !== 'string'), fetched }
  closeAllBut(before, fetched)
  throw new AuthSetupError(problems)
}

export function closeAllBut(kept: FetchedKeys, sources: FetchedKeys): void {
  for (const [name, source] of sources) if (kept.get(name) !== source) source.close()
}

/** The issuer, or the problem with it. */
async function openIssuer(
  { keys, ...options }: IssuerOptions,
  place: string,
  fetchedFrom: (issuer: string, url: string) => KeySource,
): Promise<Issuer | string> {
  const problem = problemOf(options, keys.kind)
  if (problem !== null) return `${place}.${problem}`
  try {
    return { ...options, source: await openKeys() }
  } catch (error) {
    return `${place}.${keys.kind === 'secret' ? 'secret' : 'jwks'}: ${messageOf(error)}`
  }

  function openKeys(): KeySource | Promise<KeySource> {
    if (keys.kind === 'file') return keysFromFile(keys.path, options.algorithms)
    if (keys.kind === 'secret') return keysFromSecrets(secretsOf(keys), options.algorithms)
    return fetchedFrom(options.issuer, keys.url)
  }
}

function secretsOf({ secret, previous }: { readonly secret: string; readonly previous?: string }): readonly string[] {
  return previous === undefined ? [secret] : [secret, previous]
}

function problemOf(options: Omit<IssuerOptions, 'keys'>, kind: IssuerOptions['keys']['kind']): string | null {
  if (options.issuer === '') return 'issuer: is empty'
  if (options.audiences.length === 0 || options.audiences.includes('')) return 'audience: is missing or empty'
  if (options.userClaim === '') return 'user_claim: is empty'
  if (!(options.clockToleranceSeconds >= 0)) return 'clock_tolerance: is not 0 or more'
  if (options.algorithms.length === 0) return 'algorithms: is empty'
  const wrong = options.algorithms.find(
    (alg) => (ALGORITHMS.get(alg)?.kty === 'oct') !== (kind === 'secret') || !ALGORITHMS.has(alg),
  )
  return wrong === undefined
    ? null
    : `algorithms: ${wrong} cannot be used with ${kind === 'secret' ? 'a secret' : 'public keys'}`
}
