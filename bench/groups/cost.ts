import type { Figure } from '../figures.ts'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row, type Sample, type Samples } from '../rows.ts'
import { offAndOn, type Running } from '../servers.ts'
import { paired, ratios } from '../statistics.ts'
import type { Bench, Group } from './group.ts'

interface CostRows {
  readonly refused: Row
  readonly status: Row
  readonly forward: Row
  readonly accepted: Row
  readonly nginx: Row
}

/** What a small request costs, side by side. */
export const cost: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, backend] = [await stage.redis(), await stage.backend()]
  const gateway = await offAndOn((log) => stage.gateway({ backend, store: redis, log }))
  const nginx = await offAndOn((log) => stage.nginx({ backend, redis, log, known: requests.known }))
  const httpProxy: Row = {
    name: 'http-proxy-3, no quota',
    server: await stage.httpProxy(backend),
    load: { port: 0, requests: requests.byUsers('GET', '/public') },
  }
  const off = rowsOf(bench, gateway.off, nginx.off, redis, 'log off')
  const on = rowsOf(bench, gateway.on, nginx.on, redis, 'log on')
  const other = { ...httpProxy, load: { ...httpProxy.load, port: httpProxy.server.port } }
  // Rows that are compared stand next to each other.
  const samples = await measureRounds([...Object.values(off), other, ...Object.values(on)], bench)
  return {
    title: 'A small request',
    lines: ['CPU for one request, in microseconds:', '', ...sampleTable(samples)],
    figures: [
      ...figures(off, other, samples, 'access log off', 'access log off'),
      ...figures(on, other, samples, 'access log on', 'with our access log on, http-proxy-3 has none'),
    ],
  }
}

function rowsOf({ requests }: Bench, ours: Running, theirs: Running, redis: Running, log: string): CostRows {
  const row = (name: string, server: Running, path: string, refused = false): Row => ({
    name: `${name}, ${log}`,
    server,
    redis,
    refused,
    load: { port: server.port, requests: requests.byUsers('GET', path) },
  })
  return {
    refused: row('gateway, refusal (429)', ours, '/spent', true),
    status: row('gateway, GET /me/quota', ours, '/me/quota'),
    forward: row('gateway, bare forward', ours, '/public'),
    accepted: row('gateway, accepted charge', ours, '/read'),
    nginx: row('nginx + Lua, accepted charge', theirs, '/read'),
  }
}

/** The ratios of CPU time, each within one round. */
function figures(rows: CostRows, httpProxy: Row, samples: Samples, log: string, against: string): Figure[] {
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
      name: `accepted request with Redis against http-proxy-3 without a quota (${against})`,
      unit: 'x',
      values: ratios(accepted, of(httpProxy), total),
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
