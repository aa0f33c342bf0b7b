import fc from 'fast-check'
import { expect, it } from 'vitest'
import { csvCell, csvRow, rowOf } from '../../src/lib/csv.ts'

it('a row of CSV gives back every text without line breaks, and no cell of it is a formula to a spreadsheet', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }).filter((each) => !/[\r\n]/.test(each)),
    fc.stringMatching(/^'{0,3}[=+@"',;-]{0,3}[a-z"',;=]{0,5}$/),
  )
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 6 }), (texts) => {
      expect(rowOf(csvRow(texts), texts.length)).toEqual({ cells: texts })
      for (const each of texts) expect(csvCell(each)).not.toMatch(/^"?[\s\u0000-\u001f]*[=+\-@＝＋－＠]/)
    }),
  )
}, 60_000)

it.each([
  ['=1+1', "'=1+1"],
  ["'=1", "''=1"],
  ["'bob", "'bob"],
  ['-1', "'-1"],
  [' =1', "' =1"],
  ["'\u00a0＝1", '"\'\'\u00a0＝1"'],
  [' a', '" a"'],
  ['\u0000@a', "'\u0000@a"],
  ['a;=b', '"a;=b"'],
  ['a,b', '"a,b"'],
  ['"', '""""'],
  [' =1', "' =1"],
  ['\u0001=1', "'\u0001=1"],
  [' a b ', '" a b "'],
  ['a b', 'a b'],
  [-1, '-1'],
])('a row of CSV has %s as %s', (text, cell) => expect(csvCell(text)).toBe(cell))

it.each([
  ['"open, and on', 'column 1: a quote is not closed'],
  ['a,"b" c', 'column 6: behind a closed quote'],
  ['a,b"c', 'column 3: has a quote in a cell'],
])('a row of CSV of %s has a problem', (line, problem) => {
  expect(rowOf(line, 5)).toEqual({ problem: expect.stringContaining(problem) })
})

it('a row of CSV of a million commas is not read to its end', () => {
  expect(rowOf(','.repeat(1_000_000), 3)).toEqual({ cells: ['', '', '', ''] })
})
