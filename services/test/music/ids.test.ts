import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromFish, fromLxns, kindOf, toFish, toLxns } from '../../music/ids.ts'

const chart = fc.oneof(
  fc.record({ musicId: fc.integer({ min: 1, max: 9999 }), level: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ musicId: fc.integer({ min: 10_001, max: 19_999 }), level: fc.integer({ min: 0, max: 4 }) }),
  fc.record({ musicId: fc.integer({ min: 100_001, max: 999_999 }), level: fc.constant(10) }),
)

describe('a chart', () => {
  it('a chart is the same chart after a way to LXNS and back', () => {
    fc.assert(
      fc.property(chart, (one) => {
        expect(fromLxns(toLxns(one))).toEqual(one)
      }),
    )
  })

  it('a chart is the same chart after a way to Diving-Fish and back', () => {
    fc.assert(
      fc.property(chart, (one) => {
        expect(fromFish(toFish(one))).toEqual(one)
      }),
    )
  })

  it.each([
    [
      { musicId: 837, level: 1 },
      { id: 837, type: 'standard', levelIndex: 1 },
      { songId: 837, type: 'SD', levelIndex: 1 },
    ],
    [
      { musicId: 11466, level: 3 },
      { id: 1466, type: 'dx', levelIndex: 3 },
      { songId: 11466, type: 'DX', levelIndex: 3 },
    ],
    [
      { musicId: 110205, level: 10 },
      { id: 110205, type: 'utage', levelIndex: 0 },
      { songId: 110205, type: 'DX', levelIndex: 0 },
    ],
  ])('%j has the names that the platforms use', (one, lxns, fish) => {
    expect(toLxns(one)).toEqual(lxns)
    expect(toFish(one)).toEqual(fish)
  })

  it('a chart of a platform that says DX with the id of the standard chart is the DX chart', () => {
    expect(fromFish({ songId: 1466, type: 'DX', levelIndex: 3 })).toEqual({ musicId: 11466, level: 3 })
    expect(fromLxns({ id: 11466, type: 'dx', levelIndex: 3 })).toEqual({ musicId: 11466, level: 3 })
  })

  it('a chart is of the kind that its number says', () => {
    expect([9999, 10_001, 19_999, 100_001].map(kindOf)).toEqual(['standard', 'dx', 'dx', 'utage'])
  })
})
