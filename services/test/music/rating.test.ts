import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Chart, catalogueOf } from '../../music/catalogue.ts'
import { chartRating, playerRating } from '../../music/rating.ts'

describe('chartRating', () => {
  it.each([
    [1_005_000, 139, 312],
    [1_000_000, 139, 300],
    [997_500, 139, 292],
    [1_010_000, 85, 191],
    [916_265, 60, 83],
    [99_999, 150, 0],
    [0, 150, 0],
  ])('chartRating of achievement %i on constant %i is %i', (achievement, constant, rating) => {
    expect(chartRating(achievement, constant)).toBe(rating)
  })

  it('chartRating uses the lower factor just below each bound', () => {
    const by = (achievement: number) => chartRating(achievement, 150)
    const floor = (factor: number, achievement: number) => Math.floor((factor * 15 * achievement) / 1_000_000)
    expect(by(799_998)).toBe(floor(12.0, 799_998))
    expect(by(799_999)).toBe(floor(12.8, 799_999))
    expect(by(969_999)).toBe(floor(17.6, 969_999))
    expect(by(989_999)).toBe(floor(20.6, 989_999))
    expect(by(999_999)).toBe(floor(21.4, 999_999))
    expect(by(1_004_999)).toBe(floor(22.2, 1_004_999))
  })

  it('chartRating never falls when the achievement rises, and stops rising at 100.5 %', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_009_999 }), fc.integer({ min: 10, max: 150 }), (a, constant) => {
        expect(chartRating(a + 1, constant)).toBeGreaterThanOrEqual(chartRating(a, constant))
      }),
    )
    expect(chartRating(1_010_000, 150)).toBe(chartRating(1_005_000, 150))
  })
})

describe('playerRating', () => {
  /** Charts by id: below 1000 old, below 2000 new, above utage; the constant grows with the id. */
  const catalogue = {
    chart: (musicId: number): Chart | undefined =>
      musicId > 3000
        ? undefined
        : {
            title: 'Song',
            levelLabel: '13',
            constant: 50 + (musicId % 1000),
            maxDxScore: 3,
            maxAchievement: 1_010_000,
            isNew: musicId >= 1000,
            utage: musicId >= 2000,
            sharesTitle: false,
          },
  }
  const scores = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ musicId: from + i, level: 3, achievement: 1_000_000 }))
  const sum = (offsets: number[]) => offsets.reduce((total, i) => total + chartRating(1_000_000, 50 + i), 0)
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

  it('playerRating is zero without scores', () => {
    expect(playerRating([], catalogue)).toEqual({ total: 0, old: 0, new: 0 })
  })

  it('playerRating adds the best 35 old and the best 15 new charts', () => {
    const old = sum(range(5, 40))
    const fresh = sum(range(5, 20))
    const rating = playerRating([...scores(0, 40), ...scores(1000, 20)], catalogue)
    expect(rating).toEqual({ total: old + fresh, old, new: fresh })
  })

  it('playerRating counts neither utage nor charts that the catalogue does not know', () => {
    expect(playerRating([...scores(2000, 5), ...scores(4000, 5)], catalogue).total).toBe(0)
  })

  it('playerRating reads constants with a decimal without loss', () => {
    const song = (ds: number) => ({
      musicId: 1,
      isNew: false,
      type: 'standard',
      charts: [{ level: 3, ds, maxDxScore: 3 }],
    })
    for (const tenths of range(10, 151)) {
      // biome-ignore lint/suspicious/noExplicitAny: only these members are read
      expect(catalogueOf([song(tenths / 10)] as any).chart(1, 3)?.constant).toBe(tenths)
    }
  })
})
