import { execFileSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { giveUpSilent } from '../../src/node/redis-silence.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'

const LIMIT_MS = 1000

/** What `giveUpSilent` uses of a client of ioredis. */
class FakeClient extends EventEmitter {
  stream = new PassThrough()
  readonly commandQueue: string[] = []
  readonly errors: string[] = []

  connect(): void {
    this.stream = new PassThrough()
    this.stream.on('error', ({ message }) => this.errors.push(message))
    this.emit('connect')
  }
  sendCommand(command: string): void {
    this.commandQueue.push(command)
  }
  reply(commands = 1): void {
    this.commandQueue.splice(0, commands)
    this.stream.emit('data', Buffer.from('+OK'))
  }
}

function connected(): FakeClient {
  const client = new FakeClient()
  giveUpSilent(client as never, LIMIT_MS)
  client.connect()
  return client
}

/** The immediates of this test are real ones. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await turn()
  await turn()
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('gives up a connection that brings nothing while a command waits', async () => {
  const client = connected()
  client.sendCommand('a')
  await pass(400)
  client.reply()
  await pass(400)
  client.sendCommand('b')
  await pass(999)
  expect(client.errors).toEqual([])
  await pass(2)
  expect(client.errors).toEqual(["Socket timeout. Expecting data, but didn't receive any in 1000ms."])
})

it('keeps one on which no command waits, and one that brings something in time', async () => {
  const client = connected()
  client.sendCommand('a')
  client.reply()
  await pass(5000)
  for (const command of ['b', 'c', 'd', 'e']) {
    client.sendCommand(command)
    client.sendCommand(command)
    await pass(900)
    client.reply()
  }
  client.reply(4)
  await pass(5000)
  expect(client.errors).toEqual([])
})

it('counts a reply that came while this process was held up', async () => {
  const client = connected()
  client.sendCommand('a')
  vi.advanceTimersByTime(3000)
  client.reply()
  await turn()
  await turn()
  expect(client.errors).toEqual([])
})

it('looks at a connection of its own after the one that was given up', async () => {
  const client = connected()
  client.sendCommand('a')
  await pass(1001)
  expect(client.errors).toHaveLength(1)
  client.commandQueue.length = 0
  client.connect()
  await pass(5000)
  expect(client.errors).toHaveLength(1)
  client.sendCommand('b')
  await pass(1001)
  expect(client.errors).toHaveLength(2)
})

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})

const FILE = new URL('../../src/node/redis-silence.ts', import.meta.url).href
const PROGRAM = `
import { Redis } from 'ioredis'
import { giveUpSilent } from ${JSON.stringify(FILE)}

const client = new Redis(process.argv[1], { lazyConnect: true })
giveUpSilent(client, 3_600_000)
await client.connect()
console.log(await client.ping(), client.stream.listenerCount('data'), client.commandQueue.length)
client.disconnect()`

it('finds in ioredis what it looks at, and leaves no timer that would keep the process', () => {
  vi.useRealTimers()
  const options = { encoding: 'utf8', timeout: 60_000 } as const
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', PROGRAM, server.url], options)
  expect(printed).toBe('PONG 2 0\n')
})
