import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { called, done } from './called.ts'

const run = promisify(execFile)

let folder: string
beforeEach(() => {
  folder = tempFolder()
})

/** @returns the path of a configuration whose store is named on its second line */
function written(more: string, store = 'sqlite::memory:'): string {
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, `upstream: { url: "http://127.0.0.1:9000" }\nstore: "${store}"\n${more}`)
  return file
}

/** @returns exit code and what was said of problems */
async function check(store: string, more = '', run = checkHere): Promise<[number, string]> {
  const { code, stderr } = await run(written(more, store))
  return [code, stderr.replaceAll(folder, 'FOLDER').trimEnd()]
}

const checkHere = (file: string): Promise<{ code: number; stderr: string }> => called('check', '-c', file)

function checkByPlainUser(file: string): Promise<{ code: number; stderr: string }> {
  const [program, ...args] = [...PLAIN_USER, process.execPath, 'src/main.ts', 'check', '-c', file]
  return run(program as string, args).then(
    (said) => ({ code: 0, ...said }),
    (error: { code: number; stderr: string }) => error,
  )
}

/** Without capabilities the superuser is kept from writing as anybody is. */
const PLAIN_USER = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []

test.each([
  [1, '1 route'],
  [2, '2 routes'],
])('tollgate check says how many rules a good file has: %i', async (count, said) => {
  const rules = Array.from({ length: count }, (_, i) => `{ match: GET /${i}, category: read }`)
  const { stdout } = await done('check', '-c', written(`routes: [${rules.join(', ')}]\n`))
  expect(stdout).toContain(`: ok (${said}, categories read and write,`)
})

test.each([
  ['{ api: { 1d: 5 } }', 'category api'],
  ['{ api: { 1d: 5 }, export: { 1d: 5 } }', 'categories api and export'],
])('tollgate check names the categories of a good file, one as one: %s', async (personal, said) => {
  const { stdout } = await done('check', '-c', written(`quota: { baselines: { personal: ${personal} } }\n`))
  expect(stdout).toContain(`: ok (0 routes, ${said}, store`)
})

test('tollgate check goes nowhere by itself, and with --connect ends with 1 and the cure for what cannot be reached', async () => {
  const file = join(folder, 'tollgate.yaml')
  const text =
    'listen: 127.0.0.1:0\nadmin: { listen: 127.0.0.1:0 }\nupstream: { url: "http://127.0.0.1:1" }\nstore: sqlite:./t.db\n'
  writeFileSync(file, text)
  const said = (...options: string[]) => called('check', ...options, '-c', file)
  expect(await said()).toMatchObject({ code: 0, stderr: '' })
  const { code, stdout, stderr } = await said('--connect')
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `${file}:3:18 upstream.url: connect ECONNREFUSED 127.0.0.1:1: start the service, or correct its address, and let this machine reach it\n`,
  })
  expect(stdout.split('\n').slice(-5)).toEqual([
    `store: ${resolve('t.db')} can be written`,
    'listen: 127.0.0.1:0 is free',
    'admin.listen: 127.0.0.1:0 is free',
    expect.stringMatching(/^edge: this process may open the \d+ files that it may need$/),
    '',
  ])
  expect(existsSync(join(folder, 't.db'))).toBe(false)
})

test('tollgate check says of each rule which of its responses cost nothing, and what its requests may cost', async () => {
  const file = written(
    `routes:
  - { match: GET /a, category: read }
  - match: POST /b
    category: write
    cost: 15
    settle: { status: { 4xx: 1, 5xx: 0, gateway: 0 }, json: returnCode, values: { 1: all }, otherwise: 0 }
  - { match: POST /c, category: write, cost: 15, settle: { header: X-Used, max: 50 } }
  - { match: POST /d, category: write, cost: { body: method, values: { a: 4 }, otherwise: 1, batch: 20 } }
quota: { baselines: { personal: { read: { 1h: 100 }, write: { 1h: 100 } } } }
`,
  )
  const { stdout, stderr } = await done('check', '-c', file)
  const free = `${file}:5 POST /b costs nothing by settle: status.5xx, status.gateway, otherwise, missing`
  const range = `${file}:10 POST /d costs 1 at the least and 80 at the most, in an array of 20`
  expect(stdout.split('\n').slice(0, 3)).toEqual([free, range, expect.stringContaining(': ok (4 routes')])
  expect(stderr).toBe('')
})

