import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { preview } from '../../src/admin/preview.ts'
import { type ChangeFollower, createChangeFollower } from '../../src/control/change-follower.ts'
import type { Change } from '../../src/control/control-store.ts'
import { asOverrides } from '../../src/control/overrides.ts'
import { applyPatch, resolve } from '../../src/control/settings.ts'
import { createPolicy, payerOf } from '../../src/quota/policy.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { deskOf } from '../admin/desk-of.ts'
import { FILE } from '../control/settings-of-a-file.ts'
import { sharedRedis } from '../setup/redis.ts'

const GENEROUS = { timeout: 30_000 }

/** A store that several processes open. */
interface Place {
  open(): Store
  clean(): Promise<void>
}

const PLACES: [string, () => Promise<Place>][] = [
  [
    'SQLite',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tollgate-control-'))
      return {
        open: () => openSqliteStore({ file: join(folder, 'tollgate.db') }),
        clean: () => rm(folder, { recursive: true }),
      }
    },
  ],
  [
    'Redis',
    async () => {
      const { url, prefix, stop } = await sharedRedis()
      return { open: () => openRedisStore({ url, prefix, deadlineMs: 5000, observe: () => {} }), clean: stop }
    },
  ],
]

describe.each(PLACES)('two replicas that share %s', (_, make) => {
  let place: Place
  let stores: [Store, Store]
  let keepers: [ChangeFollower, ChangeFollower]

  beforeEach(async () => {
    place = await make()
    stores = [place.open(), place.open()]
    await vi.waitFor(() => Promise.all(stores.map((store) => store.ping())), GENEROUS)
    keepers = [keeperOf(stores[0]), keeperOf(stores[1])]
    await Promise.all(keepers.map((keeper) => keeper.start()))
  })
  afterEach(async () => {
    for (const keeper of keepers) keeper.close()
    await Promise.all(stores.map((store) => store.close()))
    await place.clean()
  })

  const keeperOf = (store: Store) => createChangeFollower({ store, observe: () => {}, pollMs: 20 })
  const change = (store: Store, to: Change) => store.change(to, { who: 'ada', why: 'test' }, null)
  const override = (user: string, expiresAt: number | null): Change => ({
    kind: 'override',
    user,
    to: { limits: { read: { '1h': 5 } }, bypassGlobal: false, shadow: false, reason: 'test', expiresAt },
  })

  it('two replicas follow what either of them changes, and agree', async () => {
    await change(stores[0], { kind: 'settings', to: { mode: 'loose', baselines: { personal: { read: { '1h': 7 } } } } })
    await change(stores[1], override('用户 "x"', null))
    await vi.waitFor(() => expect(keepers.map((keeper) => keeper.state().version)).toEqual([2, 2]), GENEROUS)
    expect(keepers[0].state()).toEqual(keepers[1].state())
    expect(keepers[0].state()).toEqual(await stores[0].readControl())
    const { settings } = resolve(FILE, keepers[1].state().settings.value)
    const policy = createPolicy(settings, 1, asOverrides(keepers[1].state()))
    expect(policy.limitsFor('read', payerOf('用户 "x"')).personal.map(({ limit }) => limit)).toEqual([5, 1800])
    expect(policy.limitsOf('read').personal.map(({ limit }) => limit)).toEqual([10, 1800])
  })

  it('catch up with more changes than are told one by one', async () => {
    for (let i = 0; i < 120; i++) await change(stores[0], override(`user ${i}`, null))
    expect((await keepers[1].fresh()).overrides.size).toBe(120)
    const late = keeperOf(stores[1])
    await late.start()
    late.close()
    expect(late.state()).toEqual(keepers[1].state())
  })

  it('two replicas let an override end by itself', async () => {
    const { at } = await stores[0].controlVersion()
    await change(stores[0], override('alice', at + 2000))
    expect((await keepers[1].fresh()).overrides.has('alice')).toBe(true)
    await vi.waitFor(() => expect(keepers.map((keeper) => keeper.state().overrides.size)).toEqual([0, 0]), GENEROUS)
  })

  it('preview a change from the counters of both', async () => {
    const policy = createPolicy(FILE)
    const charge = (user: string, cost: number) => ({
      user,
      organisation: null,
      category: 'read',
      cost,
      limits: policy.limitsFor('read', payerOf(user)),
    })
    const settle = (store: Store, instance: string, user: string, cost: number) =>
      store.settle({ instance, sequence: 1, refunds: [], charges: [charge(user, cost)] })
    await settle(stores[0], 'one', 'alice', 100)
    await settle(stores[1], 'two', 'bob', 80)
    const { settings } = resolve(FILE, applyPatch({}, { mode: 'conservative' }))
    const result = await preview({
      desk: deskOf(stores[0]),
      now: () => policy,
      next: () => createPolicy(settings),
      cheapest: new Map([['read', 1]]),
      windows: FILE.windows,
      shadow: { now: false, next: false },
    })
    expect(result).toMatchObject({ scanned: 2, blockedCount: 1, newlyBlockedCount: 1, freedCount: 0 })
    expect(result.blocked).toMatchObject([{ user: 'alice', category: 'read', window: '1h', limit: 90, used: 100 }])
    expect(result.windows.read?.[0]).toEqual({
      window: '1h',
      used: 180,
      limit: 9000,
      remaining: 8820,
      limitNow: 12_000,
      remainingNow: 11_820,
    })
  })
})
