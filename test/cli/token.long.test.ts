import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { token as tokenCommand } from '../../src/cli/token.ts'
import { hashAccessKey, importedRecord, mintToken } from '../../src/control/access-key-record.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { YAML } from '../admin/running.ts'
import { keepAccessKey } from '../control/keep-access-key.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { called } from './called.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)

const folder = tempFolder()
writeFileSync(join(folder, 'tollgate.yaml'), YAML.replace('sqlite::memory:', `sqlite:${join(folder, 'quota.db')}`))

const file = (): string[] => ['-c', join(folder, 'tollgate.yaml')]
const token = (...args: string[]) => run(process.execPath, ['src/main.ts', 'token', ...args, ...file()])

test('access keys made and revoked on the command line are in the audit, once each', async () => {
  const { stdout } = await token('create', '--user', 'alice', '--name', 'phone')
  const id = (await token('list')).stdout.split('\t')[0] ?? ''
  for (let i = 0; i < 2; i++) await token('revoke', id)
  await expect(token('revoke', 'nobody')).rejects.toMatchObject({ code: 1 })
  const entries = await closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') })).readAudit(null, 10)
  expect(entries).toMatchObject([
    { what: 'token_revoked', subject: id, who: 'command line', to: { user: 'alice', name: 'phone' } },
    { what: 'token_created', subject: id, who: 'command line', to: { user: 'alice', name: 'phone', expiresAt: null } },
  ])
  expect(JSON.stringify(entries)).not.toContain(stdout.trim())
})

test('all access keys of a user are revoked by one command, with one entry in the audit', async () => {
  for (const user of ['dora', 'dora', 'emil']) await token('create', '--user', user, '--name', 'phone')
  expect((await token('revoke', '--user', 'dora')).stderr).toContain('2 access keys of dora are revoked.')
  expect((await token('revoke', '--user', 'dora')).stderr).toContain('0 access keys of dora are revoked.')
  const states = (await token('list')).stdout.split('\n').flatMap((line) => {
    const [, user, , state = ''] = line.split('\t')
    return user === 'dora' || user === 'emil' ? [`${user} ${state.slice(0, 7)}`] : []
  })
  expect(states.sort()).toEqual(['dora revoked', 'dora revoked', 'emil valid'])
  const [entry] = await closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') })).readAudit(null, 1)
  expect(entry).toMatchObject({ what: 'tokens_revoked', subject: 'dora', who: 'command line' })
})

test('a store that is not there is reported with its whole path, and made by the first access key alone, which reports it', async () => {
  const elsewhere = mkdtempSync(join(folder, 'elsewhere-'))
  const config = join(elsewhere, 'tollgate.yaml')
  writeFileSync(config, YAML.replace('sqlite::memory:', 'sqlite:quota.db'))
  const main = resolve('src/main.ts')
  const there = (...args: string[]) => run(process.execPath, [main, ...args, '-c', config], { cwd: elsewhere })
  const path = join(elsewhere, 'quota.db')
  for (const args of [
    ['token', 'list'],
    ['token', 'revoke', 'some-id'],
    ['explain', '--user', 'alice', '--path', '/'],
  ]) {
    const stderr = expect.stringContaining(
      ` store: there is no file ${path}: start the gateway, which makes it, run the command in its folder`,
    )
    await expect(there(...args)).rejects.toMatchObject({ code: 1, stdout: '', stderr })
  }
  expect(readdirSync(elsewhere)).toEqual(['tollgate.yaml'])

  await openSqliteStore({ file: path }).close()
  expect(await there('token', 'list')).toEqual({ stdout: '', stderr: `There are no access keys in ${path}.\n` })
  rmSync(path)
  const made = `Its store ${path} was made with it: `
  expect((await there('token', 'create', '--user', 'alice', '--name', 'a')).stderr).toContain(made)
  expect((await there('token', 'create', '--user', 'alice', '--name', 'b')).stderr).not.toContain(made)
})

test('an access key that has got out is revoked by itself, and reported by its id alone', async () => {
  const made = (await token('create', '--user', 'eve', '--name', 'leaked')).stdout.trim()
  const id = (await token('list')).stdout
    .split('\n')
    .find((line) => line.includes('leaked'))
    ?.split('\t')[0]
  expect((await token('revoke', made)).stderr).toBe(`The access key ${id} is revoked.\n`)
  expect((await token('list')).stdout).toMatch(/eve\tleaked\trevoked/)
  const { token: unknown } = mintToken({ user: 'eve', name: 'x', expiresAt: null }, 0)
  await expect(token('revoke', unknown)).rejects.toMatchObject({
    code: 1,
    stderr: 'tollgate: no access key has this id, and none is this key. See: tollgate token list\n',
  })
})

