import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { user as command } from '../../src/cli/user.ts'
import { mintToken } from '../../src/control/access-key-record.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { YAML } from '../admin/running.ts'
import { keepAccessKey } from '../control/keep-access-key.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)

const folder = tempFolder()
const file = join(folder, 'quota.db')
beforeAll(async () => {
  writeFileSync(join(folder, 'tollgate.yaml'), YAML.replace('sqlite::memory:', `sqlite:${file}`))
  const store = openSqliteStore({ file })
  for (const user of ['alice', 'bob'])
    await keepAccessKey(store, mintToken({ user, name: 'laptop', expiresAt: null }, 1000).record)
  await store.close()
})

const user = (...args: string[]) =>
  run(process.execPath, ['src/main.ts', 'user', ...args, '-c', join(folder, 'tollgate.yaml')])

test('a user is exported and forgotten on the command line, where no gateway runs', async () => {
  const before = JSON.parse((await user('export', 'alice')).stdout)
  expect(before).toMatchObject({
    user: 'alice',
    accessKeys: [{ user: 'alice', name: 'laptop' }],
    audit: [{ version: 1 }],
  })
  const forgotten = await user('forget', 'alice', '--reason', 'ticket 4711')
  expect(forgotten.stdout).toMatch(/^forgotten-[0-9a-f]{12}\n$/)
  expect(JSON.parse((await user('export', 'alice')).stdout)).toMatchObject({ accessKeys: [], audit: [] })
  const store = closedAtEnd(openSqliteStore({ file }))
  expect((await store.listTokens()).map((token) => token.user)).toEqual(['bob'])
  const entry = { what: 'user_forgotten', who: 'command line', why: 'ticket 4711', subject: forgotten.stdout.trim() }
  expect(await store.readAudit(null, 1)).toMatchObject([entry])
})

test('a misspelt id is refused on the command line, unless it is to go from reasons as a word', async () => {
  const refused = {
    code: 1,
    stderr: expect.stringContaining('Nothing is kept of user "yearly", so nothing was changed.'),
  }
  await expect(user('forget', 'yearly')).rejects.toMatchObject(refused)
  expect((await user('forget', 'yearly', '--words')).stdout).toMatch(/^forgotten-[0-9a-f]{12}\n$/)
})

test.each([
  [[], 'user takes export ID or forget ID'],
  [['list'], 'user takes export ID or forget ID'],
  [['forget'], 'user forget takes one ID'],
  [['forget', 'alice', 'bob'], 'user forget takes one ID'],
  [['forget', '..'], 'user forget takes a user id: 1 to 256 bytes'],
  [['export', 'alice', '--reason', 'r'], 'user export does not take --reason'],
  [['export', 'alice', '--words'], 'user export does not take --words'],
  [['forget', 'alice', '--reason', ''], '--reason must be'],
])('%j is a wrong call', async (args, why) => {
  expect(await wrongCall(command(args))).toContain(why)
})
