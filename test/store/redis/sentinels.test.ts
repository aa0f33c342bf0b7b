import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { closedAtEnd } from '../../setup/at-end.ts'
import { startFaultProxy } from '../../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'
import { whenReady } from './ready.ts'

/** A sentinel whose words come when a test wants them: a real one cannot be asked to tell of a failover before it has it. */
interface SlowSentinel {
  readonly port: number
  /** The next question for the primary, to be answered with a port. */
  asked(): Promise<(primary: number) => void>
  /** How many are not answered. */
  waiting(): number
  /** Tells of a failover, once somebody listens; whoever does has it when this is over. */
  publish(from: number, to: number): Promise<void>
  close(): void
}

/** Each comes whole, and no argument holds a line break. */
function commandsOf(chunk: Buffer | string): string[][] {
  const [, ...commands] = chunk.toString().split(/\*\d+\r\n/)
  return commands.map((command) => command.split('\r\n').filter((_, i) => i % 2 === 1))
}

async function startSlowSentinel(): Promise<SlowSentinel> {
  const waiting: ((primary: number) => void)[] = []
  const sockets = new Set<net.Socket>()
  const subscribers = new Set<net.Socket>()
  const bulk = (texts: readonly string[]): string =>
    `*${texts.length}\r\n${texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`

  function response(socket: net.Socket, [command = '', what = '']: readonly string[]): void {
    const named = command.toUpperCase()
    if (named === 'SUBSCRIBE') {
      subscribers.add(socket)
      socket.write(`*3\r\n$9\r\nsubscribe\r\n$${what.length}\r\n${what}\r\n:1\r\n`)
    } else if (named === 'SENTINEL' && what === 'get-master-addr-by-name') {
      waiting.push((primary) => void socket.write(bulk(['127.0.0.1', String(primary)])))
    } else if (named === 'SENTINEL') socket.write('*0\r\n')
    else if (named === 'INFO') socket.write('$11\r\nrole:master\r\n')
    else if (named === 'HELLO') socket.write("-ERR unknown command 'HELLO'\r\n")
    else socket.write('+OK\r\n')
  }

  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        for (const command of commandsOf(chunk)) response(socket, command)
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as net.AddressInfo).port,
    asked: async () => {
      for (;;) {
        const question = waiting.shift()
        if (question !== undefined) return question
        await sleep(5)
      }
    },
    waiting: () => waiting.length,
    publish: async (from, to) => {
      while (subscribers.size === 0) await sleep(5)
      const message = bulk(['message', '+switch-master', `quota 127.0.0.1 ${from} 127.0.0.1 ${to}`])
      for (const socket of subscribers) socket.write(message)
      await sleep(100)
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

let old: RedisServer
let next: RedisServer
let sentinel: SlowSentinel
let store: Store
let told: string[]
beforeEach(async () => {
  ;[old, next, sentinel, told] = [await startRedis(), await startRedis(), await startSlowSentinel(), []]
  store = openRedisStore({
    url: `redis+sentinel://127.0.0.1:${sentinel.port}/quota`,
    observe: (seen) => {
      if (seen.type === 'store_failed') told.push(seen.message)
    },
  })
})
afterEach(async () => {
  await store.close()
  sentinel.close()
  for (const server of [old, next]) await server.stop()
})

/** Where the store keeps what it is told. */
async function keysOf({ url }: RedisServer): Promise<number> {
  const redis = new Redis(url)
  const keys = await redis.dbsize()
  redis.disconnect()
  return keys
}

async function expectOnNext(): Promise<void> {
  await whenReady(store)
  await store.change({ kind: 'settings', to: { mode: 'loose' } }, { who: 'ann', why: null }, null)
  expect(await keysOf(old)).toBe(0)
  expect(await keysOf(next)).toBeGreaterThan(0)
  expect(sentinel.waiting()).toBe(0)
}

it('a primary that a sentinel names after another one has reported the failover is left at once', async () => {
  const response = await sentinel.asked()
  await sentinel.publish(old.port, next.port)
  response(old.port)
  const again = await sentinel.asked()
  again(next.port)
  await expectOnNext()
})

it('a primary that was found after the failover is kept, although one before it was to be left', async () => {
  const response = await sentinel.asked()
  await sentinel.publish(old.port, next.port)
  await old.stop()
  response(old.port)
  const again = await sentinel.asked()
  again(next.port)
  await whenReady(store)
  await store.ping()
  expect(sentinel.waiting()).toBe(0)
  old = await startRedis()
})

it('a primary that takes no connections is not waited for once a failover is reported', async () => {
  const gone = closedAtEnd(await startFaultProxy(old.port))
  await gone.hangConnects()
  const response = await sentinel.asked()
  response(gone.port)
  await sleep(200) // until it connects
  await sentinel.publish(gone.port, next.port)
  const again = await sentinel.asked()
  again(next.port)
  await expectOnNext()
  expect(told.filter((message) => message.includes('ETIMEDOUT'))).toEqual([])
})
