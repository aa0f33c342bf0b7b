import type { ErrorCode, ReachedShare } from '../errors.ts'
import type { Trace } from '../lib/trace-context.ts'
import type { Charge, Decision } from '../quota/charge.ts'
import type { ScopeName } from '../quota/charged-scopes.ts'
import type { NamedDays, Payer } from '../quota/payer.ts'
import type { PlanInForce } from '../quota/policy.ts'
import type { StoreFailure } from '../quota/quota-store.ts'
import type { QuotaViolation } from '../quota/refusal.ts'

/** Why a tunnel is ended. */
export const TUNNEL_ENDS = ['credential', 'blocked', 'age', 'quota', 'silence'] as const
export type TunnelEnd = (typeof TUNNEL_ENDS)[number]

/**
 * Everything worth reporting, as one union. The code only calls an Observer. The log and the metrics are two readers,
 * and each takes what it needs. No step of a request knows a logger or a counter.
 */
export type Observation =
  | RequestDone
  | {
      readonly type: 'config_loaded'
      readonly file: string
      /** A hash of the configuration and the files that it names. Without such files it is the beginning of `sha256sum FILE`, 16 digits. */
      readonly hash: string
      /** A hash of what the configuration decides about requests, as the admin API and the dashboard show it (`config/fingerprint.ts`). */
      readonly rules: string
      /** The share of the limits that each category admits while the store is out; missing where this process charges nothing. */
      readonly storeOutage?: ReadonlyMap<string, number>
      /** The limits in force and where each comes from, as lines for people; missing where this process charges nothing. */
      readonly limits?: readonly string[]
      /** Whether the quota refuses nobody, and the time zone of messages to clients; missing where `limits` is. */
      readonly shadow?: boolean
      readonly timeZone?: string
    }
  /** A batch of spans was sent to the collector, or `failed` says why not. `noRoom` others were dropped. */
  | {
      readonly type: 'spans_sent'
      readonly spans: number
      readonly failed: string | null
      readonly noRoom: number
    }
  /** An internal of Node or a library is not in its place: this gateway was not made for the installed version. */
  | {
      readonly type: 'hook_missing'
      readonly hook: string
      /** The feature that the gateway lacks without it. */
      readonly lost: string
    }
  | { readonly type: 'config_rejected'; readonly file: string; readonly problems: readonly string[] }
  /** The configuration is in force, but the workers in `problems` did not accept it. */
  | { readonly type: 'config_partly'; readonly file: string; readonly problems: readonly string[] }
  | { readonly type: 'config_warning'; readonly file: string; readonly problem: string }
  /** A change at run time was made, here or on the command line. `entry` is its entry in the audit, with times as text. */
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
        /** The parts that the change set in vain; missing if there are none. */
        readonly unfollowed?: unknown
        readonly movesNobody?: true | undefined
      }
      /** The number of older entries that the audit dropped for it. */
      readonly forgotten: number
      /** The outcome of a scheduled or guarded change that this process made when its time had come. */
      readonly outcome?: 'begun' | 'ended' | 'not_made' | 'kept' | 'taken_back'
    }
  /** The store failed in the middle of a change, which may have been made or not. */
  | {
      readonly type: 'change_unknown'
      readonly who: string
      readonly what: string
      readonly subject: string | null
      readonly to: unknown
      readonly why: string | null
    }
  /** All changes at run time up to this version are in force. */
  | { readonly type: 'control_followed'; readonly version: number /** The version before. */; readonly before?: number }
  /** The factor that mode `adaptive` has, or would have. */
  | { readonly type: 'adaptive_factor'; readonly factor: number }
  | { readonly type: 'batch_settled'; readonly charges: number; readonly refunds: number; readonly durationMs: number }
  | Settled
  /** A caller was let in without an accepted credential: it was missing, not valid, ambiguous, or could not be checked. */
  | { readonly type: 'caller_let_in'; readonly why: 'missing' | 'invalid' | 'ambiguous' | 'unchecked' }
  /** One address that is no trusted proxy sends nearly all requests. */
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
  /** A reload brought another login or certificate, which is in use. `problem`: why the store has not accepted it yet; `null` if it has. */
  | { readonly type: 'store_login_renewed'; readonly problem: string | null }
  /** The store's clock minus ours, which is measured again and again. */
  | { readonly type: 'store_clock'; readonly offsetMs: number }
  /** The clocks of the store and of this process began to be seconds apart (`apart`), or agree again. */
  | { readonly type: 'store_clock_apart'; readonly offsetMs: number; readonly apart: boolean }
  /** A charge met a window that began in the future, because the store's clock had been ahead, and set its start to now. */
  | { readonly type: 'window_start_ahead'; readonly aheadMs: number }
  /** The circuit opens: until `store_recovered` charges are decided without the store. */
  | { readonly type: 'store_out'; readonly reason: string }
  | { readonly type: 'store_recovered'; readonly downMs: number }
  /** A charge met the open circuit. `unable`: local counters could not decide it, and it got 503. */
  | {
      readonly type: 'outage_charge'
      readonly category: string
      readonly verdict: 'accepted' | 'refused' | 'unable'
    }
  /** Tokens that local counters admitted, and the state of this debt to the store. `lost`: the process ended. */
  | {
      readonly type: 'outage_tokens'
      readonly event: 'owed' | 'settled' | 'given_back' | 'expired' | 'lost'
      readonly tokens: number
    }
  /** The last debt of an outage was added to the store's windows. */
  | { readonly type: 'outage_settled'; readonly tokens: number }
  /** It is unknown whether the store gave these tokens back: the attempt was given up, or the process ended. */
  | { readonly type: 'refunds_lost'; readonly tokens: number }
  /** The store has forgotten charges. `tokens`: at most so many; `since`: the store's time of the first, in milliseconds since the epoch. */
  | { readonly type: 'charges_lost'; readonly tokens: number; readonly since: number }
  /** So many tokens are not given back, or if below 0 not charged in addition, because the store has forgotten their charge. */
  | { readonly type: 'refund_void'; readonly tokens: number }
  /** It is unknown whether the store charged these tokens, which responses reported beyond the charged cost. */
  | { readonly type: 'additions_lost'; readonly tokens: number }
  /** Redis has evicted so many keys since the last look, perhaps counters. A caller with an evicted counter begins at 0 again. */
  | { readonly type: 'keys_evicted'; readonly keys: number }
  /** The store has a problem that does no harm yet, until `store_warning_over`. */
  | { readonly type: 'store_warning'; readonly warning: StoreWarning; readonly message: string }
  | { readonly type: 'store_warning_over'; readonly warning: StoreWarning }
  /** A record of the store cannot be read and is left out, until `unreadable_record_over`: it was replaced, or it is gone. */
  | ({ readonly type: 'unreadable_record' } & UnreadableRecord)
  | ({ readonly type: 'unreadable_record_over' } & UnreadableRecord)
  /** The process closes a store whose file is gone, and all its data with it. */
  | { readonly type: 'store_lost'; readonly file: string }
  | { readonly type: 'log_lost'; readonly lines: number }
  | { readonly type: 'outcome_unknown'; readonly charges: number; readonly settled: boolean }
  | { readonly type: 'credential_checked'; readonly cached: boolean }
  | { readonly type: 'jwks_fetched'; readonly issuer: string; readonly keys: number }
  | { readonly type: 'jwks_keys_refused'; readonly issuer: string; readonly message: string }
  /** Until a process has fetched keys itself, it uses keys that another process has fetched. */
  | { readonly type: 'jwks_recalled'; readonly issuer: string; readonly keys: number; readonly ageMs: number }
  | { readonly type: 'jwks_failed'; readonly issuer: string; readonly message: string }
  /** A provider has responded whether a credential is valid. `provider` is its address. */
  | { readonly type: 'introspected'; readonly provider: string; readonly durationMs: number }
  /** A provider gave no usable response. */
  | { readonly type: 'introspection_failed'; readonly provider: string; readonly reason: string }
  /** A provider failed several times in a row. Until `introspection_recovered` each client may ask it only once a second. */
  | { readonly type: 'introspection_out'; readonly provider: string; readonly message: string }
  | { readonly type: 'introspection_recovered'; readonly provider: string; readonly downMs: number }
  | {
      readonly type: 'bad_connection'
      readonly code: string
      readonly status: number
      /** The request that was refused before the gateway saw it; missing if the connection brought none. */
      readonly refused?: RefusedOnConnection
    }
  | { readonly type: 'upgrade_opened' }
  | { readonly type: 'upgrade_closed' }
  /** A tunnel is ended because the reason to admit it no longer holds. */
  | { readonly type: 'tunnel_ended'; readonly why: TunnelEnd }
  | { readonly type: 'listening'; readonly what: 'gateway' | 'admin' | 'decisions'; readonly url: string }
  /** A listener has this certificate for new connections; reported anew each day. `expiresAt` in milliseconds since the epoch. */
  | {
      readonly type: 'certificate_loaded'
      readonly listener: 'gateway' | 'admin'
      readonly file: string
      readonly expiresAt: number
    }
  /** The certificate expires soon, or has expired. */
  | {
      readonly type: 'certificate_expires'
      readonly listener: 'gateway' | 'admin'
      readonly file: string
      readonly leftMs: number
    }
  /** Client certificates are checked against new files from now on. */
  | {
      readonly type: 'client_authorities_loaded'
      readonly file: string
      readonly authorities: number
      readonly revoked: number
    }
  /** The new files cannot be used: the certificate or the authorities from before stay in force. */
  | {
      readonly type: 'certificate_refused'
      readonly listener: 'gateway' | 'admin'
      /** The certificate with its key, or the authorities of client certificates. */
      readonly files: 'pair' | 'client_authorities'
      /** The file of the certificate, or of the authorities. */
      readonly file: string
      readonly problem: string
    }
  | { readonly type: 'draining'; readonly inFlight: number }
  /** The process is in service again. */
  | { readonly type: 'drain_ended' }
  /** `drain.timeout` ran out before this many requests and tunnels had ended. */
  | { readonly type: 'cut_off'; readonly requests: number }
  | { readonly type: 'stopped' }
  | { readonly type: 'worker_started'; readonly worker: number; readonly pid: number }
  | WorkerEnded
  /**
   * An event of the alert of this name: `raised` it will be delivered, `delivered` it was delivered, or `full` it was dropped because
   * too many events of the alert are pending.
   */
  | { readonly type: 'alert_event'; readonly alert: string; readonly event: 'raised' | 'delivered' | 'full' }
  /** An attempt to deliver an event failed. `isLast`: the event is given up. */
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

