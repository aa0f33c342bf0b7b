import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { jwtOf } from '../e2e/jwt.ts'

/** What the clients of the soak do, each kind in a loop of its own until it is told to stop. */

/** A fixed number, so that the keys of the store have a bound to be held against. */
export const USERS = 200

export interface Counts {
  /** By kind, how often it was done. */
  readonly done: Map<string, number>
  /** By kind and status. */
  readonly statuses: Map<string, number>
}

interface Kind {
  readonly name: string
  /** Loops at a time. */
  readonly loops: number
  /** Milliseconds between two of one loop. */
  readonly pauseMs: number
  once(target: Target): Promise<number>
}

interface Target {
  readonly host: string
  readonly port: number
  readonly agent: http.Agent
}

/** @returns resolves when all loops have ended, after `stop` was aborted */
export async function runTraffic(url: string, counts: Counts, stop: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(url)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  const target = { host: hostname, port: Number(port), agent }
  const loops = KINDS.flatMap((kind) => Array.from({ length: kind.loops }, () => loop(kind, target, counts, stop)))
  await Promise.all(loops)
  agent.destroy()
}

async function loop(kind: Kind, target: Target, { done, statuses }: Counts, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const status = await kind.once(target).catch(() => 0)
    done.set(kind.name, (done.get(kind.name) ?? 0) + 1)
    const key = `${kind.name} ${status}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
    await sleep(kind.pauseMs)
  }
}

const user = (): string => `user-${randomInt(USERS)}`
const auth = (name: string): string => `Bearer ${jwtOf(name)}`

function ask(
  { host, port, agent }: Target,
  path: string,
  options: { method?: string; authorization?: string; body?: Buffer } = {},
): Promise<number> {
  const { method = 'GET', authorization, body } = options
  const headers = {
    ...(authorization !== undefined && { authorization }),
    ...(body && { 'content-length': body.length }),
  }
  return new Promise((resolve, reject) => {
    const req = http.request({ host, port, agent, path, method, headers }, (res) => {
      res.resume()
      res.once('end', () => resolve(res.statusCode ?? 0))
      res.once('error', reject)
    })
    req.once('error', reject)
    req.end(body)
  })
}

/** Bytes on a connection of their own. @param after milliseconds until it is dropped; 0 waits for its end */
async function raw({ host, port }: Target, bytes: string | Buffer, after = 0): Promise<number> {
  const socket = net.connect(port, host)
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    if (text.length < 100) text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.write(bytes)
  if (after > 0) {
    await Promise.race([sleep(after), once(socket, 'close')])
    if (randomInt(2) === 0) socket.resetAndDestroy()
    else socket.destroy()
  } else {
    await new Promise((resolve) => socket.once('close', resolve))
  }
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
}

const head = (line: string, name: string, ...fields: string[]): string =>
  [line, 'Host: a', `Authorization: ${auth(name)}`, ...fields, '', ''].join('\r\n')

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]
const MEGABYTE = Buffer.alloc(1_000_000, 'x')

const KINDS: readonly Kind[] = [
  { name: 'accepted', loops: 8, pauseMs: 10, once: (to) => ask(to, '/api/x', { authorization: auth(user()) }) },
  {
    name: 'accepted upload',
    loops: 2,
    pauseMs: 50,
    once: (to) => ask(to, '/api/x', { method: 'POST', authorization: auth(user()), body: MEGABYTE }),
  },
  { name: 'download', loops: 1, pauseMs: 100, once: (to) => ask(to, '/api/big', { authorization: auth(user()) }) },
  { name: 'refused', loops: 2, pauseMs: 10, once: (to) => ask(to, '/dear', { authorization: auth('poor') }) },
  { name: 'status', loops: 1, pauseMs: 50, once: (to) => ask(to, '/me/quota', { authorization: auth(user()) }) },
  {
    name: 'denied',
    loops: 1,
    pauseMs: 20,
    once: (to) => ask(to, '/api/x', { authorization: `Bearer ${randomInt(1e9)}` }),
  },
  { name: 'unknown path', loops: 1, pauseMs: 20, once: (to) => ask(to, `/nothing/${randomInt(1e9)}`) },
  {
    name: 'garbage',
    loops: 1,
    pauseMs: 50,
    once: (to) => raw(to, Buffer.from(`GET /${'\0'.repeat(randomInt(20))}\r\n\r\n`)),
  },
  { name: 'slow head', loops: 4, pauseMs: 10, once: (to) => raw(to, 'GET /api/x HTTP/1.1\r\nHost:') },
  {
    name: 'slow upload',
    loops: 4,
    pauseMs: 10,
    once: (to) => raw(to, `${head('POST /api/x HTTP/1.1', user(), 'Transfer-Encoding: chunked')}1\r\nx\r\n`),
  },
  {
    name: 'aborted upload',
    loops: 2,
    pauseMs: 20,
    once: (to) =>
      raw(to, head('POST /api/x HTTP/1.1', user(), 'Content-Length: 9000000') + MEGABYTE, randomInt(1, 100)),
  },
  {
    name: 'aborted download',
    loops: 2,
    pauseMs: 20,
    once: (to) => raw(to, head('GET /api/big HTTP/1.1', user()), randomInt(1, 50)),
  },
  {
    name: 'left while waiting',
    loops: 2,
    pauseMs: 20,
    once: (to) => raw(to, head('GET /api/slow HTTP/1.1', user()), randomInt(1, 50)),
  },
  {
    name: 'websocket',
    loops: 4,
    pauseMs: 20,
    once: (to) => raw(to, head('GET /api/ws HTTP/1.1', user(), ...UPGRADE), randomInt(1, 400)),
  },
]
