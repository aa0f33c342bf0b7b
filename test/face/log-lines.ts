import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { droppedLine } from '../../src/observe/line-sink.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { refusingLimit, request } from '../observe/request.ts'
import { settled } from '../observe/settled.ts'

type OfType<T extends Observation['type']> = Omit<Extract<Observation, { type: T }>, 'type'>

/** Every kind of observation, and of each as many as make different lines. A kind that is missing here does not compile. */
const SEEN: { readonly [T in Observation['type']]: readonly OfType<T>[] } = {
  request: [
    request({
      kind: 'api_key',
      letIn: 'expired',
      charged: 7,
      beyond: 2,
      others: [{ category: 'tokens', cost: 9, charged: 7, beyond: 4 }],
      decidedAt: 1,
      plan: 'team',
      namedPlan: 'gold',
      organisation: 'acme',
      days: { periodDay: 17, organisationDay: null },
      exempt: 'user',
      shadowed: true,
      replayed: true,
      error: 'quota_exceeded',
      reason: 'expired',
      refusedBy: refusingLimit({ category: 'tokens', over: 20 }),
      lenient: ['bare_lf'],
      notUpgraded: 'h2c',
      access: { address: '192.0.2.7', path: '/v1/music' },
    }),
    request({ outcome: 'failed', error: 'upstream_timeout', httpStatus: 0, clientStatus: 502 }),
  ],
  settled: [
    ...(['above_max', 'malformed', 'unread', 'unsaid', 'coded'] as const).map((source) =>
      settled({ kind: 'corrected', source }),
    ),
    { ...settled(), plan: { name: 'free', from: 'default', unknown: 'gold' } },
    settled({ kind: 'corrected', source: 'service', tokens: -5, requestId: 'r-1' }),
    settled({
      isFurther: true,
      kind: 'refused',
      plan: 'team',
      organisation: 'acme',
      refusedBy: refusingLimit(),
      exempt: 'address',
      tunnel: {
        requestId: 'r-1',
        traceparent: null,
        method: 'GET',
        kind: 'api_key',
        days: { periodDay: 17, organisationDay: null },
        openMs: 2000,
        everyMs: 1000,
      },
    }),
  ],
  config_loaded: [
    { file: 'tollgate.yaml', hash: '0123', rules: '4567' },
    { file: 'tollgate.yaml', hash: '0123', rules: '4567', limits: [], shadow: false, timeZone: 'UTC' },
  ],
  config_rejected: [{ file: 'tollgate.yaml', problems: [] }],
  config_partly: [{ file: 'tollgate.yaml', problems: [] }],
  config_warning: [{ file: 'tollgate.yaml', problem: 'x' }],
  changed: ([undefined, 'not_made', 'taken_back'] as const).map((outcome) => ({
    entry: {
      ...{ version: 1, who: 'jane', what: 'settings', subject: null, from: 1, to: 2, why: 'x' },
      ...{ unfollowed: [], movesNobody: true },
    },
    forgotten: 0,
    ...(outcome !== undefined && { outcome }),
  })),
  change_unknown: [{ who: 'jane', what: 'override', subject: 'alice', to: 2, why: 'x' }],
  control_followed: [{ version: 2 }, { version: 1, before: 2 }],
  adaptive_factor: [{ factor: 0.5 }],
  batch_settled: [{ charges: 1, refunds: 0, durationMs: 1 }],
  caller_let_in: [{ why: 'missing' }],
  one_address: [{ address: '192.0.2.7', text: 'x' }],
  unmatched: [{ method: 'GET', path: '/' }],
  store_failed: [{ operation: 'settle', reason: 'timeout', message: 'x' }],
  store_connected: [{}],
  store_login_renewed: [{ problem: null }, { problem: 'x' }],
  store_clock: [{ offsetMs: 1 }],
  store_clock_apart: [
    { offsetMs: 5000, apart: true },
    { offsetMs: 0, apart: false },
  ],
  window_start_ahead: [{ aheadMs: 5000 }],
  store_out: [{ reason: 'timeout' }],
  store_recovered: [{ downMs: 1 }],
  outage_charge: [{ category: 'read', verdict: 'accepted' }],
  outage_tokens: (['owed', 'settled', 'given_back', 'expired', 'lost'] as const).map((event) => ({ event, tokens: 1 })),
  outage_settled: [{ tokens: 1 }],
  refunds_lost: [{ tokens: 1 }],
  charges_lost: [{ tokens: 1, since: 1 }],
  refund_void: [{ tokens: 1 }],
  additions_lost: [{ tokens: 1 }],
  keys_evicted: [{ keys: 1 }],
  store_warning: [{ warning: 'far', message: 'x' }],
  store_warning_over: [{ warning: 'far' }],
  unreadable_record: [{ kind: 'override', list: 'tollgate:overrides', id: 'alice' }],
  unreadable_record_over: [{ kind: 'override', list: 'tollgate:overrides', id: 'alice' }],
  store_lost: [{ file: 'tollgate.db' }],
  log_lost: [{ lines: 1 }],
  outcome_unknown: [
    { charges: 1, settled: true },
    { charges: 1, settled: false },
  ],
  credential_checked: [{ cached: true }],
  jwks_fetched: [{ issuer: 'x', keys: 1 }],
  jwks_keys_refused: [{ issuer: 'x', message: 'x' }],
  jwks_recalled: [{ issuer: 'x', keys: 1, ageMs: 1 }],
  hook_missing: [{ hook: 'x', lost: 'x' }],
  jwks_failed: [{ issuer: 'x', message: 'x' }],
  introspected: [{ provider: 'x', durationMs: 1 }],
  introspection_failed: [{ provider: 'x', reason: 'x' }],
  introspection_out: [{ provider: 'x', message: 'x' }],
  introspection_recovered: [{ provider: 'x', downMs: 1 }],
  bad_connection: [
    { code: 'HPE_INVALID_METHOD', status: 400 },
    {
      code: 'HPE_INVALID_METHOD',
      status: 400,
      refused: { requestId: 'r-1', method: null, error: 'bad_request', reason: 'x' },
    },
    { code: 'too_many', status: 0 },
  ],
  upgrade_opened: [{}],
  upgrade_closed: [{}],
  tunnel_ended: [{ why: 'quota' }],
  listening: [{ what: 'gateway', url: 'http://127.0.0.1' }],
  certificate_loaded: [{ listener: 'gateway', file: 'cert.pem', expiresAt: 1 }],
  certificate_expires: [1, -1].map((leftMs) => ({ listener: 'gateway' as const, file: 'cert.pem', leftMs })),
  client_authorities_loaded: [{ file: 'ca.pem', authorities: 1, revoked: 0 }],
  certificate_refused: [{ listener: 'gateway', files: 'pair', file: 'cert.pem', problem: 'x' }],
  draining: [{ inFlight: 1 }],
  drain_ended: [{}],
  cut_off: [{ requests: 1 }],
  stopped: [{}],
  worker_started: [{ worker: 1, pid: 7 }],
  worker_ended: [
    { worker: 1, pid: 7, reason: 'exit 0', problem: null, restartMs: null },
    { worker: 1, pid: 7, reason: 'exit 1', problem: 'x', restartMs: 100 },
  ],
  alert_event: (['raised', 'delivered', 'full'] as const).map((event) => ({ alert: 'near', event })),
  alert_failed: [false, true].map((isLast) => ({ alert: 'near', id: 'e-1', attempt: 1, error: 'x', isLast })),
  former_alert: [false, true].map((isGivenUp) => ({ alert: 'near', count: 1, isGivenUp })),
  internal_error: [{ where: 'x', error: new Error('x') }],
  spans_sent: [
    { spans: 1, failed: null, noRoom: 0 },
    { spans: 1, failed: 'x', noRoom: 0 },
  ],
}

