import { cpuTime, residentMemory } from '../cpu.ts'
import { noGrowth } from '../figures.ts'
import { saturate } from '../load.ts'
import { sampleTable } from '../report.ts'
import { measureRounds, type Row } from '../rows.ts'
import { ratios } from '../statistics.ts'
import type { Group } from './group.ts'

const AGE_SECONDS = 60
/** Until the code is compiled and the connections are open. */
const WARM_SECONDS = 5

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

/**
 * A gateway that has worked for a while against one that has just been started and warmed up, in paired rounds: a
 * machine that slows down in between cannot pass for a gateway that does.
 */
export const uptime: Group = async (bench) => {
  const { stage, requests, quick } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const start = async (name: string): Promise<Row> => {
    const server = await stage.gateway({ upstream, store: redis, log: true })
    return { name, server, redis, load: { port: server.port, requests: requests.byUsers('GET', '/read') } }
  }
  const seconds = quick ? 5 : AGE_SECONDS
  const old = await start(`after ${seconds} s under full load`)
  await saturate(old.load, WARM_SECONDS)
  const begin = { cpu: cpuTime(old.server.pid), memory: residentMemory(old.server.pid).now }
  const { requests: count } = await saturate(old.load, seconds)
  const end = { cpu: cpuTime(old.server.pid), memory: residentMemory(old.server.pid).now }

  const fresh = await start('just started')
  await saturate(fresh.load, WARM_SECONDS)
  const samples = await measureRounds([fresh, old], bench)
  return {
    title: 'Uptime',
    lines: [
      'An accepted charge, access log on; CPU for one request, in microseconds:',
      '',
      ...sampleTable(samples),
      '',
      `The older one answered ${(count / 1e6).toFixed(1)} million requests, ${((end.cpu - begin.cpu) / 1000 / count).toFixed(1)} us each; ` +
        `its resident memory was ${megabytes(begin.memory)} after ${WARM_SECONDS} s and ${megabytes(end.memory)} at the end.`,
    ],
    figures: [
      noGrowth(
        `CPU of the gateway for one request, ${old.name} against ${fresh.name}`,
        ratios(samples.get(old) ?? [], samples.get(fresh) ?? [], ({ proxy }) => proxy),
      ),
    ],
  }
}
