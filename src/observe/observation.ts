import type { ErrorCode, ReachedShare } from '../errors.ts'
import type { Trace } from '../lib/trace-context.ts'
import type { Charge, Decision } from '../quota/charge.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import type { NamedDays, Payer } from '../quota/payer.ts'
import type { PlanInForce } from '../quota/policy.ts'
import type { StoreFailure } from '../quota/quota-store.ts'

/**
 * Everything worth reporting, as one union. The code only calls an Observer; the log and the metrics are two readers
 * that each take what they want. No step of a request knows a logger or a counter.
 */
export type Observation =
  | RequestDone
  | {
      readonly type: 'config_loaded'
      readonly file: string
      /** Of the configuration and the files that it names. If it names none, these are the first 16 digits of the SHA-256 of the file. */
      readonly hash: string
      /** Of what it decides about requests, as the admin API and the dashboard show it (`config/fingerprint.ts`). */
      readonly rules: string
      /** The share of the limits that each category admits while the store is out; missing where this process charges nothing. */
      readonly storeOutage?: ReadonlyMap<string, number>
      /** The limits in force and where each comes from, as lines for people; missing where this process charges nothing. */
      readonly limits?: readonly string[]
      /** Whether the quota refuses nobody, and the zone of times in messages to clients; missing as `limits`. */
      readonly shadow?: boolean
      readonly timeZone?: string
    }
  /** A batch of spans has gone to the collector, or `failed` says why not. `noRoom` others were dropped since the last batch. */
  | {
      readonly type: 'spans_sent'
      readonly spans: number
      readonly failed: string | null
      readonly noRoom: number
    }
  /** A part inside of Node or a library is not where it was: the version is one that this gateway was not made for. */
  | {
      readonly type: 'hook_missing'
      readonly hook: string
      /** What the gateway does not do without it. */
      readonly lost: string
    }
  | { readonly type: 'config_rejected'; readonly file: string; readonly problems: readonly string[] }
  /** Of several workers those that `problems` names did not take what is in force. */
  | { readonly type: 'config_partly'; readonly file: string; readonly problems: readonly string[] }
  | { readonly type: 'config_warning'; readonly file: string; readonly problem: string }
  /** An administrator made a change at run time, by this process or on the command line: its entry in the audit, with times as text. */
  | {
      readonly type: 'changed'
      readonly entry: {
        readonly version: number
        readonly who: string
        readonly what: string
        readonly subject: string | null
        readonly from: unknown
        readonly to: unknown
        readonly why: string | null
        /** What it set in vain; missing where it did not. */
        readonly unfollowed?: unknown
        readonly movesNobody?: true | undefined
      }
      /** Entries that the audit forgot for it. */
      readonly forgotten: number
      /** Of a change that was scheduled or guarded, and that this process made when its time had come. */
      readonly outcome?: 'begun' | 'ended' | 'not_made' | 'kept' | 'taken_back'
    }
  /** The store failed in the middle of a change: it may have been made. */
  | {
      readonly type: 'change_unknown'
      readonly who: string
      readonly what: string
      readonly subject: string | null
      readonly to: unknown
      readonly why: string | null
    }
  /** What administrators changed at run time is in force up to this change. */
  | { readonly type: 'control_followed'; readonly version: number /** The version before. */; readonly before?: number }
  /** The factor that mode `adaptive` would have now, or has. */
  | { readonly type: 'adaptive_factor'; readonly factor: number }
  | { readonly type: 'batch_settled'; readonly charges: number; readonly refunds: number; readonly durationMs: number }
  | Settled
  /** Whose credential was not taken was let in: there was none, it was not good, there were several, it could not be checked. */
  | { readonly type: 'caller_let_in'; readonly why: 'missing' | 'invalid' | 'ambiguous' | 'unchecked' }
  /** One address that is no trusted proxy brings nearly all requests. */
  | { readonly type: 'one_address'; readonly address: string; readonly text: string }
  /** A request matched no route. `path` is as it was sent, without the query. */
  | { readonly type: 'unmatched'; readonly method: string; readonly path: string }
  | {
      readonly type: 'store_failed'
      readonly operation: string
      readonly reason: StoreFailure
      readonly message: string
    }
  | { readonly type: 'store_connected' }
  /** A reload brought another login or certificate, and the store took it. */
  /** `problem`: why it could not be tried; the one before was of no use either. `null` if the store took it. */
  | { readonly type: 'store_login_renewed'; readonly problem: string | null }
  /** The store's clock less ours, asked for again and again. */
  | { readonly type: 'store_clock'; readonly offsetMs: number }
  /** The two clocks are seconds apart from now on, or are not any more. */
  | { readonly type: 'store_clock_apart'; readonly offsetMs: number; readonly apart: boolean }
  /** A charge met a window whose start lay so far in the future, and set it to now: the store's clock was ahead. */
  | { readonly type: 'window_start_ahead'; readonly aheadMs: number }
  /** The circuit opens: from now on charges are decided without the store, until `store_recovered`. */
  | { readonly type: 'store_out'; readonly reason: string }
  | { readonly type: 'store_recovered'; readonly downMs: number }
  /** A charge met the open circuit. `unable`: it could not be decided on local counters and got 503. */
  | {
      readonly type: 'outage_charge'
      readonly category: string
      readonly verdict: 'accepted' | 'refused' | 'unable'
    }
  /** Tokens admitted on local counters: owed to the store, and what became of the debt. `lost`: by the end of the process. */
  | {
      readonly type: 'outage_tokens'
      readonly event: 'owed' | 'settled' | 'given_back' | 'expired' | 'lost'
      readonly tokens: number
    }
  /** The last debt of an outage was added to the store's windows. */
  | { readonly type: 'outage_settled'; readonly tokens: number }
  /** So many tokens were to be given back, and nobody will learn whether the store has: given up, or at the end of the process. */
  | { readonly type: 'refunds_lost'; readonly tokens: number }
  /** The store has forgotten charges. `tokens`: at most so many; `since`: the store's time of the first, in milliseconds since the epoch. */
  | { readonly type: 'charges_lost'; readonly tokens: number; readonly since: number }
  /** So many tokens are not given back (below 0: charged in addition), as the store has forgotten their charge. */
  | { readonly type: 'refund_void'; readonly tokens: number }
  /** What responses said beyond the cost, and nobody knows whether it is charged. */
  | { readonly type: 'additions_lost'; readonly tokens: number }
  /** Redis has evicted so many keys since it was looked at last, perhaps counters: whoever used them is charged anew. */
  | { readonly type: 'keys_evicted'; readonly keys: number }
  /** Something about the store that does no harm yet, until `store_warning_over`. */
  | { readonly type: 'store_warning'; readonly warning: StoreWarning; readonly message: string }
  | { readonly type: 'store_warning_over'; readonly warning: StoreWarning }
  /** A record of the store cannot be read and is left out, until `unreadable_record_over`: another one took its place, or it is gone. */
  | ({ readonly type: 'unreadable_record' } & UnreadableRecord)
  | ({ readonly type: 'unreadable_record_over' } & UnreadableRecord)
  /** The process closes a store whose file is gone: what it kept ends with it. */
  | { readonly type: 'store_lost'; readonly file: string }
  | { readonly type: 'log_lost'; readonly lines: number }
  | { readonly type: 'outcome_unknown'; readonly charges: number; readonly settled: boolean }
  | { readonly type: 'credential_checked'; readonly cached: boolean }
  | { readonly type: 'jwks_fetched'; readonly issuer: string; readonly keys: number }
  | { readonly type: 'jwks_keys_refused'; readonly issuer: string; readonly message: string }
  /** Until it has fetched some itself, a process goes by keys that another one has fetched. */
  | { readonly type: 'jwks_recalled'; readonly issuer: string; readonly keys: number; readonly ageMs: number }
  | { readonly type: 'jwks_failed'; readonly issuer: string; readonly message: string }
  /** A provider has said what it knows of a credential. `provider` is its address. */
  | { readonly type: 'introspected'; readonly provider: string; readonly durationMs: number }
  /** It has not. */
  | { readonly type: 'introspection_failed'; readonly provider: string; readonly reason: string }
  /** Several times one after the other: from now on one request in a second asks it, until `introspection_recovered`. */
  | { readonly type: 'introspection_out'; readonly provider: string; readonly message: string }
  | { readonly type: 'introspection_recovered'; readonly provider: string; readonly downMs: number }
  | {
      readonly type: 'bad_connection'
      readonly code: string
      readonly status: number
      /** The request that got a response, and is none for the gateway; missing if there was none. */
      readonly refused?: RefusedOnConnection
    }
  | { readonly type: 'upgrade_opened' }
  | { readonly type: 'upgrade_closed' }
  /** A tunnel is ended since what admitted it holds no longer. */
  | { readonly type: 'tunnel_ended'; readonly why: 'credential' | 'blocked' | 'age' | 'quota' | 'silence' }
  | { readonly type: 'listening'; readonly what: 'gateway' | 'admin' | 'decisions'; readonly url: string }
  /** A listener has this certificate for new connections; reported anew each day. `expiresAt` in milliseconds since the epoch. */
  | {
      readonly type: 'certificate_loaded'
      readonly listener: 'gateway' | 'admin'
      readonly file: string
      readonly expiresAt: number
    }
  /** It ends soon, or has ended. */
  | {
      readonly type: 'certificate_expires'
      readonly listener: 'gateway' | 'admin'
      readonly file: string
      readonly leftMs: number
    }
  /** Client certificates are held against new files from now on. */
  | {
      readonly type: 'client_authorities_loaded'
      readonly file: string
      readonly authorities: number
      readonly revoked: number
    }
  /** The files that it was to be replaced by cannot be used: the old one stays. */
  | {
      readonly type: 'certificate_refused'
      readonly listener: 'gateway' | 'admin'
      /** Its certificate and key, or what it holds certificates of clients against. */
      readonly files: 'pair' | 'client_authorities'
      /** Of the certificate, or of the authorities. */
      readonly file: string
      readonly problem: string
    }
  | { readonly type: 'draining'; readonly inFlight: number }
  /** It is in service again. */
  | { readonly type: 'drain_ended' }
  /** `drain.timeout` ran out before this many requests and tunnels had ended. */
  | { readonly type: 'cut_off'; readonly requests: number }
  | { readonly type: 'stopped' }
  | { readonly type: 'worker_started'; readonly worker: number; readonly pid: number }
  | WorkerEnded
  /**
   * What becomes of a threshold that was reached, by the name of its alert: it is to be delivered, it was, or there is no room for it
   * among those that are pending.
   */
  | { readonly type: 'alert_event'; readonly alert: string; readonly event: 'raised' | 'delivered' | 'full' }
  /** An attempt to deliver it failed. `isLast`: it is given up. */
  | {
      readonly type: 'alert_failed'
      readonly alert: string
      readonly id: string
      readonly attempt: number
      readonly error: string
      readonly isLast: boolean
    }
  /** So many events of an alert that is not in the configuration wait for a process that has it, or were given up. */
  | { readonly type: 'former_alert'; readonly alert: string; readonly count: number; readonly isGivenUp: boolean }
  | { readonly type: 'internal_error'; readonly where: string; readonly error: unknown }

