import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../auth/authenticator.ts'
import type { CallerResolver } from '../auth/caller-resolver.ts'
import type { ShareRules } from '../edge/shares.ts'
import type { Forwarder, Patience } from '../forward/forwarder.ts'
import type { CredentialPlaces, NameRules } from '../inputs/inputs.ts'
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

/** The header by which a client marks a repetition of an earlier request, and which repetitions are free. */
export interface Repetition {
  /** As configured. */
  readonly header: string
  /** The same in lower case. */
  readonly field: string
  /** How long after the charge repetitions are free, in milliseconds. */
  readonly forMs: number
  /** How many repetitions are free. */
  readonly replays: number
}

/** What requests of a route cost in one category. */
export interface MeterRule {
  readonly category: string
  readonly price: Price
  /** How the response reports what its request cost; `null` if it does not. */
  readonly settle: SettleRule | null
}

/** What a route charges. All meters are charged, or none. The tariff itself is the first meter. */
export interface RouteTariff extends MeterRule {
  /** Its further meters, at most three, each of another category; `null` for none, as for nearly all routes. */
  readonly others: readonly MeterRule[] | null
  /** The fields of a request from which its prices are read, in lower case. */
  readonly fields: readonly string[]
  /** Whether any price depends on what a request asks for. */
  readonly isAsked: boolean
  /** The largest body from which all of its prices can be read, in bytes; `null` if none reads the body. */
  readonly maxBody: number | null
  /** Whether the cost may become known only after the charge: from the response, or from the length of the body. */
  readonly mayChange: boolean
}

/** What happens to requests that match. */
export interface Route extends RoutePattern {
  /** The line of the rule in the configuration, from 1; `null` for requests that match no rule. */
  readonly line: number | null
  /** `null` for a public route: no credential, no charge. */
  readonly tariff: RouteTariff | null
  /** Whether callers without a credential are allowed, each as the user of an address. */
  readonly anonymous: boolean
  /** Which of its requests count for the adaptive mode. */
  readonly health: 'always' | 'charged' | 'never'
  /** Whether its refusals are only counted and reported. */
  readonly shadow: boolean
  /** After how many milliseconds a tunnel is charged again; `null` for never. */
  readonly tunnelChargeMs: number | null
  /** `null` if each repetition is charged. */
  readonly repetition: Repetition | null
  /** How long the upstream may be silent; `null` for the general values. */
  readonly patience: Patience | null
}

/** Pages that the gateway serves itself. They are public and never charged. */
export interface Reference {
  /** Whether a canonical path belongs to these pages. */
  has(path: string): boolean
  /**
   * @param path canonical
   * @param headers of the request, which choose the form of the response
   * @returns `null` if the path belongs to none of these pages
   */
  response(path: string, headers: IncomingHttpHeaders): OwnResponse | null
}

/**
 * A document that the gateway serves itself. It is public and never charged.
 * @param headers of the request, which choose the form of the response
 * @returns `null` while the document has no content yet
 */
export type PublicDocument = (headers: IncomingHttpHeaders) => Promise<OwnResponse | null>

/** How callers are identified. */
export interface CallerRules extends CallerResolver {
  /** The caller for an address without a credential. */
  readonly ofAddress: (address: string) => Caller
  /** Whether such a caller may see its quota. */
  readonly anonymousStatus: boolean
  /** Whether a caller who would be refused for the credential is let in as the user of the address. */
  readonly shadow: boolean
}

/** What the record of a request says about its origin and target. */
export interface AccessRules {
  readonly address: boolean
  readonly path: boolean
}

/** Everything that one configuration decides about a request. A request uses the same rules from beginning to end. */
export interface Rules {
  readonly routes: RouteTable<Route>
  /** The route for requests that match no other; `null` to refuse them. */
  readonly unmatched: Route | null
  readonly paths: PathAllowances
  /** The paths of the documents. */
  readonly publicPaths: ReadonlySet<string>
  /** The document at each of these paths. */
  readonly documents: ReadonlyMap<string, PublicDocument>
  /** The description of the API; `null` for none. */
  readonly reference: Reference | null
  /** Who responds to preflights of browsers; `null` if they are ordinary requests. */
  readonly preflight: 'forward' | 'answer' | null
  /** How the gateway's own responses are presented; `null` for unchanged. */
  readonly presentation: Presentation | null
  readonly callers: CallerRules
  /** Where a credential may be: also fields that are forwarded, and names of parameters as `foldedParameter` makes them. */
  readonly credentials: Pick<CredentialPlaces, 'fields' | 'parameters'> & { readonly subprotocols: ReadonlySet<string> }
  /** The limits in force now. They follow changes by administrators and the adaptive factor. */
  readonly policy: () => Policy
  /** Whether all refusals of the quota are only counted and reported now. */
  readonly shadow: () => boolean
  /** How limits will change at moments that are already known. */
  readonly ahead: () => Ahead
  /** Who is never charged; `null` for nobody. */
  readonly exempt: { readonly users: ReadonlySet<string>; readonly hasAddress: (address: string) => boolean } | null
  /** The windows whose usage a caller can see, and how long their runs are kept. */
  readonly usage: UsageRules
  readonly forwarder: Forwarder
  /** IANA zone of the time in the sentence of a 429. */
  readonly timeZone: string
  /** The longest Retry-After of a quota's 429 in seconds, at least 1; `Infinity` for the true time. */
  readonly retryAfterMax: number
  readonly refundUnreached: boolean
  /** Whether responses to accepted requests carry the RateLimit fields. */
  readonly rateLimitFields: boolean
  /** Whether these responses, and each 429, also have the older header fields. */
  readonly legacyFields: boolean
  /** Whether the upstream learns how a charged request stands to the quota. */
  readonly describesQuota: boolean
  /** Longest request target in bytes. */
  readonly maxUrl: number
  /** The allowed names of a request's fields. */
  readonly names: NameRules
  /** Whether an address is one of `edge.trusted_proxies`. */
  readonly isProxy: (address: string) => boolean
  /** Largest request body in bytes; `null` for no limit. */
  readonly maxBody: number | null
  /**
   * Up to how many bytes a body in chunks is read before the charge, and sent with a length: 1024 to 1,048,576, or 0 to leave it in
   * chunks.
   */
  readonly unchunk: number
  /** Which requests have a span; `null` without telemetry. */
  readonly sample: Sample | null
  /** What the record of a request says about its origin and target; `null` for neither. */
  readonly access: AccessRules | null
  /** How much of each resource one address, one user and all together may hold. */
  readonly shares: ShareRules
  /** How long a tunnel without an accepted credential may be silent in both directions, in milliseconds. */
  readonly silenceMs: number
  /** How old a tunnel may become, in milliseconds. */
  readonly tunnelMaxAgeMs: number
  /** The longest wait for a place among one's own upstream connections, in milliseconds. */
  readonly queueTimeoutMs: number
  /** How late the event loop may permanently be before new requests get 503, in milliseconds. */
  readonly maxLagMs: number
}
