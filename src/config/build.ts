import { dirname, isAbsolute, join } from 'node:path'
import type { ScopedLimits } from '../quota/policy.ts'
import { ADMIN_NAME } from './checks/network.ts'
import type {
  Access,
  AdaptiveConfig,
  AdminTokenConfig,
  AuthConfig,
  Config,
  Cost,
  EdgeConfig,
  IssuerConfig,
  IssuerKeys,
  ListenerTls,
  PartsConfig,
  QuotaConfig,
  ReferenceConfig,
  RouteConfig,
  SharesConfig,
  UnmatchedConfig,
  UpstreamConfig,
} from './config.ts'
import { lineOf } from './locate.ts'
import type { ParsedIssuer, ParsedRoute } from './partial.ts'
import type { Parsed } from './schema.ts'
import type { Tree } from './tree.ts'
import { toWindows, windowsOf } from './windows.ts'

/** Gives a file that passed every check the shape in which the rest of the program wants it. */
export function buildConfig(parsed: Parsed, tree: Tree, file: string): Config {
  const { listen, tls, workers, store, store_options, time_zone, admin, drain, log } = parsed
  return {
    file,
    listen,
    tls: buildListenerTls(tls, file),
    workers,
    upstream: buildUpstream(parsed.upstream, file),
    store: { location: store, deadlineMs: store_options.deadline, prefix: store_options.prefix },
    timeZone: time_zone,
    admin: { listen: admin.listen, tls: buildListenerTls(admin.tls, file), tokens: buildTokens(admin) },
    auth: buildAuth(parsed.auth, file),
    quota: buildQuota(parsed.quota, tree),
    routes: parsed.routes.map((route, i) => buildRoute(route, lineOf(tree, ['routes', i, 'match']) ?? 1)),
    unmatched: buildUnmatched(parsed.unmatched),
    reference: parsed.reference === undefined ? null : buildReference(parsed.reference, file),
    edge: buildEdge(parsed.edge),
    drain: { delayMs: drain.delay, timeoutMs: drain.timeout },
    log,
  }
}

function buildListenerTls(tls: Parsed['tls'], file: string): ListenerTls | null {
  return tls === undefined ? null : { certFile: besides(file, tls.cert), keyFile: besides(file, tls.key) }
}

function buildUpstream(upstream: Parsed['upstream'], file: string): UpstreamConfig {
  const { ca, cert, key, server_name } = upstream.tls ?? {}
  const path = (written: string | undefined) => (written === undefined ? null : besides(file, written))
  return {
    origin: upstream.url,
    connectTimeoutMs: upstream.connect_timeout,
    responseTimeoutMs: upstream.response_timeout,
    idleTimeoutMs: upstream.idle_timeout,
    keepAliveMs: upstream.keep_alive,
    connectionMaxAgeMs: upstream.connection_max_age,
    maxConnections: upstream.max_connections,
    queueTimeoutMs: upstream.queue_timeout,
    maxHeaderSize: upstream.max_header_size,
    headers: upstream.headers,
    passAuthorization: upstream.pass_authorization,
    reuseAfterBody: upstream.reuse_after_body,
    tls:
      upstream.tls === undefined
        ? null
        : { caFile: path(ca), certFile: path(cert), keyFile: path(key), serverName: server_name ?? null },
  }
}

/** `admin.token` is short for one token of its own name. */
function buildTokens({ token, tokens }: Parsed['admin']): AdminTokenConfig[] {
  return token === undefined ? tokens : [{ name: ADMIN_NAME, role: 'admin', token }, ...tokens]
}

function buildAuth({ jwt, gateway_tokens, credential_cache }: Parsed['auth'], file: string): AuthConfig {
  return {
    jwt: jwt.map((issuer) => buildIssuer(issuer, file)),
    gatewayTokens: gateway_tokens,
    credentialCache: { max: credential_cache.max, ttlMs: credential_cache.ttl },
  }
}

function buildIssuer(issuer: ParsedIssuer, file: string): IssuerConfig {
  return {
    issuer: issuer.issuer,
    audiences: [...new Set([issuer.audience].flat())],
    keys: buildKeys(issuer, file),
    algorithms: issuer.algorithms,
    userClaim: issuer.user_claim,
    clockToleranceMs: issuer.clock_tolerance,
    types: issuer.typ ?? null,
  }
}

function buildKeys({ jwks, secret = '' }: ParsedIssuer, file: string): IssuerKeys {
  if (jwks === undefined) return { kind: 'secret', secret }
  return jwks.kind === 'file' ? { kind: 'file', path: besides(file, jwks.path) } : jwks
}

/** A path in the file is relative to the file. */
function besides(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path)
}