/** What may be wrong with a store that works. Names never change their meaning, because a metric has them as labels. */
export const STORE_WARNINGS = [
  /** Its file was taken away or replaced: what is kept in it from then on ends with the process. */
  'file_gone',
  /** It may forget counters for want of memory. */
  'eviction',
  /** It keeps nothing on a disk. */
  'no_persistence',
  /** It lets everybody in without a password. */
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

/** The kind of a record of a store. */
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
  /** The key in Redis, the beginning of several keys there, or the table in SQLite that has the record. */
  readonly list: string
  /** The name of the record in the list, for the log only, because it may be the id of a user. */
  readonly id: string
}

/** A request that was refused on its connection: its head could not be read, or too many requests waited there. */
export interface RefusedOnConnection {
  /** The id that its client finds in `X-Request-Id`. */
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
  /** For the log only: why the worker could not begin, if it reported a reason. */
  readonly problem: string | null
  /** The time until another worker replaces it, in milliseconds; `null` if it was to end. */
  readonly restartMs: number | null
}

/**
 * The source of the cost of a charged request. After `malformed`, `unread` and `coded` the reserve stands, and after `missing` and
 * `unsaid` the rule decides.
 * - `response` the response says the cost
 * - `request` the cost follows from the length of the request's body, which was unknown before
 * - `service` a service reported the cost later
 * - `above_max` the response says more than `max`, so `max` is charged
 * - `missing` the response has no such field or member
 * - `unsaid` the response is a stream, and none of its events has the member
 * - `malformed` the field or member says no number of tokens, or two different ones
 * - `unread` the response was cut off, too long or in an unknown coding
 * - `coded` the response is a stream in a coding
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
 * The outcome of a charge, of a request or of an open tunnel. Only `gateway/settlement.ts` reports it, once for each outcome, and
 * all readers of charges use it: log, metrics, series, refusals, alerts, known users, memberships and guards.
 */
