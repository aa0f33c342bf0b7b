import { join } from 'node:path'
import { measureRates, rateTables, warmUp } from '../rates.ts'
import { type Row, rowOf } from '../rows.ts'
import { offAndOn, type Running } from '../servers.ts'
import type { Bench, Group } from './group.ts'

/** Requests a second of real services, far below those that saturate a core. */
const RATES = [100, 500, 2000, 5000]

/** The cost and the time of a small request, at rates that leave the core idle in between. */
export const rates: Group = async (bench) => {
  const rows = await rowsOf(bench)
  await warmUp(rows, bench)
  return {
    title: 'A small request at fixed rates',
    intro:
      'Access log off unless the row says otherwise. For one request: CPU in microseconds, wake-ups, preemptions and system calls of the proxy. Latency in milliseconds:',
    lines: rateTables(await measureRates(rows, RATES, bench)),
  }
}

async function rowsOf({ stage, requests }: Bench): Promise<Row[]> {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const gateway = await offAndOn((log) => stage.gateway({ upstream, store: redis, log }))
  const file = join(stage.folder('sqlite'), 'tollgate.db')
  const embedded = await stage.gateway({ upstream, store: `sqlite:${file}` })
  const nginx = await stage.nginx({ upstream, redis, known: requests.known })
  const row = (name: string, server: Running, path: string, more: Partial<Row> = {}): Row =>
    rowOf(name, server, requests.byUsers('GET', path), more)
  return [
    row('bare forward', gateway.off, '/public', { redis }),
    row('charge, Redis', gateway.off, '/read', { redis }),
    row('charge, Redis, log on', gateway.on, '/read', { redis }),
    row('charge, embedded store', embedded, '/read'),
    row('refusal (429)', gateway.off, '/spent', { redis, refused: true }),
    row('GET /me/quota', gateway.off, '/me/quota', { redis }),
    row('nginx + Lua, charge', nginx, '/read', { redis }),
    row('http-proxy-3, no quota', await stage.httpProxy(upstream), '/public'),
  ]
}
