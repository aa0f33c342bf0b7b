/**
 * What the admin API says, as types: what the routes answer and the dashboard reads. Nothing but types, so that the page
 * can import it. Times are ISO 8601 UTC.
 */

export type Mode = 'conservative' | 'normal' | 'loose' | 'adaptive' | 'custom'
export type Scope = 'Personal' | 'Global'
export type Role = 'viewer' | 'admin'

/** Tokens by category, then window name. */
export type Table = Readonly<Record<string, Readonly<Record<string, number>>>>
export interface ScopedTable {
  readonly personal: Table
  readonly global: Table
}
/** Tokens to set; `null` gives a value back to the file. */
export type TablePatch = Readonly<Record<string, Readonly<Record<string, number | null>> | null>>
export interface ScopedPatch {
  readonly personal?: TablePatch | null
  readonly global?: TablePatch | null
}

/** Any answer of 400 and above. `problems` where a body was wrong: which field, and the cure. */
export interface ErrorResponse {
  readonly error: string
  readonly msg: string
  readonly problems?: readonly { readonly path: string; readonly msg: string }[]
  /** Of `version_conflict`: what it is now. */
  readonly version?: number
}

/** GET /api/session, POST /api/session { token }, DELETE /api/session */
export interface SessionResponse {
  /** Name of the admin token; `null` for nobody: no token was sent, and no session that is good. */
  readonly name: string | null
  readonly role: Role | null
  /** When the page must sign in again; `null` for nobody, and for a request with the token itself. */
  readonly expiresAt: string | null
}

/** One window of somebody. */
export interface WindowResponse {
  readonly scope: Scope
  readonly window: string
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly startedAt: string | null
  readonly resetAt: string | null
}

/** POST /api/quota/reset */
export interface QuotaResetResponse {
  /** Used tokens of the windows until they were emptied, by name; one that the configuration does not name as `18000s`. */
  readonly from: Readonly<Record<string, number>>
}

/** The settings as one of the layers has them. */
export interface SettingsResponse {
  readonly mode: Mode
  readonly global: { readonly enabled: boolean; readonly multiplier: number }
  readonly baselines: ScopedTable
  readonly custom: ScopedTable | null
  readonly shadow: boolean
}

/** The settings, and the limits that they make. */
export interface SettingsInForceResponse extends SettingsResponse {
  readonly version: number
  /** Of the mode, in force. */
  readonly factor: number
  /** The adaptive factor, in every mode. */
  readonly adaptive: { readonly factor: number }
  readonly effective: ScopedTable
  /** What the file says. */
  readonly file: SettingsResponse
  /** Dotted paths of the values that were changed at run time: `mode`, `global.multiplier`, `baselines.personal.read.1h`. */
  readonly changed: readonly string[]
  readonly categories: readonly string[]
  /** By category: the least that a request costs which the quota may refuse; none where it refuses nothing. */
  readonly cheapest: Readonly<Record<string, number>>
  readonly windowLengths: readonly { readonly name: string; readonly seconds: number }[]
  /** Limits in force that some request can never fit into; in mode `adaptive` also those of its lowest factor. */
  readonly warnings: readonly WarningResponse[]
}

/** GET /api/quota, and the answer to PATCH. Its ETag is `"version"`, for If-Match. */
export interface QuotaResponse extends SettingsInForceResponse {
  /** With why the factor is what it is. */
  readonly adaptive: {
    readonly factor: number
    /** Forwarded requests of the last 30 minutes that count, and how many of them failed. */
    readonly requests: number
    readonly failed: number
    /** `failed / requests`, 0 to 1; `null` without a request. */
    readonly share: number | null
    /** The share that counts beside the hours before, and how much it counts: 0 (too few requests) to 1. */
    readonly settled: number | null
    readonly trust: number
    readonly minRequests: number
    /** A sentence. */
    readonly why: string
  }
  /** The global windows now, by category. */
  readonly windows: Readonly<Record<string, readonly WindowResponse[]>>
}

/** GET /api/in-force: the settings that this gateway enforces. The store is not asked. Its ETag is that of GET /api/quota. */
export interface InForceResponse extends SettingsInForceResponse {
  /** By category: the share of the limits that is admitted while the store is out, 0 to 1; 0 refuses with 503. */
  readonly storeOutage: Readonly<Record<string, number>>
}

/** A limit, and the rules whose requests may cost more than it ever allows. */
export interface WarningResponse {
  readonly scope: Scope
  readonly category: string
  readonly window: string
  readonly limit: number
  /** The most that such a request costs. */
  readonly cost: number
  /** The first 20 of them, and how many there are. */
  readonly routes: readonly string[]
  readonly routeCount: number
  /** A sentence. */
  readonly msg: string
}

/** PATCH /api/quota and POST /api/quota/preview: what is missing stays, `null` gives back to the file. */
export interface QuotaPatch {
  readonly mode?: Mode | null
  readonly global?: { readonly enabled?: boolean | null; readonly multiplier?: number | null } | null
  readonly baselines?: ScopedPatch | null
  readonly custom?: ScopedPatch | null
  readonly shadow?: boolean | null
  /** For the audit. */
  readonly reason?: string
}