export interface Settled {
  readonly type: 'settled'
  /**
   * - `charged` the tokens are taken
   * - `repeated` the tokens were taken for the request that this one repeats
   * - `refused` the quota refused the charge, with 429 or by ending the tunnel
   * - `shadowed` the charge was refused or could not be decided, but the request was let through and nothing is taken
   * - `corrected` another cost became known, by the response, the bytes of the request or a `/settle`: the difference is given back, or taken
   *   in addition
   * - `given_back` the request reached nobody, so its tokens are given back
   * - `exempt` nothing is charged to the caller, so the store was not asked
   */
  readonly kind: 'charged' | 'repeated' | 'refused' | 'shadowed' | 'corrected' | 'given_back' | 'exempt'
  /** Tokens by which the store changed its counts: below 0 they are given back. */
  readonly tokens: number
  /** The charge of one meter. An accepted charge is reported once for each meter, and a refused charge for the refusing meter. */
  readonly charge: Charge
  /** Set for all meters of a charge except the first. Readers that count requests skip them. */
  readonly isFurther?: true
  /** For a correction, the decision about its charge; `null` if the store did not decide. */
  readonly decision: Decision | null
  readonly caller: Payer
  /** Whether it is known who the caller is. */
  readonly isVerified: boolean
  /** The plan that chose the limits; `null` if the configuration has no plans. */
  readonly plan: PlanInForce | null
  /** The rule, as written in the configuration. */
  readonly route: string
  /** Set for `refused` and `shadowed`. */
  readonly refusedBy: RefusingLimit | 'store' | 'key' | 'price' | null
  /** For `corrected`: how the cost came to be known. */
  readonly source?: CostSource
  /** For a cost that a service reported later: the id of the request that was charged. */
  readonly requestId?: string
  /** For a request whose price cannot be known: the reason, for the log. */
  readonly reason?: string
  /** For `exempt`: whether the user or the address is exempt. */
  readonly exempt?: 'user' | 'address'
  /** Set for a charge of an open tunnel after its handshake. */
  readonly tunnel?: TunnelCharge
}

