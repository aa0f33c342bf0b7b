import { afterEach, beforeAll, expect, it } from 'vitest'
import { createStoreClock } from '../../src/app/store-clock.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { createWallClock, type WallClock } from '../setup/wall-clock.ts'
import { whenReady } from '../store/redis/ready.ts'

let clock: WallClock
let server: RedisServer
beforeAll(async () => {
  clock = createWallClock()
  server = await startRedis({ clock })
})
afterEach(() => clock.set(0))

it('a gateway says how far the clock of Redis is from its own, once that they differ, and once that they agree again', async () => {
  const store = closedAtEnd(openRedisStore({ url: server.url, prefix: 'clock', deadlineMs: 5000, observe: () => {} }))
  await whenReady(store)
  const seen: Observation[] = []
  const compared = createStoreClock({ store, observe: (it) => seen.push(it), everyMs: 20 })
  const offsets = (): number[] => seen.flatMap((it) => (it.type === 'store_clock' ? [it.offsetMs / 1000] : []))
  const news = (): boolean[] => seen.flatMap((it) => (it.type === 'store_clock_apart' ? [it.apart] : []))
  compared.start()
  const settlesAt = async (seconds: number): Promise<void> => {
    await expect.poll(() => Math.abs((offsets().at(-1) ?? Number.NaN) - seconds)).toBeLessThan(2)
    const count = offsets().length
    await expect.poll(() => offsets().length).toBeGreaterThan(count + 3)
  }
  await settlesAt(0)
  expect(news()).toEqual([])
  clock.set(-3_600_000)
  await settlesAt(-3600)
  expect(news()).toEqual([true])
  clock.set(0)
  await settlesAt(0)
  expect(news()).toEqual([true, false])
  compared.stop()
})
