import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Script, ScriptCall } from '../../../src/store/redis/script.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'

const ECHO = "redis.call('INCR', 'runs') return { KEYS, ARGV }"

let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})
beforeEach(async () => {
  await redis.flushall()
  await redis.script('FLUSH')
  await redis.config('RESETSTAT')
})

/** How often each of the commands was asked for, failures included. */
async function asked(): Promise<{ eval: number; evalsha: number }> {
  const stats = String(await redis.info('commandstats'))
  const of = (name: string): number => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
  return { eval: of('eval'), evalsha: of('evalsha') }
}

/** Texts that Redis replied, at any depth. */
function read(reply: unknown): unknown {
  return Array.isArray(reply) ? reply.map(read) : String(reply)
}

/** Whether the next collection of V8's young heap frees it, if nothing else holds it. */
function isYoung(object: unknown): boolean {
  setFlagsFromString('--allow-natives-syntax')
  return new Function('object', 'return %InYoungGeneration(object)')(object) as boolean
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

describe('a script', () => {
  it('is given its keys and arguments to the byte, and its reply comes as it is', async () => {
    const odd = ['', ' ', '\r\n', '$1\r\n', 'ä€😀', '\0\x7f', 'x'.repeat(70_000)]
    expect(read(await new Script(ECHO).run(redis, odd, odd))).toEqual([odd, odd])
    const bytes = await new Script("return '\\255\\0'").run(redis, ['a'], [])
    expect(bytes).toEqual(Buffer.from([255, 0]))
  })

  it('is told to a connection once', async () => {
    const script = new Script(ECHO)
    const other = new Redis(server.url)
    try {
      for (let i = 0; i < 3; i++) await script.run(redis, ['a'], [])
      expect(await asked()).toEqual({ eval: 1, evalsha: 2 })
      for (let i = 0; i < 3; i++) await script.run(other, ['a'], [])
      expect(await asked()).toEqual({ eval: 2, evalsha: 4 })
    } finally {
      other.disconnect()
    }
  })

  it('that Redis has forgotten is told again, and run once', async () => {
    const script = new Script(ECHO)
    await script.run(redis, ['a'], [])
    await redis.script('FLUSH')
    expect(read(await script.run(redis, ['b'], ['c']))).toEqual([['b'], ['c']])
    await script.run(redis, ['a'], [])
    expect(await redis.get('runs')).toBe('3')
    expect(await asked()).toEqual({ eval: 2, evalsha: 2 })
  })

  it('leaves nothing in the old heap, where a call would outlive its answer', () => {
    const call = new ScriptCall(new Script(ECHO), 'a', 4, '')
    expect([call, call.promise, call.resolve, call.reject].map(isYoung)).toEqual([true, true, true, true])
  })

  it('that fails is not run again', async () => {
    const script = new Script("redis.call('INCR', 'runs') return redis.error_reply('NO way')")
    await expect(script.run(redis, ['a'], [])).rejects.toThrow('NO way')
    expect(await redis.get('runs')).toBe('1')
  })

  it('that the node has forgotten, to which a cluster led on, is told to that one again', async () => {
    const script = new Script(ECHO)
    const [first, second] = [{}, {}]
    for (const socket of [first, second]) script.head(socket)
    const written: string[] = []
    const cluster = {
      sendCommand(command: unknown) {
        const call = command as ScriptCall
        for (const socket of [first, second]) written.push(call.toWritable(socket).split('\r\n')[2] ?? '')
        if (written.length === 2) call.reject(new Error('NOSCRIPT No matching script.'))
        else call.resolve('reply')
      },
    }
    expect(await script.run(cluster, ['a'], [])).toBe('reply')
    expect(written).toEqual(['EVALSHA', 'EVALSHA', 'EVALSHA', 'EVAL'])
  })

  it('that cannot be sent fails, and leaves no timer', async () => {
    const broken = {
      sendCommand(command: unknown) {
        ;(command as ScriptCall).within(600_000)
        throw new Error('broken')
      },
    }
    const before = timers()
    await expect(new Script(ECHO).run(broken, ['a'], [])).rejects.toThrow('broken')
    expect(timers()).toBe(before)
  })

  it('fails where there is no connection', async () => {
    const closed = new Redis(server.url, { lazyConnect: true, enableOfflineQueue: false })
    await expect(new Script(ECHO).run(closed, ['a'], [])).rejects.toThrow('enableOfflineQueue options is false')
    closed.disconnect()
  })
})

describe('the call of a script', () => {
  const call = (key: string): ScriptCall => new ScriptCall(new Script(ECHO), key, 4, '')

  it('goes to the node that has its key', () => {
    // https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ names this one.
    expect(call('123456789').getSlot()).toBe(0x31c3)
    expect(call('{123456789}:c:alice').getSlot()).toBe(0x31c3)
  })

  it('has one deadline, also where it is led on to another node', async () => {
    const late = call('a')
    late.within(20)
    const before = timers()
    late.within(600_000)
    expect(timers()).toBe(before)
    await expect(late.promise).rejects.toThrow('Command timed out')
  })

  it('leaves no timer behind it', async () => {
    const before = timers()
    const [answered, failed] = [call('a'), call('b')]
    answered.within(600_000)
    failed.within(600_000)
    expect(timers()).toBeGreaterThan(before)
    // As instrumentation calls them, and a cluster.
    const [{ resolve }, { reject }] = [answered, failed]
    resolve('reply')
    reject(new Error('lost'))
    expect(await Promise.allSettled([answered.promise, failed.promise])).toEqual([
      { status: 'fulfilled', value: 'reply' },
      { status: 'rejected', reason: new Error('lost') },
    ])
    await sleep(0)
    expect(timers()).toBeLessThanOrEqual(before)
  })
})
