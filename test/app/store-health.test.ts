import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type StoreHealth, watchStore } from '../../src/app/store-health.ts'
import type { Observer } from '../../src/observe/observation.ts'
import { StoreError, type StoreFailure } from '../../src/quota/quota-store.ts'

const ping = vi.fn<() => Promise<void>>()
let health: StoreHealth
let observe: Observer
let heardAt: number
beforeEach(() => {
  vi.useFakeTimers()
  ping.mockReset().mockResolvedValue()
  heardAt = Number.NEGATIVE_INFINITY
  const follow = (reader: Observer): void => {
    observe = reader
  }
  health = watchStore({ ping }, follow, () => heardAt)
})
afterEach(() => {
  health.stop()
  vi.useRealTimers()
})

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(1000 * count)
const failed = (reason: StoreFailure): void =>
  observe({ type: 'store_failed', operation: 'control', reason, message: '' })

it('a store is asked every second, unless it has just answered another question', async () => {
  await seconds(3)
  expect([health.failure(), ping.mock.calls.length]).toEqual([null, 3])
  for (let i = 0; i < 5; i++) {
    heardAt = performance.now() + 1
    await seconds(1)
  }
  expect([health.failure(), ping.mock.calls.length]).toEqual([null, 3])
  ping.mockRejectedValue(new StoreError('gone', 'connection', 'no'))
  await seconds(2)
  expect(health.failure()).toBe('connection')
  heardAt = performance.now()
  await seconds(1)
  expect(health.failure()).toBe(null)
})

it('a store that falls silent is lacking at once, and one that fails otherwise is asked at once', async () => {
  heardAt = performance.now()
  await seconds(1)
  failed('timeout')
  expect([health.failure(), ping.mock.calls.length]).toEqual(['timeout', 0])
  await seconds(1)
  expect(health.failure()).toBe(null)
  ping.mockRejectedValue(new StoreError('READONLY', 'readonly', 'no'))
  failed('readonly')
  await seconds(0)
  expect([health.failure(), ping.mock.calls.length]).toEqual(['readonly', 2])
})

it('the patience of the start ends when the store has connected, and after a second without one', async () => {
  ping.mockRejectedValue(new StoreError('not yet', 'connection', 'no'))
  const ready = health.patience()
  await vi.advanceTimersByTimeAsync(1)
  ping.mockResolvedValue()
  observe({ type: 'store_connected' })
  await ready
  expect(health.failure()).toBe(null)

  ping.mockRejectedValue(new StoreError('gone', 'connection', 'no'))
  failed('other')
  await vi.advanceTimersByTimeAsync(0)
  const tired = health.patience()
  await seconds(1.1)
  await tired
  expect(health.failure()).toBe('connection')
})
