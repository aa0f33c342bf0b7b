import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { asText, explainRequest } from '../../src/cli/explain.ts'
import { createPolicy } from '../../src/quota/policy.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { configOf, YAML } from '../admin/running.ts'
import { tempFolder } from '../setup/at-end.ts'
import { called } from './called.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)

const folder = tempFolder()
let file: string
beforeAll(async () => {
  file = join(folder, 'tollgate.yaml')
  const yaml = YAML.replace('sqlite::memory:', `sqlite:${join(folder, 'quota.db')}`)
  writeFileSync(file, yaml)
  const store = openSqliteStore({ file: join(folder, 'quota.db') })
  const limits = createPolicy(configOf(yaml).config.quota).limitsOf('read')
  const charges = [{ user: 'alice', organisation: null, category: 'read', cost: 119, limits }]
  await store.settle({ instance: 'test', sequence: 1, refunds: [], charges })
  await store.change({ kind: 'settings', to: { global: { multiplier: 2 } } }, { who: 'test', why: null }, null)
  const theirs = { limits: { read: { '1h': 1 } }, reason: 'r', expiresAt: null }
  await store.noteMemberships([{ user: 'omar', plan: null, organisation: 'acme' }], 3_600_000)
  await store.change(
    { kind: 'organisation_override', organisation: 'acme', to: theirs },
    { who: 'test', why: null },
    null,
  )
  await store.close()
})

async function explain(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return called('explain', '-c', file, ...args)
}

test('tollgate explain says the verdict first, then why, then every number with its origin', async () => {
  const { code, stdout } = await explain('--user', 'alice', '--method', 'post', '--path', '/v1/user/music')
  expect(code).toBe(0)
  const [verdict, why, , route, category, cost, , first, second, third] = stdout.split('\n')
  expect(verdict).toBe('REFUSE   POST /v1/user/music of alice')
  expect(why).toMatch(/^429: Personal 1-hour read quota is used up\. Requests may continue after .* This costs 2\.$/)
  expect([route, category, cost]).toEqual([
    'route      POST /v1/user/:what   (line 15)',
    'category   read',
    'cost       2',
  ])
  expect(first).toMatch(
    /^! {2}Personal {2}1h {2}119 of 120 used {3,}ends \d{4}-.*Z {2}baseline 120 \(.*tollgate\.yaml:8\)$/,
  )
  expect(second).toMatch(/^ {3}Personal {2}5h /)
  expect(third).toMatch(/^ {3}Global {4}1h {2}119 of 2400 used .* baseline 1200 \(.*\), multiplier x 2$/)
})

test('tollgate explain knows the organisation of a user, which only an override makes matter', async () => {
  const { stdout } = await explain('--user', 'omar', '--method', 'post', '--path', '/v1/user/music')
  expect(stdout).toMatch(/^REFUSE {3}POST \/v1\/user\/music of omar\n/)
  expect(stdout).toMatch(/^! {2}Organisation {2}1h {2}0 of 1 used /m)
})

test('tollgate explain prints the response of the API with --json', async () => {
  const { stdout } = await explain(
    '--user',
    'bob',
    '--method',
    'POST',
    '--path',
    '/v1/charge',
    '--value',
    '3',
    '--json',
  )
  expect(JSON.parse(stdout)).toMatchObject({
    user: 'bob',
    decision: 'accept',
    cost: 15,
    price: { body: ['chargeId'], values: { 2: 10, 3: 15, 5: 25 } },
  })
})

test.each([
  ['--cost', '5'],
  ['--value', '3'],
])('tollgate explain does not take %s %s if the cost is fixed', async (option, value) => {
  const music = ['--user', 'bob', '--method', 'POST', '--path', '/v1/user/music']
  expect(await explain(...music, option, value)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('this request costs 2\n'),
  })
})

test('tollgate explain takes a cost that a body may have, and no other', async () => {
  const charge = ['--user', 'bob', '--method', 'POST', '--path', '/v1/charge', '--cost']
  expect(await explain(...charge, '25')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ACCEPT /) })
  expect(await explain(...charge, '1000000000')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--cost must be what this request can cost: 10, 15, 25\n'),
  })
})

test.each([
  [['--user', 'a'], /needs --user and --path/],
  [['--user', '\n', '--path', '/x'], /--user takes/],
  [['--user', 'a', '--path', 'x'], /--path takes/],
  [['--user', 'a', '--path', '/x', '--plan', '.'], /--plan takes/],
  [['--user', 'a', '--path', '/x', '--organisation', ''], /--organisation takes/],
  [['--user', 'a', '--path', '/x', '--cost', '1.5'], /--cost takes/],
  [['--user', 'a', '--path', '/x', '--bytes', '1k'], /--bytes takes/],
  [['--user', 'a', '--path', '/x', '--cost', '1000000001'], /--cost takes .*1000000000$/m],
])('tollgate explain says how it was called wrongly: %j', async (args, message) => {
  expect(await wrongCall(explainRequest(['-c', file, ...args]))).toMatch(message)
})

test('tollgate explain ends with 2 if it is called wrongly, and leads to its help', async () => {
  const stderr = 'tollgate: explain needs --user and --path\nSee: tollgate explain --help\n'
  expect(await explain('--path', '/x')).toMatchObject({ code: 2, stdout: '', stderr })
  const program = run(process.execPath, ['src/main.ts', 'explain', '-c', file, '--path', '/x'])
  await expect(program).rejects.toMatchObject({ code: 2, stdout: '', stderr })
})

test('tollgate explain has a help of its own', async () => {
  expect((await explain('--help')).stdout).toMatch(/^Usage: tollgate explain --user USER/)
})

test('tollgate explain prints the version too, an option of every command', async () => {
  expect(await explain('--version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+/) })
})

test('makes a terminal do nothing that a user id asks of it', () => {
  const text = asText({
    user: '\u001b[31mred\u202e',
    method: 'GET',
    path: '/x',
    route: null,
    category: null,
    cost: null,
    price: null,
    decision: 'no_route',
    why: '404: No route matches this path.',
    reasons: [{ code: 'no_route', values: {} }],
    limits: [],
  })
  expect(text.split('\n')[0]).toBe('NO ROUTE   GET /x of \\u{1b}[31mred\\u{202e}')
})

test('tollgate explain has the cost of each of several meters, and the windows of each category', () => {
  const limit = {
    scope: 'Personal',
    window: '1d',
    limit: 100,
    used: 90,
    remaining: 10,
    startedAt: null,
    resetAt: null,
  } as const
  const of = { ...limit, source: 'baseline', steps: ['baseline 100'] }
  const text = asText({
    ...{ user: 'alice', method: 'POST', path: '/chat', route: { match: 'POST /chat', line: 4 } },
    ...{ category: 'requests', cost: 1, price: null, decision: 'refuse', why: '429', reasons: [] },
    limits: [{ ...of, refuses: false }],
    others: [{ category: 'tokens', cost: 40, price: null, limits: [{ ...of, refuses: true }] }],
  })
  expect(text.split('\n').slice(3)).toEqual([
    'route      POST /chat   (line 4)',
    'category   requests',
    'cost       1',
    'category   tokens',
    'cost       40',
    '',
    '   Personal  1d  90 of 100 used  not running  baseline 100',
    '',
    'tokens:',
    '!  Personal  1d  90 of 100 used  not running  baseline 100',
  ])
})
