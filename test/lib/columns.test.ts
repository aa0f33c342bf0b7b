import { expect, test } from 'vitest'
import { inColumns } from '../../src/lib/columns.ts'

test('cells stand below each other, and a row may have fewer of them', () => {
  expect(inColumns([['alice', '3', ''], ['bob', '1200', 'new'], ['and 2 more']])).toEqual([
    'alice       3',
    'bob         1200  new',
    'and 2 more',
  ])
})

test('any number of rows is laid out', () => {
  expect(inColumns(Array(300_000).fill(['a', 'b'])).at(-1)).toBe('a  b')
})
