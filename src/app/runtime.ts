import { createHash } from 'node:crypto'
import { BlockList, isIPv6 } from 'node:net'
import { type Authenticator, createAuthenticator, type IssuerOptions } from '../auth/authenticator.ts'
import type { CertificateRules } from '../auth/client-certificate.ts'
import {
  type AuthConfig,
  type Config,
  chargedRules,
  type EdgeConfig,
  type IssuerConfig,
  type LogConfig,
  metersIn,
  type QuotaConfig,
  type UpstreamConfig,
} from '../config/config.ts'
import type { AccessKeys } from '../control/held-access-keys.ts'
import type { KeySetStore } from '../control/kept-key-sets.ts'
import { createForwarder, type Forwarder } from '../forward/forwarder.ts'
import type { Rules } from '../gateway/snapshot.ts'
import { type Configured, credentialPlaces, nameLeniencies, nameRules } from '../inputs/inputs.ts'
import { fieldsOf } from '../inputs/price.ts'
import { remembered } from '../lib/memo.ts'
import { foldedParameter } from '../lib/parameter-names.ts'
import { readRegularSync } from '../lib/regular-file.ts'
import type { Observer } from '../observe/observation.ts'
import type { IsKnown } from '../quota/reserve.ts'
import { callerRulesOf } from './caller-rules.ts'
import { readClientTls } from './certificate.ts'
import { decidingRulesOf } from './deciding-rules.ts'
import { hasLeads } from './leads.ts'
import { createLimitsInForce, type LimitsInForce } from './limits-in-force.ts'
import { shortestOf } from './patience.ts'
import { planRulesOf } from './plan-rules.ts'
import { presentationOf } from './presentation.ts'
import { type PublicSources, publicDocumentsOf } from './public-documents.ts'
import { booksOf, usageRulesOf } from './retention.ts'
import { shareRulesOf } from './share-rules.ts'

/** The parts made from one configuration. Parts with an unchanged section are taken over with all they remember. */
export interface Runtime {
  readonly config: Config
  readonly rules: Rules
  /** The rules for requests of other proxies; `null` without `decisions`. */
  readonly deciding: Rules | null
  readonly authenticator: Authenticator
  readonly forwarder: Forwarder
  /** Whether an address is one of `edge.trusted_proxies`. */
  readonly isProxy: (address: string) => boolean
  /** Hashes of the files of authenticator and forwarder, because a rotated key keeps the name of its file. */
  readonly fingerprints: { readonly keys: Fingerprints; readonly tls: Fingerprints }
  /** The limits, together with changes at run time. */
  readonly limits: LimitsInForce
  /** Whether anybody may lead an organisation, so that its members matter. */
  readonly hasLeads: boolean
}

/** The parts that all configurations of one process share. */
export interface Surroundings {
  readonly tokens: AccessKeys
  readonly observe: Observer
  readonly isKnown?: IsKnown
  /** The present rules for client certificates. Default none: no client is identified by a certificate. */
  readonly certificates?: (() => CertificateRules) | undefined
  /** The last failure histogram that was read. Default none. */
  readonly failures?: PublicSources['failures']
  /** Where fetched key sets are kept for other processes. Default nowhere. */
  readonly keySets?: KeySetStore
}

