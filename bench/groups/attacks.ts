import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuTime } from '../cpu.ts'
import { table } from '../report.ts'
import { jwtOf, userName } from '../requests.ts'
import type { Running } from '../servers.ts'
import type { Group } from './group.ts'

/** What strangers hold with little, and what fifty others get meanwhile, each a user with an address of its own. */

const OTHERS = 50
/** Until what the attacker sends has arrived. */
const SETTLE_MS = 1500
/** How long the others wait. */
const PATIENCE_MS = 10_000
const BIG = { file: 'big', bytes: 8_000_000 }
const ROUTES = [
  { match: 'GET /files/:name', public: true },
  { match: 'GET /read', category: 'read', cost: 1 },
]

interface Attack {
  readonly name: string
  readonly connections: number
  /** Sent on each connection, by its number; nothing is read. */
  readonly text: (i: number) => string
  readonly addresses: number
}

const head = (line: string, ...fields: string[]): string => [line, 'Host: a', ...fields, '', ''].join('\r\n')
const bigs = (...fields: string[]): string => head(`GET /files/${BIG.file} HTTP/1.1`, ...fields)

const ATTACKS: readonly Attack[] = [
  { name: 'nobody', connections: 0, text: () => '', addresses: 1 },
  { name: '32 pipelined requests each, no answer read', connections: 8, text: () => bigs().repeat(32), addresses: 1 },
  { name: 'a large answer each, not read', connections: 1000, text: () => bigs(), addresses: 1 },
  {
    name: 'a body that does not come',
    connections: 1005,
    text: () => head('GET /files/none HTTP/1.1', 'Content-Length: 10'),
    addresses: 1,
  },
  {
    name: 'the same, from four addresses',
    connections: 2000,
    text: () => head('GET /files/none HTTP/1.1', 'Content-Length: 10'),
    addresses: 4,
  },
]

export const attacks: Group = async ({ stage }) => {
  const rows: string[][] = []
  for (const attack of ATTACKS) {
    const [redis, upstream] = [await stage.redis(), await stage.upstream([BIG])]
    const gateway = await stage.gateway({ upstream, store: redis, log: false, change: { routes: ROUTES, edge: {} } })
    rows.push(await meet(attack, gateway))
    for (const server of [gateway, upstream, redis]) await server.stop()
  }
  const titles = [
    'An attacker with',
    'Connections',
    'KB sent',
    'CPU, ms',
    `Others served within 1 s of ${OTHERS}`,
    'The last, s',
  ]
  return {
    title: 'What one stranger takes from others',
    lines: [
      'An attacker without a credential holds what is named; 1.5 s later fifty users ask once each, all at once, and wait for up to 10 s. CPU of the gateway from the first connection to the last answer:',
      '',
      ...table(titles, rows),
    ],
    figures: [],
  }
}

async function meet({ name, connections, text, addresses }: Attack, gateway: Running): Promise<string[]> {
  const before = cpuTime(gateway.pid)
  const held: Socket[] = []
  let bytes = 0
  for (let i = 0; i < connections; i++) {
    const socket = open(gateway.port, `127.0.2.${1 + (i % addresses)}`).pause()
    bytes += Buffer.byteLength(text(i))
    socket.write(text(i))
    held.push(socket)
  }
  await sleep(SETTLE_MS)
  const waits = await Promise.all(Array.from({ length: OTHERS }, (_, i) => ask(gateway.port, i)))
  for (const socket of held) socket.destroy()
  const served = waits.filter((ms) => ms !== null)
  const cpu = (cpuTime(gateway.pid) - before) / 1e6
  const last = served.length === OTHERS ? (Math.max(...served) / 1000).toFixed(2) : `${OTHERS - served.length} never`
  const soon = served.filter((ms) => ms <= 1000).length
  return [name, `${connections}`, (bytes / 1000).toFixed(1), cpu.toFixed(0), `${soon}`, last]
}

function open(port: number, localAddress: string): Socket {
  return connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {})
}

/** @returns milliseconds until a 200; `null` for anything else */
function ask(port: number, i: number): Promise<number | null> {
  const begin = performance.now()
  const socket = open(port, `127.0.1.${i + 1}`)
  socket.write(head('GET /read HTTP/1.1', `Authorization: Bearer ${jwtOf(userName(i))}`, 'Connection: close'))
  return new Promise((resolve) => {
    const done = (ms: number | null): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(ms)
    }
    const timer = setTimeout(() => done(null), PATIENCE_MS)
    socket.once('data', (piece) => {
      done(piece.toString('latin1').startsWith('HTTP/1.1 200') ? performance.now() - begin : null)
    })
    socket.once('close', () => done(null))
  })
}
