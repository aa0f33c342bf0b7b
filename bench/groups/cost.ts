import type { Figure } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row, rowOf, type Sample, type Samples } from '../rows.ts'
import { offAndOn, type Pair, type Running } from '../servers.ts'
import { paired, ratios } from '../statistics.ts'
import { type Bench, type Group, inShortTurns } from './group.ts'

type Servers = Readonly<Record<'gateway' | 'nginx' | 'httpProxy', Pair>>
type CostRows = ReturnType<typeof rowsOf>

/** The cost of a small request, side by side. */
export const cost: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const servers = {
    gateway: await offAndOn((log) => stage.gateway({ upstream, store: redis, log })),
    nginx: await offAndOn((log) => stage.nginx({ upstream, redis, log, known: requests.known })),
    httpProxy: await offAndOn((log) => stage.httpProxy(upstream, log)),
  }
  const [off, on] = [rowsOf(bench, servers, redis, 'off'), rowsOf(bench, servers, redis, 'on')]
  // Rows that are compared with each other are measured soon after each other.
  const turns = inShortTurns(bench)
  const samples = await measureRounds([...Object.values(off), ...Object.values(on)], turns)
  return {
    title: 'A small request',
    intro: `CPU for one request, in microseconds, ${turns.rounds} rounds of ${turns.seconds} s:`,
    lines: sampleTable(samples),
    figures: [...figures(off, samples, 'access log off'), ...figures(on, samples, 'access log on')],
  }
}

function rowsOf({ requests }: Bench, { gateway, nginx, httpProxy }: Servers, redis: Running, log: 'off' | 'on') {
  const row = (name: string, server: Pair, path: string, more: Partial<Row> = {}): Row =>
    rowOf(`${name}, log ${log}`, server[log], requests.byUsers('GET', path), more)
  return {
    refused: row('gateway, refusal (429)', gateway, '/spent', { redis, refused: true }),
    status: row('gateway, GET /me/quota', gateway, '/me/quota', { redis }),
    forward: row('gateway, bare forward', gateway, '/public', { redis }),
    accepted: row('gateway, accepted charge', gateway, '/read', { redis }),
    nginx: row('nginx + Lua, accepted charge', nginx, '/read', { redis }),
    httpProxy: row('http-proxy-3, no quota', httpProxy, '/public'),
  }
}

/** The ratios of CPU time, each within one round. */
function figures(rows: CostRows, samples: Samples, log: string): Figure[] {
  const of = (row: Row): readonly Sample[] => samples.get(row) ?? []
  const [refused, forward, accepted] = [of(rows.refused), of(rows.forward), of(rows.accepted)]
  const total = (sample: Sample): number => sample.total
  return [
    {
      name: `accepted request against a bare forward, CPU of the gateway (${log})`,
      unit: 'x',
      values: ratios(accepted, forward, ({ proxy }) => proxy),
      target: { atMost: 1.15 },
    },
    {
      name: `accepted request against nginx + Lua, each with its Redis (${log})`,
      unit: 'x',
      values: ratios(accepted, of(rows.nginx), total),
      target: { atMost: 0.85 },
    },
    {
      name: `accepted request with Redis against http-proxy-3 without a quota (${log})`,
      unit: 'x',
      values: ratios(accepted, of(rows.httpProxy), total),
      target: { atMost: 0.65 },
    },
    {
      name: `refusal (429) with Redis against a bare forward (${log})`,
      unit: 'x',
      values: paired(refused, forward, (a, b) => a.total / b.proxy),
      target: { below: 1 },
    },
    {
      name: `CPU of Redis for one charge under load (${log})`,
      unit: 'us',
      values: accepted.map(({ redis }) => redis),
      target: { atMost: 6 },
    },
  ]
}
