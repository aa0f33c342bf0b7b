import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, expect, it, vi } from 'vitest'
import { connect, type RedisClient } from '../../../src/store/redis/client.ts'
import { type Subscription, subscription } from '../../../src/store/redis/subscription.ts'
import { atEnd } from '../../setup/at-end.ts'
import { freePort, startRedis } from '../../setup/redis.ts'

const SOON = { timeout: 30_000, interval: 5 }

const server = await startRedis()
const admin = new Redis(server.url)
atEnd(() => admin.disconnect())
await admin.acl('SETUSER', 'deaf', 'on', '>secret', '~*', 'resetchannels', '+@all')
const opened: Subscription[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
})

/** Of a user who may not listen, unless told. @returns how often it has tried to */
function open(url = `redis://deaf:secret@127.0.0.1:${server.port}`, trying: (one: Subscription) => void = () => {}) {
  let tries = 0
  const one = subscription((): RedisClient => {
    const redis = connect({ url, deadlineMs: 2000 })
    const subscribe = redis.subscribe.bind(redis)
    redis.subscribe = ((channel: string) => {
      tries++
      trying(one)
      return subscribe(channel)
    }) as RedisClient['subscribe']
    return redis
  }, 'news')
  opened.push(one)
  return { one, tries: () => tries }
}

it('a subscription that is refused is tried again each second, also if its connection is lost meanwhile', async () => {
  const { one, tries } = open()
  one.follow(() => {})
  for (let times = 1; times <= 4; times++) {
    await expect.poll(tries, SOON).toBeGreaterThanOrEqual(times)
    if (times < 4) await admin.client('KILL', 'USER', 'deaf')
  }
  const before = tries()
  await sleep(2500)
  expect(tries() - before).toBeGreaterThanOrEqual(1)
  expect(tries() - before).toBeLessThanOrEqual(3)
})

it.each([
  ['in the middle of a try', 0],
  ['before its next try', 100],
])('a subscription that is closed %s tries no more', async (_when, afterMs) => {
  const { one, tries } = open(
    undefined,
    (trying) => void (afterMs === 0 ? trying.close() : setTimeout(trying.close, afterMs)),
  )
  one.follow(() => {})
  await expect.poll(tries, SOON).toBe(1)
  await sleep(1400)
  expect(tries()).toBe(1)
})

it('a follower that unsubscribed hears nothing, while the others do', async () => {
  const heard: string[] = []
  const { one } = open(server.url)
  const leave = one.follow(() => heard.push('left'))
  one.follow(() => heard.push('stays'))
  await expect.poll(() => heard, SOON).toEqual(['left', 'stays'])
  leave()
  await admin.publish('news', '')
  await expect.poll(() => heard, SOON).toEqual(['left', 'stays', 'stays'])
})

it.each([
  ['Redis', 'redis:', ''],
  ['cluster', 'redis+cluster:', ''],
  ['sentinel', 'redis+sentinel:', '/quota'],
])('a follower hears nothing if there is no %s, and nothing is printed', async (_what, scheme, name) => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  atEnd(() => printed.mockRestore())
  const { one } = open(`${scheme}//127.0.0.1:${await freePort()}${name}`)
  one.follow(() => expect.unreachable())
  await sleep(500)
  expect(printed).not.toHaveBeenCalled()
})

it('a subscription that is closed while there is no Redis keeps its process for no longer than a deadline', async () => {
  const unused = await freePort()
  const one = subscription(() => connect({ url: `redis://127.0.0.1:${unused}`, deadlineMs: 50 }), 'news')
  one.follow(() => {})
  await sleep(300)
  const started = vi.spyOn(globalThis, 'setTimeout')
  one.close()
  const delays = started.mock.calls.map(([, ms]) => ms)
  started.mockRestore()
  expect(delays).toEqual([50])
})