test('tollgate check prints the limits in force with the place of each, and the zone of times in messages', async () => {
  const said = async (more: string): Promise<string> => {
    const { stdout } = await done('check', '-c', written(more))
    return stdout.replaceAll(folder, 'FOLDER').replace(/^.*\n/, '')
  }
  const routes = 'routes: [{ match: GET /x, category: read }]\n'
  const baselines = 'baselines: { personal: { read: { 1d: 1000 } } }'
  expect(
    await said(`${routes}time_zone: Europe/Berlin\nquota: { shadow: true, ${baselines} }\n`),
  ).toBe(`callers: an access key of this gateway
paths without a rule: 404
limits:
  read, each user: 1000 in 1d (FOLDER/tollgate.yaml:5)
  read, all users together: no limit
shadow: the quota refuses nobody (quota.shadow)
times in messages: Europe/Berlin
`)
  expect(await said(routes)).toContain('read, each user: 120 in 1h, 400 in 5h, 1200 in 1d (built in)\n')
  expect(await said('')).toBe(`callers: an access key of this gateway
paths without a rule: 404
limits: none, as no route is charged
times in messages: Asia/Shanghai, the default of time_zone
`)
})

test.each([
  ['auth: { gateway_tokens: false }', 'nobody, as no credential is accepted', '404'],
  [
    `auth: { jwt: [${['a', 'b', 'c', 'd', 'e'].map((name) => `{ issuer: ${name}, audience: x, algorithms: [HS256], secret: 0123456789abcdef0123456789abcde${name} }`)}] }
unmatched: forward`,
    'a JWT of a or b or c or 2 more, or an access key of this gateway',
    'forwarded without a credential or a charge (unmatched)',
  ],
  [
    'auth: { anonymous: {} }\nunmatched: { category: read }',
    'an access key of this gateway, or anybody, by address',
    'charged as read (unmatched)',
  ],
])('tollgate check says who may call, and what becomes of paths without a rule: %#', async (more, callers, others) => {
  const { stdout } = await done('check', '-c', written(`${more}\n`))
  expect(stdout.split('\n').slice(1, 3)).toEqual([`callers: ${callers}`, `paths without a rule: ${others}`])
})

test('tollgate check reads the file of -c, or else that of TOLLGATE_CONFIG, or else tollgate.yaml where it is run', async () => {
  for (const name of ['option.yaml', 'variable.yaml', 'tollgate.yaml']) {
    writeFileSync(join(folder, name), 'upstream: { url: "http://127.0.0.1:9000" }\nstore: "sqlite::memory:"\n')
  }
  const main = resolve('src/main.ts')
  const checked = async (args: string[], TOLLGATE_CONFIG?: string): Promise<string | undefined> => {
    const env = { ...process.env, TOLLGATE_CONFIG }
    const { stdout } = await run(process.execPath, [main, 'check', ...args], { cwd: folder, env })
    return stdout.split(':')[0]
  }
  expect(await checked(['-c', 'option.yaml'], 'variable.yaml')).toBe('option.yaml')
  expect(await checked([], 'variable.yaml')).toBe('variable.yaml')
  expect(await checked([])).toBe('tollgate.yaml')
})

test('tollgate check takes a store that is there, and one that is still to be made, and makes none', async () => {
  const path = join(folder, 'tollgate.db')
  expect(await check(`sqlite:${path}`)).toEqual([0, ''])
  expect(existsSync(path)).toBe(false)
  writeFileSync(path, '')
  expect(await check(`sqlite:${path}`)).toEqual([0, ''])
  expect(await check('sqlite::memory:')).toEqual([0, ''])
})

