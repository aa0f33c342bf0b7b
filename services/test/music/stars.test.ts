import fc from 'fast-check'
import { expect, it } from 'vitest'
import { dxScoreOfStar } from '../../music/stars.ts'

/** As they are documented, in percent. */
const SHARES = [0, 85, 90, 93, 95, 97]

it.each([
  [708, [602, 638, 659, 673, 687]],
  [1329, [1130, 1197, 1236, 1263, 1290]],
  [1956, [1663, 1761, 1820, 1859, 1898]],
  [2934, [2494, 2641, 2729, 2788, 2846]],
])('stars of a DX score have the documented bounds for a chart with maximum %i', (max, bounds) => {
  expect([1, 2, 3, 4, 5].map((star) => dxScoreOfStar(star, max))).toEqual(bounds)
  expect(dxScoreOfStar(0, max)).toBe(0)
})

it('stars of a DX score gives the least score that earns the star', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 20, max: 3000 }), (star, notes) => {
      const max = 3 * notes
      const score = dxScoreOfStar(star, max)
      const share = SHARES[star] ?? 0
      expect([100 * score >= share * max, 100 * (score - 1) >= share * max]).toEqual([true, false])
      expect(score).toBeLessThanOrEqual(max)
    }),
  )
})
