import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { store as storeCommand } from '../../src/cli/store.ts'
import { everyStep } from '../../src/lib/steps.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteCopyable } from '../../src/store/sqlite/copy.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { type GatewayProcess, spawnGateway } from '../e2e/process.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { freePort, sharedRedis, startRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'
import { wrongCall } from './wrong-call.ts'

const run = promisify(execFile)

let redis: Awaited<ReturnType<typeof sharedRedis>>
let folder: string
let prefixes = 0
let prefix: string
beforeAll(async () => {
  redis = await sharedRedis()
})
beforeEach(() => {
  folder = tempFolder()
  prefix = `${redis.prefix}-${++prefixes}`
})

async function tollgate(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  return run(process.execPath, ['src/main.ts', ...args], { env: { ...process.env, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
  )
}
const copy = (from: string, to: string, ...more: string[]) =>
  tollgate(['store', 'copy', '--from', from, '--to', to, '--from-prefix', prefix, '--to-prefix', prefix, ...more])

/** A file with so many users, each with 5 tokens used. */
async function filled(file: string, users: number): Promise<void> {
  const store = openSqliteCopyable(file)
  const refill = await store.refill()
  const startedAt = Date.now()
  for (let i = 0; i < users; i += 1000) {
    const owners = Array.from({ length: Math.min(1000, users - i) }, (_, n) => {
      return {
        scope: 'personal' as const,
        id: `user ${i + n}`,
        counters: new Map([['read', [{ seconds: 86_400, startedAt, used: 5 }]]]),
      }
    })
    await refill.put({ kind: 'counters', entries: owners })
  }
  await refill.done()
  await store.close()
}

async function users(store: Store): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const { owners } of everyStep((from: string | null) => store.scanUsers(from))) {
    for (const { id } of owners) found.add(id)
  }
  return found
}

