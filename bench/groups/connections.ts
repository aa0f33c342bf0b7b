import { P99, PROXY, RATE, REDIS, sampleTable, TOGETHER } from '../report.ts'
import { measureRounds, type Row } from '../rows.ts'
import type { Group } from './group.ts'

const COUNTS = [1, 16, 256, 1024]

/** The same charge over few and over many connections. */
export const connections: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  // More requests may be under way than the default allows.
  const change = { edge: { max_in_flight: 2000, max_connections_per_address: 'none', shares: { address: 'none' } } }
  const gateway = await stage.gateway({ upstream, store: redis, change })
  const nginx = await stage.nginx({ upstream, redis, known: requests.known })
  const file = requests.byUsers('GET', '/read')
  const rows = COUNTS.flatMap((count): Row[] =>
    [
      { name: `gateway, connections: ${count}`, server: gateway },
      { name: `nginx + Lua, connections: ${count}`, server: nginx },
    ].map((row) => ({ ...row, redis, load: { port: row.server.port, requests: file, connections: count } })),
  )
  const samples = await measureRounds(rows, { ...bench, seconds: 1 })
  return {
    title: 'Number of connections',
    intro:
      'An accepted charge, access log off; CPU for one request, in microseconds. Each connection always has a request under way:',
    lines: sampleTable(samples, [RATE, PROXY, REDIS, TOGETHER, P99]),
  }
}
