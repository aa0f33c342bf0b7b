import { describe, expect, test } from 'vitest'
import {
  afterChoosing,
  directionOf,
  orderOf,
  type Sortable,
  sortedRows,
} from '../../src/dashboard/logic/table-order.ts'

interface Row {
  readonly name: string
  readonly tokens: number | null
}
const NAME: Sortable<Row> = { id: 'name', sort: ({ name }) => name }
const TOKENS: Sortable<Row> = { id: 'tokens', sort: ({ tokens }) => tokens, isNumber: true }
const USE: Sortable<Row> = { id: 'use', sort: 'server', isNumber: true }
const PLAIN: Sortable<Row> = { id: 'plain' }
const COLUMNS = [NAME, TOKENS, USE, PLAIN]
const ROWS: readonly Row[] = [
  { name: 'bob', tokens: 5 },
  { name: 'Alice', tokens: null },
  { name: 'carol', tokens: 70 },
  { name: 'dan', tokens: 5 },
]
const names = (written: string | undefined) =>
  sortedRows(ROWS, COLUMNS, orderOf(written, COLUMNS, null)).map(({ name }) => name)

test('numbers begin with the greatest, texts with the first, and what is not known is last either way', () => {
  expect(names('tokens')).toEqual(['carol', 'bob', 'dan', 'Alice'])
  expect(names('-tokens')).toEqual(['bob', 'dan', 'carol', 'Alice'])
  expect(names('name')).toEqual(['Alice', 'bob', 'carol', 'dan'])
  expect(names('-name')).toEqual(['dan', 'carol', 'bob', 'Alice'])
})

test('rows of an order that the server makes, and of none, stay as they came', () => {
  const asTheyCame = ROWS.map(({ name }) => name)
  for (const written of ['use', undefined]) expect(names(written)).toEqual(asTheyCame)
})

test.each(['plain', 'nothing', '-plain', '', '-'])(
  'an address with the wrong order %j has the usual one',
  (written) => {
    expect(orderOf(written, COLUMNS, 'use')).toEqual({ by: 'use', isReversed: false })
  },
)

describe('a head', () => {
  test('a head orders by its column, the second time the other way round, the third time as at first', () => {
    let written: string | null = null
    const seen: (string | null)[] = []
    for (let i = 0; i < 3; i++) {
      written = afterChoosing(orderOf(written ?? undefined, COLUMNS, null), TOKENS, null)
      seen.push(written)
    }
    expect(seen).toEqual(['tokens', '-tokens', 'tokens'])
    expect(afterChoosing({ by: 'name', isReversed: true }, TOKENS, 'tokens')).toBe(null)
    expect(afterChoosing({ by: 'use', isReversed: false }, USE, 'tokens')).toBe('-use')
  })

  test('a head says in which direction its column is ordered', () => {
    expect(directionOf({ by: 'tokens', isReversed: false }, TOKENS)).toBe('descending')
    expect(directionOf({ by: 'tokens', isReversed: true }, TOKENS)).toBe('ascending')
    expect(directionOf({ by: 'name', isReversed: false }, NAME)).toBe('ascending')
    expect(directionOf({ by: 'name', isReversed: true }, NAME)).toBe('descending')
    expect(directionOf({ by: 'tokens', isReversed: false }, NAME)).toBe('none')
    expect(directionOf({ by: 'tokens', isReversed: false }, PLAIN)).toBe(undefined)
  })
})
