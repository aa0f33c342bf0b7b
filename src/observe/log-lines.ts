import { scrub } from '../lib/scrub.ts'
import type { CostSource, Observation, Settled, UnreadableRecord, WorkerEnded } from './observation.ts'

/** The observations that have their own log lines here. Requests and the many failures of the store are left out. */
export type Reported = Exclude<Observation, { type: 'request' | 'store_failed' }>

export interface Line {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly msg: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** The line of an observation; `null` for one that only the metrics count. */
export function lineOf<T extends Reported['type']>(seen: Extract<Reported, { type: T }>): Line | null {
  return LINES[seen.type as T](seen)
}

/** A line for each kind of observation. */
type Lines = { readonly [T in Reported['type']]: (seen: Extract<Reported, { type: T }>) => Line | null }

/** Lines of the configuration, and of listeners. */
const CONFIGURATION = {
  config_loaded: ({ file, hash, rules, limits, shadow, timeZone }) =>
    line('info', 'configuration loaded', {
      ...{ file, hash, rules },
      ...(limits !== undefined && { limits, shadow, timeZone }),
    }),
  config_rejected: (seen) => notTaken(seen),
  config_partly: (seen) => notTaken(seen),
  config_warning: (seen) => line('warn', 'configuration warning', { file: seen.file, detail: scrub(seen.problem) }),
  hook_missing: ({ hook, lost }) =>
    line('error', 'a part inside of Node or a library is not where it was', { hook, lost }),
  listening: (seen) => line('info', 'listening', { what: seen.what, url: seen.url }),
} satisfies Partial<Lines>

/** Lines of the store, and of charges without it. */
const STORE = {
  store_connected: () => line('info', 'connected to the store', {}),
  store_login_renewed: ({ problem }) =>
    problem === null
      ? line('info', 'the store took the new login or certificate', {})
      : line('warn', 'the new login or certificate is in use, and the store has not confirmed it yet', {
          detail: scrub(problem),
        }),
  store_clock_apart: (seen) =>
    seen.apart
      ? line('warn', 'the clock of the store and that of this gateway differ', offsetOf(seen))
      : line('info', 'the clock of the store and that of this gateway agree again', offsetOf(seen)),
  window_start_ahead: (seen) =>
    line('warn', 'the clock of the store was ahead: windows that it started then count as started now', {
      aheadSeconds: Math.round(seen.aheadMs / 1000),
    }),
  store_out: (seen) => line('error', 'the store is out: charges are decided without it', { reason: seen.reason }),
  outage_settled: (seen) =>
    line('info', 'what was admitted while the store was out is charged', { tokens: seen.tokens }),
  outage_tokens: (seen) =>
    seen.event === 'lost'
      ? line('warn', 'what was admitted while the store was out is never charged', { tokens: seen.tokens })
      : null,
  refunds_lost: (seen) => line('warn', 'what was to be given back may stay charged', { tokens: seen.tokens }),
  refund_void: () => null,
  charges_lost: ({ tokens, since }) =>
    line('error', 'the store has forgotten charges', { tokens, since: new Date(since).toISOString() }),
  additions_lost: (seen) =>
    line('warn', 'what responses cost beyond the charge may never be charged', { tokens: seen.tokens }),
  keys_evicted: ({ keys }) => line('error', 'the store has evicted keys, perhaps counters', { keys }),
  store_recovered: (seen) => line('info', 'the store answers again', { downMs: Math.round(seen.downMs) }),
  store_warning: ({ warning, message }) => line('warn', 'store warning', { warning, detail: scrub(message) }),
  store_warning_over: ({ warning }) => line('info', 'store warning is over', { warning }),
  unreadable_record: (seen) => line('error', 'a record of the store cannot be read, and is left out', recordOf(seen)),
  unreadable_record_over: (seen) =>
    line('info', 'a record of the store that could not be read was replaced, or is gone', recordOf(seen)),
  store_lost: ({ file }) =>
    line('error', 'the file of the store is gone: counters, access keys and changes at run time end now', { file }),
  outcome_unknown: (seen) =>
    seen.settled
      ? line('info', 'charges whose reply was lost are settled', { charges: seen.charges })
      : line('warn', 'charges with an unknown outcome', { charges: seen.charges }),
} satisfies Partial<Lines>

/** Lines of the keys and providers that verify credentials. */
const CREDENTIALS = {
  jwks_fetched: (seen) => line('debug', 'signing keys fetched', { issuer: seen.issuer, keys: seen.keys }),
  jwks_keys_refused: (seen) =>
    line('warn', 'signing keys are left out', { issuer: seen.issuer, detail: scrub(seen.message) }),
  jwks_failed: (seen) =>
    line('warn', 'signing keys could not be fetched', { issuer: seen.issuer, detail: scrub(seen.message) }),
  jwks_recalled: (seen) =>
    line('info', 'signing keys that another gateway has fetched are used', {
      ...{ issuer: seen.issuer, keys: seen.keys, ageSeconds: Math.round(seen.ageMs / 1000) },
    }),
  introspection_out: (seen) =>
    line('error', 'credentials cannot be introspected', {
      provider: seen.provider,
      detail: scrub(seen.message),
    }),
  introspection_recovered: (seen) =>
    line('info', 'credentials can be introspected again', {
      provider: seen.provider,
      downMs: Math.round(seen.downMs),
    }),
  client_authorities_loaded: (seen) =>
    line('info', 'client certificates are held against new files', {
      file: seen.file,
      authorities: seen.authorities,
      revoked: seen.revoked,
    }),
  certificate_loaded: (seen) =>
    line('info', 'certificate loaded', {
      ...certificateOf(seen),
      until: new Date(seen.expiresAt).toISOString(),
    }),
  certificate_expires: (seen) => certificateLine(seen),
  certificate_refused: (seen) =>
    line('error', 'certificate refused, the one before stays in force', {
      what: seen.listener,
      files: seen.files,
      file: seen.file,
      detail: scrub(seen.problem),
    }),
  settled: (seen) => {
    if (seen.source === 'service') return settlementLine(seen)
    return seen.kind === 'corrected' ? oddCost(seen) : unknownPlan(seen)
  },
} satisfies Partial<Lines>

/** The line of a cost that a service has reported. A repeated settlement changes nothing, and has no line. */
function settlementLine({ requestId, caller, route, charge, tokens, decision }: Settled): Line | null {
  if (tokens === 0) return null
  const { category, cost } = charge
  const fields = { requestId, user: caller.user, route, category, cost, charged: cost + tokens }
  return line('info', 'settlement', { ...fields, decidedAt: decision?.at })
}

function oddCost({ source, route }: Settled): Line | null {
  const odd = source === undefined ? undefined : ODD_COSTS[source]
  return odd === undefined ? null : line('warn', odd, { route })
}

function unknownPlan({ plan }: Settled): Line | null {
  if (plan === null || plan.unknown === null) return null
  return line('warn', 'a credential names a plan that is not configured', {
    plan: scrub(plan.unknown),
    instead: plan.name ?? 'none',
  })
}

/** Lines for responses that lack the form that `settle` of their rule expects. */
const ODD_COSTS: Readonly<Partial<Record<CostSource, string>>> = {
  above_max: 'a response says more tokens than settle.max: settle.max is charged',
  malformed: 'a response says no whole number of tokens where settle reads it: the reserve stays charged',
  unread:
    'a response could not be read for settle (cut off, too long, or in an unknown coding): the reserve stays charged',
  unsaid:
    'no event of a stream says what settle reads, so that settle.missing is charged, by default the reserve: have it sent, as a client of OpenAI or vLLM does with stream_options.include_usage',
  coded:
    'a stream is compressed, so that settle cannot read it, and the reserve stays charged: let the upstream not compress streams, for example with Accept-Encoding in upstream.remove_headers',
}

/** Lines of the process and its workers, and of clients that harm it. */
const PROCESS = {
  // Anybody can send invalid bytes at any rate. The metrics count them, and the log stays readable.
  bad_connection: ({ code, status, refused }) =>
    refused === undefined
      ? line('debug', 'not an HTTP request', { code, status })
      : line('info', 'request refused on its connection', { ...refused, outcome: 'denied', clientStatus: status }),
  one_address: (seen) =>
    line('warn', 'one address brings nearly all requests', { address: seen.address, detail: seen.text }),
  draining: (seen) => line('info', 'draining', { inFlight: seen.inFlight }),
  drain_ended: () => line('info', 'in service again', {}),
  cut_off: (seen) =>
    line('warn', 'drain.timeout is over: what is still under way is cut off', { requests: seen.requests }),
  stopped: () => line('info', 'stopped', {}),
  worker_started: (seen) => line('info', 'worker started', { worker: seen.worker, pid: seen.pid }),
  worker_ended: (seen) => workerEnded(seen),
  internal_error: (seen) => line('error', 'internal error', { where: seen.where, err: seen.error }),
} satisfies Partial<Lines>

/** Lines of changes at run time. */
const RUN_TIME = {
  changed: ({ entry, outcome }) => {
    if (outcome === 'not_made') return line('warn', 'a scheduled change could not be made', changeOf(entry))
    if (outcome === 'taken_back') return line('warn', 'a guard has taken a change back', changeOf(entry))
    return line('info', 'changed at run time', changeOf(entry))
  },
  change_unknown: (seen) => line('warn', 'a change at run time may have been made', changeOf(seen)),
  control_followed: (seen) => {
    // The store was emptied, or restored from a copy.
    if (seen.before !== undefined && seen.version < seen.before) {
      return line('warn', 'the store has lost changes at run time', { version: seen.version, before: seen.before })
    }
    return line('info', 'changes at run time are in force', { version: seen.version })
  },
  adaptive_factor: (seen) => line('debug', 'adaptive factor', { factor: seen.factor }),
} satisfies Partial<Lines>

/** Lines of the collector. */
const TELEMETRY = {
  spans_sent: ({ spans, failed, noRoom }) =>
    failed === null && noRoom === 0
      ? null
      : line('warn', 'spans are dropped: the collector is away, slow or refuses them', {
          spans: noRoom + (failed === null ? 0 : spans),
          ...(failed !== null && { detail: scrub(failed) }),
        }),
} satisfies Partial<Lines>

/** Lines of alerts and their receivers. */
const ALERTS = {
  alert_event: (seen) =>
    seen.event === 'full'
      ? line('warn', 'too many events of an alert are pending: others wait to be noticed again', { alert: seen.alert })
      : null,
  alert_failed: (seen) =>
    line(
      seen.isLast ? 'error' : 'warn',
      seen.isLast ? 'an event of an alert is given up' : 'an event of an alert could not be delivered',
      { alert: seen.alert, event: seen.id, attempt: seen.attempt, detail: scrub(seen.error) },
    ),
  former_alert: ({ alert, count, isGivenUp }) =>
    isGivenUp
      ? line('error', 'events of an alert that is not configured any more are given up', { alert, events: count })
      : line('warn', 'events of an alert that is not configured wait for a gateway that has it, for a day at most', {
          alert,
          events: count,
        }),
} satisfies Partial<Lines>

const none = (): null => null

/** Observations that only the metrics count, most of them for every request or batch. */
const LEFT_TO_THE_METRICS = {
  store_clock: none,
  caller_let_in: none,
  unmatched: none,
  outage_charge: none,
  batch_settled: none,
  credential_checked: none,
  introspected: none,
  introspection_failed: none,
  log_lost: none,
  upgrade_opened: none,
  upgrade_closed: none,
  tunnel_ended: none,
} satisfies Partial<Lines>

const LINES: Lines = {
  ...CONFIGURATION,
  ...STORE,
  ...CREDENTIALS,
  ...PROCESS,
  ...RUN_TIME,
  ...ALERTS,
  ...TELEMETRY,
  ...LEFT_TO_THE_METRICS,
}

const NOT_TAKEN = {
  config_rejected: 'configuration refused, the one before stays in force',
  config_partly: 'configuration in force, but not in every worker',
}

function notTaken(seen: Extract<Reported, { type: 'config_rejected' | 'config_partly' }>): Line {
  return line('error', NOT_TAKEN[seen.type], { file: seen.file, problems: seen.problems.map(scrub) })
}

type ChangeEntry = Extract<Reported, { type: 'changed' }>['entry']

/** The form of this line is documented, because a kept log has all changes, even those that the audit forgets. */
function changeOf(seen: ChangeEntry | Extract<Reported, { type: 'change_unknown' }>): Line['fields'] {
  const { who, what, subject, to, why } = seen
  const fields = 'from' in seen ? entryOf(seen) : { who, what, subject, to, why }
  return JSON.parse(JSON.stringify(fields), (_, value) => (typeof value === 'string' ? scrub(value) : value))
}

function entryOf({ version, who, what, subject, from, to, why, unfollowed, movesNobody }: ChangeEntry): Line['fields'] {
  return { version, who, what, subject, from, to, why, unfollowed, movesNobody }
}

function recordOf({ kind, list, id }: UnreadableRecord): Line['fields'] {
  return { kind, list, id: scrub(id) }
}

function offsetOf({ offsetMs }: { readonly offsetMs: number }): Line['fields'] {
  return { offsetSeconds: Math.round(offsetMs / 1000) }
}

/** An expired certificate keeps all clients out. `days` are left, or (below 0) have passed. */
function certificateLine(seen: Extract<Reported, { type: 'certificate_expires' }>): Line {
  const fields = { ...certificateOf(seen), days: Math.trunc(seen.leftMs / 86_400_000) }
  return seen.leftMs > 0
    ? line('warn', 'the certificate ends soon', fields)
    : line('error', 'the certificate has ended', fields)
}

function certificateOf({ listener, file }: { readonly listener: string; readonly file: string }): Line['fields'] {
  return { what: listener, file }
}

function workerEnded({ worker, pid, reason, problem, restartMs }: WorkerEnded): Line {
  const fields = { worker, pid, reason, ...(problem !== null && { detail: scrub(problem) }) }
  if (restartMs === null) return line('info', 'worker ended', fields)
  return line('error', 'worker ended unasked', { ...fields, restartMs })
}

function line(level: Line['level'], msg: string, fields: Line['fields']): Line {
  return { level, msg, fields }
}
