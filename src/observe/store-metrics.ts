import { type Counting, SHORT_SECONDS } from './counting.ts'
import { RECORD_KINDS, type RecordKind, STORE_WARNINGS } from './observation.ts'
import type { Meter } from './registry.ts'

const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Metrics of calls to the store, its outages, and its clock. */
export function storeMetrics(meter: Meter): Counting {
  return { ...callMetrics(meter), ...outageMetrics(meter), ...clockMetrics(meter), ...warningMetrics(meter) }
}

function callMetrics(meter: Meter): Counting {
  const batchSeconds = meter.histogram(
    'store_batch_duration_seconds',
    'How long the store takes for one batch of charges and refunds.',
    SHORT_SECONDS,
  )
  const batchSize = meter.histogram('store_batch_size', 'How many charges and refunds one batch contains.', SIZES)
  const storeErrors = meter.counter('store_errors_total', 'Calls to the store that failed.', ['operation', 'reason'])
  const unknown = meter.counter(
    'charge_outcome_unknown_total',
    'Charges for which no reply of the store arrived. With settled="true" the gateway learnt later whether the charge was made.',
    ['settled'],
  )
  // Each series exists from the start: `increase` does not see a first failure that comes with its series.
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
    'Processes that decide charges without the store at the moment. It is 0 without traffic.',
  )
  const charges = meter.counter(
    'outage_charges_total',
    'Charges that the gateway decided without the store: accepted, refused (429) or unable (503).',
    ['category', 'verdict'],
  )
  const tokens = meter.counter(
    'outage_tokens_total',
    'Tokens that the gateway admitted without the store (owed), and what happened to them later: settled, given_back, expired or lost. The rest of owed is still to be charged.',
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
    'Seconds by which the clock of the store is ahead of the clock of the gateway. Windows follow the clock of the store, and credentials expire by the clock of the gateway.',
    [],
    'max',
  )
  const corrected = meter.counter(
    'window_starts_corrected_total',
    'Windows that had begun in the future because the clock of the store was ahead, and that count as begun now.',
  )
  return {
    store_clock: (seen) => offset.set(seen.offsetMs / 1000),
    window_start_ahead: () => corrected.add(''),
  }
}

function warningMetrics(meter: Meter): Counting {
  const warnings = meter.gauge(
    'store_warnings',
    '1 while something is wrong with a store that still works.',
    ['warning'],
    'max',
  )
  // All of them, so that a series is there before its first warning.
  for (const warning of STORE_WARNINGS) warnings.set({ warning }, 0)
  const unreadable = meter.counter(
    'unreadable_records_total',
    'Records of the store that were found unreadable and are left out, each counted when it is found.',
    ['kind'],
  )
  const leftOut = meter.gauge(
    'records_left_out',
    'Records and keys of the store that are left out at the moment because they cannot be read.',
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
    'At most how many tokens the store has forgotten after it had confirmed their charge, for example in a failover.',
  )
  const evicted = meter.counter(
    'store_evicted_keys_total',
    'Keys that Redis has evicted since this process started. Each process counts all of them.',
  )
  const voided = meter.counter(
    'refunds_void_total',
    'Refunds that were not made because the store has forgotten their charge.',
  )
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
