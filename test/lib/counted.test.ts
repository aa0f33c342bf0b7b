import { expect, it } from 'vitest'
import { counted } from '../../src/lib/counted.ts'

it.each([
  [0, '0 lines'],
  [1, '1 line'],
  [2, '2 lines'],
])('a number has the noun that it needs: %i', (count, text) => {
  expect(counted(count, 'line')).toBe(text)
})

it('a noun may have a plural of its own', () => {
  expect([1, 2].map((count) => counted(count, 'category', 'categories'))).toEqual(['1 category', '2 categories'])
})
