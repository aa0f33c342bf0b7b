import { cpuTime } from './cpu.ts'
import { type Load, type Saturation, saturate } from './load.ts'
import type { Running } from './servers.ts'

/** One way to handle a request, measured against others. */
export interface Row {
  readonly name: string
  readonly server: Running
  readonly load: Load
  /** Further servers of the row, for example the limiter that it asks. */
  readonly beside?: readonly Running[]
  /** The store whose CPU time is counted too. */
  readonly redis?: Running
  /** Whether each response is a 429. Default no. */
  readonly refused?: boolean
  /** Bytes of the body in one of the directions. Default none. */
  readonly bytes?: number
}

/** @param requests the file of its requests */
export function rowOf(name: string, server: Running, requests: string, more: Partial<Row> = {}): Row {
  return { name, server, load: { port: server.port, requests }, ...more }
}

/** One round of a row; times are CPU microseconds for one request. */
export interface Sample {
  /** Requests a second. */
  readonly rate: number
  readonly proxy: number
  readonly redis: number
  readonly total: number
  /** Milliseconds, as wrk measured: with all connections always busy it is mostly time in a queue. */
  readonly p99: number
  /** Unexpected responses. */
  readonly unexpected: number
}

export type Samples = ReadonlyMap<Row, readonly Sample[]>

export interface Rounds {
  readonly rounds: number
  /** Length of one measurement. */
  readonly seconds: number
}

/**
 * The rounds until the code is compiled and the connections are open. Each row has two: while another row runs, V8 throws code
 * away and compiles it again, for 10 to 12 s in all (`--trace-opt --trace-deopt`). A single round must not be quoted anyway.
 */
const WARM_ROUNDS = 2
const WARM_SECONDS = 3

/** Rows in turn, every second round backwards, so that a machine that slows down or warms up favours none. */
export async function measureRounds(rows: readonly Row[], { rounds, seconds }: Rounds): Promise<Samples> {
  const samples = new Map<Row, Sample[]>(rows.map((row) => [row, []]))
  for (let round = 0; round < (rounds > 1 ? WARM_ROUNDS : 1); round++) {
    for (const row of rows) await saturate(row.load, rounds > 1 ? WARM_SECONDS : 1)
  }
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      samples.get(row)?.push(await measure(row, seconds))
    }
  }
  return samples
}

/** All servers but the store. */
export const serversOf = ({ server, beside = [] }: Row): readonly Running[] => [server, ...beside]

/** CPU time of the servers so far, in nanoseconds. */
export const cpuOf = (servers: readonly Running[]): number => servers.reduce((sum, { pid }) => sum + cpuTime(pid), 0)

async function measure(row: Row, seconds: number): Promise<Sample> {
  const cpu = (): number[] => [cpuOf(serversOf(row)), row.redis === undefined ? 0 : cpuTime(row.redis.pid)]
  const before = cpu()
  const load = await saturate(row.load, seconds)
  const [proxy = 0, redis = 0] = cpu().map((time, i) => (time - (before[i] ?? 0)) / 1000 / load.requests)
  return { rate: load.rate, p99: load.p99, proxy, redis, total: proxy + redis, unexpected: unexpected(row, load) }
}

/** @throws Error if more than one in a hundred responses was not the expected one, since something else was measured then */
function unexpected({ name, refused }: Row, load: Saturation): number {
  const wrong = load.broken + (refused ? load.requests - load.refused : load.refused)
  if (load.requests === 0 || wrong > load.requests / 100) {
    throw new Error(`${name}: ${wrong} of ${load.requests} answers were not the expected ones`)
  }
  return wrong
}
