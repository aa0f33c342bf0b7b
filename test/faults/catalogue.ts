import { it } from 'vitest'

/**
 * The faults that are tested, in the words of docs/contributing/faults.md: the page is made of this table, and table.test.ts sees to
 * it that each row has its test.
 */
export interface Row {
  readonly fault: string
  /** What the gateway does, and what the counters say afterwards. */
  readonly does: string
  /** What the operator sees of it. */
  readonly shows: string
  /** The introduction of the page says it for every group, so it has no row of its own. Default no. */
  readonly introduced?: true
}

export interface Group {
  readonly title: string
  /** The file with the tests of its rows. */
  readonly file: string
  /** What holds for all its rows. Default nothing. */
  readonly note?: string
  readonly rows: Readonly<Record<string, Row>>
}

const SILENT = 'reason `timeout`'
const CUT = 'reason `connection`'
const ERRORS = (reason: string): string => `\`store_errors_total{reason="${reason}"}\``
const ANSWERED = (reason: string): string => `reason \`${reason}\``
const UPSTREAM = (reason: string): string => `\`upstream_errors_total{reason="${reason}"}\``
const UNKNOWN = '`charge_outcome_unknown_total`'
const OUT = 'Decides as in an outage'
const RETRIED = 'Charges each request exactly once'
const DECIDED = 'Decides every request'
const KEPT_502 = 'Responds with 502 and keeps the charge'
const KEPT_504 = 'Responds with 504 and keeps the charge'
const REFUSED = 'Responds with 502. Gives the charge back (`refund: unreached`) or keeps it (`never`)'
const DRAINED = 'exit code 0'
const STAYS = 'The request stays charged'
const LATE = { does: 'The counters stay', shows: 'nothing', introduced: true } as const

