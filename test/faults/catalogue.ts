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
  readonly rows: Readonly<Record<string, Row>>
}

const SILENT = 'outage, reason `timeout`'
const CUT = 'outage, reason `connection`'
const ERRORS = (reason: string): string => `\`store_errors_total{reason="${reason}"}\``
const ANSWERED = (reason: string, word: string): string => `outage, reason \`${reason}\`, ${word} in the log`
const OUT = 'Outage'
const NOT_APPLIED = 'Outage. An error that Redis answers means that nothing was written'
const RETRIED = 'The batch is sent again under its number: charged once'
const LATE = 'Every counter, history and series, read again after the last fault, is what the backend saw'

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
        does: 'Every request is decided',
        shows: 'latency',
      },
      slow_200: {
        fault: 'every round trip takes 200 to 600 ms longer, around the deadline',
        does: 'Late ones get 503, and what they were charged is given back',
        shows: ERRORS('timeout'),
      },
      slow_2000: {
        fault: 'every round trip takes 2 to 4 seconds longer',
        does: `${OUT}. What arrives late is known by its number`,
        shows: SILENT,
      },
      trickle: { fault: 'one byte a second passes', does: OUT, shows: SILENT },
      reset: { fault: 'connections are reset again and again', does: RETRIED, shows: 'a few lines for each reconnect' },
      fin: { fault: 'connections are ended again and again', does: RETRIED, shows: 'a few lines for each reconnect' },
      half_open: {
        fault: 'a connection is dead and nobody said so',
        does: 'It is given up after a silence of four deadlines, at least 1 s, and made anew',
        shows: ERRORS('timeout'),
      },
      blackhole: { fault: 'nothing passes, and then everything at once', does: OUT, shows: SILENT },
      flapping: {
        fault: 'a reply is lost and then nothing passes for most of a second, again and again',
        does: 'Outages. What the store had decided and the gateway then decided alone as well is charged once',
        shows: 'a few lines for each outage',
      },
      connect_hangs: { fault: 'packets are lost, also those of new connections', does: OUT, shows: CUT },
      connect_refused: { fault: 'connections are refused', does: OUT, shows: CUT },
      connect_reset: {
        fault: 'every new connection is reset at once',
        does: `${OUT}. Tries are 50 ms to 1 s apart, and by chance so that replicas do not come at once`,
        shows: CUT,
      },
      late_effects: { fault: 'nothing of these comes later', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'The process of Redis',
    file: 'test/faults/server.test.ts',
    rows: {
      redis_killed: { fault: 'killed with kill -9 and started with its data', does: OUT, shows: CUT },
      redis_stopped: { fault: 'stopped (kill -STOP) and going on', does: OUT, shows: SILENT },
      redis_restarted: {
        fault: 'restarted again and again',
        does: 'The script is loaded anew where it is missing',
        shows: '"connected to the store" each time',
      },
      script_flush: { fault: 'SCRIPT FLUSH under traffic', does: 'Every request is decided', shows: 'nothing' },
      redis_loading: {
        fault: 'loading its data for seconds (LOADING)',
        does: OUT,
        shows: `${CUT}, LOADING in the log`,
      },
      redis_noauth: {
        fault: 'asking for a password that the gateways do not have (NOAUTH)',
        does: OUT,
        shows: `${CUT}, NOAUTH in the log`,
      },
      late_effects_server: { fault: 'no effect of these comes later', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'Errors that Redis answers',
    file: 'test/faults/responses.test.ts',
    rows: {
      response_readonly: {
        fault: 'READONLY: it was made a replica',
        does: `${NOT_APPLIED}. A new connection is tried once a second`,
        shows: ANSWERED('readonly', 'READONLY'),
      },
      response_oom: { fault: 'OOM: no memory is left', does: NOT_APPLIED, shows: ANSWERED('out_of_memory', 'OOM') },
      response_busy: {
        fault: 'BUSY: somebody else’s script runs on and on',
        does: NOT_APPLIED,
        shows: ANSWERED('busy', 'BUSY'),
      },
      response_noreplicas: {
        fault: 'NOREPLICAS: too few replicas for `min-replicas-to-write`',
        does: NOT_APPLIED,
        shows: ANSWERED('readonly', 'NOREPLICAS'),
      },
      response_noperm: {
        fault: 'NOPERM: the user may run no script',
        does: NOT_APPLIED,
        shows: ANSWERED('auth', 'NOPERM'),
      },
      response_noperm_within: {
        fault: 'NOPERM within the script: the user may not SET',
        does: NOT_APPLIED,
        shows: ANSWERED('auth', 'the error of the script'),
      },
      response_wrongpass: {
        fault: 'WRONGPASS: the password was changed',
        does: OUT,
        shows: `${CUT}, WRONGPASS in the log`,
      },
      response_misconf: {
        fault: 'MISCONF: its disk does not take the snapshot',
        does: NOT_APPLIED,
        shows: ANSWERED('readonly', 'MISCONF'),
      },
      late_effects_answers: { fault: 'an effect of these comes never', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'Sentinels and Cluster',
    file: 'test/faults/groups.test.ts',
    rows: {
      failover: {
        fault: 'the primary is killed and three sentinels name its replica',
        does: `${OUT}, except for charges that the primary had not yet passed on: those are forgotten, none is counted twice`,
        shows: `${CUT}, until the failover is done`,
      },
      cluster_moved: {
        fault: 'the slot moves to another node under traffic (MOVED, ASK, TRYAGAIN)',
        does: 'Charges follow the slot; some get 503 while its keys are in two places',
        shows: '`store_errors_total{reason="cluster"}` at most',
      },
      cluster_down: { fault: 'the node of the slot is killed (CLUSTERDOWN) and comes back', does: OUT, shows: CUT },
      late_effects_cluster: { fault: 'nothing of that comes later', does: LATE, shows: 'nothing' },
    },
  },
  {
    title: 'What Redis holds, and clocks',
    file: 'test/faults/data.test.ts',
    rows: {
      wrong_type: {
        fault: 'a counter’s key holds something else',
        does: 'It is written anew or the request gets 503; nothing passes uncharged, and no other user is affected',
        shows: 'nothing, or `store_errors_total`',
      },
      no_expiry: {
        fault: 'a counter lost its expiry',
        does: 'Its windows end all the same; the next window sets it again',
        shows: 'nothing',
      },
      evicted: {
        fault: 'Redis evicts a counter (`allkeys-lru`)',
        does: 'The counter starts at 0: more is admitted than the limit. Use `noeviction`',
        shows: '"store warning" at the start',
      },
      clock_skew: {
        fault: 'one gateway’s clock is an hour fast, another’s an hour slow',
        does: 'All agree on every window and every `resetAt`: the clock is that of Redis',
        shows: '`tollgate_store_clock_offset_seconds`, "the clock of the store and that of this gateway differ"',
      },
      clock_jump: {
        fault: 'the clock of Redis jumps a month ahead and back',
        does: 'Windows end early meanwhile. Those that start then count as started when it is right again, with what was used: nobody waits for longer than one window',
        shows: '`tollgate_window_starts_corrected_total`, "the clock of the store was ahead"',
      },
    },
  },
  {
    title: 'Between the gateway and its backend',
    file: 'test/faults/upstream.test.ts',
    rows: {
      upstream_refuses: {
        fault: 'the backend refuses connections',
        does: '502; nothing was sent, so the charge is given back (`refund: unreached`) or stays (`never`)',
        shows:
          'request line with `httpStatus` 0 and the reason; `upstream_errors_total{reason="upstream_unreachable"}`',
      },
      upstream_connect_hangs: {
        fault: 'the backend does not take the connection within `connect_timeout`',
        does: 'the same',
        shows: 'the same',
      },
      upstream_request_lost: {
        fault: 'a request is lost on its way',
        does: '502; it was sent, so the charge stays although the backend saw nothing',
        shows: 'request line; `upstream_errors_total{reason="bad_upstream_answer"}`',
      },
      upstream_reply_lost: {
        fault: 'an answer is lost before its first byte',
        does: '502; the charge stays; a POST is never sent again',
        shows: 'the same',
      },
      upstream_reply_lost_kept: {
        fault: 'an answer is lost on a connection that had served before',
        does: 'the same',
        shows: 'the same',
      },
      upstream_get_again: {
        fault: 'an answer to a GET is lost on a connection that had served before',
        does: 'It is sent once more on a new connection (RFC 9110, 9.2.2): the backend may see it twice, it is charged once',
        shows: 'nothing',
      },
      upstream_reply_lost_repeated: {
        fault:
          'an answer is lost, and the client repeats its request with its idempotency key, through another gateway',
        does: 'It is charged once; the backend sees both',
        shows: 'the same; `replays_total` of the other gateway',
      },
      upstream_refuses_repeated: {
        fault:
          'the backend takes no connection, and the client repeats its request by its key while the first one waits',
        does: '502; both are given back, and a later repetition is charged',
        shows: 'as of a backend that takes no connection',
      },
      upstream_head_cut: {
        fault: 'an answer breaks off within its head, by reset or by end',
        does: '502; the charge stays',
        shows: 'the same as of a lost answer',
      },
      upstream_body_cut: {
        fault: 'an answer breaks off within its body, by reset or by end',
        does: 'The client’s connection is reset, or behind a pipelined answer closed, never ended as if whole; the charge stays',
        shows: 'request line with outcome `failed`',
      },
      upstream_late: {
        fault: 'an answer comes after `response_timeout`',
        does: '504; the charge stays',
        shows: '`upstream_errors_total{reason="upstream_timeout"}`',
      },
      upstream_half_open: {
        fault: 'a kept connection is dead and nobody said so',
        does: '504; the charge stays, since the request was sent',
        shows: 'the same',
      },
      upstream_trickle: {
        fault: 'one byte of a request a second gets through',
        does: '504; the charge stays',
        shows: 'the same',
      },
      upstream_blackhole: {
        fault: 'the backend accepts and never answers, and reads the request later',
        does: '504; the charge stays, and is right when the request arrives after all',
        shows: 'the same',
      },
      upstream_and_store: {
        fault: 'the store is out when a charge is to be given back',
        does: 'The refund waits for the store and arrives once',
        shows: 'both faults',
      },
      settled_and_store: {
        fault: 'the store is out when a response says what its request cost (`settle`)',
        does: 'The client has its response. The difference waits for the store, and is given back or charged once',
        shows: 'outage; request line with `charged`',
      },
      settled_reply_lost: {
        fault: 'the reply is lost after Redis has given back, or charged, what a response said',
        does: 'The batch is sent again under its number: once',
        shows: ERRORS('connection'),
      },
      settled_cut: {
        fault: 'a response that says the cost in its head breaks off in its body',
        does: 'The request costs what the head said',
        shows: 'request line with `charged` and the reason',
      },
    },
  },
  {
    title: 'The process of the gateway',
    file: 'test/faults/process.test.ts',
    rows: {
      kill_before_forward_redis: {
        fault: 'kill -9 between charge and forward, on Redis',
        does: 'The charge stays, and the totals are right after the restart',
        shows: 'the restart',
      },
      kill_before_forward_sqlite: {
        fault: 'kill -9 between charge and forward, on the embedded store',
        does: 'the same',
        shows: 'the restart',
      },
      kill_owing: {
        fault: 'kill -9 while it owes the store what it admitted alone',
        does: 'That is forgotten: at most the share of the limits that `allow` gives one gateway',
        shows: 'the restart',
      },
      kill_while_flushing: {
        fault: 'kill -9 when the reply to a flush of the series is lost, and before a flush',
        does: 'A flush counts once. What was counted since the last one is in no series; counters and histories have it',
        shows: 'the restart',
      },
      kill_under_load: {
        fault: 'kill -9 again and again under load',
        does: 'Nothing the backend saw is uncharged; charged and not seen are only requests that were cut by the kill; never above a limit',
        shows: 'the restarts',
      },
      sigterm_under_load: {
        fault: 'SIGTERM under load, with `drain.delay` and a load balancer that looks at `/readyz`',
        does: 'No request fails; exit code 0',
        shows: '"draining", "stopped"',
      },
      sigterm_no_delay: {
        fault: 'SIGTERM under load without a delay, and clients that go on connecting',
        does: 'What was let in is answered; who gets no answer was neither charged nor forwarded; exit code 0',
        shows: 'the same',
      },
      sigterm_store_down: {
        fault: 'SIGTERM while Redis does not answer',
        does: 'Waiting requests get 503; exit code 0. What Redis was sent of them and takes afterwards stays charged: nobody is left to give it back',
        shows: 'the same, "charges with an unknown outcome"',
      },
      sigterm_during_start: {
        fault: 'SIGTERM at any moment of the start',
        does: 'It ends, by the signal or with exit code 0',
        shows: 'the end',
      },
      down_at_start: {
        fault: 'Redis is not there at the start',
        does: 'The gateway starts, is not ready, follows `store_outage`, and works when Redis comes',
        shows: CUT,
      },
    },
  },
  {
    title: 'The configuration',
    file: 'test/faults/reload.test.ts',
    rows: {
      reload_under_load: {
        fault: 'it changes every 50 ms under traffic, now and then to one with a problem',
        does: 'Limit, cost and upstream headers of a request come from one configuration; no request fails; counters stay',
        shows: '"configuration loaded", or "configuration refused" and `config_last_reload_successful` 0',
      },
    },
  },
  {
    title: 'All together',
    file: 'test/faults/soak.test.ts',
    rows: {
      soak: {
        fault: 'faults by chance at every place, two gateways, one of two workers, killed and reloaded by chance',
        does: 'Charges are what the backend saw and may have seen; nothing twice, nothing above a limit; every request is settled. What was admitted without the store is charged once, or forgotten with the process that is killed while it owes it',
        shows: '`npm run soak:faults` repeats it for as long as `SOAK_SECONDS` says, with the seed `SOAK_SEED`',
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
