import { type Counting, SHORT_SECONDS } from './counting.ts'
import { RECORD_KINDS, type RecordKind, type StoreWarning } from './observation.ts'
import type { Meter } from './registry.ts'

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Calls to the store, its outages, and its clock. */
export function storeMetrics(meter: Meter): Counting {
  return { ...callMetrics(meter), ...outageMetrics(meter), ...clockMetrics(meter), ...warningMetrics(meter) }
}

function callMetrics(meter: Meter): Counting {
  const batchSeconds = meter.histogram('store_batch_duration_seconds', 'One batch in the store.', SHORT_SECONDS)
  const batchSize = meter.histogram('store_batch_size', 'Charges and refunds settled in one batch.', SIZES)
  const storeErrors = meter.counter('store_errors_total', 'Calls that the store did not answer.', [
    'operation',
    'reason',
  ])
  const unknown = meter.counter(
    'charge_outcome_unknown_total',
    'Charges whose reply was lost; settled tells whether it was learnt later.',
    ['settled'],
  )
  // From the start: `increase` does not see a first failure that comes with its series.
  for (const settled of [true, false]) unknown.add(String(settled), 0)
  return {
    batch_settled(seen) {
      batchSeconds.observe('', seen.durationMs / 1000)
      batchSize.observe('', seen.charges + seen.refunds)
    },
    store_failed: (seen) => storeErrors.add(`${seen.operation}\n${seen.reason}`),
    outcome_unknown: (seen) => unknown.add(String(seen.settled), seen.charges),
  }
}

function outageMetrics(meter: Meter): Counting {
  const circuit = meter.gauge(
    'store_circuit_open',
    'Processes that decide charges without the store: it does not answer, is full, or takes no writes.',
  )
  const charges = meter.counter(
    'outage_charges_total',
    'Charges decided without the store; unable are those that got 503.',
    ['category', 'verdict'],
  )
  const tokens = meter.counter(
    'outage_tokens_total',
    'Tokens admitted without the store (owed) and what became of them: owed less all others is still to be charged.',
    ['event'],
  )
  return {
    store_out: () => circuit.set(1),
    store_recovered: () => circuit.set(0),
    outage_charge: (seen) => charges.add(`${seen.category}\n${seen.verdict}`),
    outage_tokens: (seen) => tokens.add(seen.event, seen.tokens),
  }
}

function clockMetrics(meter: Meter): Counting {
  const offset = meter.gauge(
    'store_clock_offset_seconds',
    'The clock of the store less that of the gateway: windows run by the one, credentials end by the other.',
    [],
    'max',
  )
  const corrected = meter.counter(
    'window_starts_corrected_total',
    'Windows that had started in the future, by the clock of the store, and count as started now.',
    [],
  )
  corrected.add('', 0)
  return {
    store_clock: (seen) => offset.set(seen.offsetMs / 1000),
    window_start_ahead: () => corrected.add(''),
  }
}

/** All of them, so that a series is there before its first warning. */
const WARNINGS: Readonly<Record<StoreWarning, 0>> = {
  file_gone: 0,
  eviction: 0,
  no_persistence: 0,
  no_password: 0,
  old_version: 0,
  no_rights: 0,
  copy_unended: 0,
  far: 0,
}

function warningMetrics(meter: Meter): Counting {
  const warnings = meter.gauge(
    'store_warnings',
    'Whether something about the store is wrong that does no harm yet.',
    ['warning'],
    'max',
  )
  for (const [warning, none] of Object.entries(WARNINGS)) warnings.set({ warning }, none)
  const unreadable = meter.counter(
    'unreadable_records_total',
    'Records of the store that were found unreadable, and are left out; each once for each time that it becomes so.',
    ['kind'],
  )
  const leftOut = meter.gauge(
    'records_left_out',
    'Records and keys of the store that are left out at the moment, since they cannot be read.',
    ['kind'],
    'max',
  )
  const standing = new Map<RecordKind, number>()
  const count = (kind: RecordKind, more: number): void => {
    standing.set(kind, (standing.get(kind) ?? 0) + more)
    leftOut.set({ kind }, standing.get(kind) ?? 0)
  }
  for (const kind of RECORD_KINDS) {
    unreadable.add(kind, 0)
    count(kind, 0)
  }
  const lost = meter.counter(
    'charges_lost_tokens_total',
    'Tokens, at most, of charges that the store has forgotten.',
    [],
  )
  const evicted = meter.counter(
    'store_evicted_keys_total',
    'Keys that Redis has evicted since this process looks at it.',
    [],
  )
  const voided = meter.counter('refunds_void_total', 'Refunds of charges that the store has forgotten.', [])
  lost.add('', 0)
  evicted.add('', 0)
  voided.add('', 0)
  return {
    charges_lost: ({ tokens }) => lost.add('', tokens),
    keys_evicted: ({ keys }) => evicted.add('', keys),
    refund_void: () => voided.add(''),
    unreadable_record({ kind }) {
      unreadable.add(kind)
      count(kind, 1)
    },
    unreadable_record_over: ({ kind }) => count(kind, -1),
    store_warning: ({ warning }) => warnings.set({ warning }, 1),
    store_warning_over: ({ warning }) => warnings.set({ warning }, 0),
  }
}