describe('tollgate store copy', () => {
  it('tollgate store copy says what it has copied, and ends with 0', async () => {
    const [one, other] = [join(folder, 'one.db'), join(folder, 'other.db')]
    await filled(one, 1234)
    expect(await copy(`sqlite:${one}`, `sqlite:${other}`)).toEqual({
      code: 0,
      stdout: `copied ${one} to ${other}: 1234 users, 0 categories of all users together, 1234 windows in all, 0 access keys, settings as in the file, 0 overrides, 0 entries of the audit, 0 half hours of failures\n`,
      stderr: '',
    })
    const store = closedAtEnd(openSqliteStore({ file: other }))
    expect((await users(store)).size).toBe(1234)
  })

  it('tollgate store copy reads the URLs from the environment if they name it, and prints no password', async () => {
    const one = join(folder, 'one.db')
    await filled(one, 3)
    const locked = await startRedis({ args: ['--requirepass', 'not-to-be-told'] })
    const args = ['store', 'copy', '--from', `sqlite:${one}`, '--to', `\${STORE_URL}`]
    const to = (password: string) => tollgate(args, { STORE_URL: locked.url.replace('//', `//default:${password}@`) })
    expect(await to('not-it')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/the store cannot be used .*check --to/),
    })
    expect(await to('not-to-be-told')).toEqual({
      code: 0,
      stdout: expect.stringContaining(`copied ${one} to ${locked.url}: 3 users`),
      stderr: '',
    })
  })

  it('tollgate store copy that is called wrongly says how', async () => {
    const one = join(folder, 'one.db')
    await filled(one, 1)
    const link = join(folder, 'link.db')
    linkSync(one, link)
    const same = `sqlite:${folder}/../${folder.split('/').at(-1)}/one.db`
    const from = ['copy', '--from', `sqlite:${one}`]
    const cases: [args: string[], message: string][] = [
      [['move'], 'store takes copy'],
      [from, 'store copy needs --to URL'],
      [['copy', '--to', 'x', '--from', 'mysql:x'], '--from is not a store: write sqlite:PATH'],
      [['copy', '--to', 'x', '--from', `\${NOT_THERE}`], '--from: environment variable NOT_THERE is not set'],
      [[...from, '--to', 'sqlite::memory:'], '--to is a store in memory'],
      [[...from, '--to', same], 'are the same file'],
      [[...from, '--to', `sqlite:${link}`, '--force'], 'are the same file'],
      [[...from, '--to', 'redis://h:1', '--to-prefix', 'a}:c'], '--to-prefix is not'],
      [['copy', '--from', 'redis://h:1', '--to', 'x', '--from-prefix', ''], '--from-prefix is not a prefix'],
    ]
    for (const [args, message] of cases) expect(await wrongCall(storeCommand(args))).toContain(message)
  })

  it('tollgate store copy that is called wrongly ends with 2, and one that cannot be made with 1 and the reason', async () => {
    const one = join(folder, 'one.db')
    await filled(one, 1)
    const cases: [args: string[], code: number, message: string][] = [
      [['store'], 2, 'store takes copy'],
      [['store', 'copy', '--from', `sqlite:${one}.not`, '--to', `sqlite:${one}`], 1, `there is no file ${one}.not`],
      [['store', 'copy', '--from', `sqlite:${one}`, '--to', 'sqlite:/proc/x.db'], 1, 'cannot open /proc/x.db'],
      [['store', 'copy', '--from', `sqlite:${one}`, '--to', 'redis://127.0.0.1:1'], 1, 'check --to'],
      [['store', 'copy', '--from', 'redis://127.0.0.1:1', '--to', `sqlite:${one}.new`], 1, 'check --from'],
    ]
    const outcomes = await Promise.all(cases.map(([args]) => tollgate(args)))
    expect(outcomes.map(({ code, stderr }) => [code, stderr])).toEqual(
      cases.map(([, code, message]) => [code, expect.stringContaining(message)]),
    )
    // A gateway would take an empty file for a store.
    expect(existsSync(`${one}.new`)).toBe(false)
  }, 180_000)

  it('tollgate store copy leaves out what cannot be read, and names it', async () => {
    const [one, other] = [join(folder, 'one.db'), join(folder, 'other.db')]
    await filled(one, 1)
    const database = new DatabaseSync(one)
    database.exec(`INSERT INTO overrides VALUES (1, 'alice', 1, '{bad')`)
    database.close()
    expect(await copy(`sqlite:${one}`, `sqlite:${other}`)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('tollgate: overrides alice cannot be read (override) and is left out'),
    })
  }, 180_000)

  it('tollgate store copy into a new file that was not filled leaves none behind, and nothing beside it', async () => {
    const [one, other] = [join(folder, 'one.db'), join(folder, 'other.db')]
    await filled(one, 1)
    const database = new DatabaseSync(one)
    database.exec('ALTER TABLE refusals RENAME TO hidden')
    const args = [`sqlite:${one}`, `sqlite:${other}`] as const
    expect(await copy(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining('the copy broke off (') })
    expect(readdirSync(folder).filter((name) => name.startsWith('other'))).toEqual([])

    // A file that was there is not taken away.
    await filled(other, 5)
    expect(await copy(...args, '--force')).toMatchObject({ code: 1 })
    expect(existsSync(other)).toBe(true)

    database.exec('ALTER TABLE hidden RENAME TO refusals; DELETE FROM counters')
    database.close()
    expect(await copy(args[0], `${args[1]}.new`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holds nothing'),
    })
    expect(existsSync(`${other}.new`)).toBe(false)
    const nowhere = await copy(args[0], `sqlite:${one}/new.db`)
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('/one.db/new.db (unable to open') })
  }, 60_000)

  it('tollgate store copy killed while it fills a Redis leaves a mark, of which gateways warn; the next one begins anew', async () => {
    const one = join(folder, 'one.db')
    await filled(one, 20_000)
    const keys = createKeys(prefix)
    const client = new Redis(redis.url)
    const args = ['--from', `sqlite:${one}`, '--to', redis.url, '--to-prefix', prefix]
    const child = spawn(process.execPath, ['src/main.ts', 'store', 'copy', ...args], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    while ((await client.exists(keys.user('user 1'))) === 0 && child.exitCode === null) await sleep(1)
    child.kill('SIGKILL')
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(await client.exists(keys.copying)).toBe(1)
    const seen: unknown[] = []
    const store = openRedisStore({ url: redis.url, prefix, deadlineMs: 2000, observe: (o) => seen.push(o) })
    await whenReady(store)
    expect((await users(store)).size).toBeLessThan(20_000)
    const warning = {
      type: 'store_warning',
      warning: 'copy_unended',
      message: expect.stringContaining('a copy into this store has not ended'),
    }
    await expect.poll(() => seen).toContainEqual(warning)
    // What a first copy left behind may be gone from the source since.
    await client.set(keys.user('left over'), (await client.getBuffer(keys.user('user 1'))) ?? '')
    const { code, stdout } = await copy(`sqlite:${one}`, redis.url)
    expect([code, stdout]).toEqual([0, expect.stringContaining(': 20000 users, ')])
    expect(await client.exists(keys.copying)).toBe(0)
    const found = await users(store)
    expect([found.size, found.has('left over')]).toEqual([20_000, false])
    await store.close()
    client.disconnect()
  }, 180_000)

  it('tollgate store copy killed while it fills a file leaves it as it was', async () => {
    const [one, other] = [join(folder, 'one.db'), join(folder, 'other.db')]
    await filled(one, 60_000)
    await filled(other, 5)
    const args = ['--from', `sqlite:${one}`, '--to', `sqlite:${other}`, '--force']
    const child = spawn(process.execPath, ['src/main.ts', 'store', 'copy', ...args], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    // What does not fit into memory goes there before it is committed.
    const written = () => statSync(`${other}-wal`, { throwIfNoEntry: false })?.size ?? 0
    while (written() < 200_000 && child.exitCode === null) await sleep(1)
    child.kill('SIGKILL')
    expect(await ended).toEqual([null, 'SIGKILL'])
    const store = closedAtEnd(openSqliteStore({ file: other }))
    expect((await users(store)).size).toBe(5)
  }, 180_000)
})

