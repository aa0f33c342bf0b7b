import type { Mode, ScopedLimits } from '../quota/policy.ts'
import type { Window } from '../quota/window.ts'

/**
 * A configuration as understood: checked, with every default filled in, in the words of the domain.
 * Times are in milliseconds (`…Ms`) or seconds where the name says so, sizes in bytes. The commented reference of every
 * key, its unit, range and default is config/tollgate.yaml.
 */
export interface Config {
  /** The file it was read from, as it was named. */
  readonly file: string
  readonly listen: HostPort
  /** `null` where clients come in the clear. */
  readonly tls: ListenerTls | null
  /** Processes that take requests; `auto` for as many as there are processors. */
  readonly workers: number | 'auto'
  /** Among how many workers it is divided, where it is the share of one (`workers/share.ts`). Default 1: it is the whole. */
  readonly sharedBy?: number
  readonly upstream: UpstreamConfig
  readonly store: StoreConfig
  /** IANA name of the zone in which times are told to clients. */
  readonly timeZone: string
  readonly admin: AdminConfig
  readonly auth: AuthConfig
  readonly quota: QuotaConfig
  /** In the order of the file, which means nothing. */
  readonly routes: readonly RouteConfig[]
  readonly unmatched: UnmatchedConfig
  /** `null` for none. */
  readonly reference: ReferenceConfig | null
  readonly edge: EdgeConfig
  readonly drain: DrainConfig
  readonly log: LogConfig
}

export interface HostPort {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
}

/** Absolute; the configuration's are relative to its file. */
export interface ListenerTls {
  readonly certFile: string
  readonly keyFile: string
}

export interface UpstreamConfig {
  /** Scheme, host and port, without a slash at the end. */
  readonly origin: string
  readonly connectTimeoutMs: number
  /** Until the response head. */
  readonly responseTimeoutMs: number
  /** Between two pieces of the response body. */
  readonly idleTimeoutMs: number
  /** How long a free connection is kept. */
  readonly keepAliveMs: number
  /** When a connection takes no further request. */
  readonly connectionMaxAgeMs: number
  readonly maxConnections: number
  /** The longest wait for a free connection. */
  readonly queueTimeoutMs: number
  /** Bytes of the backend's response headers. */
  readonly maxHeaderSize: number
  /** Fixed headers for the backend, names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  /** Whether the backend sees the client's credential. */
  readonly passAuthorization: boolean
  /** Whether a connection to the backend serves another request after one with a body. */
  readonly reuseAfterBody: boolean
  /** `null` where nothing beyond the system's defaults is asked for. Paths are absolute; the file's are relative to it. */
  readonly tls: UpstreamTls | null
}

export interface UpstreamTls {
  readonly caFile: string | null
  readonly certFile: string | null
  readonly keyFile: string | null
  readonly serverName: string | null
}

export interface StoreConfig {
  readonly location: StoreLocation
  /** How long the store may be silent while a charge waits. */
  readonly deadlineMs: number
  /** First part of every key in Redis. */
  readonly prefix: string
}

export type StoreLocation =
  /** The path is relative to the working directory, or `:memory:`. */
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The URL holds credentials: never to be logged. */
  | { readonly kind: 'redis'; readonly topology: 'single' | 'sentinel' | 'cluster'; readonly url: string }

export interface AdminConfig {
  readonly listen: HostPort
  readonly tls: ListenerTls | null
  /** Of different names. None only on a loopback address: then nobody can sign in. */
  readonly tokens: readonly AdminTokenConfig[]
}

export interface AdminTokenConfig {
  /** What the audit calls its changes by. */
  readonly name: string
  /** A viewer looks at everything and changes nothing. */
  readonly role: 'viewer' | 'admin'
  readonly token: string
}

export interface AuthConfig {
  readonly jwt: readonly IssuerConfig[]
  readonly gatewayTokens: boolean
  readonly credentialCache: { readonly max: number; readonly ttlMs: number }
}

