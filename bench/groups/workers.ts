import { join } from 'node:path'
import { BOTH_CORES } from '../processes.ts'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row } from '../rows.ts'
import type { Group } from './group.ts'

/** The same charge by one and by two worker processes. They may use both cores, one of which is also that of the load. */
export const workers: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const read = requests.byUsers('GET', '/read')
  const row = async (count: number, store: 'Redis' | 'embedded store'): Promise<Row> => {
    const url = store === 'Redis' ? redis : `sqlite:${join(stage.folder('sqlite'), 'tollgate.db')}`
    const options = { upstream, store: url, change: { workers: count }, cores: BOTH_CORES }
    const server = await stage.gateway(options)
    const name = `${count} ${count === 1 ? 'worker' : 'workers'}, ${store}`
    return { name, server, load: { port: server.port, requests: read }, ...(store === 'Redis' ? { redis } : {}) }
  }
  const rows = [
    await row(1, 'Redis'),
    await row(2, 'Redis'),
    await row(1, 'embedded store'),
    await row(2, 'embedded store'),
  ]
  return {
    title: 'Worker processes',
    intro: 'An accepted charge, access log off; CPU for one request of all processes of the gateway, in microseconds:',
    lines: sampleTable(await measureRounds(rows, bench)),
  }
}
