import { existsSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { cpuTime, memoryOf, switchesOf } from '../cpu.ts'
import { saturate } from '../load.ts'
import { BOTH_CORES } from '../processes.ts'
import { spreadOf, table } from '../report.ts'
import { BUILT, type Gateway, type Running } from '../servers.ts'
import type { Bench, Group } from './group.ts'

/** How often each proxy is started. The first start fills caches for the later ones, such as the compiled code. */
const STARTS = 5
/** After this time a gateway has noticed that its configuration file rests, and reads it less often. */
const SETTLE_MS = 8000
const IDLE_MS = 2000
const LOAD_SECONDS = 3
const STARTS_WITHIN_MS = 30_000

/** The upstream and the store of a proxy. */
interface Backends {
  readonly upstream: Running
  readonly redis: Running
}

/** A proxy without its store. */
interface Subject {
  readonly name: string
  start(): Promise<Running>
}

/** What a proxy takes beside its requests: time to start, memory while idle and after a load, and CPU time while idle. */
export const footprint: Group = async (bench) => {
  const { stage } = bench
  const backends = { upstream: await stage.upstream(), redis: await stage.redis() }
  const rows: string[][] = []
  const built = existsSync(fileURLToPath(new URL(`../../${BUILT}`, import.meta.url)))
  const subjects = [...gateways(bench, backends, built), nginx(bench, backends)]
  for (const subject of subjects) rows.push(await measure(subject, bench))
  const head = ['Row', 'Start, ms', 'Idle', 'Idle, PSS', 'After load', 'After, PSS', 'Idle CPU', 'Idle wake-ups']
  const note = built ? [] : ['', `Tollgate as \`npm run build\` makes it is left out: ${BUILT} is not there.`]
  return {
    title: 'Memory and start',
    intro: `From the command to the first charged answer (${STARTS} starts). Memory in MB, without the store, ${SETTLE_MS / 1000} s after it and after ${LOAD_SECONDS} s of full load. CPU in ms, and wake-ups, for one second that is idle:`,
    lines: [...table(head, rows), ...note],
  }
}

function gateways({ stage }: Bench, { upstream, redis }: Backends, built: boolean): Subject[] {
  const gateway = (name: string, more: Partial<Gateway> = {}): Subject => ({
    name: `Tollgate, ${name}`,
    start: () => stage.gateway({ upstream, store: redis, ...more }),
  })
  const embedded = (): string => `sqlite:${join(stage.folder('sqlite'), 'tollgate.db')}`
  const workers = { change: { workers: 2 }, cores: BOTH_CORES }
  const source = [gateway('source, Redis')]
  if (!built) return source
  return [
    ...source,
    gateway('built, Redis', { built }),
    { name: 'Tollgate, built, embedded store', start: () => gateway('', { built, store: embedded() }).start() },
    gateway('built, Redis, 2 workers', { built, ...workers }),
  ]
}

const nginx = ({ stage, requests: { known } }: Bench, backends: Backends): Subject => ({
  name: 'nginx + Lua + Redis',
  start: () => stage.nginx({ ...backends, known }),
})

async function measure({ name, start }: Subject, { requests, quick }: Bench): Promise<string[]> {
  const [credential = ''] = requests.credentials(1)
  const times: number[] = []
  let server: Running | undefined
  for (let i = 0; i < (quick ? 1 : STARTS); i++) {
    await server?.stop()
    const begin = performance.now()
    server = await start()
    await firstCharge(server.port, credential)
    times.push(performance.now() - begin)
  }
  if (server === undefined) throw new Error(`${name} was not started`)
  await sleep(SETTLE_MS)
  const [cpu, wakes] = await idle(server)
  const before = memory(server)
  await saturate({ port: server.port, requests: requests.byUsers('GET', '/read') }, LOAD_SECONDS)
  const after = memory(server)
  await server.stop()
  const numbers = [...before, ...after].map((bytes) => (bytes / 1e6).toFixed(0))
  return [name, spreadOf(times, 0), ...numbers, cpu.toFixed(1), wakes.toFixed(0)]
}

/** Resident and proportional memory, in bytes. */
function memory({ pid }: Running): [number, number] {
  const { resident, proportional } = memoryOf(pid)
  return [resident, proportional]
}

/** Milliseconds of CPU and wake-ups in a second. */
async function idle({ pid }: Running): Promise<[number, number]> {
  const wakes = (): number => switchesOf(pid).waited
  const before = [cpuTime(pid), wakes()] as const
  await sleep(IDLE_MS)
  const seconds = IDLE_MS / 1000
  return [(cpuTime(pid) - before[0]) / 1e6 / seconds, (wakes() - before[1]) / seconds]
}

/** @throws Error if no charge succeeds */
async function firstCharge(port: number, credential: string): Promise<void> {
  const until = Date.now() + STARTS_WITHIN_MS
  while ((await statusOf(port, credential)) !== 200) {
    if (Date.now() > until) throw new Error('no request was answered with 200')
    await sleep(2)
  }
}

/** @returns 0 if there is no response */
function statusOf(port: number, credential: string): Promise<number> {
  const headers = { authorization: `Bearer ${credential}`, host: 'bench.local' }
  return new Promise((resolve) => {
    get({ port, host: '127.0.0.1', path: '/read', headers, agent: false }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    }).once('error', () => resolve(0))
  })
}