describe('docs/upkeep.md', () => {
  /** The commands of a section, run as they stand, beside a `tollgate.db`. */
  async function follow(heading: string, which: number, redisUrl?: string): Promise<void> {
    const text = readFileSync(new URL('../../docs/upkeep.md', import.meta.url), 'utf8')
    const section = text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
    const command = [...section.matchAll(/^```sh\n(.*?)^```$/gms)][which]?.[1] ?? ''
    expect(command).toMatch(/^tollgate store copy /)
    const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
    writeFileSync(join(folder, 'tollgate'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, { mode: 0o755 })
    const PATH = `${folder}:${process.env.PATH}`
    const env = { ...process.env, PATH, ...(redisUrl !== undefined && { TOLLGATE_STORE_URL: redisUrl }) }
    await run('/bin/sh', ['-ec', command], { cwd: folder, env })
  }
  const usersIn = async (url: string): Promise<number> => {
    const moved = openRedisStore({ url, deadlineMs: 5000, observe: () => {} })
    await whenReady(moved)
    const { size } = await users(moved)
    await moved.close()
    return size
  }
  const usersOf = async (name: string): Promise<number> => {
    const store = openSqliteStore({ file: join(folder, name) })
    const { size } = await users(store)
    await store.close()
    return size
  }

  it('docs/upkeep.md says how to move to Redis', async () => {
    await filled(join(folder, 'tollgate.db'), 7)
    const own = await startRedis()
    await follow('Move from the embedded store to Redis', 0, own.url)
    expect(await usersIn(own.url)).toBe(7)
  })

  it('docs/upkeep.md says how to back up and restore Redis', async () => {
    await filled(join(folder, 'tollgate.db'), 7)
    const [own, lost] = [await startRedis(), await startRedis()]
    await follow('Move from the embedded store to Redis', 0, own.url)
    await follow('Back up and restore Redis', 0, own.url)
    expect(await usersOf('backup.db')).toBe(7)
    await follow('Back up and restore Redis', 1, lost.url)
    expect(await usersIn(lost.url)).toBe(7)
  }, 180_000)

  it('docs/upkeep.md says how to back up and restore', async () => {
    const file = join(folder, 'tollgate.db')
    await filled(file, 7)
    await follow('Back up and restore the embedded store', 0)
    expect(await usersOf('backup.db')).toBe(7)
    rmSync(file)
    await filled(file, 3)
    await follow('Back up and restore the embedded store', 1)
    expect(await usersOf('tollgate.db')).toBe(7)
  })
})

describe('a gateway that is moved', () => {
  let upstream: Upstream
  beforeEach(async () => {
    upstream = await startUpstream()
  })

  it('to Redis and back shows its clients the same quota, and refuses the same next request until the same moment', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const admin = await freePort()
    const file = join(folder, 'tollgate.yaml')
    const stores = [`sqlite:${join(folder, 'a.db')}`, redis.url, `sqlite:${join(folder, 'b.db')}`]
    const start = async (store: string): Promise<GatewayProcess> => {
      const routes =
        'routes: [{ match: "GET /*", category: read, cost: 3 }]\nquota: { baselines: { personal: { read: { 1h: 10, 5h: 90, 1d: 90 }, write: { 1h: 1, 5h: 1, 1d: 1 } }, global: { read: { 1h: 99, 5h: 99, 1d: 99 }, write: { 1h: 1, 5h: 1, 1d: 1 } } } }'
      const text = yaml(upstream.url, `${routes}\nstore_options: { prefix: "${prefix}" }`, store)
      writeFileSync(
        file,
        text.replace('127.0.0.1:0', url.slice('http://'.length)).replace('"127.0.0.1:0"', `"127.0.0.1:${admin}"`),
      )
      return spawnGateway(file, `${url}/none`)
    }
    const get = (path: string, user: string) => fetch(url + path, { headers: bearer(user) })
    const view = async () => {
      const refused = await get('/x', 'alice')
      const { quota } = (await refused.json()) as { quota: Record<string, unknown> }
      return {
        alice: await (await get('/me/quota', 'alice')).json(),
        bob: await (await get('/me/quota', 'bob')).json(),
        refused: [refused.status, quota],
      }
    }
    const before: unknown[] = []
    for (const [i, store] of stores.entries()) {
      const last = stores[i - 1]
      if (last !== undefined) expect(await copy(last, store)).toMatchObject({ code: 0 })
      const gateway = await start(store)
      if (i === 0)
        for (const user of ['alice', 'alice', 'alice', 'bob']) expect((await get('/x', user)).status).toBe(200)
      before.push(await view())
      if (last !== undefined) expect(before[i]).toEqual(before[i - 1])
      const next = stores[i + 1]
      if (next !== undefined) {
        const live = await copy(store, next)
        expect([live.code, live.stderr]).toEqual([1, expect.stringContaining('a gateway uses --from')])
      }
      expect(await gateway.end('SIGTERM')).toBe(0)
    }
    expect(before[0]).toMatchObject({ refused: [429, { used: 9, requested: 3, limit: 10 }] })
  }, 180_000)
})