/** A charge of an open tunnel (`tunnel_charge`). */
export interface TunnelCharge {
  /** The id of the handshake. */
  readonly requestId: string
  /** The traceparent of the handshake; `null` for none. */
  readonly traceparent: string | null
  readonly method: string
  /** How the user became known, if not by a JWT or an access key. */
  readonly kind: string | null
  /** As in RequestDone. */
  readonly days?: NamedDays
  /** How long the tunnel has been open when this charge is due, in milliseconds: a multiple of `everyMs`. */
  readonly openMs: number
  readonly everyMs: number
}

/** The limit that a 429 names, with the state in which the charge met it. */
export interface RefusingLimit extends Omit<QuotaViolation, 'scope' | 'retryAtBeijing' | 'timeZone'> {
  readonly scope: ScopeName
  /** Start of the run in milliseconds since the epoch; `null` if the window was not running. */
  readonly startedAt: number | null
  /** The time of the decision, on the store's clock. */
  readonly at: number
  /** Names of the layers that made the limit, for example `baseline x mode`. */
  readonly source: string
  /** The counter of its refusals. It is kept here because the same limit is named again for a while. Default none. */
  episode?: object | undefined
}

/** The way in which a request ended. */
export type Outcome =
  /** The upstream's response was passed on completely. */
  | 'forwarded'
  /** The gateway refused it with 429. */
  | 'refused'
  /** The gateway denied it otherwise. */
  | 'denied'
  /** The gateway itself responded, for example to /me/quota. */
  | 'answered'
  /** Forwarding failed (`httpStatus` is 0), or the upstream broke off its body. */
  | 'failed'
  /** The client left before the response was complete. */
  | 'aborted'

