import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { decodeReply, encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { CHARGE_LUA, CONTROL_LUA } from '../../../src/store/redis/client.ts'
import { encodeChange } from '../../../src/store/redis/control.ts'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { StoreClock, withinPeriods } from '../../../src/store/redis/store-clock.ts'
import { calendarSuite } from '../../quota/calendar.suite.ts'
import { agreesWithTheModel, type ClockedStore } from '../../quota/model.suite.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'

/** The script as it is shipped, but for its clock, which the test must hold to reach a boundary to the millisecond. */
const SHIPPED = CHARGE_LUA
const CLOCKED = SHIPPED.replace("redis.call('TIME')", '{ ARGV[5], ARGV[6] }')
const CONTROL_CLOCKED = CONTROL_LUA.replace("redis.call('TIME')", '{ ARGV[13], ARGV[14] }')

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

const HOUR = 3600

/** A store of its own, whose clock the test holds. */
async function open(mayBeShort: (sequence: number) => boolean): Promise<ClockedStore> {
  expect(CLOCKED).not.toBe(SHIPPED)
  redis.defineCommand('settle', { lua: CLOCKED })
  const settle = (redis as unknown as { settleBuffer(count: number, ...rest: (string | number)[]): Promise<unknown> })
    .settleBuffer
  const secondsAndMicros = (now: number): number[] => [Math.floor(now / 1000), (now % 1000) * 1000]
  const keys = createKeys(`model-${randomUUID()}`)
  const clock = new StoreClock()
  return {
    settle: (batch, now) =>
      withinPeriods(clock, async (about) => {
        const sent = encodeBatch(batch, keys, mayBeShort(batch.sequence), about)
        const args = [batch.sequence, 3_600_000, sent.json, sent.charges, ...secondsAndMicros(now)]
        return decodeReply(await settle.call(redis, sent.keys.length, ...sent.keys, ...args), batch, sent)
      }),
    reset: (change, now) =>
      withinPeriods(clock, async (about) => {
        const { names, args } = encodeChange(change, { who: 'ann', why: null }, null, keys, undefined, about)
        const all = [...names, ...args, ...secondsAndMicros(now)]
        const reply = (await redis.eval(CONTROL_CLOCKED, names.length, ...all)) as [string, number]
        return JSON.parse(reply[0]).from
      }),
    upsets: [
      async () => {
        await redis.script('FLUSH')
      },
      async () => {
        // While it connects, ioredis 6 would give the connection up for good.
        if (redis.status === 'ready') redis.disconnect(true)
      },
    ],
    close: async () => {},
  }
}

it.each<[string, number | 'calendar', (sequence: number) => boolean]>([
  ['windows of seconds', 1, () => true],
  ['windows of hours', HOUR, () => false],
  ['windows of hours in short sections', HOUR, () => true],
  ['windows of a calendar', 'calendar', () => true],
  ['windows of hours, some gateways writing short sections and some not', HOUR, (sequence) => sequence % 2 === 0],
])(
  'charge.lua decides any history of %s as the model does, through script flushes, reconnects and batches sent again',
  async (_, unit, mayBeShort) => agreesWithTheModel(() => open(mayBeShort), unit),
)

calendarSuite(() => open(() => true))

it('every key it leaves behind ends by itself', async () => {
  const isOfAudit = (name: string): boolean => /:(version|audit|audit:.*)$/.test(name)
  const names = (await redis.keys('*')).filter((name) => !isOfAudit(name))
  expect(names.length).toBeGreaterThan(100)
  // -1: never. One that has ended since is -2.
  for (const name of names) expect(await redis.pttl(name)).not.toBe(-1)
})
