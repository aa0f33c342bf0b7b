import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { createKeys } from '../../../src/store/redis/keys.ts'
import { calendarSuite } from '../../quota/calendar.suite.ts'
import { agreesWithTheModel, type ClockedStore } from '../../quota/model.suite.ts'
import { clockedScripts } from './clocked.ts'
import { OwnRedis } from './own-redis.ts'

const own = new OwnRedis()

const HOUR = 3600

/** A store of its own, whose clock the test holds. */
async function open(): Promise<ClockedStore> {
  const { settle, change } = clockedScripts(own.redis, createKeys(`model-${randomUUID()}`))
  return {
    settle,
    reset: async (wanted, now) => (await change(wanted, now)).from,
    upsets: [
      async () => {
        await own.redis.script('FLUSH')
      },
      async () => {
        // While it connects, ioredis 6 would give the connection up for good.
        if (own.redis.status === 'ready') own.redis.disconnect(true)
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
  const names = (await own.redis.keys('*')).filter((name) => !isOfAudit(name))
  expect(names.length).toBeGreaterThan(100)
  // -1: never. One that has ended since is -2.
  for (const name of names) expect(await own.redis.pttl(name)).not.toBe(-1)
})
