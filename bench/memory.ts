import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from './figures.ts'
import { atRate, type Target } from './load.ts'
import { askRedis } from './servers.ts'
import { ALL_USERS } from './users.ts'

const REQUESTS_PER_SECOND = 2000
/** Redis moves a table that has grown, and gives buffers of its clients back, in the background. */
const SETTLE_MS = 3000

/** Empties Redis, then charges each user once in one category and once more in another. */
export async function measureMemory(redis: number, read: Target, write: Target): Promise<Figure[]> {
  await chargeAll(read)
  askRedis(redis, 'FLUSHALL')
  const empty = await usedMemory(redis)
  await chargeAll(read)
  const one = await usedMemory(redis)
  await chargeAll(write)
  const both = await usedMemory(redis)
  const figure = (name: string, bytes: number): Figure => ({
    name: `memory of Redis for one idle user, ${name}`,
    unit: 'bytes',
    values: [bytes / ALL_USERS],
    target: { atMost: 250 },
  })
  return [figure('one category', one - empty), figure('two categories', both - empty)]
}

async function chargeAll(target: Target): Promise<void> {
  const { failed } = await atRate(target, REQUESTS_PER_SECOND, ALL_USERS)
  if (failed > 0) throw new Error(`${failed} of ${ALL_USERS} users could not be charged`)
}

async function usedMemory(port: number): Promise<number> {
  await sleep(SETTLE_MS)
  return Number(/^used_memory:(\d+)/m.exec(askRedis(port, 'INFO', 'memory'))?.[1])
}