export async function createRuntime(config: Config, old: Runtime | null, around: Surroundings): Promise<Runtime> {
  const { isKnown, certificates = null, failures = () => null } = around
  const planRules = await planRulesOf(config)
  const fingerprints = { keys: fingerprintsOf(keyFiles(config.auth)), tls: fingerprintsOf(tlsFiles(config.upstream)) }
  const isProxy = subnetCheck(config.edge.trustedProxies)
  const forwarder =
    old !== null &&
    same(forwardSections(old.config), forwardSections(config)) &&
    same(old.fingerprints.tls, fingerprints.tls)
      ? old.forwarder
      : createForwarder({ ...forwardOptions(config, isProxy), ...(old !== null && { held: old.forwarder.held }) })
  const limits = createLimitsInForce(config.quota, booksOf(config), isKnown)
  // Created last, because it begins to fetch keys, and nobody would stop the fetches if another part cannot be made.
  const authenticator =
    old !== null &&
    same(authSections(old.config), authSections(config)) &&
    same(old.fingerprints.keys, fingerprints.keys)
      ? old.authenticator
      : await createAuthenticator(authOptions(config, around), old?.authenticator)
  const rules: Rules = {
    ...planRules,
    documents: publicDocumentsOf(config, { policy: limits.policy, failures }),
    presentation: presentationOf(config),
    callers: callerRulesOf(config, authenticator, isProxy, certificates, limits.shadow),
    credentials: placesToHide(config),
    policy: limits.policy,
    shadow: limits.shadow,
    ahead: limits.ahead,
    exempt: exemptOf(config.quota),
    usage: usageRulesOf(config),
    forwarder,
    timeZone: config.timeZone,
    retryAfterMax: (config.quota.retryAfterMaxMs ?? Number.POSITIVE_INFINITY) / 1000,
    unchunk: config.upstream.unchunk,
    refundUnreached: config.quota.refund === 'unreached',
    rateLimitFields: config.quota.ratelimitHeaders,
    legacyFields: config.quota.legacyFields === true,
    describesQuota: config.upstream.quotaField !== null,
    isProxy,
    names: nameRules(configuredOf(config), nameLeniencies(config.edge.lenient)),
    sample: config.telemetry?.sample ?? null,
    access: accessOf(config.log),
    shares: shareRulesOf(config),
    tunnelMaxAgeMs: config.edge.tunnelMaxAgeMs,
    silenceMs: config.upstream.idleTimeoutMs,
    queueTimeoutMs: config.upstream.queueTimeoutMs,
    maxLagMs: config.edge.maxLagMs,
  }
  const deciding = decidingRulesOf(config, rules, authenticator)
  const parts = { rules, deciding, authenticator, forwarder, isProxy, fingerprints, limits }
  return { config, ...parts, hasLeads: hasLeads(config.admin) }
}

/** Makes the parts and discards them, because faults of key sets and certificates show only then. @throws as `createRuntime` */
export async function tryRuntime(config: Config): Promise<void> {
  const tokens: AccessKeys = { find: () => null, isImported: () => false }
  const { authenticator, forwarder } = await createRuntime(config, null, { tokens, observe: () => {} })
  authenticator.close()
  await forwarder.destroy()
}

/** A digest for each file; `null` for an unreadable file, which the part that needs the file reports. */
type Fingerprints = readonly (string | null)[]

function keyFiles({ jwt }: AuthConfig): string[] {
  return jwt.flatMap(({ keys }) => (keys.kind === 'file' ? keys.path : []))
}

function tlsFiles({ tls }: UpstreamConfig): string[] {
  return tls === null ? [] : [tls.caFile, tls.certFile, tls.keyFile].filter((file) => file !== null)
}

function fingerprintsOf(files: readonly string[]): Fingerprints {
  return files.map((file) => {
    try {
      return createHash('sha256').update(readRegularSync(file)).digest('hex')
    } catch {
      return null
    }
  })
}

function forwardSections(config: Config): unknown {
  const { upstream, edge, auth, telemetry } = config
  const places = credentialPlaces(auth)
  return [upstream, edge.trustedProxies, shortestOf(config), nameLeniencies(edge.lenient), places, telemetry !== null]
}

function authSections({ auth, upstream, quota }: Config): unknown {
  return [auth, claimsFor(upstream), plansOf(quota)]
}

function plansOf({ plans }: QuotaConfig): string[] {
  return [...(plans?.keys() ?? [])]
}

