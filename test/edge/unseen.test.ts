import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { isReadAtOnce } from '../../src/edge/unseen.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const MIB = 1024 * 1024

it('an address may send 16 MiB in a second that nobody looks at, on all its connections together', () => {
  expect([isReadAtOnce('10.0.0.1', 10 * MIB), isReadAtOnce('10.0.0.1', 6 * MIB)]).toEqual([true, true])
  expect(isReadAtOnce('10.0.0.1', 1)).toBe(false)
  expect(isReadAtOnce('10.0.0.2', 1)).toBe(true)
  vi.advanceTimersByTime(1000)
  expect(isReadAtOnce('10.0.0.1', 16 * MIB)).toBe(true)
})