/** What may be wrong with a store that works. Names never change their meaning: a metric has them. */
export const STORE_WARNINGS = [
  /** Its file was taken away or replaced: what is kept in it from then on ends with the process. */
  'file_gone',
  /** It may forget counters for want of memory. */
  'eviction',
  /** It keeps nothing on a disk. */
  'no_persistence',
  /** It asks for no password, although there is one. */
  'no_password',
  'old_version',
  /** It cannot be looked at: its user has no right to INFO. */
  'no_rights',
  /** A copy into it has not ended. */
  'copy_unended',
  /** It takes more than half of the deadline to respond. */
  'far',
] as const
export type StoreWarning = (typeof STORE_WARNINGS)[number]

/** What a record of a store is of. */
export const RECORD_KINDS = [
  'access_key',
  'alert_event',
  'audit_entry',
  'failures',
  'grant',
  'guard',
  'known_user',
  'membership',
  'organisation_override',
  'override',
  'refusal',
  'replica',
  'series',
  'settings',
] as const
export type RecordKind = (typeof RECORD_KINDS)[number]

export interface UnreadableRecord {
  readonly kind: RecordKind
  /** The key of Redis, the beginning of such keys, or the table of SQLite. */
  readonly list: string
  /** Its name in the list, for the log only: it may be that of a user. */
  readonly id: string
}