export interface IssuerConfig {
  readonly issuer: string
  /** At least one; a token must name one of them. */
  readonly audiences: readonly string[]
  readonly keys: IssuerKeys
  /** At least one. HS256, HS384, HS512 only with a secret, and nothing else with one. */
  readonly algorithms: readonly string[]
  /** The claim that holds the user id. */
  readonly userClaim: string
  readonly clockToleranceMs: number
  /** Accepted values of the header `typ`; `null` accepts any or none. */
  readonly types: readonly string[] | null
}

export type IssuerKeys =
  | { readonly kind: 'url'; readonly url: string }
  /** Absolute; the configuration's is relative to its file. `hash` is of what it held when the configuration was loaded. */
  | { readonly kind: 'file'; readonly path: string; readonly hash?: string }
  | { readonly kind: 'secret'; readonly secret: string }

export interface QuotaConfig {
  readonly mode: Mode
  /** Shortest first, one to eight, all of different lengths. */
  readonly windows: readonly Window[]
  /** In the order of `baselines.personal`. */
  readonly categories: readonly string[]
  /** By category, then window; each names every category and window. */
  readonly baselines: ScopedLimits
  /** Where each baseline stands in the file, by the same keys; empty for the built-in defaults. */
  readonly baselineLines: ScopedLimits
  /** Of the same shape; given at least in mode `custom`. */
  readonly custom: ScopedLimits | null
  /** As `baselineLines`; empty without `custom`. */
  readonly customLines: ScopedLimits
  readonly global: { readonly enabled: boolean; readonly multiplier: number }
  /** Whether refusals are only counted and told, for every route and user. */
  readonly shadow: boolean
  readonly adaptive: AdaptiveConfig
  /** By category, each of them: the share of the limits, 0 to 1, to admit while the store is out; 0 refuses. */
  readonly storeOutage: ReadonlyMap<string, number>
  readonly refund: 'unreached' | 'never'
  /** Whether accepted answers carry `RateLimit` and `RateLimit-Policy`. */
  readonly ratelimitHeaders: boolean
}

/** How the factor of mode `adaptive` follows the share of failures. */
export interface AdaptiveConfig {
  /** Least and greatest factor: 0.1 to 1, and 1 to 4. */
  readonly min: number
  readonly max: number
  /** Shares of failures, ascending, above 0 up to 1: up to `good` the factor is `max`, at `normal` 1, from `bad` on `min`. */
  readonly good: number
  readonly normal: number
  readonly bad: number
  /** With so many forwarded requests in 30 minutes or fewer the factor is 1; from twice as many on it follows the share. */
  readonly minRequests: number
}

/** A part of a route pattern, between two slashes. */
export type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'param'; readonly name: string }
  | { readonly kind: 'rest' }

/** What a rule matches. */
export interface Pattern {
  /** As written in the file. */
  readonly match: string
  /** In upper case, at least one; or any method. */
  readonly methods: readonly string[] | '*'
  /** One for each slash: `/` is one empty literal, a trailing slash one more at the end. */
  readonly segments: readonly Segment[]
}

/** A rule of the route map. */
export type RouteConfig = Pattern & {
  /** Of `match` in the file, from 1. */
  readonly line: number
  /** Which of its requests count for the adaptive mode. */
  readonly health: 'always' | 'charged' | 'never'
  /** After so many milliseconds a tunnel costs again what it did; `null` for never. */
  readonly tunnelChargeMs: number | null
  /** Whether its refusals are only counted and told. */
  readonly shadow: boolean
} & Access

export type Access =
  /** No credential, no charge. */
  { readonly public: true } | { readonly public: false; readonly category: string; readonly cost: Cost }

export type Cost =
  /** Whole tokens, 0 to 10^9. */
  | { readonly kind: 'fixed'; readonly cost: number }
  | {
      readonly kind: 'body'
      /** Names of the field at the top level of the body, at least one. */
      readonly fields: readonly string[]
      /** Tokens by the key of the field's value (json-scalar.ts). */
      readonly values: ReadonlyMap<string, number>
      /** Largest body in bytes. */
      readonly maxBody: number
    }

