import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { apiTypes } from '../../build/api-types.ts'
import { tempFolder } from '../setup/at-end.ts'

/** The types of the admin API that the package has. */

const run = promisify(execFile)

let types: string
beforeAll(() => {
  types = apiTypes()
}, 60_000)

test('the published types import nothing, and know every type', () => {
  // A path ends in the word.
  expect(types).not.toMatch(/(?<!\/)\bimport\b|\bany\b|\bz\./)
})

test('the module of types has no code, so that the page does not gain the schemas', () => {
  const code = stripTypeScriptTypes(readFileSync('src/contract/api.ts', 'utf8')).replace(/\/\*.*?\*\//gs, '')
  expect(code.trim()).toBe('')
})

test('the published types keep the comments of types and of fields', () => {
  expect(types).toContain('/** GET /api/now */\nexport type NowResponse = {\n')
  expect(types).toContain('  /** Sums over the replicas since the start of each. */\n  readonly counts: {\n')
})

describe('a program in a folder without libraries', () => {
  const folder = tempFolder()

  test('a program in a folder without libraries compiles with the published types, and not if it asks for what no response has', async () => {
    writeFileSync(join(folder, 'api.d.ts'), types)
    const program = `
      import type { AuditResponse, ErrorResponse, OverrideBody, QuotaPatch, UsersResponse } from './api.d.ts'
      export const versionOf = (response: ErrorResponse): number => response.version ?? 0
      export const blocked = ({ users }: UsersResponse): string[] => users.filter(({ blocked }) => blocked).map(({ user }) => user)
      export const what = (audit: AuditResponse): 'settings' | undefined => audit.entries.find(({ what }) => what === 'settings') && 'settings'
      export const patch: QuotaPatch = { mode: null, baselines: { personal: { read: { '1h': 5, '1d': null } } } }
      export const override: OverrideBody = { read: { '1h': 500 }, shadow: true, reason: 'a big event' }
      // @ts-expect-error: no such member
      export const missing = (response: ErrorResponse) => response.nothing
      // @ts-expect-error: no such mode
      export const wrong: QuotaPatch = { mode: 'fast' }
      // @ts-expect-error: responses are not written to
      export const write = (response: UsersResponse) => response.users.pop()
    `
    writeFileSync(join(folder, 'program.mts'), program)
    const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--allowImportingTsExtensions']
    const args = [...options, '--module', 'nodenext', '--types', '', 'program.mts']
    const compiled = run(resolve('node_modules/.bin/tsc'), args, { cwd: folder })
    await expect(compiled).resolves.toMatchObject({ stdout: '' })
  }, 60_000)
})
