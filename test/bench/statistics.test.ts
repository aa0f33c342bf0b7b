import { expect, test } from 'vitest'
import { isMet, noGrowth } from '../../bench/figures.ts'
import { median, paired, ratios } from '../../bench/statistics.ts'

test('the median is the middle value, or the mean of the two in the middle', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([4, 1, 100, 2])).toBe(3)
  expect(median([])).toBeNaN()
})

test('a ratio is taken within each round, so a round that was slow for both sides changes nothing', () => {
  expect(ratios([10, 100], [5, 50], (value) => value)).toEqual([2, 2])
})

test('rounds that have no partner are an error, not a shorter list', () => {
  expect(() => paired([1, 2], [1], (a, b) => a - b)).toThrow('2 rounds cannot be compared with 1')
})

test('a bound is met by the median of the rounds, and never by no measurement at all', () => {
  expect(isMet(noGrowth('', [0.9, 1.1, 5]))).toBe(true)
  expect(isMet(noGrowth('', [1.11]))).toBe(false)
  expect(isMet(noGrowth('', []))).toBe(false)
  expect(isMet({ name: '', unit: 'x', values: [1], target: { below: 1 } })).toBe(false)
})
