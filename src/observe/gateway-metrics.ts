import { type Counting, SHORT_SECONDS } from './counting.ts'
import type { Meter } from './registry.ts'

/** Metrics of the gateway itself: its configuration, changes at run time, keys and certificates, and internal errors. */
export function gatewayMetrics(meter: Meter, now: () => number): Counting {
  return {
    ...faultMetrics(meter),
    ...callerMetrics(meter),
    ...keyMetrics(meter, now),
    ...introspectionMetrics(meter),
    ...configMetrics(meter, now),
    ...controlMetrics(meter),
    ...alertMetrics(meter),
    ...spanMetrics(meter),
  }
}

function faultMetrics(meter: Meter): Counting {
  const internal = meter.counter('internal_errors_total', 'Faults of the gateway itself, which should never happen.', [
    'where',
  ])
  const logLost = meter.counter(
    'log_lost_lines_total',
    'Lines of the log that were dropped because the disk was full or the reader too slow.',
  )
  const workerExits = meter.counter(
    'worker_exits_total',
    'Worker processes that ended although nobody asked them to.',
    ['reason'],
  )
  return {
    internal_error: (seen) => internal.add(seen.where),
    log_lost: (seen) => logLost.add('', seen.lines),
    worker_ended(seen) {
      if (seen.restartMs !== null) workerExits.add(seen.reason)
    },
  }
}

/** The label `alert` has the alerts of the configuration, and removed alerts whose events were given up. */
function alertMetrics(meter: Meter): Counting {
  const events = meter.counter(
    'alert_events_total',
    'Events of alerts: raised, full (dropped because too many are pending), delivered, failed (one attempt) and given_up.',
    ['alert', 'event'],
  )
  return {
    alert_event: ({ alert, event }) => events.add(`${alert}\n${event}`),
    alert_failed({ alert, isLast }) {
      events.add(`${alert}\nfailed`)
      if (isLast) events.add(`${alert}\ngiven_up`)
    },
    former_alert({ alert, count, isGivenUp }) {
      if (isGivenUp) events.add(`${alert}\ngiven_up`, count)
    },
  }
}

function spanMetrics(meter: Meter): Counting {
  const spans = meter.counter(
    'spans_total',
    'Spans of requests: sent to the collector, failed (the collector is away, slow or refuses them), no_room (too many wait for it).',
    ['outcome'],
  )
  for (const outcome of ['sent', 'failed', 'no_room']) spans.add(outcome, 0)
  return {
    spans_sent(seen) {
      spans.add(seen.failed === null ? 'sent' : 'failed', seen.spans)
      spans.add('no_room', seen.noRoom)
    },
  }
}

function callerMetrics(meter: Meter): Counting {
  const letIn = meter.counter(
    'auth_shadow_total',
    'Requests that auth.shadow let in: without a credential (missing), with a bad one (invalid), with several (ambiguous), or with one that could not be checked (unchecked).',
    ['reason'],
  )
  return { caller_let_in: ({ why }) => letIn.add(why) }
}

function keyMetrics(meter: Meter, now: () => number): Counting {
  const success = meter.gauge(
    'jwks_last_success_timestamp_seconds',
    'When the signing keys of an issuer were last fetched successfully, in seconds since 1970.',
    ['issuer'],
    // Keys are fetched when a credential needs them, so an idle process may have fetched none for hours.
    'max',
  )
  const failures = meter.counter('jwks_failures_total', 'Fetches of the signing keys of an issuer that failed.', [
    'issuer',
  ])
  const expiry = meter.gauge(
    'tls_certificate_expiry_timestamp_seconds',
    'When a certificate of a listener expires, in seconds since 1970.',
    ['listener', 'file'],
    'min',
  )
  const refused = meter.gauge(
    'certificate_refused',
    '1 while the newest files of a listener cannot be used, so that the files before stay in force: certificate and key (pair), or the authorities of client certificates (client_authorities).',
    ['listener', 'files', 'file'],
    'max',
  )
  return {
    jwks_fetched({ issuer }) {
      success.set({ issuer }, now() / 1000)
      failures.add(issuer, 0)
    },
    jwks_failed: ({ issuer }) => failures.add(issuer),
    certificate_loaded({ listener, file, expiresAt }) {
      expiry.set({ listener, file }, expiresAt / 1000)
      refused.set({ listener, files: 'pair', file }, 0)
    },
    client_authorities_loaded: ({ file }) => refused.set({ listener: 'gateway', files: 'client_authorities', file }, 0),
    certificate_refused: ({ listener, files, file }) => refused.set({ listener, files, file }, 1),
  }
}

