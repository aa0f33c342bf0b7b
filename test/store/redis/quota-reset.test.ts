import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import type { QuotaReset } from '../../../src/control/control-store.ts'
import type { Charge, Decision } from '../../../src/quota/charge.ts'
import type { Counter } from '../../../src/quota/counter.ts'
import { encodeChange } from '../../../src/store/redis/change-words.ts'
import { encodeBatch } from '../../../src/store/redis/charge-batch.ts'
import { decodeReply } from '../../../src/store/redis/charge-reply.ts'
import { CHARGE_LUA, CONTROL_LUA } from '../../../src/store/redis/client.ts'
import { readCounter } from '../../../src/store/redis/form/section.ts'
import { createKeys, type Keys } from '../../../src/store/redis/keys.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { atEnd } from '../../setup/at-end.ts'
import { sharedRedis } from '../../setup/redis.ts'

/** The bytes that a reset of shared windows leaves, by a clock that the test holds. */

const HOUR = 3_600_000
const DAY = 24 * HOUR
const [hour, five, days] = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
  { name: '2d', seconds: 172_800 },
]
const AT = Date.UTC(2150, 0, 1)
const limits = [hour, five, days].map((window) => ({ window, limit: 1000 }))
const charge = (cost: number): Charge =>
  chargeOf({ cost, limits: { personal: limits, organisation: null, global: limits } })
const resetOf = (...windows: QuotaReset['windows']): QuotaReset => ({
  kind: 'quota_reset',
  category: 'read',
  windows,
  all: false,
})

const server = await sharedRedis()
const redis = new Redis(server.url)
atEnd(() => redis.disconnect())
let keys: Keys
let sequence: number
beforeEach(() => {
  keys = createKeys(`${server.prefix}-${randomUUID()}`)
  sequence = 0
})

const timeOf = (now: number): number[] => [Math.floor(now / 1000), (now % 1000) * 1000]

async function settle(cost: number, now: number): Promise<Decision> {
  const batch = { instance: 'reset', sequence: ++sequence, refunds: [], charges: [charge(cost)] }
  const sent = encodeBatch(batch, keys)
  const args = [batch.sequence, 60_000, sent.json, sent.charges, 0, ...timeOf(now)]
  const lua = CHARGE_LUA.replace("redis.call('TIME')", '{ ARGV[6], ARGV[7] }')
  const reply = await redis.callBuffer('EVAL', lua, sent.keys.length, ...sent.keys, ...args)
  return decodeReply(reply, batch, sent)[0] as Decision
}

async function reset(change: QuotaReset, now: number): Promise<unknown> {
  const { names, args } = encodeChange(change, { who: 'ann', why: null }, null, keys)
  const lua = CONTROL_LUA.replace("redis.call('TIME')", '{ ARGV[14], ARGV[15] }')
  const reply = (await redis.eval(lua, names.length, ...names, ...args, ...timeOf(now))) as [string, number]
  return JSON.parse(reply[0]).from
}

const bytes = (): Promise<Buffer | null> => redis.getBuffer(keys.everybody('read'))
const running = async (now: number): Promise<Counter> =>
  readCounter(await bytes(), 'read').filter(({ seconds, startedAt }) => now < startedAt + seconds * 1000)

describe.each([
  ['short', true],
  ['long', false],
])('in the %s form', (_) => {
  it.each([
    ['first', hour],
    ['middle', five],
    ['last', days],
  ])(
    'the %s window is emptied in place, so that the end of the key and the other windows stay, and the size from the next charge on',
    async (_, window) => {
      await settle(7, AT)
      const [size, ends] = [(await bytes())?.length, await redis.pexpiretime(keys.everybody('read'))]
      expect(await reset(resetOf(window), AT + HOUR / 2)).toEqual({ [window.name]: 7 })
      expect(await redis.pexpiretime(keys.everybody('read'))).toBe(ends)
      const others = [hour, five, days].filter((other) => other !== window)
      expect(await running(AT + HOUR / 2)).toEqual(others.map(({ seconds }) => ({ seconds, startedAt: AT, used: 7 })))
      const { global } = await settle(3, AT + HOUR / 2 + 1)
      expect(global).toEqual(
        limits.map((limit) =>
          limit.window === window ? { startedAt: AT + HOUR / 2 + 1, used: 3 } : { startedAt: AT, used: 10 },
        ),
      )
      expect((await bytes())?.length).toBe(size)
    },
  )

  it('a window that was emptied does not run again if the clock is set back', async () => {
    await settle(7, AT)
    await reset(resetOf(hour), AT + 1)
    const { global } = await settle(3, AT)
    expect(global?.[0]).toEqual({ startedAt: AT, used: 3 })
  })

  it('a window that has not ended is left as it was, though the clock was a month ahead when it began', async () => {
    await settle(7, AT)
    const early = AT - 30 * DAY
    for (const window of [hour, days]) await reset(resetOf(window), early)
    expect(await running(AT + 1)).toEqual([{ seconds: five.seconds, startedAt: AT, used: 7 }])
  })

  it('the key goes with its last window', async () => {
    await settle(7, AT)
    await reset(resetOf(hour, five), AT + 1)
    expect(await bytes()).not.toBeNull()
    await reset(resetOf(days), AT + 1)
    expect(await bytes()).toBeNull()
  })
})

it('what others wrote under the key counts as nothing, and goes when all is emptied', async () => {
  const all = { ...resetOf(hour), all: true }
  for (const strange of ['\u0000', 'x'.repeat(2_000_000)]) {
    await redis.set(keys.everybody('read'), strange)
    expect(await reset(all, AT)).toEqual({ '1h': 0 })
    expect(await bytes()).toBeNull()
  }
  await redis.lpush(keys.everybody('read'), 'x')
  expect(await reset(all, AT)).toEqual({ '1h': 0 })
  expect(await redis.exists(keys.everybody('read'))).toBe(0)
})
