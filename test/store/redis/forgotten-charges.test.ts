import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Batch, Charge } from '../../../src/quota/charge.ts'
import { usageOf } from '../../../src/quota/counter.ts'
import { createLedger } from '../../../src/quota/ledger/ledger.ts'
import type { Ledger } from '../../../src/quota/ledger/ledger-contract.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { atEnd } from '../../setup/at-end.ts'
import { sharedRedis } from '../../setup/redis.ts'

/** A Redis that is put back to an earlier state, as by a failover, a restart or a restored copy, while gateways go on. */

const DAY = { name: '1d', seconds: 86_400 }
const LIMITS = [{ window: DAY, limit: 100_000 }]
const charge = (user: string, cost: number): Charge =>
  chargeOf({ user, cost, limits: { personal: LIMITS, organisation: null, global: LIMITS } })

const server = await sharedRedis()
const redis = new Redis(server.url)
atEnd(() => redis.disconnect())
let store: ReturnType<typeof openRedisStore>
let ledger: Ledger
let seen: Observation[]
let count = 0
let prefix: string
beforeEach(() => {
  seen = []
  prefix = `${server.prefix}-forgotten-${++count}`
  const observe = (observation: Observation): void => void seen.push(observation)
  store = openRedisStore({ url: server.url, prefix, deadlineMs: 5000, observe })
  ledger = createLedger({ store, instance: 'one', deadlineMs: 5000, observe })
})
afterEach(async () => {
  await ledger.close(1000)
  await store.close()
})

/** @returns puts all keys of the store back to what they are now */
async function saved(): Promise<() => Promise<void>> {
  const names = await redis.keys(`{${prefix}}*`)
  const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)))
  return async () => {
    await redis.del(...(await redis.keys(`{${prefix}}*`)))
    for (const [i, name] of names.entries()) await redis.restore(name, 0, dumps[i] as Buffer)
  }
}

async function used(user: string): Promise<[personal: number, global: number]> {
  const { at, personal, global } = await store.readUsage(user, ['read'])
  return [usageOf(personal[0] ?? [], DAY, at).used, usageOf(global[0] ?? [], DAY, at).used]
}
const reported = (type: Observation['type']) => seen.filter((each) => each.type === type)

describe('charges that Redis has forgotten', () => {
  it('charges that Redis has forgotten are not given back from what others were charged, and are told with their tokens', async () => {
    await ledger.charge(charge('alice', 300))
    const restore = await saved()
    const big = charge('alice', 400)
    const decision = await ledger.charge(big)
    expect(await used('alice')).toEqual([700, 700])
    await restore()
    ledger.refund({ charge: big, decision, amount: 395 })
    await ledger.charge(charge('bob', 7))
    expect([await used('alice'), await used('bob')]).toEqual([
      [300, 307],
      [7, 307],
    ])
    expect(reported('charges_lost')).toEqual([
      { type: 'charges_lost', tokens: expect.any(Number), since: expect.any(Number) },
    ])
    expect(reported('charges_lost')[0]).toSatisfy(({ tokens }: { tokens: number }) => tokens >= 400 && tokens <= 700)
    expect(reported('refund_void')).toEqual([{ type: 'refund_void', tokens: 395 }])
  })

  it('charges that Redis has forgotten are not given back later either, and those of before and after are', async () => {
    const [before, lost, after] = [charge('alice', 30), charge('alice', 400), charge('alice', 50)]
    const first = await ledger.charge(before)
    const restore = await saved()
    const second = await ledger.charge(lost)
    await restore()
    const third = await ledger.charge(after)
    expect(await used('alice')).toEqual([80, 80])
    for (const [of, decision] of [
      [before, first],
      [lost, second],
      [after, third],
    ] as const)
      ledger.refund({ charge: of, decision, amount: 10 })
    await ledger.charge(charge('bob', 1))
    expect(await used('alice')).toEqual([60, 61])
    expect(reported('refund_void')).toEqual([{ type: 'refund_void', tokens: 10 }])
  })

  it('charges that Redis has forgotten are noticed at once when Redis is emptied, by each gateway for itself', async () => {
    const other = createLedger({ store, instance: 'two', deadlineMs: 5000, observe: () => {} })
    await ledger.charge(charge('alice', 5))
    await other.charge(charge('alice', 5))
    await redis.del(...(await redis.keys(`{${prefix}}*`)))
    await other.charge(charge('alice', 1))
    expect(reported('charges_lost')).toEqual([])
    await ledger.charge(charge('alice', 1))
    expect(reported('charges_lost')).toMatchObject([{ tokens: 5 }])
    expect(await used('alice')).toEqual([2, 2])
    await other.close(1000)
  })

  it('charges that Redis has forgotten are none where nothing was forgotten', async () => {
    for (const _ of [1, 2, 3]) {
      const decision = await ledger.charge(charge('alice', 5))
      ledger.refund({ charge: charge('alice', 5), decision })
    }
    await ledger.charge(charge('alice', 1))
    expect(await used('alice')).toEqual([1, 1])
    expect(seen.filter(({ type }) => type === 'charges_lost' || type === 'refund_void')).toEqual([])
  })
})

describe('a Redis that is put back to a newer state than its gateway', () => {
  /** @returns puts it back to where batches of the name `one` are ahead of those of `ledger` */
  async function ahead(): Promise<() => Promise<void>> {
    const earlier = createLedger({ store, instance: 'one', deadlineMs: 5000, observe: () => {} })
    for (const _ of [1, 2, 3, 4, 5]) await earlier.charge(charge('alice', 10))
    await earlier.close(1000)
    const restore = await saved()
    await redis.del(...(await redis.keys(`{${prefix}}*`)))
    return restore
  }

  it('a Redis that is put back to a newer state than its gateway takes the next batch under another name, and what is given back of later ones', async () => {
    const restore = await ahead()
    await ledger.charge(charge('alice', 1))
    await restore()
    const second = await ledger.charge(charge('alice', 2))
    expect(await used('alice')).toEqual([52, 52])
    ledger.refund({ charge: charge('alice', 2), decision: second })
    await ledger.charge(charge('bob', 7))
    expect([await used('alice'), await used('bob')]).toEqual([
      [50, 57],
      [7, 57],
    ])
    expect(seen.filter(({ type }) => type === 'outcome_unknown' || type === 'charges_lost')).toEqual([])
  })

  it('a Redis that is put back to a newer state than its gateway keeps nobody waiting for a batch whose reply was lost before, which is not counted a second time', async () => {
    const restore = await ahead()
    let isLost = false
    const losing = {
      ...store,
      async settle(batch: Batch) {
        const decisions = await store.settle(batch)
        if (isLost || batch.charges.length === 0) return decisions
        isLost = true
        await restore()
        throw new StoreError('the reply was lost', 'timeout', 'unknown')
      },
    }
    const observe = (observation: Observation): void => void seen.push(observation)
    const other = createLedger({ store: losing, instance: 'one', deadlineMs: 5000, observe })
    await expect(other.charge(charge('alice', 1))).rejects.toMatchObject({ name: 'StaleBatch' })
    expect(reported('outcome_unknown')).toEqual([{ type: 'outcome_unknown', charges: 1, settled: false }])
    expect((await other.charge(charge('alice', 2))).accepted).toBe(true)
    expect(await used('alice')).toEqual([52, 52])
    await other.close(1000)
  })
})