/** A request that its connection refused: its head could not be read, or too many waited. */
export interface RefusedOnConnection {
  /** Its client finds it in `X-Request-Id`. */
  readonly requestId: string
  /** `null` if its head could not be read. */
  readonly method: string | null
  readonly error: ErrorCode
  readonly reason: string | null
}

/** A worker process is gone. */
export interface WorkerEnded {
  readonly type: 'worker_ended'
  readonly worker: number
  readonly pid: number
  /** The signal, or `exit N`. */
  readonly reason: string
  /** For the log only: why it could not begin, if it reported that. */
  readonly problem: string | null
  /** When another one takes its place, in milliseconds from now; `null` if it was to end. */
  readonly restartMs: number | null
}

/**
 * How the cost of a charged request came to be known. Of the last three the reserve stands, and of `missing` and `unsaid` what the rule
 * says.
 * - `response` the response says it
 * - `request` by the bytes that came of a body of unknown length
 * - `above_max` it says more than `max`, which counts
 * - `missing` it has no such field or member
 * - `unsaid` it is a stream of which no event has the member
 * - `malformed` it has one that says no number of tokens, or says two
 * - `unread` it was cut off, too long or in an unknown coding
 * - `coded` it is a stream in a coding
 */
export type CostSource =
  | 'response'
  | 'request'
  | 'service'
  | 'above_max'
  | 'missing'
  | 'unsaid'
  | 'malformed'
  | 'unread'
  | 'coded'