export interface PreviewResponse {
  /** Users looked at. */
  readonly scanned: number
  /** Users who would be blocked under the change, from even the cheapest request of a category, and those of them who are not blocked now. */
  readonly blockedCount: number
  readonly newlyBlockedCount: number
  /** Users who are blocked now and would not be. */
  readonly freedCount: number
  /** The first 100 who would be blocked, those first who are not blocked now. */
  readonly blocked: readonly {
    readonly user: string
    readonly category: string
    readonly window: string
    readonly limit: number
    readonly used: number
    readonly blockedNow: boolean
    readonly resetAt: string | null
  }[]
  /** The global windows by category: under the change, and now. Empty where the global scope is switched off. */
  readonly windows: Readonly<
    Record<
      string,
      readonly {
        readonly window: string
        readonly used: number
        readonly limit: number
        readonly remaining: number
        /** `null` where the global scope is switched off now. */
        readonly limitNow: number | null
        readonly remainingNow: number | null
      }[]
    >
  >
  readonly effective: ScopedTable
  /** As those of `QuotaAnswer`, under the change. */
  readonly warnings: readonly WarningResponse[]
}

/** PUT /api/users/{id}/override: the categories stand beside the other fields; a missing value follows the default. */
export type OverrideBody = Readonly<Record<string, unknown>> & {
  readonly bypassGlobal?: boolean | null
  readonly shadow?: boolean | null
  readonly reason: string
  readonly expiresAt?: string | null
}

export interface OverrideResponse {
  /** For If-Match; the ETag of GET /api/users/{id}. */
  readonly version: number
  readonly limits: Table
  readonly bypassGlobal: boolean
  readonly shadow: boolean
  readonly reason: string
  readonly expiresAt: string | null
}

/** The answer to PUT /api/users/{id}/override. */
export interface OverrideSetResponse extends OverrideResponse {
  /** Of the limits that it sets, those that some request can never fit into. */
  readonly warnings: readonly WarningResponse[]
}

/** GET /api/users?query=&order=&limit=&cursor= */
export interface UsersResponse {
  readonly users: readonly {
    readonly user: string
    readonly windows: Readonly<Record<string, readonly WindowResponse[]>>
    readonly override: OverrideResponse | null
    /** Whether some personal window has no room for the cheapest request, also where shadow mode refuses nothing. */
    readonly blocked: boolean
  }[]
  /** For the next page; `null` at the end. */
  readonly next: string | null
}

/** How a limit came about. */
export interface LayersResponse {
  /** The layers that made it, for example `baseline x mode`, `override`, `custom`. */
  readonly source: string
  /** One sentence for each layer: `baseline 120 (tollgate.yaml:22)`, `mode conservative x 0.75`. */
  readonly steps: readonly string[]
}

/** A limit in force, what is used of it, and how it came about. */
export interface LimitResponse extends WindowResponse, LayersResponse {}

/** The same without what is used, which only the store knows. */
export interface LimitInForceResponse extends Pick<WindowResponse, 'scope' | 'window' | 'limit'>, LayersResponse {}

/** GET /api/users/{id} */
export interface UserResponse {
  readonly user: string
  readonly windows: Readonly<Record<string, readonly LimitResponse[]>>
  readonly override: OverrideResponse | null
}

/** GET /api/in-force/users?query=&limit= */
export interface OverridesInForceResponse {
  /** In the order of their ids. */
  readonly users: readonly { readonly user: string; readonly override: OverrideResponse }[]
  /** How many match. */
  readonly total: number
}

/** GET /api/in-force/users/{id} */
export interface UserInForceResponse {
  readonly user: string
  /** By category, Personal first. */
  readonly limits: Readonly<Record<string, readonly LimitInForceResponse[]>>
  readonly override: OverrideResponse | null
}

/** GET /api/explain?user=&method=&path=&cost=&value= */
export interface ExplainResponse {
  readonly user: string
  readonly method: string
  readonly path: string
  /** `null` where no route matches. */
  readonly route: { readonly match: string; readonly line: number | null } | null
  readonly category: string | null
  /** `null` where it depends on the body and was not given. */
  readonly cost: number | null
  /** By the text of the body's field, where the cost depends on it. */
  readonly costs: Readonly<Record<string, number>> | null
  readonly decision: 'accept' | 'refuse' | 'shadow' | 'not_charged' | 'no_route' | 'depends_on_body' | 'bad_request'
  /** A sentence, or several. */
  readonly why: string
  /** The sentences of `why`, for whoever says them in another language. */
  readonly reasons: readonly { readonly code: ReasonCode; readonly values: ReasonValues }[]
  readonly limits: readonly (LimitResponse & { readonly refuses: boolean })[]
}

