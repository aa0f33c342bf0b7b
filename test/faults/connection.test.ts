import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect } from 'vitest'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { expectNothingCameLater, type Fault, runRow, startWorld, type World } from './matrix.ts'

/** What goes wrong between one of two gateways and Redis. The other one goes on, and shares the limits with it. */

let redis: RedisServer
let proxy: FaultProxy
let world: World

async function eightTimes(mishap: () => void): Promise<void> {
  for (let i = 0; i < 8; i++) {
    mishap()
    await sleep(120)
  }
}

/** Until some have struck, too: each waits for a request that fits, which a gateway with little time sends late. */
async function eightDrops(arm: () => void): Promise<void> {
  const before = proxy.dropped
  for (let i = 0; i < 8 || (i < 100 && proxy.dropped - before < ENOUGH); i++) {
    arm()
    await sleep(120)
  }
}

const ENOUGH = 4
const EIGHT = { reconnects: 8 }
/** Told once in an interval, so that only the first of these rows can wait for it. */
const OUT = /the store is out: charges are decided without it/
const SILENT = { reason: 'timeout', degraded: true }
const CUT = { reason: 'connection', degraded: true }

const ROWS = {
  request_lost: { inject: () => eightDrops(() => proxy.dropRequest({ containing: 'request_lost' })), ...EIGHT },
  reply_lost: {
    inject: () => eightDrops(() => proxy.dropReply({ containing: 'reply_lost' })),
    told: /charges whose reply was lost are settled/,
    ...EIGHT,
  },
  reply_cut: {
    inject: () => eightDrops(() => proxy.cutReply(9, { containing: 'reply_cut' })),
    told: /charges whose reply was lost are settled/,
    ...EIGHT,
  },
  slow_50: { inject: () => proxy.delay(25, 10), harmless: true },
  slow_200: { inject: () => proxy.delay(100, 200) },
  slow_2000: { inject: () => proxy.delay(1000, 1000), lastsMs: 1500, ...SILENT, told: OUT },
  trickle: { inject: () => proxy.throttle(1), ...SILENT },
  reset: { inject: () => eightTimes(() => proxy.reset()), ...EIGHT },
  fin: { inject: () => eightTimes(() => proxy.fin()), ...EIGHT },
  half_open: { inject: () => proxy.halfOpen(), reason: 'timeout' },
  blackhole: { inject: () => proxy.blackhole(), lastsMs: 1500, ...SILENT },
  // Each time some charges are with the store that the gateway then decides alone as well.
  flapping: {
    inject: async () => {
      for (let i = 0; i < 6; i++) {
        proxy.dropReply({ containing: 'flapping_a' })
        await sleep(60)
        if (i % 2 === 0) proxy.blackhole()
        else await proxy.refuseConnects()
        await sleep(700)
        await proxy.heal()
        await sleep(200)
      }
    },
    reconnects: 12,
  },
  connect_hangs: { inject: () => proxy.hangConnects(), lastsMs: 1500, ...CUT },
  connect_refused: { inject: () => proxy.refuseConnects(), ...CUT },
  connect_reset: {
    inject: async () => {
      const before = proxy.connections
      proxy.resetConnects()
      await sleep(3000)
      // 100 ms, doubled up to a second, each shortened by up to a half.
      expect(proxy.connections - before).toBeLessThan(30)
    },
    ...CUT,
  },
} satisfies Record<string, Fault>
const IDS = Object.keys(ROWS) as (keyof typeof ROWS)[]

beforeAll(async () => {
  redis = await startRedis()
  proxy = await startFaultProxy(redis.port)
  const stores = [`redis://127.0.0.1:${proxy.port}`, redis.url] as const
  // Longer than a machine with much to do holds up a process: the other one has no fault, and slow_50 is none.
  world = await startWorld({ rows: IDS, stores, store: redis.url, deadlines: ['500ms', '2s'] })
})

describe('between a gateway and Redis', () => {
  for (const id of IDS) {
    fault(id, async () => {
      const before = proxy.dropped
      await runRow(world, [proxy], id, ROWS[id])
      if (/lost|cut/.test(id)) expect(proxy.dropped - before).toBeGreaterThanOrEqual(ENOUGH)
    })
  }
  fault('late_effects', () => expectNothingCameLater(world, IDS))
})
