import { execFileSync } from 'node:child_process'
import { Command, Redis } from 'ioredis'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { giveDeadline } from '../../src/node/redis-deadline.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'

let server: RedisServer
const clients: Redis[] = []
beforeAll(async () => {
  server = await startRedis()
})
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect()
})

async function connected(client: Redis): Promise<Redis> {
  client.on('error', () => {})
  clients.push(client)
  await client.connect()
  return client
}

/** What becomes of a command whose reply comes while this process is held up for longer than a deadline of 100 ms. */
async function askWhileHeldUp(client: Redis): Promise<string> {
  const reply = client.ping().catch(({ message }: Error) => message)
  await new Promise((resolve) => setImmediate(resolve))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  return reply
}

it('a reply that came while this process was held up counts, which ioredis gives up', async () => {
  const ours = await connected(new Redis(server.url, { lazyConnect: true }))
  giveDeadline(ours, 100)
  expect(await askWhileHeldUp(ours)).toBe('PONG')
  const theirs = await connected(new Redis(server.url, { lazyConnect: true, commandTimeout: 100 }))
  expect(await askWhileHeldUp(theirs)).toBe('Command timed out')
})

it('a command that Redis does not reply to fails after its deadline, a script and one in a transaction too', async () => {
  const scripts = { give: { lua: 'return ARGV[1]', numberOfKeys: 0 } }
  const client = await connected(new Redis(server.url, { lazyConnect: true, scripts }))
  giveDeadline(client, 100)
  process.kill(server.pid, 'SIGSTOP')
  try {
    const script = (client as unknown as { give(text: string): Promise<string> }).give('a')
    const asked = [client.ping(), script, client.multi().get('a').exec()]
    const late = { status: 'rejected', reason: { message: 'Command timed out' } }
    expect(await Promise.allSettled(asked)).toMatchObject([late, late, late])
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
})

it('each command has the whole deadline, also one that goes out while another one waits', async () => {
  const client = await connected(new Redis(server.url, { lazyConnect: true }))
  giveDeadline(client, 500)
  const ends: number[] = []
  const ask = async (): Promise<void> => {
    const since = performance.now()
    await client.ping().catch(() => {})
    ends.push(performance.now() - since)
  }
  process.kill(server.pid, 'SIGSTOP')
  try {
    const first = ask()
    await new Promise((resolve) => setTimeout(resolve, 250))
    await Promise.all([first, ask()])
    expect(Math.min(...ends)).toBeGreaterThan(499)
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
})

it('ioredis marks what has its reply or has failed: by that a command leaves the line', async () => {
  const client = await connected(new Redis(server.url, { lazyConnect: true }))
  const [right, wrong] = [new Command('ping'), new Command('no-such-command')]
  for (const command of [right, wrong]) {
    expect(command).toMatchObject({ isSettled: false })
    await Promise.allSettled([client.sendCommand(command)])
    expect(command).toMatchObject({ isSettled: true })
  }
})

const FILE = new URL('../../src/node/redis-deadline.ts', import.meta.url).href
const PROGRAM = `
import { Redis } from 'ioredis'
import { giveDeadline } from ${JSON.stringify(FILE)}

const client = new Redis(process.argv[1], { lazyConnect: true, enableOfflineQueue: false })
await client.connect()
giveDeadline(client, 3_600_000)
console.log(await client.ping())
await client.call('NO-SUCH-COMMAND').catch(({ message }) => console.log(message.slice(0, 19)))
client.disconnect()
await client.ping().catch(({ message }) => console.log(message))`

it('a command that has its reply, or fails, leaves no timer, which would keep the process', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', PROGRAM, server.url], {
    encoding: 'utf8',
  })
  expect(printed).toMatch(/^PONG\nERR unknown command\n.+\n$/)
})