function buildQuota(quota: Parsed['quota'], tree: Tree): QuotaConfig {
  const { mode, global, baselines, custom, shadow, adaptive, refund } = quota
  const categories = [...baselines.personal.keys()]
  const outage = (category: string) => quota.store_outage.get(category) ?? 'refuse'
  return {
    mode,
    windows: toWindows(windowsOf(quota)),
    categories,
    baselines,
    baselineLines: linesOf(baselines, 'baselines', tree),
    custom: custom ?? null,
    customLines: linesOf(custom ?? NO_LIMITS, 'custom', tree),
    global,
    shadow,
    adaptive: buildAdaptive(adaptive),
    storeOutage: new Map(categories.map((category) => [category, shareOf(outage(category))])),
    refund,
    ratelimitHeaders: quota.ratelimit_headers,
  }
}

function buildAdaptive({ min_requests: minRequests, ...rest }: Parsed['quota']['adaptive']): AdaptiveConfig {
  return { ...rest, minRequests }
}

function shareOf(outage: 'refuse' | { readonly allow: number }): number {
  return outage === 'refuse' ? 0 : outage.allow
}

const NO_LIMITS: ScopedLimits = { personal: new Map(), global: new Map() }

function linesOf(limits: ScopedLimits, key: 'baselines' | 'custom', tree: Tree): ScopedLimits {
  const ofScope = (scope: 'personal' | 'global') =>
    new Map(
      [...limits[scope]].map(([category, byWindow]) => {
        const lines = [...byWindow.keys()].map((name) => [name, lineOf(tree, ['quota', key, scope, category, name])])
        return [category, new Map(lines.filter((entry): entry is [string, number] => entry[1] !== null))]
      }),
    )
  return { personal: ofScope('personal'), global: ofScope('global') }
}

function buildRoute(route: ParsedRoute, line: number): RouteConfig {
  return {
    ...route.match,
    line,
    health: buildHealth(route),
    shadow: route.shadow,
    tunnelChargeMs: route.tunnel_charge ?? null,
    ...buildAccess(route),
  }
}

function buildHealth({ health }: ParsedRoute): RouteConfig['health'] {
  if (health === undefined) return 'charged'
  return health ? 'always' : 'never'
}

function buildAccess({ public: isPublic, category = '', cost }: ParsedRoute): Access {
  return isPublic ? { public: true } : { public: false, category, cost: buildCost(cost) }
}

function buildCost(cost: ParsedRoute['cost']): Cost {
  if (typeof cost !== 'object') return { kind: 'fixed', cost: cost ?? 1 }
  return { kind: 'body', fields: [...new Set([cost.body].flat())], values: cost.values, maxBody: cost.max_body }
}

function buildUnmatched(unmatched: Parsed['unmatched']): UnmatchedConfig {
  if (typeof unmatched === 'string') return { kind: unmatched }
  const { category, cost, shadow } = unmatched
  return { kind: 'charge', category, cost: buildCost(cost), shadow }
}

function buildReference({ openapi, ...rest }: NonNullable<Parsed['reference']>, file: string): ReferenceConfig {
  return { ...rest, openapi: openapi === undefined ? null : besides(file, openapi), document: null }
}

function buildEdge(edge: Parsed['edge']): EdgeConfig {
  const allowed = (spelling: (typeof edge.allow_in_path)[number]) => edge.allow_in_path.includes(spelling)
  return {
    maxBody: limitOf(edge.max_body),
    maxUrl: edge.max_url,
    maxHeaderSize: edge.max_header_size,
    headersTimeoutMs: edge.headers_timeout,
    keepAliveTimeoutMs: edge.keep_alive_timeout,
    maxConnections: edge.max_connections,
    maxConnectionsPerAddress: limitOf(edge.max_connections_per_address),
    maxInFlight: edge.max_in_flight,
    maxInFlightPerUser: limitOf(edge.max_in_flight_per_user),
    maxTunnels: edge.max_tunnels,
    tunnelMaxAgeMs: edge.tunnel_max_age,
    shares: buildShares(edge.shares),
    maxLagMs: edge.max_lag,
    minUploadRate: edge.min_upload_rate,
    uploadGraceMs: edge.upload_grace,
    halfClose: edge.half_close,
    allowInPath: {
      encodedSlash: allowed('encoded_slash'),
      semicolon: allowed('semicolon'),
      emptySegment: allowed('empty_segment'),
    },
    trustedProxies: edge.trusted_proxies,
  }
}

function buildShares({ address, user, ...things }: Parsed['edge']['shares']): SharesConfig {
  const of = (thing: keyof typeof things) => ({ address, user, ...defined(things[thing]) })
  return {
    requests: of('requests'),
    bodies: of('bodies'),
    upstreamConnections: of('upstream_connections'),
    tunnels: of('tunnels'),
    checks: { address, ...defined(things.checks) },
  }
}

/** `null` is a value of its own here. */
function defined(written: { [K in keyof PartsConfig]?: PartsConfig[K] | undefined }): Partial<PartsConfig> {
  return Object.fromEntries(Object.entries(written).filter(([, part]) => part !== undefined))
}

function limitOf(written: number | 'none'): number | null {
  return written === 'none' ? null : written
}
