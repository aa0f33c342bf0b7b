import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openHome } from '../../src/demo/home.ts'

test('a folder that cannot be is named, with the variable that chooses another one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-home-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'a-file')
  writeFileSync(file, '')
  expect(() => openHome(file)).toThrow(/a-file cannot be the folder of the demo \(EEXIST.*TOLLGATE_HOME/)
})

test('a secret is made once, and anew where a full disk has left an empty file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-home-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const home = openHome(folder)
  const first = home.secret('bot-token')
  expect(first).toMatch(/^[\w-]{43}$/)
  expect(openHome(folder).secret('bot-token')).toBe(first)

  writeFileSync(join(folder, 'bot-token'), '')
  expect(home.kept('bot-token')).toBeNull()
  const second = home.secret('bot-token')
  expect(second).toMatch(/^[\w-]{43}$/)
  expect(readFileSync(join(folder, 'bot-token'), 'utf8')).toBe(`${second}\n`)
})