/**
 * What happened to a charge, of a request or of an open tunnel. Each outcome is reported once, by `gateway/settlement.ts` alone, and
 * everybody who wants to know of charges reads it here: log, metrics, series, refusals, alerts, known users, memberships and guards.
 */
export interface Settled {
  readonly type: 'settled'
  /**
   * - `charged` its tokens are taken
   * - `repeated` the tokens were taken for the request that this one repeats
   * - `refused` the quota refused it, with 429 or by ending the tunnel
   * - `shadowed` the same, but it was let through and nothing is taken
   * - `corrected` another cost became known, by the response, the bytes of the request or a `/settle`: the difference is given back, or taken
   *   in addition
   * - `given_back` it reached nobody, so its tokens are given back
   * - `exempt` nothing is charged to the caller, so the store was not asked
   */
  readonly kind: 'charged' | 'repeated' | 'refused' | 'shadowed' | 'corrected' | 'given_back' | 'exempt'
  /** Tokens by which the store changed what it counts: below 0 they are given back. */
  readonly tokens: number
  /** Of one meter: an accepted charge of several is reported once for each, and a refused one for the meter that refuses. */
  readonly charge: Charge
  /** Set for all meters of a charge but the first. Whoever counts requests leaves them out. */
  readonly isFurther?: true
  /** Of a correction that of its charge; `null` if the store did not decide. */
  readonly decision: Decision | null
  readonly caller: Payer
  /** Whether it is known who the caller is. */
  readonly isVerified: boolean
  /** By which the limits were chosen; `null` if the configuration has no plans. */
  readonly plan: PlanInForce | null
  /** The rule, as written in the configuration. */
  readonly route: string
  /** Of `refused` and `shadowed`. */
  readonly refusedBy: RefusingLimit | 'store' | 'key' | 'price' | null
  /** Of `corrected`: how the cost came to be known. */
  readonly source?: CostSource
  /** Of a cost that a service has said later: the request that was charged. */
  readonly requestId?: string
  /** Of what its body gives no price, for the log: why. */
  readonly reason?: string
  /** Of `exempt`: by what the caller is. */
  readonly exempt?: 'user' | 'address'
  /** Of a charge that an open tunnel costs after its handshake. */
  readonly tunnel?: TunnelCharge
}

/** A charge of an open tunnel (`tunnel_charge`). */
export interface TunnelCharge {
  /** Of the handshake. */
  readonly requestId: string
  /** Of the handshake; `null` for none. */
  readonly traceparent: string | null
  readonly method: string
  /** How the user came to be known, if not by JWT or access key. */
  readonly kind: string | null
  /** As of a request. */
  readonly days?: NamedDays
  /** How long the tunnel has been open when this charge is due, in milliseconds: a multiple of `everyMs`. */
  readonly openMs: number
  readonly everyMs: number
}

/** The limit that a 429 names, and how the charge met it. */
export interface RefusingLimit {
  readonly scope: ScopeName
  /** Of the meter that has no room. */
  readonly category: string
  /** Name of the window. */
  readonly window: string
  readonly limit: number
  /** Tokens that pass beyond it; missing for none. */
  readonly over?: number
  readonly used: number
  /** Tokens that the request was to cost. */
  readonly requested: number
  /** ISO 8601 UTC. */
  readonly resetAt: string
  /** Start of the run in milliseconds since the epoch; `null` if the window was not running. */
  readonly startedAt: number | null
  /** The store's time of the decision. */
  readonly at: number
  /** Names of the layers that made the limit, for example `baseline x mode`. */
  readonly source: string
  /** What counts its refusals, kept here because the same limit is named again for a while. Default nothing. */
  episode?: object | undefined
}

