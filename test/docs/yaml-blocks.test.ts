import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { blocksIn } from './blocks.ts'
import { DOCUMENTS } from './commands.ts'

/** Configurations in documents, whole or a part, are taken without a problem. Those of the chart are in test/deploy/docs.test.ts. */

const LEAST = 'upstream: { url: http://127.0.0.1:9000 }\n'

const blocks = DOCUMENTS.filter((document) => document !== 'helm/README.md').flatMap((document) =>
  blocksIn(readFileSync(document, 'utf8'))
    .filter(({ language }) => language === 'yaml')
    .map(({ text, line }) => [`${document}:${line}`, /^upstream:/m.test(text) ? text : LEAST + text] as const),
)

test('documents have configurations', () => expect(blocks.length).toBeGreaterThan(2))

test.each(blocks)('%s', (_where, text) => {
  const env = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, 'x'.repeat(32)]))
  const loaded = parseConfig(text, 'tollgate.yaml', env)
  expect(formatProblems([...(loaded.ok ? [] : loaded.problems), ...loaded.warnings])).toBe('')
})
