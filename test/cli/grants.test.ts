import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { grants as command } from '../../src/cli/grants.ts'
import { grantOf } from '../../src/quota/grant.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { YAML } from '../admin/running.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { called, done } from './called.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)

const folder = tempFolder()
let redis: Awaited<ReturnType<typeof sharedRedis>>
beforeAll(async () => {
  redis = await sharedRedis()
})

const DAY = 86_400_000
const USUAL = ['--category', 'read', '--tokens', '50', '--until', '7d', '--reason', 'an audit']

describe.each(['sqlite', 'redis'])('tollgate grants over %s', (kind) => {
  let file: string
  let store: Store
  beforeAll(async () => {
    file = join(folder, `${kind}.yaml`)
    const url = kind === 'redis' ? redis.url : `sqlite:${join(folder, 'quota.db')}`
    const place = `"${url}"\nstore_options: { prefix: ${redis.prefix} }`
    writeFileSync(file, YAML.replace('"sqlite::memory:"', kind === 'redis' ? place : `"${url}"`))
    store = closedAtEnd(
      kind === 'redis'
        ? openRedisStore({ url, prefix: redis.prefix, deadlineMs: 5000, observe: () => {} })
        : openSqliteStore({ file: join(folder, 'quota.db') }),
    )
    if (kind === 'redis') await whenReady(store)
  })

  const grants = (...args: string[]) => done('grants', ...args, '-c', file)
  const refused = (...args: string[]) => called('grants', ...args, '-c', file)
  const given = async (...args: string[]) => (await grants('give', ...args, ...USUAL)).stdout.trim()
  const recorded = async (id: string) => (await store.readControl()).grants.get(id)?.value

  test(`tollgate grants over ${kind} gives tokens to a user, lists what was taken of them, and ends the grant`, async () => {
    const made = await grants('give', '--user', 'bob', ...USUAL)
    const id = made.stdout.trim()
    expect(id).toMatch(/^[0-9a-f]{12}$/)
    expect(made.stderr).toMatch(
      /^50 tokens of read were given to user bob, until \d{4}-.*Z\.\nNeither a request nor an access key is kept of user bob, so look whether this is the id that you mean\.\n$/,
    )
    const kept = await recorded(id)
    expect(kept).toMatchObject({ user: 'bob', category: 'read', tokens: 50, reason: 'an audit', endedAt: null })
    const { givenAt = 0, until = 0 } = kept ?? {}
    expect(until - givenAt).toBe(7 * DAY)
    const limits = {
      personal: [{ window: { name: '1h', seconds: 3600 }, limit: 1 }],
      ...{ organisation: null, global: null },
      grants: { personal: [grantOf(id, givenAt, until, 50)], organisation: [] },
    }
    const charge = { user: 'bob', organisation: null, category: 'read', cost: 20, limits }
    await store.settle({ instance: `cli-${kind}`, sequence: 1, refunds: [], charges: [charge] })
    const good = `${id}\tuser bob\tread\t20 of 50 taken\tgood until ${new Date(until).toISOString()}\tan audit\n`
    expect((await grants('list', '--user', 'bob')).stdout).toBe(good)
    const ended = await grants('end', id, '--reason', 'enough')
    expect(ended.stderr).toBe(`Grant ${id} of user bob is ended.\n`)
    expect((await grants('end', id)).stderr).toBe(`Grant ${id} of user bob had ended already.\n`)
    expect((await grants('list')).stdout).toContain(`${id}\tuser bob\tread\t20 of 50 taken\tended `)
    const { grants: listed, total } = JSON.parse((await grants('list', '--user', 'bob', '--json')).stdout)
    expect([total, listed]).toMatchObject([1, [{ id, user: 'bob', taken: 20, left: 30, live: false }]])
    expect(await store.readAudit(null, 2)).toMatchObject([
      { what: 'grant', subject: id, who: 'command line', why: 'enough' },
      { what: 'grant', subject: id, who: 'command line', why: 'an audit', from: null },
    ])
    expect((await grants('give', '--user', 'bob', ...USUAL, '--key', 'more')).stderr).not.toContain('Neither')
  })

  test(`tollgate grants over ${kind} gives tokens to an organisation, ten at most, and says how to have room for another`, async () => {
    const until = new Date(Date.now() + DAY).toISOString()
    const { stderr } = await grants('give', '--organisation', 'acme', ...USUAL, '--until', until)
    expect(stderr).toBe(
      `50 tokens of read were given to organisation acme, until ${until}.\nNeither a request nor an access key is kept of organisation acme, so look whether this is the id that you mean.\n`,
    )
    const single = await grants('give', '--user', 'sam', ...USUAL, '--until', until, '--tokens', '1')
    expect(single.stderr).toContain(`1 token of read was given to user sam, until ${until}.\n`)
    for (let i = 1; i < 10; i++) await given('--organisation', 'acme')
    expect(await refused('give', '--organisation', 'acme', ...USUAL)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'tollgate: 10 grants of organisation acme pay already. End one of them: tollgate grants end ID\n',
    })
    const { stdout } = await grants('list', '--organisation', 'acme')
    expect(
      stdout.split('\n').filter((line) => line.includes('\torganisation acme\tread\t0 of 50 taken\tgood')),
    ).toHaveLength(10)
    await grants('end', stdout.split('\t')[0] ?? '')
    await given('--organisation', 'acme')
  })

  test(`tollgate grants over ${kind} gives once with one key, however often the command comes, and says so`, async () => {
    const first = await grants('give', '--user', 'ann', ...USUAL, '--key', 'job 7')
    const again = await grants('give', '--user', 'ann', ...USUAL, '--key', 'job 7')
    expect(again.stdout).toBe(first.stdout)
    expect(again.stderr).toBe(first.stderr.replace('were given', 'had been given already'))
    expect(JSON.parse((await grants('list', '--user', 'ann', '--json')).stdout).total).toBe(1)
    expect(await refused('give', '--user', 'ann', ...USUAL, '--tokens', '9', '--key', 'job 7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`another grant was given with this key`),
    })
    await grants('give', '--user', 'ann', ...USUAL, '--key', 'job 8')
    expect(JSON.parse((await grants('list', '--user', 'ann', '--json')).stdout).total).toBe(2)
  })

  test(`tollgate grants over ${kind} gives one of two grants that come with one key at once, and tells the other command so`, async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const ids = vi.spyOn(console, 'log').mockImplementation(() => {})
    const give = (tokens: string) =>
      command(['give', '--user', 'eve', ...USUAL, '--tokens', tokens, '--key', 'job 9', '-c', file])
    const codes = await Promise.all(['5', '6'].map(give)).finally(() => ids.mockRestore())
    const said = printed.mock.calls.flat().join('\n')
    printed.mockRestore()
    expect(codes.sort()).toEqual([0, 1])
    expect(said).toMatch(/[56] tokens of read were given to user eve/)
    expect(said).toContain('another grant was given with this key')
  })

  test(`tollgate grants over ${kind} says what there is not, and changes nothing by a wrong call`, async () => {
    const { version } = await store.controlVersion()
    expect(await refused('list', '--user', 'nobody')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^There are no grants of nobody in .+\.\n$/),
    })
    expect(await refused('end', 'a1b2')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^tollgate: no grant in .+ has the id a1b2\. See: tollgate grants list\n$/),
    })
    const wrong = async (...more: string[]) => {
      const { code, stderr } = await refused('give', '--user', 'bob', ...USUAL, ...more)
      return `${code} ${stderr.split('\n')[0]}`
    }
    expect(await wrong('--category', 'raed')).toBe('2 tollgate: --category must be one of read, write')
    expect(await wrong('--tokens', '0')).toBe('2 tollgate: --tokens must be a whole number from 1 to 1000000000000')
    expect(await wrong('--tokens', '1e3')).toBe('2 tollgate: --tokens must be a whole number from 1 to 1000000000000')
    for (const until of ['401d', '999999999d', 'tomorrow', '2030-01-31', '2099-01-01T00:00:00Z'])
      expect(await wrong('--until', until)).toMatch(
        /^2 tollgate: --until must be a span such as 7d, or a time with its offset, .* at most 400 days/,
      )
    expect(await wrong('--until', '2020-01-01T00:00:00Z')).toMatch(/^2 tollgate: --until must be in the future: it is /)
    expect((await store.controlVersion()).version).toBe(version)
  })
})

