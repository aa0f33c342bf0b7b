import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../auth/authenticator.ts'
import type { CallerResolver } from '../auth/caller-resolver.ts'
import type { ShareRules } from '../edge/shares.ts'
import type { Forwarder, Patience } from '../forward/forwarder.ts'
import type { NameRules } from '../inputs/inputs.ts'
import type { Price } from '../inputs/price.ts'
import type { Ahead } from '../quota/ahead.ts'
import type { Policy } from '../quota/policy.ts'
import type { Presentation } from '../respond/presentation.ts'
import type { OwnResponse } from '../respond/response.ts'
import type { SettleRule } from '../routing/final-cost.ts'
import type { RoutePattern, RouteTable } from '../routing/route-table.ts'
import type { PathAllowances } from '../routing/target.ts'
import type { UsageRules } from '../usage/usage-query.ts'
import type { Sample } from './trace.ts'

/** By which header a client says that a request is one that it sent before, and what repetitions cost nothing. */
export interface Repetition {
  /** As the configuration has it. */
  readonly header: string
  /** The same in lower case. */
  readonly field: string
  /** How long after the charge, in milliseconds. */
  readonly forMs: number
  /** How many. */
  readonly replays: number
}

/** What requests of a route cost in one category. */
export interface MeterRule {
  readonly category: string
  readonly price: Price
  /** What finds in the response what its request cost; `null` for nothing. */
  readonly settle: SettleRule | null
}

/** What a route charges: all its meters, or nothing. It is its own first meter. */
export interface RouteTariff extends MeterRule {
  /** Its further meters, at most three, each of a category of its own; `null` for none, as nearly all routes have it. */
  readonly others: readonly MeterRule[] | null
  /** The fields of a request that its prices are read from, in lower case. */
  readonly fields: readonly string[]
  /** Whether any of its prices hangs on what a request asks for. */
  readonly isAsked: boolean
  /** The largest body that all prices take which are read from it, in bytes; `null` if none is. */
  readonly maxBody: number | null
  /** Whether it may become known behind the charge of a request what that costs: by its response, or the bytes of its body. */
  readonly mayChange: boolean
}

/** What is to be done with requests that match. */
export interface Route extends RoutePattern {
  /** Of the rule in the configuration, from 1; `null` for what matches no rule. */
  readonly line: number | null
  /** `null` for a public route: no credential, no charge. */
  readonly tariff: RouteTariff | null
  /** Whether callers without a credential are let in, each as the user of an address. */
  readonly anonymous: boolean
  /** Which of its requests count for the adaptive mode. */
  readonly health: 'always' | 'charged' | 'never'
  /** Whether its refusals are only counted and reported. */
  readonly shadow: boolean
  /** After how many milliseconds a tunnel costs again what it did; `null` for never. */
  readonly tunnelChargeMs: number | null
  /** `null` if each repetition is charged. */
  readonly repetition: Repetition | null
  /** For how long the upstream may be silent; `null` for as long as elsewhere. */
  readonly patience: Patience | null
}

/** Pages that the gateway serves itself: public, and never charged. */
export interface Reference {
  /** Whether a canonical path is one of its own. */
  has(path: string): boolean
  /**
   * @param path canonical
   * @param headers of the request, for which form of the response is wanted
   * @returns `null` for a path that is none of its own
   */
  response(path: string, headers: IncomingHttpHeaders): OwnResponse | null
}

/**
 * A document that the gateway serves itself: public, and never charged.
 * @param headers of the request, for which form of the response is wanted
 * @returns `null` while nothing is known that it could say
 */
export type PublicDocument = (headers: IncomingHttpHeaders) => Promise<OwnResponse | null>

/** Who asks. */
export interface CallerRules extends CallerResolver {
  /** Who asks without a credential from an address. */
  readonly ofAddress: (address: string) => Caller
  /** Whether such a caller may see its quota. */
  readonly anonymousStatus: boolean
  /** Whether whoever would be refused for its credential is let in as the user of its address. */
  readonly shadow: boolean
}

