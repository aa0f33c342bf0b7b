import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ALL } from '../../src/cli/commands.ts'
import { DOCUMENTS } from './commands.ts'
import { proseOf, wordsIn } from './prose.ts'

/** The changelog, and the values of the chart, are lists for whoever looks something up. */
const PAGES = DOCUMENTS.filter((page) => page !== 'CHANGELOG.md' && page !== 'helm/README.md')

const MOST_IN_A_CELL = 30

test('a page is taken apart into sentences and cells, without code and addresses', () => {
  expect(
    proseOf(
      '# A head\n\nOne `a. B` [two](x.md). Three:\nfour\n\n| A | B. C |\n|---|---|\n\n- five\n- six\n```sh\nls\n```',
    ),
  ).toEqual({
    cells: ['A', 'B. C'],
    sentences: ['', 'One code [two].', 'Three: four', 'five', 'six', 'A', 'B.', 'C'],
  })
})

/** Slogans, and words that say nothing. */
const GIVEN_UP =
  /\b(?:seamless(?:ly)?|blazing(?:ly)?|effortless(?:ly)?|world-class|cutting-edge|game-changing|leverages?|utili[sz]es?)\b/i

test.each(PAGES)('%s has cells that are phrases, and no slogan', (page) => {
  const { sentences, cells } = proseOf(readFileSync(page, 'utf8'))
  expect(cells.filter((cell) => wordsIn(cell) > MOST_IN_A_CELL)).toEqual([])
  expect(sentences.filter((sentence) => GIVEN_UP.test(sentence))).toEqual([])
})

test.each(DOCUMENTS)('%s ends each block that it begins', (page) => {
  const fences = readFileSync(page, 'utf8').match(/^ *```/gm) ?? []
  expect(fences.length % 2).toBe(0)
})

test.each(DOCUMENTS)('%s has no mark of a merge that nobody finished', (page) => {
  expect(readFileSync(page, 'utf8')).not.toMatch(/^(?:<{7}|>{7}) /m)
})

/** Words of which the project has another one: an access key, the upstream. */
const OTHER_WORDS = /\bgateway tokens?\b|(?<![-/])\bbackends?\b(?![-.])/i

test.each(DOCUMENTS)('%s calls an access key and the upstream by these words', (page) => {
  const { sentences } = proseOf(readFileSync(page, 'utf8'))
  expect(sentences.filter((sentence) => OTHER_WORDS.test(sentence))).toEqual([])
})

const TEXTS = [
  ...['config/tollgate.yaml', 'config/tollgate.schema.json', 'helm/values.schema.json', 'helm/templates/NOTES.txt'],
  ...['helm/dashboards/operations.json', 'helm/dashboards/quotas.json', 'helm/rules/tollgate.yaml'],
]

test.each(TEXTS)('%s calls an access key and the upstream by these words, too', (file) => {
  const lines = readFileSync(file, 'utf8').split('\n')
  expect(lines.filter((line) => OTHER_WORDS.test(line))).toEqual([])
})

test('no help of a command calls an access key or the upstream by another word', () => {
  const helps = ALL.map(({ summary, help }) => `${summary}\n${help}`)
  expect(helps.filter((help) => OTHER_WORDS.test(help))).toEqual([])
})
