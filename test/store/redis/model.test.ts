import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { calendarSuite } from '../../quota/calendar.suite.ts'
import { agreesWithTheModel, type ClockedStore } from '../../quota/model.suite.ts'
import { type RedisServer, startRedis } from '../../setup/redis.ts'
import { clockedScripts } from './clocked.ts'

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
async function open(): Promise<ClockedStore> {
  const { settle, change } = clockedScripts(redis, createKeys(`model-${randomUUID()}`))
  return {
    settle,
    reset: async (wanted, now) => (await change(wanted, now)).from,
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

it.each<[string, number | 'calendar']>([
  ['windows of seconds', 1],
  ['windows of hours', HOUR],
  ['windows of a calendar', 'calendar'],
])(
  'charge.lua decides any history of %s as the model does, through script flushes, reconnects and batches sent again',
  async (_, unit) => agreesWithTheModel(open, unit),
)

calendarSuite(open)

it('every key it leaves behind ends by itself', async () => {
  const isOfAudit = (name: string): boolean => /:(version|audit|audit:.*)$/.test(name)
  const names = (await redis.keys('*')).filter((name) => !isOfAudit(name))
  expect(names.length).toBeGreaterThan(100)
  // -1: never. One that has ended since is -2.
  for (const name of names) expect(await redis.pttl(name)).not.toBe(-1)
})
