import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLimitsInForce } from '../../src/app/limits-in-force.ts'
import { createLivePolicy, type LivePolicy } from '../../src/app/live-policy.ts'
import { NOTHING } from '../../src/failures/histogram.ts'
import type { Observation } from '../../src/observe/observation.ts'
import type { Store } from '../../src/store/store.ts'
import { createFakeStore, type FakeStore } from '../control/fake-store.ts'
import { understood } from '../e2e/harness.ts'

const { quota } = understood(`upstream: { url: "http://127.0.0.1:9000" }
quota: { mode: adaptive, baselines: { personal: { read: { 1h: 100 } }, global: { read: { 1h: 1000 } } } }`).config

/** The share of failures that the histogram of the store has. */
let share: number
let store: FakeStore
let following: LivePolicy
let observed: Observation[]
const limits = createLimitsInForce(quota)
const limit = () => limits.policy().limitsOf('read').personal[0]?.limit

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-20T10:10:00Z') })
  share = 1
  observed = []
  store = createFakeStore()
  const readTallies: Store['readTallies'] = async () => {
    if (store.out) throw new Error('nobody there')
    return { at: store.at, buckets: [{ ...NOTHING, start: store.at, total: 10_000, status5xx: share * 10_000 }] }
  }
  following = createLivePolicy({
    store: { ...store, readTallies } as unknown as Store,
    observe: (observation) => observed.push(observation),
    current: () => ({ quota, limits, gatewayTokens: false }),
  })
})
afterEach(() => {
  following.close()
  vi.useRealTimers()
})

it('the adaptive factor is in force from the start and drawn anew every 10 seconds, until it is closed', async () => {
  await following.start()
  expect(limit()).toBe(75)
  share = 0
  await vi.advanceTimersByTimeAsync(9_999)
  expect(limit()).toBe(75)
  await vi.advanceTimersByTimeAsync(1)
  expect(limit()).toBe(150)
  share = 1
  following.close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(limit()).toBe(150)
})

it('the adaptive factor is drawn at the same moments as by every other process, whenever each was started', async () => {
  vi.setSystemTime(Date.parse('2026-11-20T10:10:03.500Z'))
  await following.start()
  expect(following.adaptive()).toMatchObject({ factor: 0.75, requests: 10_000, failed: 10_000 })
  share = 0
  await vi.advanceTimersByTimeAsync(6_499)
  expect([limit(), following.adaptive().factor]).toEqual([75, 0.75])
  await vi.advanceTimersByTimeAsync(1)
  expect([limit(), following.adaptive().factor]).toEqual([150, 1.5])
})

it('the last adaptive factor stays while the store is out', async () => {
  await following.start()
  store.out = true
  await vi.advanceTimersByTimeAsync(60_000)
  expect(limit()).toBe(75)
  // Also for a configuration that is loaded meanwhile.
  following.bring(limits)
  expect(limit()).toBe(75)
  // Nor is it a fault of ours: who follows the changes tells of the store.
  expect(observed.map(({ type }) => type)).not.toContain('internal_error')
})

it('the adaptive factor is reported at the start and whenever it has become another one', async () => {
  const told = (factor: number) => ({ type: 'adaptive_factor', factor })
  await following.start()
  await vi.advanceTimersByTimeAsync(30_000)
  share = 0
  await vi.advanceTimersByTimeAsync(30_000)
  expect(observed).toEqual([told(1), told(0.75), told(1.5)])
})

it('changes at run time are in force once the policy has started, and not after its close', async () => {
  await store.set({ kind: 'settings', to: { mode: 'loose' } })
  await following.start()
  expect(limit()).toBe(150)
  following.close()
  await store.set({ kind: 'settings', to: { mode: 'conservative' } })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(limit()).toBe(150)
  expect(store.asked.length).toBeLessThan(10)
})