/** What becomes of a request that no rule matches. */
export type UnmatchedConfig =
  /** 404 */
  | { readonly kind: 'refuse' }
  /** As a public route: no credential, no charge. */
  | { readonly kind: 'forward' }
  | {
      readonly kind: 'charge'
      readonly category: string
      readonly cost: Cost
      /** Whether its refusals are only counted and told. */
      readonly shadow: boolean
    }

/** The page on which the API can be read and tried. */
export interface ReferenceConfig {
  /** Begins with a slash and ends without one; of unreserved characters. */
  readonly path: string
  readonly title: string
  /** The file that describes the backend, absolute or relative to the working directory; `null` for none. */
  readonly openapi: string | null
  /** What that file holds; `null` where there is none, or it was not read. */
  readonly document: OpenapiDocument | null
  /** Beside the gateway. */
  readonly services: readonly ReferenceServiceConfig[]
}

export interface ReferenceServiceConfig {
  readonly name: string
  /** As browsers reach it, without a slash at the end. */
  readonly url: string
  /** Path of its OpenAPI document, behind `url`. */
  readonly openapi: string
}

/** An OpenAPI 3 document of others: nothing else of it is known. */
export type OpenapiDocument = { readonly openapi: string } & { readonly [key: string]: unknown }

/** Of each thing, what one address and one user may hold. */
export interface SharesConfig {
  readonly requests: PartsConfig
  readonly bodies: PartsConfig
  readonly upstreamConnections: PartsConfig
  readonly tunnels: PartsConfig
  /** Before anybody knows the user. */
  readonly checks: Pick<PartsConfig, 'address'>
}

export interface PartsConfig {
  readonly address: Part
  readonly user: Part
}

/** So many, a part of the total (above 0, up to 1), or `null` for any number. */
export type Part = { readonly most: number } | { readonly part: number } | null

export interface EdgeConfig {
  /** Bytes of a request body; `null` streams without a limit. */
  readonly maxBody: number | null
  /** Bytes of the request target. */
  readonly maxUrl: number
  /** Bytes of the request head. */
  readonly maxHeaderSize: number
  /** From the first byte of a request to the end of its head. */
  readonly headersTimeoutMs: number
  /** Of an idle connection. */
  readonly keepAliveTimeoutMs: number
  readonly maxConnections: number
  /** From one IPv4 address or IPv6 /64; `null` for any number. */
  readonly maxConnectionsPerAddress: number | null
  /** Requests at a time; those above get 503. */
  readonly maxInFlight: number
  /** Of one user, tunnels included; `null` for any number. */
  readonly maxInFlightPerUser: number | null
  /** Tunnels at a time, not counted in `maxInFlight`. */
  readonly maxTunnels: number
  /** How old a tunnel may become. */
  readonly tunnelMaxAgeMs: number
  readonly shares: SharesConfig
  /** How late the event loop may lastingly be before new requests get 503. */
  readonly maxLagMs: number
  /** Bytes a second that a client must send of a large or chunked body. */
  readonly minUploadRate: number
  /** How long such a body may stay behind that rate. */
  readonly uploadGraceMs: number
  /** What a client's FIN after its request means: that it is gone, or only that it sends no more. */
  readonly halfClose: 'abort' | 'answer'
  /** Spellings of a path that are refused unless the backend is known to take them as plain data. */
  readonly allowInPath: {
    readonly encodedSlash: boolean
    readonly semicolon: boolean
    readonly emptySegment: boolean
  }
  /** Peers whose `X-Forwarded-For`, `-Proto` and `-Host` are believed. */
  readonly trustedProxies: readonly Subnet[]
}

/** Arguments for `net.BlockList.addSubnet`. */
export interface Subnet {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

export interface DrainConfig {
  /** From the signal until new connections are refused. */
  readonly delayMs: number
  /** After that, for the requests under way. */
  readonly timeoutMs: number
}

export interface LogConfig {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal'
  /** Which requests get a line. */
  readonly requests: 'all' | 'errors' | 'none'
}
