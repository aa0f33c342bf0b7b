import { expect, test } from 'vitest'
import { isExact, MAX_LIMIT, multiplied } from '../../src/quota/multiplied.ts'

test.each([
  [100, 1.1, 1, 110],
  [100, 0.29, 1, 29],
  [5, 0.75, 4, 15],
  [1, 0.25, 0.25, 1],
  [7, 1.5, 1, 10],
  [0, 1.5, 4, 0],
  [100, 0, 1, 0],
])('a limit of %d times %d and %d is %d', (limit, factor, multiplier, product) => {
  expect(multiplied(limit, factor, multiplier)).toBe(product)
})

test('a product above what a counter holds is the highest limit, since a counter would never come to the product', () => {
  expect(multiplied(MAX_LIMIT, 1.5, 4)).toBe(MAX_LIMIT)
  expect(isExact(MAX_LIMIT, 1.5, 4)).toBe(false)
})

test('a product that needs no rounding is exact', () => {
  expect([isExact(100, 1.1), isExact(7, 1.5), isExact(1, 0.25, 4)]).toEqual([true, false, true])
})
