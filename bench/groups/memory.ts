import type { Figure } from '../figures.ts'
import { jwtOf } from '../requests.ts'
import { askRedis, usedMemory } from '../servers.ts'
import type { Group } from './group.ts'

/** With so many users the hash tables of Redis, which take 16 to 32 bytes of each user, are neither fullest nor emptiest. */
const USERS = 100_000
/** The length of ids that identity providers make. */
const ID_LENGTH = 36
const REQUESTS_PER_SECOND = 3000

/** Measures the memory of Redis before and after each user is charged in one category, and then in another. */
export const memory: Group = async ({ stage, requests, openLoop }) => {
  const [redis, upstream] = [await stage.redis(), await stage.upstream()]
  const gateway = await stage.gateway({ upstream, store: redis })
  const credentials = Array.from({ length: USERS }, (_, i) => jwtOf(String(i).padStart(ID_LENGTH, '0')))

  async function chargeAll(path: string): Promise<void> {
    const load = { port: gateway.port, requests: requests.of(credentials.map((credential) => ({ path, credential }))) }
    const { failed } = await openLoop({ ...load, rate: REQUESTS_PER_SECOND, count: USERS })
    if (failed > 0) throw new Error(`${failed} of ${USERS} users could not be charged`)
  }
  const figure = (name: string, bytes: number): Figure => ({
    name: `memory of Redis for one idle user, ${name}`,
    unit: 'bytes',
    values: [bytes / USERS],
    target: { atMost: 250 },
  })

  await chargeAll('/read')
  askRedis(redis.port, 'FLUSHALL')
  const empty = await usedMemory(redis)
  await chargeAll('/read')
  const one = await usedMemory(redis)
  await chargeAll('/write')
  const both = await usedMemory(redis)
  return {
    title: 'Memory of an idle user',
    intro: `${USERS} users with ids of ${ID_LENGTH} characters, each charged once in each category of three windows:`,
    lines: [],
    figures: [figure('one category', one - empty), figure('two categories', both - empty)],
  }
}