function introspectionMetrics(meter: Meter): Counting {
  const duration = meter.histogram(
    'introspection_duration_seconds',
    'How long an introspection provider takes to respond for one credential.',
    SHORT_SECONDS,
    ['provider'],
  )
  const failures = meter.counter(
    'introspection_failures_total',
    'Credentials that could not be checked because the introspection provider gave no usable response.',
    ['provider', 'reason'],
  )
  return {
    introspected({ provider, durationMs }) {
      duration.observe(provider, durationMs / 1000)
      // Each series exists from the first response on: `increase` does not see a first failure that comes with its series.
      for (const reason of ['timeout', 'connection', 'status', 'malformed', 'busy'])
        failures.add(`${provider}\n${reason}`, 0)
    },
    introspection_failed: ({ provider, reason }) => failures.add(`${provider}\n${reason}`),
  }
}

function configMetrics(meter: Meter, now: () => number): Counting {
  const info = meter.gauge(
    'config_info',
    'Always 1. The hash of the configuration in force shows which replicas run different files.',
    ['hash'],
    'max',
  )
  const good = meter.gauge(
    'config_last_reload_successful',
    '1 if the configuration file was accepted when it was last read, 0 if it was refused.',
    [],
    'min',
  )
  const loaded = meter.gauge(
    'config_last_reload_success_timestamp_seconds',
    'When the configuration that is in force was read, in seconds since 1970.',
    [],
    'min',
  )
  return {
    config_rejected: () => good.set(0),
    config_loaded({ hash }) {
      good.set(1)
      loaded.set(now() / 1000)
      // Only the hash in force. With old ones beside it a reload would look like replicas that disagree.
      info.reset()
      info.set({ hash }, 1)
    },
  }
}

const SCHEDULED = ['begun', 'ended', 'not_made'] as const
const GUARDED = ['kept', 'taken_back'] as const

/** Metrics of changes at run time. Processes of one store show the same version and factor, and each counts the changes that it made. */
function controlMetrics(meter: Meter): Counting {
  const version = meter.gauge(
    'control_version',
    'Number of the last change at run time that is in force here. A replica with a lower number has not got the newest changes.',
    [],
    'min',
  )
  // The version is 0 before the first change: every process follows, and one that cannot is behind.
  version.set(0)
  const factor = meter.gauge(
    'adaptive_factor',
    'The factor by which mode adaptive multiplies limits. It is computed in every mode.',
    [],
    'max',
  )
  const trimmed = meter.counter(
    'audit_trimmed_total',
    'Entries of the audit that were removed to make room for newer ones.',
  )
  const scheduled = meter.counter(
    'scheduled_changes_total',
    'Scheduled changes that this process carried out: begun, ended, or not_made because the file has no place for them or their end had passed.',
    ['outcome'],
  )
  const guards = meter.counter(
    'guard_total',
    'Guarded changes that this process judged: kept, or taken_back because too many requests were refused.',
    ['outcome'],
  )
  for (const outcome of SCHEDULED) scheduled.add(outcome, 0)
  for (const outcome of GUARDED) guards.add(outcome, 0)
  return {
    changed({ forgotten, outcome }) {
      trimmed.add('', forgotten)
      if (outcome === 'kept' || outcome === 'taken_back') guards.add(outcome, 1)
      else if (outcome !== undefined) scheduled.add(outcome, 1)
    },
    control_followed: (seen) => version.set(seen.version),
    adaptive_factor: (seen) => factor.set(seen.factor),
  }
}
