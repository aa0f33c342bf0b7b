import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from '../figures.ts'
import { ALL_USERS } from '../requests.ts'
import { askRedis } from '../servers.ts'
import type { Group } from './group.ts'

const REQUESTS_PER_SECOND = 3000
/** Redis moves a table that has grown, and gives buffers of its clients back, in the background. */
const SETTLE_MS = 3000

/** Empties Redis, then charges each user once in one category and once more in another. */
export const memory: Group = async ({ stage, requests, openLoop }) => {
  const [redis, backend] = [await stage.redis(), await stage.backend()]
  const gateway = await stage.gateway({ backend, store: redis, log: false })

  async function chargeAll(path: string): Promise<void> {
    const load = { port: gateway.port, requests: requests.byUsers('GET', path, ALL_USERS) }
    const { failed } = await openLoop({ ...load, rate: REQUESTS_PER_SECOND, count: ALL_USERS })
    if (failed > 0) throw new Error(`${failed} of ${ALL_USERS} users could not be charged`)
  }
  async function usedMemory(): Promise<number> {
    await sleep(SETTLE_MS)
    return Number(/^used_memory:(\d+)/m.exec(askRedis(redis.port, 'INFO', 'memory'))?.[1])
  }
  const figure = (name: string, bytes: number): Figure => ({
    name: `memory of Redis for one idle user, ${name}`,
    unit: 'bytes',
    values: [bytes / ALL_USERS],
    target: { atMost: 250 },
  })

  await chargeAll('/read')
  askRedis(redis.port, 'FLUSHALL')
  const empty = await usedMemory()
  await chargeAll('/read')
  const one = await usedMemory()
  await chargeAll('/write')
  const both = await usedMemory()
  return {
    title: 'Memory of an idle user',
    lines: [`${ALL_USERS} users, each charged once in each category:`],
    figures: [figure('one category', one - empty), figure('two categories', both - empty)],
  }
}
