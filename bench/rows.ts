import { cpuTime } from './cpu.ts'
import { type Saturation, saturate, type Target } from './load.ts'
import type { Running } from './servers.ts'

/** One way to handle a request, measured against others. */
export interface Row {
  readonly name: string
  readonly log: boolean
  readonly server: Running
  readonly target: Target
  /** Whether the answers are 429. */
  readonly refused: boolean
}

/** One round of a row; times are CPU microseconds for one request. */
export interface Sample {
  /** Requests a second. */
  readonly rate: number
  readonly proxy: number
  readonly redis: number
  readonly total: number
  /** Answers that were not the expected ones. */
  readonly unexpected: number
}

/** Rows in turn, every second round backwards, so that a machine that slows down or warms up favours none. */
export async function measureRounds(rows: readonly Row[], redis: Running, rounds: number, seconds: number) {
  const samples = new Map<Row, Sample[]>(rows.map((row) => [row, []]))
  for (const row of rows) await saturate(row.target, Math.max(2, seconds))
  for (let round = 0; round < rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      const sample = await measure(row, redis, seconds)
      samples.get(row)?.push(sample)
    }
    process.stderr.write(`round ${round + 1} of ${rounds} done\n`)
  }
  return samples
}

async function measure(row: Row, redis: Running, seconds: number): Promise<Sample> {
  const before = [cpuOf(row.server), cpuOf(redis)] as const
  const load = await saturate(row.target, seconds)
  const proxy = (cpuOf(row.server) - before[0]) / 1000 / load.requests
  const store = (cpuOf(redis) - before[1]) / 1000 / load.requests
  return { rate: load.rate, proxy, redis: store, total: proxy + store, unexpected: unexpected(row, load) }
}

function cpuOf(server: Running): number {
  return server.pids.map(cpuTime).reduce((sum, time) => sum + time, 0)
}

/** @throws Error where it was not the row that was measured */
function unexpected({ name, refused }: Row, load: Saturation): number {
  const wrong = load.broken + (refused ? load.requests - load.refused : load.refused)
  if (load.requests === 0 || wrong > load.requests / 100) {
    throw new Error(`${name}: ${wrong} of ${load.requests} answers were not the expected ones`)
  }
  return wrong
}