// Not exit code 1: a pipeline may check a file for another machine.
test('tollgate check warns of a store whose folder does not exist', async () => {
  expect(await check(`sqlite:${folder}/none/tollgate.db`)).toEqual([
    0,
    'FOLDER/tollgate.yaml:2:8 store: warning: "FOLDER/none" cannot be written (ENOENT): name a file in a folder that exists and that the user of the gateway may write',
  ])
})

test('tollgate check warns of a store that is no file', async () => {
  mkdirSync(join(folder, 'a'))
  expect(await check(`sqlite:${folder}/a`)).toEqual([
    0,
    'FOLDER/tollgate.yaml:2:8 store: warning: "FOLDER/a" is not a regular file: name the file of the store',
  ])
  expect(await check(`sqlite:${folder}/tollgate.yaml/tollgate.db`)).toEqual([
    0,
    expect.stringContaining('2:8 store: warning: "FOLDER/tollgate.yaml" cannot be written (ENOTDIR): name'),
  ])
})

test('tollgate check warns of a store that is no database, and leaves it as it is', async () => {
  const path = join(folder, 'tollgate.db')
  writeFileSync(path, 'a file of somebody else')
  expect(await check(`sqlite:${path}`)).toEqual([
    0,
    'FOLDER/tollgate.yaml:2:8 store: warning: "FOLDER/tollgate.db" is not a database: name one that Tollgate made, or a file that is yet to be made',
  ])
  expect(readFileSync(path, 'utf8')).toBe('a file of somebody else')
})

test.each([
  ['CREATE TABLE messages (text)', 'another program made it): name a file that Tollgate made'],
  [
    'PRAGMA application_id = 1416588396; PRAGMA user_version = 99',
    'another version of Tollgate made it: its tables are of version 99, and not N): run the Tollgate that made it',
  ],
])('tollgate check warns of a database made by %j, and leaves it and its folder as they are', async (sql, told) => {
  const path = join(folder, 'tollgate.db')
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; ${sql}`)
  database.close()
  const before = readFileSync(path)
  const [status, said] = await check(`sqlite:${path}`)
  expect(status).toBe(0)
  // The number is another one with each change of the tables.
  expect(said.replace(/not \d+/, 'not N')).toContain(`2:8 store: warning: "FOLDER/tollgate.db" cannot be used (${told}`)
  expect(readFileSync(path)).toEqual(before)
  expect(readdirSync(folder).sort()).toEqual(['tollgate.db', 'tollgate.yaml'])
})

test('tollgate check takes the store of a gateway that runs', async () => {
  const path = join(folder, 'tollgate.db')
  closedAtEnd(openSqliteStore({ file: path }))
  expect(await check(`sqlite:${path}`)).toEqual([0, ''])
})

test('tollgate check warns of a folder, and a file, that cannot be written', async () => {
  const path = join(folder, 'b', 'tollgate.db')
  mkdirSync(join(folder, 'b'))
  writeFileSync(path, '')
  chmodSync(path, 0o444)
  expect(await check(`sqlite:${path}`, '', checkByPlainUser)).toEqual([
    0,
    expect.stringContaining('store: warning: "FOLDER/b/tollgate.db" cannot be written (EACCES): name'),
  ])
  chmodSync(join(folder, 'b'), 0o555)
  expect(await check(`sqlite:${path}`, '', checkByPlainUser)).toEqual([
    0,
    expect.stringContaining('store: warning: "FOLDER/b" cannot be written (EACCES): name'),
  ])
})

test('tollgate check reports it beside what else is wrong with files', async () => {
  writeFileSync(join(folder, 'keys.json'), '{}')
  const issuer = `{ issuer: "https://id.example.org", audience: a, jwks: "file:keys.json", algorithms: [ES256] }`
  const [code, said] = await check(`sqlite:${folder}/none/tollgate.db`, `auth: { jwt: [${issuer}] }\n`)
  expect(code).toBe(1)
  expect(said).toMatch(/:2:8 store: .*\n.*:3:\d+ auth\.jwt\[0\]\.jwks: /)
})
