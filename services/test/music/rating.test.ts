import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Catalogue, type Chart, catalogueOf } from '../../music/catalogue.ts'
import { catalogueFile } from '../../music/catalogue-file.ts'
import { chartRating, playerRating, scoreRating } from '../../music/rating.ts'
import { song } from '../score/harness.ts'

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

describe('playerRating', () => {
  /** Charts by id: below 1000 old, below 2000 new, above utage; the constant grows with the id. */
  const catalogue: Catalogue = {
    rating: { allPerfect: 0 },
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
    Array.from({ length: count }, (_, i) => ({ musicId: from + i, level: 3, achievement: 1_000_000, comboStatus: 4 }))
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

  it('adds 1 for each AP and AP+ among the charts that count, where the catalogue says so', () => {
    const since = { ...catalogue, rating: { allPerfect: 1 } }
    const all = [...scores(0, 40), ...scores(1000, 20), ...scores(2000, 5)]
    const before = playerRating(all, catalogue)
    expect(playerRating(all, since)).toEqual({ total: before.total + 50, old: before.old + 35, new: before.new + 15 })
    expect(playerRating(scores(4000, 1), since).total).toBe(0)
  })

  it('playerRating reads constants with a decimal without loss', () => {
    for (const tenths of range(10, 151)) {
      expect(catalogueOf(fileWith(tenths / 10)).chart(1, 3)?.constant).toBe(tenths)
    }
  })
})

describe('scoreRating', () => {
  const chart = { constant: 139, utage: false }
  const since = { rating: { allPerfect: 1 } }

  it.each([
    ['no lamp', 0, 312],
    ['FC', 1, 312],
    ['FC+', 2, 312],
    ['AP', 3, 313],
    ['AP+', 4, 313],
  ])('a score of 101 %% on 13.9 with %s has its rating since CiRCLE', (_lamp, comboStatus, rating) => {
    const earned = { achievement: 1_010_000, comboStatus }
    expect(scoreRating(earned, chart, since)).toBe(rating)
    expect(scoreRating(earned, chart, { rating: { allPerfect: 0 } })).toBe(312)
  })

  it('adds nothing to utage, nor to what earned nothing', () => {
    expect(scoreRating({ achievement: 1_010_000, comboStatus: 4 }, { ...chart, utage: true }, since)).toBe(0)
    expect(scoreRating({ achievement: 99_999, comboStatus: 4 }, chart, since)).toBe(0)
    expect(scoreRating({ achievement: 1_010_000, comboStatus: 4 }, { ...chart, constant: 0 }, since)).toBe(0)
  })
})

function fileWith(ds: number) {
  const charts = song(1).charts.map((each) => ({ ...each, ds }))
  return catalogueFile.parse({ rating: { allPerfect: 0 }, songs: [song(1, { charts })] })
}
