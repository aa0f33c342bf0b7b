import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe } from 'vitest'
import { PERSISTENT, type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { expectNothingCameLater, type Fault, runRow, startWorld, type World } from './matrix.ts'

/** What happens to the process of Redis. Every write that it acknowledged is in its file. */

let redis: RedisServer
let admin: Redis
let world: World

/** Told once in an interval, so that only the first of these rows can wait for it. */
const OUT = /the store is out: charges are decided without it/

const ROWS = {
  redis_killed: {
    inject: () => redis.kill('SIGKILL'),
    cure: () => redis.restart(),
    reason: 'connection',
    told: OUT,
    degraded: true,
  },
  redis_stopped: {
    inject: () => void process.kill(redis.pid, 'SIGSTOP'),
    lastsMs: 1500,
    cure: () => void process.kill(redis.pid, 'SIGCONT'),
    reason: 'timeout',
    degraded: true,
  },
  redis_restarted: {
    inject: async () => {
      for (let i = 0; i < 4; i++) {
        await redis.kill('SIGTERM')
        await redis.restart()
        await sleep(250)
      }
    },
    told: /connected to the store/,
    reconnects: 4,
  },
  script_flush: {
    inject: async () => {
      for (let i = 0; i < 40; i++) {
        await admin.script('FLUSH')
        await sleep(20)
      }
    },
    harmless: true,
  },
  redis_loading: {
    // Its data takes longer to load than is needed here: each key some milliseconds, with a look at its clients every few keys.
    inject: async () => {
      await fillAndRewrite()
      await redis.kill('SIGKILL')
      await redis.restart(['--key-load-delay', '5000', '--loading-process-events-interval-bytes', '1024'])
    },
    cure: async () => {
      // One that does not wait for the end of the loading by itself.
      const hasty = admin.duplicate({ enableReadyCheck: false })
      await hasty.config('SET', 'key-load-delay', '0')
      hasty.disconnect()
      while (!String(await admin.info('persistence')).includes('loading:0')) await sleep(100)
    },
    reason: 'connection',
    told: /LOADING/,
    degraded: true,
  },
  redis_noauth: {
    inject: async () => {
      await admin.config('SET', 'requirepass', 'a-password')
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    },
    cure: () => void admin.config('SET', 'requirepass', ''),
    reason: 'connection',
    told: /NOAUTH/,
    degraded: true,
  },
} satisfies Record<string, Omit<Fault, 'both'>>
const IDS = Object.keys(ROWS) as (keyof typeof ROWS)[]

async function fillAndRewrite(): Promise<void> {
  const pipeline = admin.pipeline()
  for (let i = 0; i < 3000; i++) pipeline.set(`filler-${i}`, '')
  await pipeline.exec()
  await admin.bgrewriteaof()
  const isRewritten = async (): Promise<boolean> => {
    const info = String(await admin.info('persistence'))
    return info.includes('aof_rewrite_in_progress:0') && info.includes('aof_last_bgrewrite_status:ok')
  }
  while (!(await isRewritten())) await sleep(20)
}

beforeAll(async () => {
  redis = await startRedis({ args: PERSISTENT })
  admin = new Redis(redis.url, { maxRetriesPerRequest: null }).on('error', () => {})
  // Longer than a machine with much to do may hold up a process: that is no fault of these rows, one of which is harmless.
  const stores = [redis.url, redis.url] as const
  world = await startWorld({ rows: IDS, stores, store: redis.url, deadlines: ['1s', '1s'] })
})
afterAll(async () => {
  admin?.disconnect()
})

describe('Redis', () => {
  for (const id of IDS) fault(id, () => runRow(world, [], id, { ...ROWS[id], both: true }))
  fault('late_effects_server', () => expectNothingCameLater(world, IDS))
})
