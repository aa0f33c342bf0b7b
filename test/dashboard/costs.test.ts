import { expect, test } from 'vitest'
import { type AskedPrice, rangeOf } from '../../src/dashboard/logic/costs.ts'

test.each<[string, AskedPrice, number, number]>([
  ['values and anything else', { body: ['method'], values: { a: 2, b: 8 }, otherwise: 1 }, 1, 8],
  [
    'a price within a price',
    { body: ['method'], values: { a: { body: ['name'], values: { x: 5 }, otherwise: 0 } } },
    0,
    5,
  ],
  ['an array, which costs the sum', { body: ['method'], values: { a: 2, b: 20 }, otherwise: 1, batch: 50 }, 1, 1000],
  ['a number with its bounds', { query: 'limit', times: 0.1, min: 1, max: 500, missing: 100 }, 1, 500],
  ['a list that may be missing for more', { body: ['items'], each: 2, min: 1, max: 8, missing: 9 }, 1, 9],
])('what a request costs at the least and at the most is known of %s', (_, price, least, most) => {
  expect(rangeOf(price)).toEqual({ least, most })
})
