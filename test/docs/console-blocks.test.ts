import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { blocksIn } from './blocks.ts'
import { DOCUMENTS } from './commands.ts'

test('each document with a console block is followed by a test', () => {
  const tests = globSync(['test/docs/*.test.ts', 'test/e2e/tour.test.ts']).map((file) => readFileSync(file, 'utf8'))
  const alone = DOCUMENTS.filter((document) =>
    blocksIn(readFileSync(document, 'utf8')).some(({ language }) => language === 'console'),
  ).filter(
    (document) =>
      !tests.some((text) => text.includes(`follow('${document}'`) || text.includes(`readFileSync('${document}'`)),
  )
  expect(alone).toEqual([])
})