test('an imported key of any form is revoked by itself, and no text that matches nothing is printed', async () => {
  const key = 'b3b0a5c2-6d3e-4f0a-9c53-0d8a4f1f8f11'
  const store = openSqliteStore({ file: join(folder, 'quota.db') })
  const owner = { user: 'frida', name: 'old', expiresAt: null }
  const record = importedRecord({ ...owner, hash: hashAccessKey(key) }, 1000)
  await keepAccessKey(store, record)
  await store.close()
  expect(await called('token', 'revoke', key, ...file())).toEqual({
    code: 0,
    stdout: '',
    stderr: `The access key ${record.id} is revoked.\n`,
  })
  expect((await called('token', 'list', ...file())).stdout).toMatch(/frida\told\trevoked/)
  const { token: made } = mintToken({ user: 'eve', name: 'x', expiresAt: null }, 0)
  for (const unknown of [made.slice(0, -1), 'sk-live-4711', key.replace('b3', 'b4')]) {
    const { code, stderr } = await called('token', 'revoke', unknown, ...file())
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'tollgate: no access key has this id, and none is this key. See: tollgate token list\n',
    })
  }
})

test('a lifetime that no date can hold is refused, and leaves the list and the audit readable', async () => {
  const call = (lifetime: string) => ['create', '--user', 'bob', '--name', 'long', '--expires', lifetime]
  await token(...call('36500d'))
  const stderr = expect.stringContaining('at most 36500d')
  await expect(token(...call('36501d'))).rejects.toMatchObject({ code: 2, stderr })
  for (const lifetime of ['99999999d', '999999999999d']) {
    expect(await wrongCall(tokenCommand([...call(lifetime), ...file()]))).toContain('at most 36500d')
  }
  expect((await token('list')).stdout).toMatch(/bob\tlong\tvalid until 2/)
})

test('an access key has a plan of the file and an organisation, which its record keeps', async () => {
  const yaml = join(folder, 'plans.yaml')
  const there = `sqlite:${join(folder, 'quota.db')}`
  writeFileSync(yaml, YAML.replace('sqlite::memory:', there).replace('quota:', 'quota:\n  plans: { pro: {} }'))
  const create = (plan: string) =>
    tokenCommand(['create', '--user', 'pat', '--name', 'n', '--plan', plan, '--organisation', 'acme', '-c', yaml])
  expect(await wrongCall(create('por'))).toContain('--plan must be one of pro; did you mean "pro"?')
  expect(await create('pro')).toBe(0)
  const store = closedAtEnd(openSqliteStore({ file: join(folder, 'quota.db') }))
  const found = (await store.listTokens()).filter(({ user }) => user === 'pat')
  expect(found).toMatchObject([{ plan: 'pro', organisation: 'acme' }])
  expect(await store.readAudit(null, 1)).toMatchObject([{ to: { plan: 'pro', organisation: 'acme' } }])
})

test.each([
  [['create', '--user', 'alice', '--name', 'x', '--plan', 'pro'], '--plan names a plan, and the file has none'],
  [['create', '--user', 'alice', '--name', 'x', '--organisation', '.'], '--organisation takes'],
  [['list', '--user', 'alice'], 'does not take --user'],
  [['list', 'alice'], 'does not take "alice"'],
  [['create', 'alice', '--user', 'alice', '--name', 'x'], 'does not take "alice"'],
  [['create', '--user', 'alice', '--name', 'x', '--expires', '0s'], '--expires takes a duration'],
  [['revoke', '--user', 'alice', 'some-id'], 'does not take --user'],
  [['revoke', 'some-id', 'another-id'], 'one ID'],
  [['revoke'], 'one ID'],
  [['revoke', '--user', ''], '--user takes'],
  [['revoke', '--user', 'alice', '--name', 'x'], 'does not take --name'],
  [['lst'], 'create, list, revoke'],
])('token %j is called wrongly, since nothing is ignored', async (args, said) => {
  expect(await wrongCall(tokenCommand([...args, ...file()]))).toContain(said)
})
