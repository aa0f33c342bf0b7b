import { expect, test } from 'vitest'
import type { QuotaResponse } from '../../src/contract/api.ts'
import { fullestWindows, globalShare, longestTokens } from '../../src/dashboard/logic/used-windows.ts'

const hour = (used: number, limit: number | null) => ({ window: '1h', used, limit })
const day = (used: number, limit: number | null) => ({ window: '1d', used, limit })

/** With these global windows: used and limit. */
function quotaOf(read: readonly (readonly [string, number, number])[]): QuotaResponse {
  const windows = read.map(([window, used, limit]) => ({ window, used, limit, remaining: Math.max(0, limit - used) }))
  return { windows: { read: windows, write: [] } } as unknown as QuotaResponse
}

test('the window of each category that is nearest to its limit is shown', () => {
  const windows = { read: [hour(5, 10), day(8, 100)], write: [hour(1, null), day(3, 4)] }
  expect(fullestWindows(windows, false)).toEqual([
    { category: 'read', ...hour(5, 10) },
    { category: 'write', ...day(3, 4) },
  ])
})

test('a window of which nothing was used is shown only where its limit of 0 refuses', () => {
  const windows = { read: [hour(0, 0), day(0, 100)] }
  expect(fullestWindows(windows, false)).toEqual([])
  expect(fullestWindows(windows, true)).toEqual([{ category: 'read', ...hour(0, 0) }])
})

test('tokens are those of the longest window of each category', () => {
  expect(longestTokens({ read: [hour(5, 10), day(8, 100)], write: [hour(2, 4)], none: [] })).toBe(10)
})

test('the share of a global limit is that of the longest window, where both have it', () => {
  const quota = quotaOf([
    ['1h', 90, 100],
    ['1d', 90, 400],
  ])
  expect(globalShare({ read: [hour(50, null), day(100, null)], write: [day(9, null)] }, quota)).toEqual({
    share: 0.25,
    category: 'read',
    window: '1d',
  })
  expect(globalShare({ read: [hour(50, null)] }, quota)).toBeNull()
  expect(globalShare({ read: [day(1, null)] }, null)).toBeNull()
  expect(globalShare({ read: [day(1, null)] }, quotaOf([['1d', 0, 0]]))).toBeNull()
})