export const CATALOGUE: readonly Group[] = [
  {
    title: 'Between one of two gateways and Redis',
    file: 'test/faults/connection.test.ts',
    rows: {
      request_lost: { fault: 'a request is lost', does: RETRIED, shows: ERRORS('connection') },
      reply_lost: { fault: 'a reply is lost', does: RETRIED, shows: UNKNOWN },
      reply_cut: { fault: 'a reply breaks off', does: RETRIED, shows: UNKNOWN },
      slow_50: { fault: 'round trips take 50 to 70 ms longer', does: DECIDED, shows: 'latency' },
      slow_200: {
        fault: 'round trips take 200 to 600 ms longer',
        does: 'Serves nearly all requests. The others get 503, and their charge is given back',
        shows: ERRORS('timeout'),
      },
      slow_2000: { fault: 'round trips take 2 to 4 seconds longer', does: OUT, shows: SILENT },
      trickle: { fault: 'one byte a second passes', does: OUT, shows: SILENT },
      reset: { fault: 'connections are reset repeatedly', does: RETRIED, shows: 'a few lines each time' },
      fin: { fault: 'connections are ended repeatedly', does: RETRIED, shows: 'a few lines each time' },
      half_open: {
        fault: 'a connection is dead without notice',
        does: 'Replaces the connection after five deadlines, but not before 1 s',
        shows: ERRORS('timeout'),
      },
      blackhole: { fault: 'nothing passes, then everything at once', does: OUT, shows: SILENT },
      flapping: {
        fault: 'a reply is lost, then nothing passes for most of a second, repeatedly',
        does: 'Has several short outages, and charges each request exactly once',
        shows: 'a few lines each time',
      },
      connect_hangs: { fault: 'packets are lost, of new connections too', does: OUT, shows: CUT },
      connect_refused: { fault: 'connections are refused', does: OUT, shows: CUT },
      connect_reset: { fault: 'every new connection is reset', does: OUT, shows: CUT },
      late_effects: { fault: 'no effect comes after the last of these', ...LATE },
    },
  },
  {
    title: 'The process of Redis',
    file: 'test/faults/server.test.ts',
    rows: {
      redis_killed: { fault: 'kill -9, then a start', does: OUT, shows: CUT },
      redis_stopped: { fault: 'kill -STOP, then it goes on', does: OUT, shows: SILENT },
      redis_restarted: {
        fault: 'restarted repeatedly',
        does: 'Loads the missing script again',
        shows: '"connected to the store" each time',
      },
      script_flush: { fault: 'SCRIPT FLUSH under traffic', does: DECIDED, shows: 'nothing' },
      redis_loading: { fault: 'loads its data for seconds (LOADING)', does: OUT, shows: CUT },
      redis_noauth: { fault: 'asks for a password (NOAUTH)', does: OUT, shows: CUT },
      late_effects_server: { fault: 'no effect of its process comes later', ...LATE },
    },
  },
  {
    title: 'Errors that Redis responds with',
    file: 'test/faults/responses.test.ts',
    note: 'In each of these cases Redis rejects the write, so it charges nothing. The log contains the error of Redis.',
    rows: {
      response_readonly: { fault: 'READONLY: made a replica', does: OUT, shows: ANSWERED('readonly') },
      response_oom: { fault: 'OOM: no memory is left', does: OUT, shows: ANSWERED('out_of_memory') },
      response_busy: { fault: 'BUSY: another script runs on', does: OUT, shows: ANSWERED('busy') },
      response_noreplicas: {
        fault: 'NOREPLICAS: too few for `min-replicas-to-write`',
        does: OUT,
        shows: ANSWERED('readonly'),
      },
      response_noperm: { fault: 'NOPERM: the user may run no script', does: OUT, shows: ANSWERED('auth') },
      response_noperm_within: { fault: 'NOPERM within the script: no SET', does: OUT, shows: ANSWERED('auth') },
      response_wrongpass: { fault: 'WRONGPASS: the password was changed', does: OUT, shows: CUT },
      response_misconf: { fault: 'MISCONF: its disk takes no snapshot', does: OUT, shows: ANSWERED('readonly') },
      late_effects_answers: { fault: 'no effect of these errors comes later', ...LATE },
    },
  },
  {
    title: 'Sentinels and Cluster',
    file: 'test/faults/groups.test.ts',
    rows: {
      failover: {
        fault: 'the primary is killed, sentinels name its replica',
        does: 'Decides as in an outage. Charges that the replica had not received are forgotten',
        shows: CUT,
      },
      cluster_moved: {
        fault: 'the slot moves under traffic (MOVED, ASK, TRYAGAIN)',
        does: 'Charges at the new node. Some requests get 503 meanwhile',
        shows: '`store_errors_total{reason="cluster"}` at most',
      },
      cluster_down: { fault: 'the slot’s node is killed (CLUSTERDOWN) and returns', does: OUT, shows: CUT },
      late_effects_cluster: { fault: 'no effect comes after a failover', ...LATE },
    },
  },
  {
    title: 'What Redis holds, and clocks',
    file: 'test/faults/data.test.ts',
    rows: {
      wrong_type: {
        fault: 'a counter’s key holds something else',
        does: 'Replaces the counter, or responds with 503',
        shows: 'nothing, or `store_errors_total`',
      },
      no_expiry: { fault: 'a counter lost its expiry', does: 'Windows end as usual', shows: 'nothing' },
      evicted: {
        fault: 'Redis evicts a counter (`allkeys-lru`)',
        does: 'Admits more than the limit. Use `noeviction` to prevent this',
        shows: '"store warning" in the log, `store_warnings`, `degraded`',
      },
      unreadable_record: {
        fault:
          'a record of the store is cut, or somebody else wrote it (an access key, an entry of the audit, a refusal)',
        does: 'Ignores the record. All other records work, and access keys can be made and revoked',
        shows: '`unreadable_records_total{kind}`, a line with its key, `degraded`',
      },
      clock_skew: {
        fault: 'one gateway’s clock is an hour fast, another’s slow',
        does: 'All gateways follow the clock of Redis',
        shows: '`store_clock_offset_seconds`, a warning',
      },
      clock_jump: {
        fault: 'the clock of Redis jumps a month ahead and back',
        does: 'Windows end early. Afterwards nobody waits longer than one window',
        shows: '`window_starts_corrected_total`, a warning',
      },
    },
  },
  {
    title: 'Between the gateway and its upstream',
    file: 'test/faults/upstream.test.ts',
    rows: {
      upstream_refuses: { fault: 'connections are refused', does: REFUSED, shows: UPSTREAM('upstream_unreachable') },
      upstream_connect_hangs: {
        fault: 'no connection within `connect_timeout`',
        does: REFUSED,
        shows: UPSTREAM('upstream_unreachable'),
      },
      upstream_request_lost: {
        fault: 'a request is lost on its way',
        does: KEPT_502,
        shows: UPSTREAM('bad_upstream_answer'),
      },
      upstream_reply_lost: {
        fault: 'a response is lost before its first byte',
        does: KEPT_502,
        shows: UPSTREAM('bad_upstream_answer'),
      },
      upstream_reply_lost_kept: {
        fault: 'a response is lost on a reused connection',
        does: KEPT_502,
        shows: UPSTREAM('bad_upstream_answer'),
      },
      upstream_get_again: {
        fault: 'a response to a GET is lost on a reused connection',
        does: 'Sends the request again once, and charges it once',
        shows: 'nothing',
      },
      upstream_reply_lost_repeated: {
        fault: 'a response is lost, and the client repeats by its key at another gateway',
        does: 'Charges once, although the upstream sees both requests',
        shows: '`replays_total`',
      },
      upstream_refuses_repeated: {
        fault: 'no connection, and the client repeats by its key',
        does: 'Responds with 502 to both, and gives both charges back',
        shows: UPSTREAM('upstream_unreachable'),
      },
      upstream_head_cut: {
        fault: 'a response breaks off in its head',
        does: KEPT_502,
        shows: UPSTREAM('bad_upstream_answer'),
      },
      upstream_body_cut: {
        fault: 'a response breaks off in its body',
        does: 'Keeps the charge, and breaks the response to the client off, too',
        shows: 'outcome `failed`',
      },
      upstream_late: {
        fault: 'a response comes after `response_timeout`',
        does: KEPT_504,
        shows: UPSTREAM('upstream_timeout'),
      },
      upstream_half_open: {
        fault: 'a kept connection is dead without notice',
        does: KEPT_504,
        shows: UPSTREAM('upstream_timeout'),
      },
      upstream_trickle: {
        fault: 'one byte of a request a second',
        does: KEPT_504,
        shows: UPSTREAM('upstream_timeout'),
      },
      upstream_blackhole: {
        fault: 'no response; the request is read later',
        does: KEPT_504,
        shows: UPSTREAM('upstream_timeout'),
      },
      upstream_and_store: {
        fault: 'the store is out at a refund',
        does: 'Makes the refund later, exactly once',
        shows: 'both faults, each with its own signs',
      },
      settled_and_store: {
        fault: 'the store is out at a final cost',
        does: 'Responds. The difference is charged later, exactly once',
        shows: '`charged` in the log',
      },
      settled_reply_lost: { fault: 'the reply to a final cost is lost', does: RETRIED, shows: ERRORS('connection') },
      settled_cut: {
        fault: 'a response with its cost in the head breaks off',
        does: 'Charges the cost that the header named',
        shows: '`charged` in the log',
      },
    },
  },
  {
    title: 'The process of the gateway',
    file: 'test/faults/process.test.ts',
    rows: {
      kill_before_forward_redis: {
        fault: 'kill -9 between charge and forward, on Redis',
        does: STAYS,
        shows: 'the restart',
      },
      kill_before_forward_sqlite: {
        fault: 'kill -9 between charge and forward, on the embedded store',
        does: STAYS,
        shows: 'the restart',
      },
      kill_owing: {
        fault: 'kill -9 while charges of an outage are still to be made',
        does: 'Forgets these charges, which are at most its share',
        shows: 'the restart',
      },
      kill_while_flushing: {
        fault: 'kill -9 before a flush of the series, or when its reply is lost',
        does: 'Counts a flush once. Requests since the last flush are missing in the series',
        shows: 'the restart',
      },
      kill_under_load: {
        fault: 'kill -9 repeatedly under load',
        does: 'Charges all requests that the upstream saw, and requests that were cut off',
        shows: 'the restart',
      },
      sigterm_under_load: {
        fault: 'SIGTERM with `drain.delay` and a load balancer',
        does: 'No request fails',
        shows: DRAINED,
      },
      sigterm_no_delay: {
        fault: 'SIGTERM without a delay, while clients connect',
        does: 'Charges nothing for requests that get no response',
        shows: DRAINED,
      },
      sigterm_store_down: {
        fault: 'SIGTERM while Redis is silent',
        does: 'Waiting requests get 503. Charges that Redis makes later stay',
        shows: 'exit code 0, "charges with an unknown outcome"',
      },
      sigterm_during_start: {
        fault: 'SIGTERM at any moment of the start',
        does: 'The process ends',
        shows: 'the signal, or exit code 0',
      },
      down_at_start: {
        fault: 'Redis is absent at the start',
        does: 'Decides as in an outage until Redis starts',
        shows: CUT,
      },
    },
  },
  {
    title: 'The configuration',
    file: 'test/faults/reload.test.ts',
    rows: {
      reload_under_load: {
        fault: 'the file changes every 50 ms, sometimes with mistakes',
        does: 'Each request follows one configuration',
        shows: '"configuration loaded", or "configuration refused" and `config_last_reload_successful` 0',
      },
    },
  },
  {
    title: 'Redis is far away',
    file: 'test/faults/far-store.test.ts',
    rows: {
      far: {
        fault: 'each round trip takes 0.4 to 3 deadlines',
        does: 'Charges and serves every request, except those of the first round trip',
        shows: '`store_warnings{warning="far"}`, `degraded`',
      },
    },
  },
  {
    title: 'All together',
    file: 'test/faults/soak.test.ts',
    rows: {
      soak: {
        fault: 'random faults, kills and reloads, two gateways, one with workers',
        does: 'Fulfils the measure above',
        shows: 'nothing (run it with `npm run soak:faults`, `SOAK_SECONDS` and `SOAK_SEED`)',
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
