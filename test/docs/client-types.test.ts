import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { blocksIn } from './blocks.ts'

/** What somebody has who copies client.mjs and client.d.mts into a project of TypeScript. */
let folder: string
beforeEach(() => {
  folder = tempFolder()
  for (const name of ['client.mjs', 'client.d.mts']) copyFileSync(`docs/examples/${name}`, join(folder, name))
})

const STRICT = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--types', '']
const FOR_BROWSERS = ['--target', 'es2022', '--lib', 'es2022,dom', '--module', 'nodenext']

/** What the compiler says; empty if it is content. */
async function compiled(...args: readonly string[]): Promise<string> {
  const all = ['--ignoreConfig', ...STRICT, ...FOR_BROWSERS, ...args]
  const tsc = promisify(execFile)(resolve('node_modules/.bin/tsc'), all, { cwd: folder })
  return tsc.then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

/** What the page shows. */
const [SHOWN = ''] = blocksIn(readFileSync('docs/clients.md', 'utf8')).flatMap(({ language, text }) =>
  language === 'ts' ? [text] : [],
)
const CALLS = `${SHOWN}
export async function answered(): Promise<Answer> {
  return call({ path: '/me/quota', headers: { 'Idempotency-Key': 'one' } })
}
`.replace('import {', 'import { type Answer,')

test('the client has types in a strict project, without any of Node', async () => {
  writeFileSync(join(folder, 'calls.mts'), CALLS)
  expect(await compiled('--noEmit', 'calls.mts')).toBe('')
  writeFileSync(join(folder, 'calls.mts'), CALLS.replace('patience: 30', 'patience: "30"'))
  expect(await compiled('--noEmit', 'calls.mts')).toContain("Type 'string' is not assignable to type 'number'")
})

test('the types are those of the client itself', async () => {
  rmSync(join(folder, 'client.d.mts'))
  expect(await compiled('--allowJs', '--checkJs', '--declaration', '--emitDeclarationOnly', 'client.mjs')).toBe('')
  const plain = (text: string): string => text.replaceAll(/[\s;]+/g, ' ').trim()
  expect(plain(readFileSync('docs/examples/client.d.mts', 'utf8'))).toBe(
    plain(readFileSync(join(folder, 'client.d.mts'), 'utf8')),
  )
})
