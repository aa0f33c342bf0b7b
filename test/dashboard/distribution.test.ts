import { describe, expect, test } from 'vitest'
import {
  fieldAt,
  type LimitLine,
  limitLine,
  positionOf,
  steppedField,
  usersFull,
} from '../../src/dashboard/logic/distribution.ts'
import { QUOTA } from './quota.ts'

/** As the API makes them of what users have used. */
function percentilesOf(used: readonly number[]): number[] {
  const sorted = used.toSorted((a, b) => a - b)
  return Array.from({ length: 101 }, (_, p) => sorted[Math.max(0, Math.ceil((p * sorted.length) / 100) - 1)] as number)
}

describe('how many users have no room under a limit', () => {
  test('how many users have no room under a limit is exact up to a hundred users', () => {
    for (const n of [1, 2, 7, 10, 99, 100]) {
      const used = Array.from({ length: n }, (_, i) => (i * 37) % 50)
      const found = { counted: n, percentiles: percentilesOf(used) }
      for (let limit = -1; limit <= 50; limit++) {
        expect(usersFull(found, limit, 4)).toBe(used.filter((tokens) => tokens + 4 > limit).length)
      }
    }
  })

  test('how many users have no room under a limit is right to one in a hundred of more users', () => {
    const used = Array.from({ length: 5000 }, (_, i) => i)
    const found = { counted: 5000, percentiles: percentilesOf(used) }
    expect(Math.abs(usersFull(found, 3334, 1) - 1666)).toBeLessThanOrEqual(50)
  })

  test('how many users have no room under a limit is nobody where nobody has used anything', () => {
    expect(usersFull({ counted: 0, percentiles: [] }, 5, 1)).toBe(0)
  })
})

const READ = { scope: 'personal', category: 'read', window: '1h' } as const

describe('the line of a limit', () => {
  test('the line of a limit sets the field of the mode, and stands where that makes its limit', () => {
    // In mode loose: 100 x 1.5, which is in force now.
    const line = limitLine(QUOTA, {}, READ) as LimitLine
    expect(line).toMatchObject({ path: 'baselines.personal.read.1h', field: 100, limit: 150, inForce: 150, max: 150 })
    expect(positionOf(line)).toBeCloseTo(150 / 225)
    const custom = limitLine(QUOTA, { mode: 'custom', 'custom.personal.read.1h': '60' }, READ)
    expect(custom).toMatchObject({ path: 'custom.personal.read.1h', field: 60, limit: 60, max: 225 })
    expect(limitLine(QUOTA, { mode: null }, READ)).toMatchObject({ field: 100, limit: 100 })
  })

  test('the line of a limit is not there without a limit, or while its field is none', () => {
    expect(limitLine(QUOTA, {}, { ...READ, window: '9h' })).toBe(null)
    expect(limitLine(QUOTA, { 'baselines.personal.read.1h': 'x' }, READ)).toBe(null)
  })

  test('the line of a limit is moved by the keys of a slider, within its bounds', () => {
    const line: LimitLine = { path: 'p', field: 100, limit: 100, inForce: 100, max: 150, step: 1 }
    const keys = ['ArrowRight', 'ArrowLeft', 'PageUp', 'PageDown', 'Home', 'End', 'a']
    expect(keys.map((key) => steppedField(line, key))).toEqual([101, 99, 110, 90, 0, 150, null])
    expect(steppedField({ ...line, field: 149 }, 'PageUp')).toBe(150)
    expect([-1, 0, 0.5, 2].map((place) => fieldAt(line, place))).toEqual([0, 0, 75, 150])
  })
})