/** The paths of the claims that the upstream gets. */
function claimsFor({ identity }: UpstreamConfig): string[] {
  return [...new Set([...identity.values()].flatMap((fact) => (fact.kind === 'claim' ? fact.path : [])))]
}

/** The places of credentials in a request. If the upstream gets the credentials, no parameter and no subprotocol is hidden from it. */
function placesToHide({ auth, upstream }: Config): Rules['credentials'] {
  const places = credentialPlaces(auth)
  const { parameters, subprotocols } = upstream.passAuthorization ? NOTHING_HIDDEN : places
  return { fields: places.fields, parameters: parameters.map(foldedParameter), subprotocols: new Set(subprotocols) }
}

const NOTHING_HIDDEN = { parameters: [], subprotocols: [] }

/** Ends the parts that the next configuration does not use. A forwarder first finishes its requests under way. */
export function retire(old: Runtime, next: Runtime): void {
  if (old.forwarder !== next.forwarder) void old.forwarder.close()
  if (old.authenticator !== next.authenticator) old.authenticator.close(next.authenticator)
}

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a, withMaps) === JSON.stringify(b, withMaps)
}

function withMaps(_key: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value
}

function authOptions(
  { auth: { jwt, introspection, gatewayTokens, credentialCache }, edge, upstream, quota }: Config,
  { tokens, keySets, observe }: Surroundings,
) {
  return {
    issuers: jwt.map(issuerOf),
    introspection,
    gatewayTokens,
    tokens,
    cache: credentialCache,
    maxCredential: edge.maxHeaderSize,
    claims: claimsFor(upstream),
    plans: plansOf(quota),
    observe,
    ...(keySets !== undefined && { keySets }),
  }
}

function issuerOf({ clockToleranceMs, types, ...issuer }: IssuerConfig): IssuerOptions {
  return { ...issuer, clockToleranceSeconds: clockToleranceMs / 1000, ...(types !== null && { typ: types }) }
}

function exemptOf({ exempt }: QuotaConfig): Rules['exempt'] {
  if (exempt === undefined) return null
  return { users: new Set(exempt.users), hasAddress: subnetCheck(exempt.addresses) }
}

export function subnetCheck(subnets: EdgeConfig['trustedProxies']): (address: string) => boolean {
  const list = new BlockList()
  for (const { address, prefix, family } of subnets) list.addSubnet(address, prefix, family)
  return remembered((address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'))
}

/** The inputs of requests that the configuration names. */
function configuredOf(config: Config): Configured {
  const { auth, upstream, routes } = config
  const repetitions = routes.flatMap(({ idempotency }) => idempotency?.header ?? [])
  const prices = chargedRules(config).flatMap((rule) => metersIn(rule).flatMap(({ cost }) => fieldsOf(cost)))
  const { headers, identity, quotaField, removeHeaders } = upstream
  const names = { headers: headers.keys(), identity: identity.keys(), quotaField, removeHeaders }
  return { ...auth, repetitions, prices, ...names }
}

function accessOf({ address, path }: LogConfig): Rules['access'] {
  return address || path ? { address, path } : null
}

/** The Host of forwarded requests; `null` for the Host that the client sent. */
function hostOf({ host, url }: UpstreamConfig): string | null {
  if (host === 'preserve') return null
  return host === 'upstream' ? new URL(url).host : host
}

/** @param trustedProxies whether an address is a trusted proxy @throws SetupError for unusable TLS files */
export function forwardOptions(config: Config, trustedProxies: (address: string) => boolean) {
  const { upstream, edge, auth } = config
  return {
    ...upstream,
    host: hostOf(upstream),
    headers: Object.fromEntries(upstream.headers),
    tls: upstream.tls === null ? {} : readClientTls(upstream.tls, ['upstream', 'tls']),
    shortestMs: shortestOf(config),
    credentials: credentialPlaces(auth),
    trustedProxies,
    oddNames: nameLeniencies(edge.lenient).length > 0,
    traced: config.telemetry !== null,
  }
}