/** What a line has: its level, its message and the names of its fields. */
export interface LineShape {
  readonly type: Observation['type']
  readonly level: number
  readonly msg: string
  readonly fields: readonly string[]
}

/** Each line that the log can write, as a gateway writes them. */
export async function lineShapes(): Promise<LineShape[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-face-'))
  try {
    const lines: LineShape[] = [shapeOf('log_lost', droppedLine(1))]
    for (const [type, several] of Object.entries(SEEN)) {
      for (const each of several) lines.push(...(await linesOf({ ...each, type } as Observation, join(folder, 'log'))))
    }
    return lines
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The same, as a text for each. */
export async function logLines(): Promise<string[]> {
  const lines = await lineShapes()
  return [
    ...new Set(
      lines.map(({ level, msg, fields }) => `${pino.levels.labels[level]} '${msg}' ${fields.join(', ')}`.trimEnd()),
    ),
  ]
}

/** By a log of its own, so that nothing is reported together with what came before. */
async function linesOf(seen: Observation, destination: string): Promise<LineShape[]> {
  const everyMs = seen.type === 'store_out' ? 1 : 10_000
  const log = createLog({ level: 'debug', destination, storeFailureMs: everyMs })
  log.observer(seen)
  // An outage that goes on has lines of its own.
  if (seen.type === 'store_out') await sleep(10)
  await log.close()
  const text = readFileSync(destination, 'utf8')
  rmSync(destination)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((text) => shapeOf(seen.type, text))
}

function shapeOf(type: LineShape['type'], text: string): LineShape {
  const { level, time: _time, msg, ...fields } = JSON.parse(text)
  return { type, level, msg, fields: Object.keys(fields) }
}
