import { join } from 'node:path'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row } from '../rows.ts'
import type { Group } from './group.ts'

/** The same charge in the embedded store and in Redis. */
export const stores: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const file = join(stage.folder('sqlite'), 'tollgate.db')
  const gateways = [
    { name: 'Redis', server: await stage.gateway({ upstream, store: redis }), redis },
    { name: 'embedded store', server: await stage.gateway({ upstream, store: `sqlite:${file}` }) },
  ]
  const read = requests.byUsers('GET', '/read')
  const rows = gateways.map((row): Row => ({ ...row, load: { port: row.server.port, requests: read } }))
  return {
    title: 'Embedded store and Redis',
    intro: 'An accepted charge, access log off; CPU for one request, in microseconds:',
    lines: sampleTable(await measureRounds(rows, bench)),
  }
}