/** How a request ended. */
export type Outcome =
  /** The upstream's response was passed on whole. */
  | 'forwarded'
  /** 429 by us. */
  | 'refused'
  /** Any other denial by us. */
  | 'denied'
  /** Answered by the gateway itself, for example /me/quota. */
  | 'answered'
  /** Forwarding failed: `httpStatus` is 0, or the upstream broke off its body. */
  | 'failed'
  /** The client left before the response was complete. */
  | 'aborted'

/** Where a request came from, and what it asked for: personal data. */
export interface Access {
  /** Of its client, as the gateway counts it; `null` if it is not asked for. */
  readonly address: string | null
  /** As the client wrote it, without its query and cut off at 1024 characters; `null` if it is not asked for. */
  readonly path: string | null
}

/** One for each request and upgrade, good or bad; the source of the access log line. */
export interface RequestDone {
  readonly type: 'request'
  readonly requestId: string
  /** Of its span; without telemetry the valid one that came with it, or `null`. */
  readonly traceparent: string | null
  /** Its span; `null` without telemetry. */
  readonly trace: Trace | null
  readonly user: string | null
  /** How the user came to be known, if not by JWT or access key. */
  readonly kind: string | null
  /** Why the caller would have been refused, had `auth.shadow` not let it in as the user of its address. */
  readonly letIn: string | null
  readonly method: string
  /** The rule that matched, as written in the configuration; never the raw path. */
  readonly route: string | null
  readonly category: string | null
  readonly cost: number
  /** What it cost by its response (`settle`); `null` if it was not settled by that. */
  readonly charged: number | null
  /** The same of its further meters. Missing of a route with one. */
  readonly others?: readonly MeterDone[]
  /** Of its tokens those beyond a soft limit, in the first of its meters. Missing if none is. */
  readonly beyond?: number
  /** The plan whose limits the caller has; `null` for none, and where nothing would be charged. */
  readonly plan: string | null
  /** The same as metrics have it: `none` for a caller without one, `null` if no plans are configured too. */
  readonly planLabel: string | null
  /** The plan that the credential of the caller names, whatever the configuration has; `null` for none. */
  readonly namedPlan: string | null
  /** The one that the credential of the caller names, whether anything limits it or not; `null` for none. */
  readonly organisation: string | null
  /** With which days months begin for the caller, where the credential or an override says so. Missing where not, or nothing is charged. */
  readonly days?: NamedDays
  /** The limit that refused it, or would have if it was not in shadow; `null` if no limit did. */
  readonly refusedBy: RefusingLimit | null
  /** The store's time of the decision of the quota, in milliseconds since the epoch; `null` if it did not decide. */
  readonly decidedAt: number | null
  /** By what the caller is exempt from the quota; `null` if it is not. */
  readonly exempt: 'user' | 'address' | null
  /** Whether the quota refused it and it was let through all the same, uncharged. */
  readonly shadowed: boolean
  /** Whether it repeats one that was charged, and was not charged itself. */
  readonly replayed: boolean
  /** Whose it is for the adaptive mode, a user or `UNCHARGED`; `null` if it does not count there. */
  readonly voice: string | null
  readonly outcome: Outcome
  /** The code of our own response, or what it would have been where the upstream's had begun when forwarding failed. */
  readonly error: ErrorCode | null
  /** For the log only: why, in a few words. */
  readonly reason: string | null
  /** What of `edge.lenient` and `upstream.lenient` was needed to let the request and the response pass. */
  readonly lenient: readonly string[]
  /** For the log only: why it was served as a plain request although it asks for another protocol; `null` if it was not. */
  readonly notUpgraded: string | null
  /** The bound of `edge.shares` that it reached. */
  readonly share: ReachedShare | null
  /** The upstream's status; 0 when forwarding failed; `null` when the request was never forwarded. */
  readonly httpStatus: number | null
  /** What the client got; 499 when it left first. */
  readonly clientStatus: number
  readonly durationMs: number
  /** `null` if the configuration does not ask for it. */
  readonly access: Access | null
  /** Time from dispatch to the end of the upstream's response; `null` when never forwarded. */
  readonly upstreamMs: number | null
}

/** What became of a further meter of a request: each as of the request. */
export interface MeterDone {
  readonly category: string
  readonly cost: number
  readonly charged: number | null
  readonly beyond?: number
}

export type Observer = (observation: Observation) => void

/**
 * Hears of each request with its target as the client wrote it. That may hold credentials, so no observation has it.
 */
export type Witness = (target: string, done: RequestDone) => void
