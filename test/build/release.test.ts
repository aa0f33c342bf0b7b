import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PLACES, problems, set } from '../../build/release.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { tempFolder } from '../setup/at-end.ts'

const folder = tempFolder()
for (const file of new Set([...PLACES.map((place) => place.file), 'CHANGELOG.md'])) cpSync(file, join(folder, file))

test('all places say the same version and the same repository today', () => {
  const repository = packageJson.repository.replace(/^git\+|\.git$/g, '')
  const found = problems('.', { version: packageJson.version, repository })
  // Until it is released it has no section of its own.
  expect(found.filter((line) => !line.startsWith('CHANGELOG.md'))).toEqual([])
})

test('a release writes its version and its repository into each place, and then lacks its section of the changelog only', () => {
  const release = { version: '7.8.9', repository: 'https://forge.example/others/tollgate' }
  expect(problems(folder, release).length).toBe(PLACES.length + 1)
  set(folder, release)
  expect(problems(folder, release)).toEqual(['CHANGELOG.md: no section "## 7.8.9 (date)"'])
  expect(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))).toMatchObject({
    version: '7.8.9',
    packages: { '': { version: '7.8.9' }, services: { version: '7.8.9' } },
  })
})

test.each([
  ['publish', '1.2.0', 'https://forge.example/team/tollgate'],
  ['set', 'v1.2', 'https://forge.example/team/tollgate'],
  ['check', '1.2.0', 'forge.example'],
])('the command %s %s %s is refused with an example of a right one, and changes nothing', (...args) => {
  const before = readFileSync('package.json', 'utf8')
  const { status, stderr } = spawnSync(process.execPath, ['build/release.ts', ...args], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([2, expect.stringContaining('Say for example: node build/release.ts set 1.2.0')])
  expect(readFileSync('package.json', 'utf8')).toBe(before)
})
