import { type CountCalls, createCountCalls } from './calls.ts'
import { cpuTime, type Switches, switchesOf } from './cpu.ts'
import type { Bench } from './groups/group.ts'
import { type Latency, saturate } from './load.ts'
import { spreadOf, table } from './report.ts'
import { cpuOf, type Row, serversOf } from './rows.ts'
import { median } from './statistics.ts'

/** One round of a row at a rate. Each number but those of Latency is for one request. */
interface Sample extends Latency {
  /** CPU microseconds. */
  readonly proxy: number
  readonly redis: number
  readonly switches: Switches
  /** Share of the requests that got an unexpected response or no response. */
  readonly unexpected: number
}

/** The result of a row at a rate. */
interface Result {
  readonly row: Row
  readonly samples: readonly Sample[]
  /** System calls of its servers for one request; `null` if nothing can count them. */
  readonly calls: number | null
}

export interface AtRate {
  /** Requests a second. */
  readonly rate: number
  readonly results: readonly Result[]
}

/** Connections that are kept alive, so few that each is used again before a server closes it as idle. */
const CONNECTIONS = 64
/** The fewest requests of a round. Of so many, three are slower than the p99. */
const REQUESTS = 300
/** Fewer requests have no meaningful p99.9. */
const ENOUGH_FOR_P999 = 1000
const WARM_SECONDS = 2
/** Requests of one row before it is measured, and their rate: at saturation some functions run seldom, and are not compiled. */
const WARM = { count: 20_000, rate: 2500 }
/** The load runs for so long before the measurement begins. */
const SKIP_SECONDS = 0.5

/** Runs until the code is compiled and, for refusals, the limits are used up. */
export async function warmUp(rows: readonly Row[], { rounds }: Bench): Promise<void> {
  for (let round = 0; round < (rounds > 1 ? 2 : 1); round++) {
    for (const row of rows) await saturate(row.load, WARM_SECONDS)
  }
}

/**
 * Rows at fixed rates, in turn, every second round backwards; then one more round in which system calls are counted.
 *
 * @param rows that have been warmed up
 */
export async function measureRates(rows: readonly Row[], rates: readonly number[], bench: Bench): Promise<AtRate[]> {
  const countCalls = createCountCalls(bench.stage.folder('calls'))
  if (!bench.quick)
    for (const { load } of rows) await bench.openLoop({ connections: CONNECTIONS, ...load, ...WARM, skip: 0 })
  const all: AtRate[] = []
  for (const rate of rates) all.push({ rate, results: await measureRate(rows, rate, bench, countCalls) })
  return all
}

async function measureRate(
  rows: readonly Row[],
  rate: number,
  bench: Bench,
  countCalls: CountCalls | null,
): Promise<Result[]> {
  const samples = new Map<Row, Sample[]>(rows.map((row) => [row, []]))
  for (let round = 0; round < bench.rounds; round++) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      samples.get(row)?.push(await measure(row, rate, bench))
    }
  }
  const results: Result[] = []
  for (const row of rows) {
    const calls = countCalls && (await callsOf(row, rate, bench, countCalls))
    results.push({ row, samples: samples.get(row) ?? [], calls })
  }
  return results
}

/** The requests of the generator in one round. */
function loadOf({ load }: Row, rate: number, { seconds, quick }: Bench) {
  const length = quick ? seconds : Math.max(seconds, REQUESTS / rate)
  const skip = Math.round(rate * SKIP_SECONDS)
  return { connections: CONNECTIONS, ...load, rate, skip, count: skip + Math.round(rate * length) }
}

async function measure(row: Row, rate: number, bench: Bench): Promise<Sample> {
  const servers = serversOf(row)
  const load = loadOf(row, rate, bench)
  const before = { proxy: cpuOf(servers), redis: redisOf(row), switches: switchesSum(row) }
  const latency = await bench.openLoop(load)
  const each = (after: number, first: number): number => (after - first) / load.count
  const switches = switchesSum(row)
  return {
    ...latency,
    proxy: each(cpuOf(servers), before.proxy) / 1000,
    redis: each(redisOf(row), before.redis) / 1000,
    switches: {
      waited: each(switches.waited, before.switches.waited),
      preempted: each(switches.preempted, before.switches.preempted),
    },
    unexpected: (row.refused ? load.count - latency.refused : latency.failed) / load.count,
  }
}

const redisOf = ({ redis }: Row): number => (redis === undefined ? 0 : cpuTime(redis.pid))

function switchesSum(row: Row): Switches {
  const all = serversOf(row).map(({ pid }) => switchesOf(pid))
  const sum = (field: keyof Switches): number => all.reduce((total, one) => total + one[field], 0)
  return { waited: sum('waited'), preempted: sum('preempted') }
}

async function callsOf(row: Row, rate: number, bench: Bench, countCalls: CountCalls): Promise<number> {
  const load = loadOf(row, rate, bench)
  const processes = serversOf(row).map(({ pid }) => pid)
  return (await countCalls(processes, () => bench.openLoop(load))) / load.count
}

/** The lines of a section: a table for each rate. */
export function rateTables(all: readonly AtRate[]): string[] {
  const tables = all.flatMap(({ rate, results }) => [`${rate} requests/s:`, '', ...rateTable(results), ''])
  const counted = all.some(({ results }) => results.some(({ calls }) => calls !== null))
  const note = 'System calls were not counted: neither perf nor strace can do so here.'
  return counted ? tables.slice(0, -1) : [...tables, note]
}

const HEAD = ['Row', 'Proxy', 'Redis', 'Together', 'p50', 'p99', 'p99.9', 'Woken', 'Preempted', 'Calls']

function rateTable(results: readonly Result[]): string[] {
  const wrong = results
    .map(({ row, samples }) => ({ name: row.name, share: median(samples.map(({ unexpected }) => unexpected)) }))
    .filter(({ share }) => share > 0.001)
    .map(
      ({ name, share }) => `${name}: ${(share * 100).toFixed(1)} % of the answers were not as expected, or late by 5 s`,
    )
  return [...table(HEAD, results.map(cellsOf)), ...(wrong.length > 0 ? ['', ...wrong] : [])]
}

function cellsOf({ row, samples, calls }: Result): string[] {
  const of = (pick: (sample: Sample) => number): number[] => samples.map(pick)
  const number = (pick: (sample: Sample) => number, digits: number): string => median(of(pick)).toFixed(digits)
  const together = of(({ proxy, redis }) => proxy + redis)
  const p99 = of((sample) => sample.p99)
  return [
    row.name,
    number(({ proxy }) => proxy, 0),
    row.redis === undefined ? '' : number(({ redis }) => redis, 0),
    spreadOf(together, 0),
    number(({ p50 }) => p50, 2),
    spreadOf(p99, 2),
    samples.some(({ requests }) => requests < ENOUGH_FOR_P999) ? '' : number(({ p999 }) => p999, 2),
    number(({ switches }) => switches.waited, 1),
    number(({ switches }) => switches.preempted, 1),
    calls === null ? '' : calls.toFixed(1),
  ]
}
