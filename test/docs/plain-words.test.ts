import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DOCUMENTS } from './commands.ts'
import { proseOf, wordsIn } from './prose.ts'

/** The changelog, and the values of the chart, are lists for whoever looks something up. */
const PAGES = DOCUMENTS.filter((page) => page !== 'CHANGELOG.md' && page !== 'helm/README.md')

const MOST_IN_A_SENTENCE = 25
const MOST_IN_A_CELL = 30

test('a page is taken apart into sentences and cells, without code and addresses', () => {
  expect(
    proseOf(
      '# A head\n\nOne `a. B` [two](x.md). Three:\nfour\n\n| A | B. C |\n|---|---|\n\n- five\n- six\n```sh\nls\n```',
    ),
  ).toEqual({
    cells: ['A', 'B. C'],
    sentences: ['', 'One code [two].', 'Three:', 'four', 'five', 'six', 'A', 'B.', 'C'],
  })
})

test.each(PAGES)('%s has no sentence above 25 words and no cell above 30', (page) => {
  const { sentences, cells } = proseOf(readFileSync(page, 'utf8'))
  expect(sentences.filter((sentence) => wordsIn(sentence) > MOST_IN_A_SENTENCE)).toEqual([])
  expect(cells.filter((cell) => wordsIn(cell) > MOST_IN_A_CELL)).toEqual([])
})
