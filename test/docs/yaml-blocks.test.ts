import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { blocksIn } from './blocks.ts'
import { DOCUMENTS } from './commands.ts'

/** Configurations in documents, whole or a part, are taken without a problem. Those of the chart are in test/deploy/docs.test.ts. */

const URL = 'http://127.0.0.1:9000'
const VALUES: Readonly<Record<string, string>> = {
  TOLLGATE_UPSTREAM: URL,
  CHART_URL: URL,
  SYNC_URL: URL,
  TOLLGATE_STORE: 'sqlite:x.db',
  HOOK_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
}
/** A value for each variable that a text names. */
const environmentOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, VALUES[name] ?? 'x'.repeat(32)]))
const LEAST = 'upstream: { url: http://127.0.0.1:9000 }\n'
const LIMITS = 'quota: { baselines: { personal: { read: { 1h: 1000 }, write: { 1h: 1000 } } } }\n'

const blocks = DOCUMENTS.filter((document) => document !== 'helm/README.md').flatMap((document) =>
  blocksIn(readFileSync(document, 'utf8'))
    .filter(({ language }) => language === 'yaml')
    .map(({ text, line }) => [`${document}:${line}`, wholeOf(text)] as const),
)

/** Files of secrets are on the machines of others. */
const withSecrets = (text: string): string => text.replaceAll(/\$\{file:[^}]+\}/g, 'x'.repeat(32))

/** What a part leaves out. A whole configuration has its limits. */
function wholeOf(text: string): string {
  if (/^upstream:/m.test(text)) return text
  return /^quota:/m.test(text) ? LEAST + text : LEAST + LIMITS + text
}

test.each(['config/demo.yaml', 'config/tollgate.yaml'])('%s has no warning', (file) => {
  const text = readFileSync(file, 'utf8')
  const loaded = parseConfig(text, file, environmentOf(text))
  expect(formatProblems([...(loaded.ok ? [] : loaded.problems), ...loaded.warnings])).toBe('')
})

test('documents have configurations', () => expect(blocks.length).toBeGreaterThan(2))

test.each(blocks)('%s', (_where, text) => {
  const loaded = parseConfig(withSecrets(text), 'tollgate.yaml', environmentOf(text))
  expect(formatProblems([...(loaded.ok ? [] : loaded.problems), ...loaded.warnings])).toBe('')
})
