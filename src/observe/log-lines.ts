import { scrub } from '../lib/scrub.ts'
import type { Observation, WorkerEnded } from './observation.ts'

/** What the log says of everything that is neither a request nor one of many failures of the store. */
export type Reported = Exclude<Observation, { type: 'request' | 'store_failed' }>

export interface Line {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly msg: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** The line of an observation; `null` for what happens with every request or batch and is left to the metrics. */
export function lineOf(seen: Reported): Line | null {
  switch (seen.type) {
    case 'config_loaded':
      return line('info', 'configuration loaded', { file: seen.file, hash: seen.hash, rules: seen.rules })
    case 'config_rejected':
    case 'config_partly':
      return line('error', NOT_TAKEN[seen.type], { file: seen.file, problems: seen.problems.map(scrub) })
    case 'config_warning':
      return line('warn', 'configuration warning', { file: seen.file, detail: scrub(seen.problem) })
    case 'store_connected':
      return line('info', 'connected to the store', {})
    case 'store_login_renewed':
      return line('info', 'the store took the new login or certificate', {})
    case 'store_clock_apart':
      return seen.apart
        ? line('warn', 'the clock of the store and that of this gateway differ', offsetOf(seen))
        : line('info', 'the clock of the store and that of this gateway agree again', offsetOf(seen))
    case 'window_start_ahead':
      return line('warn', 'the clock of the store was ahead: windows that it started then count as started now', {
        aheadSeconds: Math.round(seen.aheadMs / 1000),
      })
    case 'store_out':
      return line('error', 'the store is out: charges are decided without it', { reason: seen.reason })
    case 'outage_settled':
      return line('info', 'what was admitted while the store was out is charged', { tokens: seen.tokens })
    case 'outage_tokens':
      return seen.event === 'lost'
        ? line('warn', 'what was admitted while the store was out is never charged', { tokens: seen.tokens })
        : null
    case 'refunds_lost':
      return line('warn', 'what was to be given back may stay charged', { tokens: seen.tokens })
    case 'store_recovered':
      return line('info', 'the store answers again', { downMs: Math.round(seen.downMs) })
    case 'store_warning':
      return line('warn', 'store warning', { detail: scrub(seen.message) })
    case 'outcome_unknown':
      return seen.settled
        ? line('info', 'charges whose reply was lost are settled', { charges: seen.charges })
        : line('warn', 'charges with an unknown outcome', { charges: seen.charges })
    case 'jwks_fetched':
      return line('debug', 'signing keys fetched', { issuer: seen.issuer, keys: seen.keys })
    case 'jwks_keys_refused':
      return line('warn', 'signing keys are left out', { issuer: seen.issuer, detail: scrub(seen.message) })
    case 'jwks_failed':
      return line('warn', 'signing keys could not be fetched', { issuer: seen.issuer, detail: scrub(seen.message) })
    case 'introspection_out':
      return line('error', 'credentials cannot be introspected', {
        provider: seen.provider,
        detail: scrub(seen.message),
      })
    case 'introspection_recovered':
      return line('info', 'credentials can be introspected again', {
        provider: seen.provider,
        downMs: Math.round(seen.downMs),
      })
    case 'bad_connection':
      // Anybody can send nonsense as often as they like: the metrics count it, the log stays readable.
      return line('debug', 'not an HTTP request', { code: seen.code, status: seen.status })
    case 'one_address':
      return line('warn', 'one address brings nearly all requests', { address: seen.address, detail: seen.text })
    case 'listening':
      return line('info', 'listening', { what: seen.what, url: seen.url })
    case 'client_authorities_loaded':
      return line('info', 'client certificates are held against new files', {
        file: seen.file,
        authorities: seen.authorities,
        revoked: seen.revoked,
      })
    case 'certificate_loaded':
      return line('info', 'certificate loaded', {
        ...certificateOf(seen),
        until: new Date(seen.expiresAt).toISOString(),
      })
    case 'certificate_expires':
      return certificateLine(seen)
    case 'certificate_refused':
      return line('error', 'certificate refused, the one before stays in force', {
        what: seen.listener,
        detail: scrub(seen.problem),
      })
    case 'draining':
      return line('info', 'draining', { inFlight: seen.inFlight })
    case 'drain_ended':
      return line('info', 'in service again', {})
    case 'cut_off':
      return line('warn', 'drain.timeout is over: what is still under way is cut off', { requests: seen.requests })
    case 'stopped':
      return line('info', 'stopped', {})
    case 'worker_started':
      return line('info', 'worker started', { worker: seen.worker, pid: seen.pid })
    case 'worker_ended':
      return workerEnded(seen)
    case 'internal_error':
      return line('error', 'internal error', { where: seen.where, err: seen.error })
    case 'changed':
      return line('info', 'changed at run time', changeOf(seen.entry))
    case 'change_unknown':
      return line('warn', 'a change at run time may have been made', changeOf(seen))
    case 'control_followed':
      // The store was emptied, or restored from a copy.
      if (seen.before !== undefined && seen.version < seen.before) {
        return line('warn', 'the store has lost changes at run time', { version: seen.version, before: seen.before })
      }
      return line('info', 'changes at run time are in force', { version: seen.version })
    case 'adaptive_factor':
      return line('debug', 'adaptive factor', { factor: seen.factor })
    case 'store_clock':
    case 'quota_refusal':
    case 'reserve_refusal':
    case 'shadow_refusal':
    case 'caller_let_in':
    case 'unmatched':
    case 'outage_charge':
    case 'batch_settled':
    case 'tokens_charged':
    case 'tokens_refunded':
    case 'credential_checked':
    case 'introspected':
    case 'introspection_failed':
    case 'log_lost':
    case 'upgrade_opened':
    case 'upgrade_closed':
    case 'tunnel_ended':
      return null
  }
}

type ChangeEntry = Extract<Reported, { type: 'changed' }>['entry']

/** Its shape is documented: whoever keeps the log has all changes, whatever the audit forgets. */
function changeOf(seen: ChangeEntry | Extract<Reported, { type: 'change_unknown' }>): Line['fields'] {
  const { who, what, subject, to, why } = seen
  const fields =
    'from' in seen
      ? { version: seen.version, who, what, subject, from: seen.from, to, why }
      : { who, what, subject, to, why }
  return JSON.parse(JSON.stringify(fields), (_, value) => (typeof value === 'string' ? scrub(value) : value))
}

function offsetOf({ offsetMs }: { readonly offsetMs: number }): Line['fields'] {
  return { offsetSeconds: Math.round(offsetMs / 1000) }
}

/** One that has ended keeps everybody out. `days` are left, or (below 0) have passed. */
function certificateLine(seen: Extract<Reported, { type: 'certificate_expires' }>): Line {
  const fields = { ...certificateOf(seen), days: Math.trunc(seen.leftMs / 86_400_000) }
  return seen.leftMs > 0
    ? line('warn', 'the certificate ends soon', fields)
    : line('error', 'the certificate has ended', fields)
}

function certificateOf({ listener, file }: { readonly listener: string; readonly file: string }): Line['fields'] {
  return { what: listener, file }
}

const NOT_TAKEN = {
  config_rejected: 'configuration refused, the one before stays in force',
  config_partly: 'configuration in force, but not in every worker',
}

function workerEnded({ worker, pid, reason, problem, restartMs }: WorkerEnded): Line {
  const fields = { worker, pid, reason, ...(problem !== null && { detail: scrub(problem) }) }
  if (restartMs === null) return line('info', 'worker ended', fields)
  return line('error', 'worker ended unasked', { ...fields, restartMs })
}

function line(level: Line['level'], msg: string, fields: Line['fields']): Line {
  return { level, msg, fields }
}
