import { type Denial, isDenial } from '../errors.ts'
import type { CredentialSource } from '../inputs/credential-sources.ts'
import type { Asking } from './asking.ts'
import type { Authenticator } from './authenticator.ts'
import { createChallenges } from './challenges.ts'
import type { CheckPlaces } from './check-places.ts'
import { type CertificateRules, createCertificateReader } from './client-certificate.ts'
import { createPageRule, type PageRule } from './cookie-origin.ts'
import { readerOf } from './credential-sources.ts'
import { createStrangerCheck, createTrustedReader, type TrustedFields } from './trusted-fields.ts'
import { createKeyReader, type IsWatchedOnly, type KeySource } from './unverified-keys.ts'
import { type Caller, hasPlainId, invalid, isMissing, missing, several } from './verdict.ts'

export interface ResolverOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'judge'>
  /** Where credentials may be, in the order of preference. */
  readonly from: readonly CredentialSource[]
  /** What to do with two different credentials: `refuse` both, or take the `first` in the order of `from`. */
  readonly several: 'refuse' | 'first'
  /** Where keys may be that only the upstream can check; `null` for nowhere. */
  readonly unverifiedKeys: KeySource | null
  readonly isWatchedOnly: IsWatchedOnly
  readonly trusted: TrustedFields | null
  /** The rules for client certificates now; `null` if none is requested. */
  readonly certificates: (() => CertificateRules) | null
  /** Whether an address is a trusted proxy. */
  readonly isProxy: (address: string) => boolean
  /** Origins of pages that may use cookies, besides the gateway's own host. */
  readonly origins: readonly string[]
  /** Prefixes of ids of other kinds of users. No verified user may have such an id. */
  readonly reserved: readonly string[]
  /** The longest key in characters. */
  readonly maxKey: number
}

/** Finds out who the caller of a request is. */
export interface CallerResolver {
  /**
   * Identifies the caller by the sources in their order, then by other facts. An invalid credential is refused, whatever else
   * the request contains.
   * @param places as for an authenticator
   * @returns a denial that `isMissing` if nothing identifies a caller
   */
  resolve(asking: Asking, places?: () => CheckPlaces): Caller | Denial | Promise<Caller | Denial>
}

type Judged = Caller | Denial | Promise<Caller | Denial>

export function createCallerResolver(options: ResolverOptions): CallerResolver {
  const { authenticator, from, unverifiedKeys, trusted, certificates, reserved } = options
  const isPlain = isBearerOnly(from) && unverifiedKeys === null && trusted === null && certificates === null
  // Nearly all gateways go this way: one look-up with the header as it is.
  if (isPlain && reserved.length === 0) {
    return { resolve: ({ req }, places) => authenticator.authenticate(req.headers.authorization, places) }
  }
  const pages = createPageRule(new Set(options.origins), options.isProxy)
  const byCredential = isBearerOnly(from) ? createBearerJudge(authenticator) : createSourceJudge(options, pages)
  const byOthers = createOthers(options, pages)
  const challenged = createChallenges(unverifiedKeys === null ? from : [...from, unverifiedKeys])

  // One object for all, because most requests may have no credential.
  const nobody = challenged(missing('no credential', isPlain ? undefined : 'A credential is required.'))
  const namesStranger = trusted === null ? null : createStrangerCheck(trusted, options.isProxy)
  const stranger = challenged(missing(STRANGER, 'A credential is required.'))

  function settle(found: Caller | Denial): Caller | Denial {
    if (isDenial(found)) return challenged(found)
    const isReserved = hasPlainId(found) && reserved.some((prefix) => found.user.startsWith(prefix))
    return isReserved ? challenged(RESERVED) : found
  }

  return {
    resolve(asking, places) {
      const judged = byCredential(asking, places) ?? byOthers(asking)
      if (judged === null) return namesStranger?.(asking) ? stranger : nobody
      return judged instanceof Promise ? judged.then(settle) : settle(judged)
    },
  }
}

const STRANGER = 'no credential: edge.trusted_proxies does not have the peer that sent the field of auth.trusted'

const RESERVED = invalid('the user id begins as that of a user of another kind')

function isBearerOnly(from: readonly CredentialSource[]): boolean {
  return from.length === 1 && from[0]?.kind === 'bearer'
}

/** Judges the whole header, because a remembered credential needs no parsing. */
function createBearerJudge({ authenticate }: ResolverOptions['authenticator']) {
  return ({ req }: Asking, places?: () => CheckPlaces): Judged | null => {
    const judged = authenticate(req.headers.authorization, places)
    return !(judged instanceof Promise) && isDenial(judged) && isMissing(judged) ? null : judged
  }
}

function createSourceJudge(options: ResolverOptions, pages: PageRule) {
  const findCredential = createFinder(options, pages)
  return (asking: Asking, places?: () => CheckPlaces): Judged | null => {
    const credential = findCredential(asking)
    return typeof credential === 'string' ? options.authenticator.judge(credential, places) : credential
  }
}

/** Identifies callers without a credential that could be checked here. */
function createOthers(options: ResolverOptions, pages: PageRule) {
  const { unverifiedKeys, trusted, certificates, maxKey, isProxy } = options
  const readers = [
    ...(trusted === null ? [] : [createTrustedReader(trusted, isProxy)]),
    ...(certificates === null ? [] : [ofOwnPages(createCertificateReader(certificates, isProxy), pages)]),
    // Unverified keys come last. Otherwise a verified user could become a new user with each key that he makes up.
    ...(unverifiedKeys === null ? [] : [createKeyReader(unverifiedKeys, maxKey, pages, options.isWatchedOnly)]),
  ]
  return (asking: Asking): Caller | Denial | null => {
    for (const read of readers) {
      const found = read(asking)
      if (found !== null) return found
    }
    return null
  }
}

/** A browser sends its certificate, like a cookie, with requests of pages from any origin. */
function ofOwnPages(read: (asking: Asking) => Caller | Denial | null, pages: PageRule): typeof read {
  return (asking) => {
    const found = read(asking)
    return found === null || isDenial(found) ? found : (pages(asking) ?? found)
  }
}

/** Finds the credential of a request by the table of sources; `null` if no source has one. */
function createFinder({ from, several: rule }: ResolverOptions, pages: PageRule) {
  const readers = from.map((source) => ({ read: readerOf(source), isCookie: source.kind === 'cookie' }))

  return function findCredential(asking: Asking): string | Denial | null {
    let found: string | null = null
    let isCookie = true
    for (const reader of readers) {
      const texts = reader.read(asking)
      if (isDenial(texts)) return texts
      if (texts.length === 0) continue
      const [text = '', ...more] = texts
      if (more.some((other) => other !== text) || (found !== null && found !== text)) return several()
      found = text
      isCookie &&= reader.isCookie
      if (rule === 'first') break
    }
    return (found !== null && isCookie ? pages(asking) : null) ?? found
  }
}
