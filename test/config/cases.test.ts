import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { plain } from './plain.ts'

/**
 * One file for each case: the configuration, a line of dashes, and what is expected of it. That is either the problems
 * and warnings as `check` prints them, or, where it begins with a brace, what is understood: the keys named must be
 * there with these values, and after `----- whole` no others; warnings may follow behind a second line of dashes. `# env NAME=value` sets a variable. A case needs no code.
 */
const folder = new URL('./cases/', import.meta.url)

describe('a configuration file', () => {
  for (const name of readdirSync(folder)) {
    const { input, env, whole, expected, warnings } = readCase(readFileSync(new URL(name, folder), 'utf8'))

    test(name.replace(/\.case$/, '').replaceAll('-', ' '), () => {
      const result = parseConfig(input, 'tollgate.yaml', env)
      const told = result.ok ? result.warnings : [...result.problems, ...result.warnings]
      if (!expected.startsWith('{')) return expect(formatProblems(told)).toBe(expected)

      expect(formatProblems(told)).toBe(warnings)
      // A digest of `routes`, which are looked at.
      const { rulesHash: _, ...understood } = plain(result.ok && result.config) as { readonly rulesHash: string }
      if (whole) expect(understood).toEqual(JSON.parse(expected))
      else expect(understood).toMatchObject(JSON.parse(expected))
    })
  }
})

function readCase(text: string) {
  const [, input = '', whole, expected = ''] = /^([\s\S]*?)^-----( whole)?\n([\s\S]*)$/m.exec(text) ?? []
  const env = Object.fromEntries([...input.matchAll(/^# env (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
  const [first = '', warnings = ''] = expected.split(/^-----\n/m)
  return { input, env, whole: whole !== undefined, expected: first.trimEnd(), warnings: warnings.trimEnd() }
}
