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

it('an IPv6 /48 may send as much as one address, from however many /64s', () => {
  const nets = Array.from({ length: 16 }, (_, i) => isReadAtOnce(`2001:db8:1:${i.toString(16)}::/64`, MIB))
  expect(nets).toEqual(Array(16).fill(true))
  expect([isReadAtOnce('2001:db8:1:99::/64', 1), isReadAtOnce('2001:db8:2:99::/64', 1)]).toEqual([false, true])
})
