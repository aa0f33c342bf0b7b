// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the file, not of JavaScript
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { adminAddress } from '../../src/config/admin-address.ts'
import { type LoadResult, loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { substitute } from '../../src/config/substitute.ts'
import { tempFolder } from '../setup/at-end.ts'

const TOKEN = 'a-token-in-a-file-0123456789abcdef'

let folder: string
let file: string
beforeEach(() => {
  folder = tempFolder()
  file = put('tollgate.yaml', 'upstream: { url: http://127.0.0.1:9000 }\nadmin: { token: "${file:token}" }\n')
})

function put(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

const tokenIn = (loaded: LoadResult) => (loaded.ok ? loaded.config.admin.tokens[0]?.token : problemsIn(loaded))
const problemsIn = (loaded: LoadResult) =>
  loaded.ok ? '' : formatProblems(loaded.problems).replaceAll(folder, 'FOLDER')

test('a secret of a file is its text without the end of the line, by a path that is relative to the configuration', async () => {
  for (const written of [TOKEN, `${TOKEN}\n`, `${TOKEN}\r\n`]) {
    put('token', written)
    expect(tokenIn(await loadConfig(file, {}))).toBe(TOKEN)
  }
  expect(await adminAddress(file, {})).toMatchObject({ value: { token: TOKEN } })
})

test('a secret of a file that holds digits alone stays text, and one that looks like a variable is not looked at again', async () => {
  put('token', '00000000000000000000000000000017')
  expect(tokenIn(await loadConfig(file, {}))).toBe('00000000000000000000000000000017')
  put('token', '${HOME}${file:token}$${0123456789')
  expect(tokenIn(await loadConfig(file, {}))).toBe('${HOME}${file:token}$${0123456789')
})

test('a secret of a file stands beside variables, of which one may have the name file', () => {
  put('password', 'p%40ss\n')
  const text = 'redis://${USER}:${file:password}@r/${file:-0}'
  expect(substitute(text, { USER: 'ann' }, (path) => ({ value: path.toUpperCase() }))).toEqual({
    value: 'redis://ann:PASSWORD@r/0',
  })
})

test('a file that holds no secret is a problem with its path and the cure, and what it holds is never repeated', async () => {
  const missing =
    'FOLDER/tollgate.yaml:2:17 admin.token: the file "FOLDER/token" cannot be read (ENOENT): check the path and the permissions'
  expect(problemsIn(await loadConfig(file, {}))).toBe(missing)
  const cases: [string | Buffer, string][] = [
    ['\n', 'the file "FOLDER/token" is empty: write the secret into it, and nothing else'],
    ['x'.repeat(65_537), 'the file "FOLDER/token" is larger than 64 KiB: name one that holds the secret alone'],
    [Buffer.from([0xff, 0xfe]), 'the file "FOLDER/token" is not UTF-8: save it so'],
    ['hunter2 hunter2 hunter2', 'is not 16 to 1024 visible ASCII characters: make one with "openssl rand -hex 32"'],
  ]
  for (const [content, problem] of cases) {
    put('token', content)
    expect(problemsIn(await loadConfig(file, {}))).toBe(`FOLDER/tollgate.yaml:2:17 admin.token: ${problem}`)
  }
  put('tollgate.yaml', 'upstream: { url: http://127.0.0.1:9000 }\nlog: { level: "${file:token}" }\n')
  expect(problemsIn(await loadConfig(file, {}))).toContain('got the text "${file:token}"')
})

test('a huge file that is named as the file of a secret is not read, nor is a folder', async () => {
  truncateSync(put('token', ''), 8 * 2 ** 30)
  expect(problemsIn(await loadConfig(file, {}))).toContain('"FOLDER/token" is larger than 64 KiB: name one')
  rmSync(join(folder, 'token'))
  mkdirSync(join(folder, 'token'))
  expect(problemsIn(await loadConfig(file, {}))).toContain('"FOLDER/token" cannot be read (EISDIR)')
})

test('a pipe that is named as the file of a secret keeps no start waiting', async () => {
  execFileSync('mkfifo', [join(folder, 'token')])
  expect(problemsIn(await loadConfig(file, {}))).toContain('"FOLDER/token" is not a regular file: name one')
})