/** The origin and target of a request: personal data. */
export interface Access {
  /** The address of the client, as the gateway counts it; `null` without `log.address`. */
  readonly address: string | null
  /** The path as the client wrote it, without its query and cut off at 1024 characters; `null` without `log.path`. */
  readonly path: string | null
}

/** Reported once for each request and upgrade, good or bad; the source of the access log line. */
export interface RequestDone {
  readonly type: 'request'
  readonly requestId: string
  /** The traceparent of its span; without telemetry the valid one that came with the request, or `null`. */
  readonly traceparent: string | null
  /** Its span; `null` without telemetry. */
  readonly trace: Trace | null
  readonly user: string | null
  /** How the user became known, if not by a JWT or an access key. */
  readonly kind: string | null
  /** Why the caller would have been refused, if `auth.shadow` had not let it in as the user of its address. */
  readonly letIn: string | null
  readonly method: string
  /** The matching rule, as written in the configuration; never the raw path. */
  readonly route: string | null
  readonly category: string | null
  readonly cost: number
  /** The tokens that stay charged; `null` if that is the cost and no later report settled it. */
  readonly charged: number | null
  /** The cost and the charged tokens in its further meters. Missing for a route with one meter. */
  readonly others?: readonly MeterDone[]
  /** The part of its tokens beyond a soft limit, in the first of its meters. Missing if there is none. */
  readonly beyond?: number
  /** The plan whose limits the caller has; `null` for none, and where nothing would be charged. */
  readonly plan: string | null
  /** The label of the plan in metrics: `none` for a caller without one, and `null` if no plans are configured. */
  readonly planLabel: string | null
  /** The plan that the credential of the caller names, whether the configuration has it or not; `null` for none. */
  readonly namedPlan: string | null
  /** The organisation that the credential of the caller names, whether anything limits it or not; `null` for none. */
  readonly organisation: string | null
  /** The days on which the caller's months begin, if the credential or an override sets them and it is charged. */
  readonly days?: NamedDays
  /** The limit that refused it, or would have without the shadow mode; `null` if no limit did. */
  readonly refusedBy: RefusingLimit | null
  /** The store's time of the decision of the quota, in milliseconds since the epoch; `null` if it did not decide. */
  readonly decidedAt: number | null
  /** Why the caller is exempt from the quota; `null` if it is not. */
  readonly exempt: 'user' | 'address' | null
  /** Whether the quota refused it or could not decide, and shadow let it through uncharged. */
  readonly shadowed: boolean
  /** Whether it repeats a charged request, and was not charged itself. */
  readonly replayed: boolean
  /** The voice that it has in the adaptive mode, a user or `UNCHARGED`; `null` if it does not count there. */
  readonly voice: string | null
  readonly outcome: Outcome
  /** The code of the gateway's own response, or the code that it would have had if the upstream's response had not begun. */
  readonly error: ErrorCode | null
  /** A reason in a few words, for the log only. */
  readonly reason: string | null
  /** The entries of `edge.lenient` and `upstream.lenient` that the request and the response needed to pass. */
  readonly lenient: readonly string[]
  /** Why a request for another protocol was served as a plain request, for the log only; `null` if it was not. */
  readonly notUpgraded: string | null
  /** The bound that refused the request, such as one of `edge.shares`; `null` if none did. */
  readonly share: ReachedShare | null
  /** The upstream's status; 0 when forwarding failed; `null` when the request was never forwarded. */
  readonly httpStatus: number | null
  /** The status that the client got; 499 when it left first. */
  readonly clientStatus: number
  readonly durationMs: number
  /** `null` if the configuration does not ask for it. */
  readonly access: Access | null
  /** The time from dispatch to the end of the upstream's response; `null` when never forwarded. */
  readonly upstreamMs: number | null
}

/** The outcome for a further meter of a request. The fields are as in RequestDone. */
export interface MeterDone {
  readonly category: string
  readonly cost: number
  readonly charged: number | null
  readonly beyond?: number
}

export type Observer = (observation: Observation) => void

/** Hears of each request with its target as the client wrote it. The target may hold credentials, so no observation has it. */
export type Witness = (target: string, done: RequestDone) => void
