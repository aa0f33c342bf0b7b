import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTop } from '../../src/lib/top.ts'

test('the first of many are those that sorting gives', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), fc.integer({ min: 1, max: 8 }), (values, most) => {
      const order = (a: number, b: number) => b - a
      const top = createTop(most, order)
      for (const value of values) top.add(value)
      expect(top.values()).toEqual(values.toSorted(order).slice(0, most))
    }),
  )
}, 60_000)
