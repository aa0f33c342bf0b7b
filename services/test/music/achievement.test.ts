import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  MAX_ACHIEVEMENT,
  MAX_BUDDY_ACHIEVEMENT,
  parseAchievement,
  parsePercent,
  percentOf,
  scoreRank,
} from '../../music/achievement.ts'

const parse = (text: string) => parseAchievement(text, MAX_ACHIEVEMENT)

it.each([
  ['0', 0],
  ['100.5', 1_005_000],
  ['100.5%', 1_005_000],
  ['101', 1_010_000],
  ['101.0000', 1_010_000],
  ['1e2', 1_000_000],
  ['1.005E+2', 1_005_000],
  ['1005e-1', 1_005_000],
  ['10000', 10_000],
  ['1010000', 1_010_000],
  ['1005000.0', 1_005_000],
  ['99.99995', 1_000_000],
  ['99.99994999999999999999999', 999_999],
  ['0.00005', 1],
  ['0.00004999999999999999999', 0],
])('parseAchievement reads %s as %i', (text, value) => expect(parse(text)).toBe(value))

it.each([
  ['', '-1', '-0', '+1', ' 1', '1 %', '1%%', '.5', '5.', '01', '0x10', 'NaN', 'Infinity', '1,5', '１００'],
  ['101.00001', '101.00000000000000000000001', '102', '9999', '1010001', '1e999', '1e99999', '10000.5', '1005000%'],
  [`100.${'0'.repeat(100)}`],
])('parseAchievement refuses %s', (...texts) => {
  for (const text of texts) expect(parse(text), text).toBeNull()
})

it('parseAchievement takes up to 202 % on a buddy chart', () => {
  expect(parseAchievement('202', MAX_BUDDY_ACHIEVEMENT)).toBe(2_020_000)
  expect(parseAchievement('2020000', MAX_BUDDY_ACHIEVEMENT)).toBe(2_020_000)
  expect(parseAchievement('202.00001', MAX_BUDDY_ACHIEVEMENT)).toBeNull()
  expect(parseAchievement('2020001', MAX_BUDDY_ACHIEVEMENT)).toBeNull()
})

it('parseAchievement gives back every value, written as percent, with a percent sign, or as an integer', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10_000, max: MAX_ACHIEVEMENT }), (value) => {
      const percent = `${Math.floor(value / 10_000)}.${String(value % 10_000).padStart(4, '0')}`
      expect([parse(percent), parse(`${percent}%`), parse(String(value))]).toEqual([value, value, value])
    }),
  )
})

it('parseAchievement rounds half up at the fifth decimal, whatever follows', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_ACHIEVEMENT - 1 }), fc.stringMatching(/^\d{1,20}$/), (value, rest) => {
      const text = `${Math.floor(value / 10_000)}.${String(value % 10_000).padStart(4, '0')}${rest}`
      expect(parse(text)).toBe(value + (rest >= '5' ? 1 : 0))
    }),
  )
})

it('parseAchievement gives null or a value in range for any text, and never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.double().map(String), fc.stringMatching(/^[\d.eE%+-]{0,30}$/)), (text) => {
      const value = parse(text)
      expect(value === null || (Number.isInteger(value) && value >= 0 && value <= MAX_ACHIEVEMENT)).toBe(true)
    }),
  )
})

describe('parsePercent', () => {
  const percent = (text: string) => parsePercent(text, MAX_ACHIEVEMENT)

  it('parsePercent gives back every achievement, written as a platform writes it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_BUDDY_ACHIEVEMENT }), (value) => {
        expect(parsePercent(JSON.stringify(percentOf(value)), MAX_BUDDY_ACHIEVEMENT)).toBe(value)
      }),
    )
  })

  it('parsePercent reads 100.5 as 1005000, and no value near it as 1004999', () => {
    expect([percent('100.5'), percent('100.50'), percent('100.49995')]).toEqual([1_005_000, 1_005_000, 1_005_000])
    expect(percentOf(1_005_000)).toBe(100.5)
  })

  it.each(['101.00001', '10000', '1005000', '-1', 'null', '', '1e999', 'NaN', '-0'])(
    'parsePercent refuses %s',
    (text) => {
      expect(percent(text)).toBeNull()
    },
  )
})

it('scoreRank changes exactly at the bound of each rank', () => {
  const bounds = [50, 60, 70, 75, 80, 90, 94, 97, 98, 99, 99.5, 100, 100.5].map((percent) => percent * 10_000)
  expect(scoreRank(0)).toBe(0)
  bounds.forEach((bound, i) => {
    expect([scoreRank(bound - 1), scoreRank(bound)]).toEqual([i, i + 1])
  })
  expect(scoreRank(997_456)).toBe(11)
  expect(scoreRank(MAX_BUDDY_ACHIEVEMENT)).toBe(13)
})
