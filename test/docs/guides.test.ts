import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { blocksIn } from './blocks.ts'

/** The others say what is put into a whole configuration. */
const PARTS = ['README.md', 'identity-providers.md', 'leads.md']
const GUIDES = readdirSync('docs/guides').filter((name) => !PARTS.includes(name))
/** Others limit `read` and `write`. */
const CATEGORIES: Readonly<Record<string, object>> = { 'llm-api.md': { requests: {}, tokens: {} } }

test.each(GUIDES)('docs/guides/%s begins in shadow, with limits that are written and a time zone', (name) => {
  const blocks = blocksIn(readFileSync(`docs/guides/${name}`, 'utf8'))
  const whole = blocks.filter(({ language, file }) => language === 'yaml' && file === 'tollgate.yaml')
  expect(whole).toHaveLength(1)
  const { quota, time_zone } = parse(whole[0]?.text ?? '') as Record<string, unknown>
  expect(quota).toMatchObject({ shadow: true, baselines: { personal: CATEGORIES[name] ?? { read: {}, write: {} } } })
  expect(time_zone).toBe('Etc/UTC')
})
