import { existsSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { memoryOf, switchesOf } from '../cpu.ts'
import { saturate } from '../load.ts'
import type { Backends, Started } from '../peers/peers.ts'
import { BOTH_CORES } from '../processes.ts'
import { spreadOf, table } from '../report.ts'
import { cpuOf } from '../rows.ts'
import { BUILT, type Gateway, type Running } from '../servers.ts'
import type { Bench, Group } from './group.ts'
import { eachPeer } from './peers.ts'

/** Times that each is started. The first fills what a later one reads, as the compiled code. */
const STARTS = 5
/** By then a gateway has seen that its configuration rests, and looks at it less. */
const SETTLE_MS = 8000
const IDLE_MS = 2000
const LOAD_SECONDS = 3
const STARTS_WITHIN_MS = 30_000

/** The gateway without its store, or a peer without its Redis. */
interface Subject {
  readonly name: string
  start(): Promise<Started>
}

/** What a proxy takes before it does anything: time to start, memory, and the time of an idle one. */
export const footprint: Group = async (bench) => {
  const { stage } = bench
  const backends = { upstream: await stage.upstream(), redis: await stage.redis() }
  const rows: string[][] = []
  const built = existsSync(fileURLToPath(new URL(`../../${BUILT}`, import.meta.url)))
  for (const subject of gateways(bench, backends, built)) rows.push(await measure(subject, bench))
  const absent = await eachPeer(bench, async ({ name, start }) => {
    rows.push(await measure({ name, start: () => start(backends) }, bench))
  })
  const head = ['Row', 'Start, ms', 'Idle', 'Idle, PSS', 'After load', 'After, PSS', 'Idle CPU', 'Idle wake-ups']
  const note = built ? [] : ['', `Tollgate as \`npm run build\` makes it is left out: ${BUILT} is not there.`]
  return {
    title: 'Memory and start',
    lines: [
      `From the command to the first charged answer (${STARTS} starts). Memory in MB, without the store, ${SETTLE_MS / 1000} s after it and after ${LOAD_SECONDS} s of full load. CPU in ms, and wake-ups, for one second that is idle:`,
      '',
      ...table(head, rows),
      ...note,
      ...absent.flatMap((line) => ['', line]),
    ],
    figures: [],
  }
}

function gateways({ stage }: Bench, { upstream, redis }: Backends, built: boolean): Subject[] {
  const gateway = (name: string, more: Partial<Gateway> = {}): Subject => ({
    name: `Tollgate, ${name}`,
    start: async () => ({ server: await stage.gateway({ upstream, store: redis, log: false, ...more }) }),
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

async function measure({ name, start }: Subject, { requests, quick }: Bench): Promise<string[]> {
  const [credential = ''] = requests.credentials(1)
  const times: number[] = []
  let started: Started | undefined
  for (let i = 0; i < (quick ? 1 : STARTS); i++) {
    for (const server of serversOf(started)) await server.stop()
    const begin = performance.now()
    started = await start()
    await firstCharge(started.server.port, credential)
    times.push(performance.now() - begin)
  }
  const servers = serversOf(started)
  await sleep(SETTLE_MS)
  const [cpu, wakes] = await idle(servers)
  const before = memory(servers)
  await saturate({ port: servers[0]?.port ?? 0, requests: requests.byUsers('GET', '/read') }, LOAD_SECONDS)
  const after = memory(servers)
  for (const server of servers) await server.stop()
  const numbers = [...before, ...after].map((bytes) => (bytes / 1e6).toFixed(0))
  return [name, spreadOf(times, 0), ...numbers, cpu.toFixed(1), wakes.toFixed(0)]
}

const serversOf = (started: Started | undefined): readonly Running[] =>
  started === undefined ? [] : [started.server, ...(started.beside ?? [])]

/** Resident and proportional, in bytes. */
function memory(servers: readonly Running[]): [number, number] {
  const all = servers.map(({ pid }) => memoryOf(pid))
  return [
    all.reduce((sum, { resident }) => sum + resident, 0),
    all.reduce((sum, { proportional }) => sum + proportional, 0),
  ]
}

/** Milliseconds of CPU and wake-ups in a second. */
async function idle(servers: readonly Running[]): Promise<[number, number]> {
  const wakes = (): number => servers.reduce((sum, { pid }) => sum + switchesOf(pid).waited, 0)
  const before = [cpuOf(servers), wakes()] as const
  await sleep(IDLE_MS)
  const seconds = IDLE_MS / 1000
  return [(cpuOf(servers) - before[0]) / 1e6 / seconds, (wakes() - before[1]) / seconds]
}

/** @throws Error if none comes */
async function firstCharge(port: number, credential: string): Promise<void> {
  const until = Date.now() + STARTS_WITHIN_MS
  while ((await statusOf(port, credential)) !== 200) {
    if (Date.now() > until) throw new Error('no request was answered with 200')
    await sleep(2)
  }
}

/** @returns 0 where there is no answer */
function statusOf(port: number, credential: string): Promise<number> {
  const headers = { authorization: `Bearer ${credential}`, host: 'bench.local' }
  return new Promise((resolve) => {
    get({ port, host: '127.0.0.1', path: '/read', headers, agent: false }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    }).once('error', () => resolve(0))
  })
}