test('a grant is given also if the store does not say whether something was kept of the user before', async () => {
  const admin = new Redis(redis.url)
  const name = `${redis.prefix}-give`
  // What was kept of a user is read by this command, and a grant is given without it.
  await admin.acl('SETUSER', name, 'on', '>secret', '~*', '&*', '+@all', '-hgetall')
  const file = join(folder, 'give.yaml')
  const url = redis.url.replace('//', `//${name}:secret@`)
  writeFileSync(file, YAML.replace('"sqlite::memory:"', `"${url}"\nstore_options: { prefix: ${name} }`))
  const { stderr } = await done('grants', 'give', '--user', 'bob', ...USUAL, '-c', file)
  expect(stderr).toMatch(/^50 tokens of read were given to user bob, until \S+\.\n$/)
  await admin.acl('DELUSER', name)
  admin.disconnect()
})

test('the program gives a grant, and ends with the code of the command', async () => {
  const file = join(folder, 'program.yaml')
  writeFileSync(file, YAML.replace('sqlite::memory:', `sqlite:${join(folder, 'program.db')}`))
  await openSqliteStore({ file: join(folder, 'program.db') }).close()
  const program = (...args: string[]) => run(process.execPath, ['src/main.ts', 'grants', ...args, '-c', file])
  const { stdout } = await program('give', '--user', 'bob', ...USUAL)
  expect((await program('list')).stdout).toContain(`${stdout.trim()}\tuser bob\tread\t0 of 50 taken\t`)
  await expect(program('end', 'none')).rejects.toMatchObject({ code: 1 })
  await expect(program('give')).rejects.toMatchObject({ code: 2 })
})

test.each([
  [[], 'grants takes list, give or end ID'],
  [['take'], 'grants takes list, give or end ID'],
  [['list', 'bob'], 'grants list does not take "bob"'],
  [['list', '--reason', 'r'], 'grants list does not take --reason'],
  [['list', '--user', 'a', '--organisation', 'b'], 'grants list takes --user or --organisation: a grant has one owner'],
  [['list', '--user', ''], '--user takes 1 to 256 bytes'],
  [['give', '--user', 'a', '--json'], 'grants give does not take --json'],
  [['give', '--category', 'read'], 'grants give needs --user or --organisation'],
  [['give', '--user', 'a', '--organisation', 'b'], 'grants give takes --user or --organisation: a grant has one owner'],
  [['give', '--user', 'a', '--category', 'read', '--tokens', '5', '--until', '7d'], 'grants give needs --reason'],
  [['give', '--user', 'a', '--reason', ''], '--reason must be'],
  [['give', '--user', 'a', '--key', ''], '--key takes 1 to 255 characters'],
  [['end'], 'grants end takes one ID'],
  [['end', 'a', 'b'], 'grants end takes one ID'],
  [['end', 'a', '--user', 'bob'], 'grants end does not take --user'],
])('tollgate grants called with %j says what it takes', async (args, why) => {
  expect(await wrongCall(command(args))).toContain(why)
})