/** What of a request's target and handshake is never forwarded, since a credential may be there. Fields are the forwarder's. */
export interface CredentialPlaces {
  /** Fields that may hold one, in lower case, also where they are forwarded. */
  readonly fields: readonly string[]
  /** As `foldedParameter` has them. */
  readonly parameters: readonly string[]
  readonly subprotocols: ReadonlySet<string>
}

/** What the record of a request has of where it came from and what it asked for. */
export interface AccessRules {
  readonly address: boolean
  readonly path: boolean
}

/** Everything that one configuration decides about a request. A request sees one of these from beginning to end. */
export interface Rules {
  readonly routes: RouteTable<Route>
  /** The route of what matches no other; `null` refuses it. */
  readonly unmatched: Route | null
  readonly paths: PathAllowances
  /** Where the documents are. */
  readonly publicPaths: ReadonlySet<string>
  /** One for each of these paths. */
  readonly documents: ReadonlyMap<string, PublicDocument>
  /** The description of the API; `null` for none. */
  readonly reference: Reference | null
  /** Who answers preflights of browsers; `null` if they are requests as any. */
  readonly preflight: 'forward' | 'answer' | null
  /** How the gateway's own responses go out; `null` as they are. */
  readonly presentation: Presentation | null
  readonly callers: CallerRules
  readonly credentials: CredentialPlaces
  /** The limits in force now: they follow what administrators change at run time, and the adaptive factor. */
  readonly policy: () => Policy
  /** Whether all refusals of the quota are only counted and reported, now. */
  readonly shadow: () => boolean
  /** What the limits become by ends and beginnings that are known already. */
  readonly ahead: () => Ahead
  /** Who is never charged; `null` for nobody. */
  readonly exempt: { readonly users: ReadonlySet<string>; readonly hasAddress: (address: string) => boolean } | null
  /** Whose runs are kept, and for how long. */
  readonly usage: UsageRules
  readonly forwarder: Forwarder
  /** IANA zone of the time in the 429's sentence. */
  readonly timeZone: string
  /** The longest that Retry-After of a 429 of the quota says, in seconds, at least 1; `Infinity` for the whole time. */
  readonly retryAfterMax: number
  readonly refundUnreached: boolean
  /** Whether responses to accepted requests carry the RateLimit fields. */
  readonly rateLimitFields: boolean
  /** Whether these, and each 429, also carry the fields of before the standard. */
  readonly legacyFields: boolean
  /** Whether the upstream hears how a charged request stands to the quota. */
  readonly describesQuota: boolean
  /** Longest request target in bytes. */
  readonly maxUrl: number
  /** What the name of a request's field may be. */
  readonly names: NameRules
  /** Whether an address is one of `edge.trusted_proxies`. */
  readonly isProxy: (address: string) => boolean
  /** Largest request body in bytes; `null` for any. */
  readonly maxBody: number | null
  /**
   * Bytes up to which a body in chunks is read before the charge, and sent with its length: 0, or 1024 to 1,048,576. 0: a body in chunks
   * stays one.
   */
  readonly unchunk: number
  /** Which requests have a span; `null` without telemetry. */
  readonly sample: Sample | null
  /** `null` for neither. */
  readonly access: AccessRules | null
  /** How much of what is scarce all together, one address and one user may hold. */
  readonly shares: ShareRules
  /** How long a tunnel without an accepted credential may bring nothing in either direction, in milliseconds. */
  readonly silenceMs: number
  /** How old a tunnel may become, in milliseconds. */
  readonly tunnelMaxAgeMs: number
  /** The longest wait for a place among one's own connections to the upstream, in milliseconds. */
  readonly queueTimeoutMs: number
  /** How late the event loop may lastingly be before new requests get 503, in milliseconds. */
  readonly maxLagMs: number
}
