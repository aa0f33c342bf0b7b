import { cpuTime, waitTime } from '../cpu.ts'
import { type Latency, type Load, saturate } from '../load.ts'
import { spreadOf, table } from '../report.ts'
import type { Running } from '../servers.ts'
import { median } from '../statistics.ts'
import type { Bench, Group } from './group.ts'

/** A path of requests at a fixed rate. */
interface Way {
  readonly name: string
  readonly load: Load
  /** The servers on the tested core. */
  readonly servers: readonly Running[]
  /** Whether V8 compiles it while it runs, so that some of its first rounds are not measured. */
  readonly compiles: boolean
}

interface Round extends Latency {
  /** Requests a second. */
  readonly rate: number
  /** CPU microseconds for one request. */
  readonly cpu: number
  /** Microseconds for one request that the servers were ready to run and waited for their core. */
  readonly waited: number
  /** Share of the core that the servers took. */
  readonly busy: number
}

/** Latency at half of the rate that saturates the gateway, for the upstream alone and for each proxy in front of it. */
export const latency: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const gateway = await stage.gateway({ upstream, store: redis, log: true })
  const nginx = await stage.nginx({ upstream, redis, log: true, known: requests.known })
  const [read, open] = [requests.byUsers('GET', '/read'), requests.byUsers('GET', '/public')]
  const way = (name: string, server: Running, file: string, servers: Running[]): Way => ({
    name,
    load: { port: server.port, requests: file },
    servers,
    compiles: server === gateway,
  })
  const direct = way('upstream alone', upstream, read, [])
  const charged = way('gateway, accepted charge', gateway, read, [gateway, redis])
  const ways = [
    direct,
    way('gateway, bare forward', gateway, open, [gateway, redis]),
    charged,
    way('nginx + Lua, accepted charge', nginx, read, [nginx, redis]),
  ]

  const rounds = await measure(ways, charged.load, bench)
  const of = (one: Way): readonly Round[] => rounds.get(one) ?? []
  const rates = spreadOf(
    of(charged).map(({ rate }) => rate),
    0,
  )
  return {
    title: 'Latency',
    intro: `At half of the rate that saturates the gateway in the same round, ${rates} requests/s, access log on; times in milliseconds:`,
    lines: latencyTable(rounds),
    figures: [
      {
        name: 'added p99 at half of the saturation load (access log on)',
        unit: 'ms',
        // The smallest, so that a busy moment of the machine does not look like a slow upstream.
        values: of(charged).map(({ p99 }) => p99 - Math.min(...of(direct).map((round) => round.p99))),
        target: { atMost: 2 },
      },
    ],
  }
}

/** Half of the rate that saturates the server of the load, in requests a second. */
async function halfLoad(load: Load, seconds: number): Promise<number> {
  return Math.round((await saturate(load, seconds)).rate / 2)
}

/**
 * Rounds that are not measured. At this rate V8 goes on compiling after the saturation, on the tested core. p99 of an
 * accepted request was 90, 6, 53, 5 and 3 ms in the first rounds of 4 s, and 2 to 2.5 ms from the tenth on.
 */
const WARM_ROUNDS = 10

/**
 * Each round has its own rate. On a machine whose speed varies, half of an earlier rate may be all that it reaches now
 * (saturated at 27,600 requests/s, and the core full at 13,800).
 */
async function measure(ways: readonly Way[], charged: Load, { openLoop, rounds, seconds, quick }: Bench) {
  const result = new Map<Way, Round[]>(ways.map((way) => [way, []]))
  const counts = (rate: number) => ({
    rate,
    skip: Math.round(rate / 2),
    count: Math.round(rate * (1.5 * seconds + 0.5)),
  })
  await halfLoad(charged, seconds) // Warms up.
  for (let round = 0; round < (quick ? 0 : WARM_ROUNDS); round++) {
    const load = counts(await halfLoad(charged, seconds))
    for (const way of ways) if (way.compiles) await openLoop({ ...way.load, ...load })
  }
  for (let round = 0; round < rounds; round++) {
    const load = counts(await halfLoad(charged, seconds))
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      const sum = (of: (pid: number) => number): number => way.servers.reduce((all, { pid }) => all + of(pid), 0)
      const before = [sum(cpuTime), sum(waitTime)] as const
      const responses = await openLoop({ ...way.load, ...load })
      const cpu = (sum(cpuTime) - before[0]) / 1000 / load.count
      const waited = (sum(waitTime) - before[1]) / 1000 / load.count
      result.get(way)?.push({ ...responses, rate: load.rate, cpu, waited, busy: (cpu * load.rate) / 1e6 })
    }
  }
  return result
}

function latencyTable(rounds: ReadonlyMap<Way, readonly Round[]>): string[] {
  const row = ([{ name, servers }, list]: [Way, readonly Round[]]): string[] => {
    const number = (pick: (round: Round) => number, digits = 2): string => median(list.map(pick)).toFixed(digits)
    const spread = (pick: (round: Round) => number): string => spreadOf(list.map(pick), 2)
    const tested = servers.length > 0
    return [
      name,
      spread(({ p50 }) => p50),
      number(({ p90 }) => p90),
      spread(({ p99 }) => p99),
      number(({ p999 }) => p999),
      number(({ late99 }) => late99),
      tested ? number(({ cpu }) => cpu, 1) : '',
      tested ? number(({ waited }) => waited, 1) : '',
      tested ? `${number(({ busy }) => busy * 100, 0)} %` : '',
    ]
  }
  const head = ['Row', 'p50', 'p90', 'p99', 'p99.9', 'sent late, p99', 'CPU, us', 'waited, us', 'core']
  const failed = [...rounds.values()].flat().reduce((sum, round) => sum + round.failed, 0)
  const note = failed > 0 ? ['', `${failed} requests were not answered with 200`] : []
  return [...table(head, [...rounds].map(row)), ...note]
}
