import { it } from 'vitest'

/**
 * The faults that are tested, in the words of docs/faults.md: the page is made of this table, and table.test.ts sees to
 * it that each row has its test.
 */
export interface Row {
  readonly fault: string
  /** What the gateway does, and what the counters say afterwards. */
  readonly does: string
  /** What the operator sees of it. */
  readonly shows: string
}

export interface Group {
  readonly title: string
  /** The file with the tests of its rows. */
  readonly file: string
  /** What holds for all its rows. Default nothing. */
  readonly note?: string
  readonly rows: Readonly<Record<string, Row>>
}

const SILENT = 'outage, reason `timeout`'
const CUT = 'outage, reason `connection`'
const ERRORS = (reason: string): string => `\`store_errors_total{reason="${reason}"}\``
const ANSWERED = (reason: string, word: string): string => `outage, reason \`${reason}\`, ${word} in the log`
const OUT = 'Outage'
const RETRIED = 'Resends the batch under its number: charged once'
const LATE = 'Counters, histories and series are still what the upstream saw'

export const CATALOGUE: readonly Group[] = [
  {
    title: 'Between one of two gateways and Redis',
    file: 'test/faults/connection.test.ts',
    rows: {
      request_lost: { fault: 'a request is lost', does: RETRIED, shows: ERRORS('connection') },
      reply_lost: {
        fault: 'a reply is lost after Redis has charged',
        does: RETRIED,
        shows: '`charge_outcome_unknown_total{settled="true"}`, "charges whose reply was lost are settled"',
      },
      reply_cut: {
        fault: 'a reply breaks off in the middle',
        does: RETRIED,
        shows: 'the same',
      },
      slow_50: {
        fault: 'every round trip takes 50 to 70 ms longer',
        does: 'Decides every request',
        shows: 'latency',
      },
      slow_200: {
        fault: 'every round trip takes 200 to 600 ms longer, around the deadline',
        does: 'Late ones get 503 and their charge back',
        shows: ERRORS('timeout'),
      },
      slow_2000: {
        fault: 'every round trip takes 2 to 4 seconds longer',
        does: `${OUT}. Late batches are known by their number`,
        shows: SILENT,
      },
      trickle: { fault: 'one byte a second passes', does: OUT, shows: SILENT },
      reset: { fault: 'connections are reset again and again', does: RETRIED, shows: 'a few lines each time' },
      fin: { fault: 'connections are ended again and again', does: RETRIED, shows: 'a few lines each time' },
      half_open: {
        fault: 'a connection is dead without notice',
        does: 'Replaces it after a silence of four deadlines, at least 1 s',
        shows: ERRORS('timeout'),
      },
      blackhole: { fault: 'nothing passes, and then everything at once', does: OUT, shows: SILENT },
      flapping: {
        fault: 'a reply is lost, then nothing passes for most of a second, again and again',
        does: 'Outages. What both the store and the gateway decided is charged once',
        shows: 'a few lines each time',
      },
      connect_hangs: { fault: 'packets are lost, those of new connections too', does: OUT, shows: CUT },
      connect_refused: { fault: 'connections are refused', does: OUT, shows: CUT },
      connect_reset: {
        fault: 'every new connection is reset at once',
        does: `${OUT}. Tries again after 50 ms to 1 s, at random`,
        shows: CUT,
      },
      late_effects: { fault: 'no effect comes after the last of these', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'The process of Redis',
    file: 'test/faults/server.test.ts',
    rows: {
      redis_killed: { fault: 'kill -9, then a start with its data', does: OUT, shows: CUT },
      redis_stopped: { fault: 'kill -STOP, then it goes on', does: OUT, shows: SILENT },
      redis_restarted: {
        fault: 'it is restarted again and again',
        does: 'Loads the script again if it is missing',
        shows: '"connected to the store" each time',
      },
      script_flush: { fault: 'SCRIPT FLUSH under traffic', does: 'Decides every request', shows: 'nothing' },
      redis_loading: {
        fault: 'it loads its data for seconds (LOADING)',
        does: OUT,
        shows: `${CUT}, LOADING in the log`,
      },
      redis_noauth: {
        fault: 'it asks for a password that gateways lack (NOAUTH)',
        does: OUT,
        shows: `${CUT}, NOAUTH in the log`,
      },
      late_effects_server: { fault: 'no effect of its process comes later', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'Errors that Redis responds with',
    file: 'test/faults/responses.test.ts',
    note: 'Nothing was written if Redis responds with an error.',
    rows: {
      response_readonly: {
        fault: 'READONLY: it was made a replica',
        does: `${OUT}. A new connection is tried each second`,
        shows: ANSWERED('readonly', 'READONLY'),
      },
      response_oom: { fault: 'OOM: no memory is left', does: OUT, shows: ANSWERED('out_of_memory', 'OOM') },
      response_busy: {
        fault: 'BUSY: another script runs on and on',
        does: OUT,
        shows: ANSWERED('busy', 'BUSY'),
      },
      response_noreplicas: {
        fault: 'NOREPLICAS: too few replicas for `min-replicas-to-write`',
        does: OUT,
        shows: ANSWERED('readonly', 'NOREPLICAS'),
      },
      response_noperm: {
        fault: 'NOPERM: the user may run no script',
        does: OUT,
        shows: ANSWERED('auth', 'NOPERM'),
      },
      response_noperm_within: {
        fault: 'NOPERM within the script: no SET',
        does: OUT,
        shows: ANSWERED('auth', 'the error of the script'),
      },
      response_wrongpass: {
        fault: 'WRONGPASS: the password was changed',
        does: OUT,
        shows: `${CUT}, WRONGPASS in the log`,
      },
      response_misconf: {
        fault: 'MISCONF: its disk takes no snapshot',
        does: OUT,
        shows: ANSWERED('readonly', 'MISCONF'),
      },
      late_effects_answers: { fault: 'no effect of these errors comes later', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'Sentinels and Cluster',
    file: 'test/faults/groups.test.ts',
    rows: {
      failover: {
        fault: 'the primary is killed, three sentinels name its replica',
        does: `${OUT}. Charges that the replica lacked are forgotten, none counts twice`,
        shows: `${CUT}, until the failover`,
      },
      cluster_moved: {
        fault: 'the slot moves to another node under traffic (MOVED, ASK, TRYAGAIN)',
        does: 'Charges follow the slot. Some get 503 while its keys are in two places',
        shows: '`store_errors_total{reason="cluster"}` at most',
      },
      cluster_down: { fault: 'the slot’s node is killed (CLUSTERDOWN) and returns', does: OUT, shows: CUT },
      late_effects_cluster: { fault: 'no effect comes after a failover', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'What Redis holds, and clocks',
    file: 'test/faults/data.test.ts',
    rows: {
      wrong_type: {
        fault: 'a counter’s key holds something else',
        does: 'Writes it anew, or 503. Nothing passes uncharged, no other user is affected',
        shows: 'nothing, or `store_errors_total`',
      },
      no_expiry: {
        fault: 'a counter lost its expiry',
        does: 'Windows end all the same, the next one sets it',
        shows: 'nothing',
      },
      evicted: {
        fault: 'Redis evicts a counter (`allkeys-lru`)',
        does: 'Admits more than the limit. Use `noeviction`',
        shows: '"store warning" at the start',
      },
      clock_skew: {
        fault: 'the clock of one gateway is an hour fast, of another an hour slow',
        does: 'All agree on windows and `resetAt`, by the clock of Redis',
        shows: '`tollgate_store_clock_offset_seconds`, "the clock of the store and that of this gateway differ"',
      },
      clock_jump: {
        fault: 'the clock of Redis jumps a month ahead and back',
        does: 'Windows end early meanwhile. When it is right again, nobody waits longer than one window; use stays counted',
        shows: '`tollgate_window_starts_corrected_total`, "the clock of the store was ahead"',
      },
    },
  },
  {
    title: 'Between the gateway and its upstream',
    file: 'test/faults/upstream.test.ts',
    rows: {
      upstream_refuses: {
        fault: 'the upstream refuses connections',
        does: '502. The charge is given back (`refund: unreached`) or stays (`never`)',
        shows: 'request line with `httpStatus` 0, `upstream_errors_total{reason="upstream_unreachable"}`',
      },
      upstream_connect_hangs: {
        fault: 'the upstream takes no connection within `connect_timeout`',
        does: 'the same',
        shows: 'the same',
      },
      upstream_request_lost: {
        fault: 'a request is lost on its way',
        does: '502. The charge stays, although the upstream saw nothing',
        shows: 'request line, `upstream_errors_total{reason="bad_upstream_answer"}`',
      },
      upstream_reply_lost: {
        fault: 'a response is lost before its first byte',
        does: '502. The charge stays, a POST is never resent',
        shows: 'the same',
      },
      upstream_reply_lost_kept: {
        fault: 'a response is lost on a reused connection',
        does: 'the same',
        shows: 'the same',
      },
      upstream_get_again: {
        fault: 'a response to a GET is lost on a reused connection',
        does: 'Resends it once (RFC 9110, 9.2.2): charged once, perhaps seen twice',
        shows: 'nothing',
      },
      upstream_reply_lost_repeated: {
        fault: 'a response is lost, and the client repeats by its idempotency key at another gateway',
        does: 'Charged once, the upstream sees both',
        shows: 'the same, `replays_total` of the other gateway',
      },
      upstream_refuses_repeated: {
        fault: 'the upstream takes no connection, and the client repeats by its key meanwhile',
        does: '502. Both are given back, a later repetition is charged',
        shows: 'as for refused connections',
      },
      upstream_head_cut: {
        fault: 'a response breaks off in its head',
        does: '502. The charge stays',
        shows: 'as for a lost response',
      },
      upstream_body_cut: {
        fault: 'a response breaks off in its body',
        does: 'Resets the client’s connection, or closes a pipelined one. The response never looks whole; the charge stays',
        shows: 'request line with outcome `failed`',
      },
      upstream_late: {
        fault: 'a response comes after `response_timeout`',
        does: '504. The charge stays',
        shows: '`upstream_errors_total{reason="upstream_timeout"}`',
      },
      upstream_half_open: {
        fault: 'a kept connection is dead without notice',
        does: '504. The charge stays',
        shows: 'the same',
      },
      upstream_trickle: {
        fault: 'one byte of a request a second gets through',
        does: '504. The charge stays',
        shows: 'the same',
      },
      upstream_blackhole: {
        fault: 'the upstream never responds, and reads the request later',
        does: '504. The charge stays, and is right in the end',
        shows: 'the same',
      },
      upstream_and_store: {
        fault: 'the store is out when a charge is to be given back',
        does: 'The refund waits and arrives once',
        shows: 'both faults',
      },
      settled_and_store: {
        fault: 'the store is out when a response says its cost (`settle`)',
        does: 'The client has its response. The difference waits and counts once',
        shows: 'outage, request line with `charged`',
      },
      settled_reply_lost: {
        fault: 'the reply to such a difference is lost',
        does: 'Resends the batch under its number: counted once',
        shows: ERRORS('connection'),
      },
      settled_cut: {
        fault: 'a response with its cost in the head breaks off in its body',
        does: 'Charges what the head said',
        shows: 'request line with `charged` and reason',
      },
    },
  },
  {
    title: 'The process of the gateway',
    file: 'test/faults/process.test.ts',
    rows: {
      kill_before_forward_redis: {
        fault: 'kill -9 between charge and forward, on Redis',
        does: 'The charge stays. Totals are right after the restart',
        shows: 'the restart',
      },
      kill_before_forward_sqlite: {
        fault: 'kill -9 between charge and forward, on the embedded store',
        does: 'the same',
        shows: 'the restart',
      },
      kill_owing: {
        fault: 'kill -9 while it owes what it admitted in an outage',
        does: 'That is forgotten: at most the share that `allow` gives one gateway',
        shows: 'the restart',
      },
      kill_while_flushing: {
        fault: 'kill -9 before a flush of the series, and when its reply is lost',
        does: 'A flush counts once. Series lack what came since the last one, counters and histories have it',
        shows: 'the restart',
      },
      kill_under_load: {
        fault: 'kill -9 again and again under load',
        does: 'All that the upstream saw is charged, never above a limit. Only cut requests are charged and unseen',
        shows: 'the restarts',
      },
      sigterm_under_load: {
        fault: 'SIGTERM under load, with `drain.delay` and a load balancer that asks `/readyz`',
        does: 'No request fails. Exit code 0',
        shows: '"draining", "stopped"',
      },
      sigterm_no_delay: {
        fault: 'SIGTERM under load without a delay, while clients go on connecting',
        does: 'Requests without a response were neither charged nor forwarded. Exit code 0',
        shows: 'the same',
      },
      sigterm_store_down: {
        fault: 'SIGTERM while Redis is silent',
        does: 'Waiting requests get 503. Exit code 0. What Redis takes afterwards stays charged',
        shows: 'the same, "charges with an unknown outcome"',
      },
      sigterm_during_start: {
        fault: 'SIGTERM at any moment of the start',
        does: 'Ends by the signal or with exit code 0',
        shows: 'the end',
      },
      down_at_start: {
        fault: 'Redis is absent at the start',
        does: 'Starts, is not ready, follows `store_outage`, and works when Redis comes',
        shows: CUT,
      },
    },
  },
  {
    title: 'The configuration',
    file: 'test/faults/reload.test.ts',
    rows: {
      reload_under_load: {
        fault: 'it changes every 50 ms under traffic, at times to a faulty one',
        does: 'Each request follows one configuration. No request fails, counters stay',
        shows: '"configuration loaded", or "configuration refused" and `config_last_reload_successful` 0',
      },
    },
  },
  {
    title: 'All together',
    file: 'test/faults/soak.test.ts',
    rows: {
      soak: {
        fault: 'random faults everywhere, two gateways, one with two workers, random kills and reloads',
        does: 'The measure above holds. What was admitted in an outage is charged once, or forgotten with a killed process',
        shows: '`npm run soak:faults` repeats it for `SOAK_SECONDS`, with the seed `SOAK_SEED`',
      },
    },
  },
]

const ROWS: ReadonlyMap<string, Row> = new Map(CATALOGUE.flatMap(({ rows }) => Object.entries(rows)))

/** The test of a row of the table, with the fault for its title. */
export function fault(id: string, run: () => Promise<void>, timeoutMs = 120_000): void {
  const row = ROWS.get(id)
  if (row === undefined) throw new Error(`no row ${id} in the catalogue of faults`)
  it(row.fault, run, timeoutMs)
}
