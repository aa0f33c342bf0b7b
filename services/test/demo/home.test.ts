import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { openHome } from '../../demo/home.ts'

const run = promisify(execFile)

/** Without capabilities the superuser is kept from reading as anybody is. */
const PLAIN_USER = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []

test('a folder that cannot be is named, with the variable that chooses another one', () => {
  const folder = tempFolder()
  const file = join(folder, 'a-file')
  writeFileSync(file, '')
  expect(() => openHome(file)).toThrow(/a-file cannot be the folder of the demo \(ENOTDIR.*TOLLGATE_HOME/)
})

test('a folder in a folder that is yet to be made is made with it, or reported if it cannot be made', () => {
  const folder = tempFolder()
  openHome(join(folder, 'a', 'b')).keep('fixture', 'imported')
  expect(openHome(join(folder, 'a', 'b')).kept('fixture')).toBe('imported')
  const nowhere = existsSync('/proc/self') ? '/proc/nope' : '/dev/null/nope'
  expect(() => openHome(nowhere)).toThrow(`${nowhere} cannot be the folder of the demo (EN`)
})

test('a folder, or a file in it, that another user made is reported with the cure', async () => {
  const folder = tempFolder()
  const home = join(folder, 'home')
  openHome(home).keep('token', 'x')
  const code = `(await import('./services/demo/home.ts')).openHome(${JSON.stringify(home)}).kept('token')`
  const [program, ...args] = [...PLAIN_USER, process.execPath, '-e', code]
  const stderr = expect.stringMatching(
    /home cannot be the folder of the demo \(EACCES: .*TOLLGATE_HOME, .*\(chown -R\)/,
  )
  chmodSync(join(home, 'token'), 0)
  await expect(run(program as string, args)).rejects.toMatchObject({ stderr })
  chmodSync(home, 0o500)
  await expect(run(program as string, args)).rejects.toMatchObject({ stderr })
  chmodSync(home, 0o700)
})

test('a secret is made once, and anew if a full disk has left an empty file', () => {
  const folder = tempFolder()
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
