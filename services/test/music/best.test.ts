import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bestOf, type Result } from '../../music/best.ts'

const result: fc.Arbitrary<Result> = fc.record({
  achievement: fc.integer({ min: 0, max: 2_020_000 }),
  comboStatus: fc.integer({ min: 0, max: 4 }),
  syncStatus: fc.integer({ min: 0, max: 5 }),
  dxScore: fc.integer({ min: 0, max: 9000 }),
})

/** none < sync < fs < fsp < fsd < fsdp */
const STRENGTH = [0, 5, 1, 2, 3, 4]

it('the best of two results does not depend on their order', () => {
  fc.assert(
    fc.property(result, result, (a, b) => {
      expect(bestOf(a, b)).toEqual(bestOf(b, a))
    }),
  )
  fc.assert(
    fc.property(result, result, result, (a, b, c) => {
      expect(bestOf(bestOf(a, b), c)).toEqual(bestOf(a, bestOf(b, c)))
    }),
  )
})

it('the best of two results is the same when it is taken again', () => {
  fc.assert(
    fc.property(result, result, (a, b) => {
      expect(bestOf(a, a)).toEqual(a)
      expect(bestOf(bestOf(a, b), b)).toEqual(bestOf(a, b))
    }),
  )
})

it('the best of two results is in each field one of the two and never the lower one', () => {
  fc.assert(
    fc.property(result, result, (a, b) => {
      const best = bestOf(a, b)
      for (const field of ['achievement', 'comboStatus', 'syncStatus', 'dxScore'] as const) {
        expect([a[field], b[field]]).toContain(best[field])
      }
      expect(best.achievement).toBe(Math.max(a.achievement, b.achievement))
      expect(best.dxScore).toBe(Math.max(a.dxScore, b.dxScore))
      expect(best.comboStatus).toBe(Math.max(a.comboStatus, b.comboStatus))
      const strength = (sync: number) => STRENGTH.indexOf(sync)
      expect(strength(best.syncStatus)).toBe(Math.max(strength(a.syncStatus), strength(b.syncStatus)))
    }),
  )
})
