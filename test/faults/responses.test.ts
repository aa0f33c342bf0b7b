import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe } from 'vitest'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { expectNothingCameLater, type Fault, runRow, startWorld, type World } from './matrix.ts'

/** Errors that Redis answers. It then did nothing, and the gateways know it. */

const PASSWORD = 'the-first-password'
let redis: RedisServer
let admin: Redis
let world: World

const set = async (key: string, value: string): Promise<void> => void (await admin.call('CONFIG', 'SET', key, value))
const dropConnections = async (): Promise<void> =>
  void (await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))

const ROWS = {
  response_readonly: {
    inject: async () => void (await admin.call('REPLICAOF', '127.0.0.1', '1')),
    cure: async () => void (await admin.call('REPLICAOF', 'NO', 'ONE')),
    reason: 'readonly',
    told: /READONLY/,
    degraded: true,
  },
  response_oom: {
    inject: async () => {
      await set('maxmemory-policy', 'noeviction')
      await set('maxmemory', '1mb')
    },
    cure: () => set('maxmemory', '0'),
    reason: 'out_of_memory',
    told: /OOM/,
    degraded: true,
  },
  response_busy: {
    inject: async () => {
      await set('busy-reply-threshold', '50')
      const loop = admin.duplicate()
      loop.eval('while true do end', 0).catch(() => loop.disconnect())
      await sleep(200)
    },
    cure: async () => void (await admin.script('KILL')),
    reason: 'busy',
    told: /BUSY/,
    degraded: true,
  },
  response_noreplicas: {
    inject: () => set('min-replicas-to-write', '1'),
    cure: () => set('min-replicas-to-write', '0'),
    reason: 'readonly',
    told: /NOREPLICAS/,
    degraded: true,
  },
  response_noperm: {
    inject: async () => void (await admin.call('ACL', 'SETUSER', 'default', '-evalsha', '-eval')),
    cure: async () => void (await admin.call('ACL', 'SETUSER', 'default', '+@all')),
    reason: 'auth',
    told: /NOPERM/,
    degraded: true,
  },
  response_noperm_within: {
    inject: async () => void (await admin.call('ACL', 'SETUSER', 'default', '-set')),
    cure: async () => void (await admin.call('ACL', 'SETUSER', 'default', '+@all')),
    reason: 'auth',
    told: /can't run this command/,
    degraded: true,
  },
  response_wrongpass: {
    inject: async () => {
      await set('requirepass', 'another-password')
      await dropConnections()
    },
    cure: () => set('requirepass', PASSWORD),
    reason: 'connection',
    told: /WRONGPASS/,
    degraded: true,
  },
  // The last one: the folder of this Redis does not come back.
  response_misconf: {
    inject: async () => {
      const [, folder = ''] = (await admin.config('GET', 'dir')) as string[]
      await set('save', '3600 1')
      await rm(folder, { recursive: true })
      await admin.bgsave()
      while (!String(await admin.info('persistence')).includes('rdb_last_bgsave_status:err')) await sleep(20)
    },
    cure: () => set('stop-writes-on-bgsave-error', 'no'),
    reason: 'readonly',
    told: /MISCONF/,
    degraded: true,
  },
} satisfies Record<string, Omit<Fault, 'both'>>
const IDS = Object.keys(ROWS) as (keyof typeof ROWS)[]

beforeAll(async () => {
  redis = await startRedis({ args: ['--requirepass', PASSWORD] })
  const url = `redis://:${PASSWORD}@127.0.0.1:${redis.port}`
  admin = new Redis(url, { maxRetriesPerRequest: null }).on('error', () => {})
  world = await startWorld({ rows: IDS, stores: [url, url], store: url })
})
afterAll(async () => {
  admin?.disconnect()
})

describe('Redis answers', () => {
  for (const id of IDS) fault(id, () => runRow(world, [], id, { ...ROWS[id], both: true }))
  fault('late_effects_answers', () => expectNothingCameLater(world, IDS))
})