/** What a sentence of an explanation says; behind it the values that it has. */
export type ReasonCode =
  // The gateway would not take it as a request at all.
  | 'method_not_accepted'
  | 'target_too_long' // max: bytes
  | 'target_no_path'
  | 'target_unescaped'
  | 'target_bad_escape'
  | 'target_control'
  | 'target_escaped_twice'
  | 'target_dots'
  | 'target_escaped_slash'
  | 'target_empty_segment'
  | 'target_semicolon'
  | 'target_no_utf8'
  | 'query_unescaped'
  | 'body_too_large' // max: bytes
  | 'priced_in_query' // fields: of the body
  // No route, or none that charges.
  | 'no_route'
  | 'method_not_allowed' // allow: methods
  | 'own_path'
  | 'own_options'
  | 'reference_page'
  | 'public_route'
  | 'unmatched_forwarded'
  | 'costs_nothing'
  // By the quota.
  | 'value_unknown' // fields: of the body, values: those that it may have
  | 'depends_on_body'
  | 'room' // cost: tokens
  | 'room_global_off' // cost
  | 'room_bypass' // cost, reason: of the override
  | 'refused' // scope, category, window, resetAt: ISO 8601 UTC
  | 'would_be_refused' // as `refused`, in shadow mode
  | 'never_fits' // scope, category, window, limit, cost: no waiting helps
  | 'would_never_fit' // as `never_fits`, in shadow mode
  | 'costs' // cost
  | 'costs_at_least' // cost
  | 'shadow_gateway'
  | 'shadow_route'
  | 'shadow_user'

export type ReasonValues = Readonly<Record<string, string | number>>

export interface CountsResponse {
  readonly requests: number
  readonly refused: number
  readonly shadowed: number
  readonly tokens: number
  readonly forwarded: number
  readonly failed: number
  readonly inFlight: number
}

/** GET /api/now. While the store is out: what was seen last of the replicas, and `null` for what is not known. */
export interface NowResponse {
  readonly at: string
  /** Sums over the replicas, since each started. `null`: not known. */
  readonly counts: CountsResponse | null
  /** As they were when the store last answered. `null`: not known. */
  readonly replicas:
    | readonly {
        readonly instance: string
        readonly host: string
        readonly pid: number
        readonly version: string
        readonly hash: string
        readonly controlVersion: number
        readonly startedAt: string
        readonly silentMs: number
        readonly ready: boolean
        readonly reasons: readonly string[]
        readonly configProblems: readonly string[]
        readonly counts: CountsResponse
      }[]
    | null
  /** Whether all of them have the same configuration and follow the last change. `null`: not known. */
  readonly agree: boolean | null
  readonly store: { readonly kind: 'sqlite' | 'redis'; readonly answers: boolean }
  /** By category: the share of the limits that is admitted while the store is out, 0 to 1; 0 refuses with 503. */
  readonly storeOutage: Readonly<Record<string, number>>
  /** The backend by what came of the requests of the last 30 minutes. `null`: not known. */
  readonly backend: {
    readonly origin: string
    readonly requests: number | null
    readonly status0: number | null
    readonly status5xx: number | null
  }
  /** `hash` is of what the configuration decides about requests: `rules` of the log's line "configuration loaded". */
  readonly config: { readonly file: string; readonly hash: string }
  readonly controlVersion: number
  /** The global windows by category. `null`: not known. */
  readonly windows: Readonly<Record<string, readonly WindowResponse[]>> | null
  readonly shadow: boolean
}

/** GET /api/failures */
export interface FailuresResponse {
  readonly since: string
  readonly until: string
  readonly bucketMinutes: number
  readonly buckets: readonly {
    readonly start: string
    readonly total: number
    readonly status0: number
    readonly status5xx: number
  }[]
}

/** GET /api/tokens */
export interface TokenResponse {
  readonly id: string
  readonly user: string
  readonly name: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}
export interface TokensResponse {
  readonly tokens: readonly TokenResponse[]
}
/** POST /api/tokens { user, name, expiresAt? } */
export interface NewTokenResponse extends TokenResponse {
  /** Shown this once. */
  readonly token: string
}

/** GET /api/routes */
export interface RoutesResponse {
  readonly file: string
  readonly routes: readonly {
    readonly match: string
    readonly line: number
    readonly public: boolean
    readonly category: string | null
    readonly cost: number | null
    readonly costs: Readonly<Record<string, number>> | null
    readonly health: boolean
    readonly shadow: boolean
    readonly hits: number
  }[]
  readonly unmatched: {
    readonly kind: 'refuse' | 'forward' | 'charge'
    readonly hits: number
    readonly latest: readonly string[]
  }
}

/** GET /api/audit?before=&limit= */
export interface AuditResponse {
  readonly entries: readonly {
    readonly version: number
    readonly at: string
    readonly who: string
    readonly what: 'settings' | 'override' | 'reset' | 'quota_reset' | 'token_created' | 'token_revoked'
    readonly subject: string | null
    readonly from: unknown
    readonly to: unknown
    readonly why: string | null
  }[]
  /** For `before` of the next page; `null` at the end. */
  readonly next: number | null
  /** How many entries the audit has forgotten, ever. */
  readonly forgotten: number
}
