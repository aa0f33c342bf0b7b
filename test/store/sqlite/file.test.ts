import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { mintToken } from '../../../src/control/access-key-record.ts'
import { UNCHANGED, type UserOverride } from '../../../src/control/state.ts'
import { NOTHING } from '../../../src/failures/histogram.ts'
import type { Charge, Decision, Limits } from '../../../src/quota/charge.ts'
import { usageOf } from '../../../src/quota/counter.ts'
import type { Retention } from '../../../src/quota/history.ts'
import { attempt, openDatabase } from '../../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { keepAccessKey } from '../../control/keep-access-key.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { replica } from '../../replicas/replica.suite.ts'
import { newFile } from './new-file.ts'

const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: '1d', seconds: 86_400 }
const limits = (limit: number): Limits => ({
  personal: [{ window: DAY, limit }],
  organisation: null,
  global: [{ window: DAY, limit }],
})
const charge = (cost: number, user = 'alice', of = limits(10)): Charge => chargeOf({ user, cost, limits: of })

let file: string
const stores: Store[] = []
beforeEach(() => {
  file = newFile()
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})

function open(clock: () => number = Date.now): Store {
  const store = openSqliteStore({ file, clock })
  stores.push(store)
  return store
}
let sequence = 0
const settle = (store: Store, ...charges: Charge[]): Promise<readonly Decision[]> =>
  store.settle({ instance: 'file', sequence: ++sequence, refunds: [], charges })
async function used(store: Store, user: string): Promise<[personal: number, global: number]> {
  const { at, personal, global } = await store.readUsage(user, ['read'])
  return [usageOf(personal[0] ?? [], DAY, at).used, usageOf(global[0] ?? [], DAY, at).used]
}

it('a store that is made can be read by its owner only, and so can the files beside it', async () => {
  await settle(open(), charge(1))
  const rights = ['', '-wal', '-shm'].map((end) => (statSync(`${file}${end}`).mode & 0o777).toString(8))
  expect(rights).toEqual(['600', '600', '600'])
})

describe('the file of the embedded store', () => {
  it('the file of the embedded store keeps counters, history and tokens over a restart', async () => {
    const first = open()
    const { record } = mintToken({ user: 'alice', name: 'laptop', expiresAt: null }, 1000)
    await settle(first, charge(7))
    await first.addTally({ ...NOTHING, total: 3, status0: 1, status5xx: 1 })
    await keepAccessKey(first, record)
    await first.close()

    const second = open()
    expect(await used(second, 'alice')).toEqual([7, 7])
    expect((await settle(second, charge(4), charge(3))).map((d) => d.accepted)).toEqual([false, true])
    expect((await second.readTallies()).buckets).toMatchObject([{ total: 3, status0: 1, status5xx: 1 }])
    expect(await second.findTokens([record.id])).toMatchObject([{ record }])
  })

  it('the file of the embedded store may be used by two stores, which count together', async () => {
    const [one, two] = [open(), open()]
    expect((await settle(one, charge(6))).map((d) => d.accepted)).toEqual([true])
    expect((await settle(two, charge(5), charge(4))).map((d) => d.accepted)).toEqual([false, true])
    expect((await settle(one, charge(1))).map((d) => d.accepted)).toEqual([false])
    expect(await used(one, 'alice')).toEqual([10, 10])
  })

  it.each([
    // A page may be free, of a table that a migration has dropped.
    ['disk_full', 'PRAGMA max_page_count = 1', 'CREATE TABLE more (x); CREATE TABLE another (x)'],
    ['readonly', 'PRAGMA query_only = 1', 'CREATE TABLE more (x)'],
  ])('the file of the embedded store that takes no writes says why: %s', async (reason, before, write) => {
    const database = openDatabase(file)
    database.exec(before)
    await expect(attempt(() => database.exec(write))).rejects.toMatchObject({ name: 'StoreError', reason })
    database.close()
  })

  it('the file of the embedded store whose disk does not read or write says so, whatever it was asked for', async () => {
    const error = Object.assign(new Error('disk I/O error'), { errcode: 778 })
    await expect(
      attempt(() => {
        throw error
      }),
    ).rejects.toMatchObject({ reason: 'disk_error' })
  })

  // SQLite takes the whole transaction back where the disk is full, and the statement alone otherwise.
  it.each(['FAIL', 'ROLLBACK'])(
    'the file of the embedded store that takes no writes says so to a batch of nothing, by which a ledger asks whether charges are taken again: %s',
    async (raise) => {
      const store = open()
      expect(await settle(store)).toEqual([])
      const other = new DatabaseSync(file)
      other.exec(
        `CREATE TRIGGER full BEFORE INSERT ON counters BEGIN SELECT RAISE(${raise}, 'database or disk is full'); END`,
      )
      const message =
        'SQLite: database or disk is full. Cure: make room on its disk, or mend it; what the file holds is not lost'
      await expect(settle(store)).rejects.toMatchObject({ applied: 'no', message })
      other.exec('DROP TRIGGER full')
      expect(await settle(store)).toEqual([])
      expect(other.prepare('SELECT count(*) AS rows FROM counters').get()).toEqual({ rows: 0 })
      other.close()
    },
  )

  /** A file of another program. */
  function foreign(version: number, ...tables: string[]): Buffer {
    const database = new DatabaseSync(file)
    for (const table of tables) database.exec(`CREATE TABLE ${table} (a)`)
    database.exec(`PRAGMA user_version = ${version}`)
    database.close()
    return readFileSync(file)
  }

  it.each([0, 1, 99])(
    'the file of the embedded store that a Tollgate with tables of version %i wrote is refused and left as it is',
    async (version) => {
      await openSqliteStore({ file }).close()
      const database = new DatabaseSync(file)
      database.exec(`PRAGMA user_version = ${version}; PRAGMA wal_checkpoint(TRUNCATE)`)
      database.close()
      const before = readFileSync(file)
      expect(() => openSqliteStore({ file })).toThrow(
        `another version of Tollgate made it: its tables are of version ${version}, and not 3`,
      )
      expect(readFileSync(file)).toEqual(before)
    },
  )

  it.each([
    [0, ['messages']],
    [2, ['messages']],
    [2, ['tokens', 'failures']],
    [1, []],
    [1, ['counters', 'failures', 'tokens']],
  ])(
    'the file of the embedded store that another program wrote is refused and left as it is: version %i, tables %j',
    (version, tables) => {
      const before = foreign(version, ...tables)
      expect(() => openSqliteStore({ file })).toThrow('another program made it')
      // With the journal that it had.
      expect(readFileSync(file)).toEqual(before)
    },
  )

  it('the file of the embedded store that is no database is refused', () => {
    expect(() => openSqliteStore({ file: fileURLToPath(import.meta.url) })).toThrow('not a database')
  })

  it('the file of the embedded store that another process holds is an error in bounded time, and nothing is applied', async () => {
    const store = open()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    await expect(settle(store, charge(1))).rejects.toMatchObject({ name: 'StoreError', reason: 'busy', applied: 'no' })
    await expect(store.addTally({ ...NOTHING, total: 1 })).rejects.toMatchObject({ reason: 'busy' })
    // What only reads goes on.
    expect(await used(store, 'alice')).toEqual([0, 0])
    other.exec('ROLLBACK')
    other.close()
    expect(await used(store, 'alice')).toEqual([0, 0])
    expect((await settle(store, charge(10))).map((d) => d.accepted)).toEqual([true])
  })

  it('the file of the embedded store that another process holds for a moment is waited for, and other work goes on meanwhile', async () => {
    const store = open()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    const settled = settle(store, charge(4))
    const counted = store.addTally({ ...NOTHING, total: 1 })
    // Turns and no time: on a busy machine a timer may fire when the file has been waited for in vain.
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve))
    other.exec('COMMIT')
    other.close()
    expect((await settled).map((d) => d.accepted)).toEqual([true])
    await counted
    expect(await used(store, 'alice')).toEqual([4, 4])
  })

  it('the file of the embedded store that another process reads takes charges meanwhile', async () => {
    const store = open()
    const other = new DatabaseSync(file)
    other.exec('BEGIN; SELECT * FROM counters')
    expect((await settle(store, charge(4))).map((d) => d.accepted)).toEqual([true])
    other.close()
  })

  it('the file of the embedded store that another process holds for a moment while it is opened is waited for', async () => {
    const code = `const { DatabaseSync } = require('node:sqlite')
      const database = new DatabaseSync(process.argv[1])
      database.exec('BEGIN EXCLUSIVE')
      process.stdout.write('held')
      setTimeout(() => database.exec('COMMIT'), 100)`
    const holder = spawn(process.execPath, ['-e', code, file], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(holder.stdout, 'data')
    expect((await settle(open(), charge(4))).map((d) => d.accepted)).toEqual([true])
  })

  it('the file of the embedded store with a number in it that JavaScript does not have fails with a StoreError, and a text in place of windows counts nothing', async () => {
    const store = open()
    await settle(store, charge(4))
    const other = new DatabaseSync(file)
    other.exec("UPDATE counters SET windows = '0123456789abcdef'")
    expect(await used(store, 'alice')).toEqual([0, 0])
    other.exec('UPDATE counters SET ends = 4611686018427387904')
    other.close()
    await expect(used(store, 'alice')).rejects.toMatchObject({ name: 'StoreError' })
  })

  it('the file of the embedded store lists the other processes that share it where one has a time that JavaScript does not have', async () => {
    const store = open()
    for (const name of ['a', 'b']) await store.beat(replica(name))
    const other = new DatabaseSync(file)
    other.exec("UPDATE replicas SET at = 4611686018427387904 WHERE instance = 'a'")
    other.close()
    expect((await store.listReplicas()).map(({ instance }) => instance)).toEqual(['b'])
    expect(await store.readSilences()).toEqual([])
  })

  it('the file of the embedded store charges a batch once, although who hears of its refund throws and the batch comes again', async () => {
    const store = open()
    const first = charge(6)
    const [decision] = await settle(store, first)
    const onMade = () => {
      throw new TypeError('of our own')
    }
    const refunds = [{ charge: first, decision: decision as Decision, onMade }]
    const batch = { instance: 'file', sequence: ++sequence, refunds, charges: [charge(4)] }
    await expect(store.settle(batch)).rejects.toMatchObject({ name: 'StoreError', applied: 'no' })
    expect((await store.settle(batch)).map((d) => d.accepted)).toEqual([true])
    expect(await used(store, 'alice')).toEqual([4, 4])
  })

  it('the file of the embedded store fails every call after it was closed, with a StoreError', async () => {
    const store = open()
    await store.close()
    await store.close()
    await expect(settle(store, charge(1))).rejects.toMatchObject({ name: 'StoreError', applied: 'no' })
    await expect(store.ping()).rejects.toMatchObject({ name: 'StoreError' })
  })
})

describe('sweeping', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const rows = (): unknown[] => {
    const database = new DatabaseSync(file)
    const users = database
      .prepare('SELECT user FROM counters WHERE scope = 0 ORDER BY user')
      .all()
      .map((row) => row.user)
    database.close()
    return users
  }

  it('sweeping forgets counters whose last window has ended, and no other, once a minute', async () => {
    let now = Date.UTC(2026, 7, 6)
    const store = open(() => now)
    const hour = { personal: [{ window: HOUR, limit: 10 }], organisation: null, global: null }
    await settle(store, charge(1, 'ended', hour), charge(1, 'runs', limits(10)))
    now += 3_600_000 - 1
    vi.advanceTimersByTime(60_000)
    expect(rows()).toEqual(['ended', 'runs'])
    now += 1
    vi.advanceTimersByTime(59_999)
    expect(rows()).toEqual(['ended', 'runs'])
    vi.advanceTimersByTime(1)
    expect(rows()).toEqual(['runs'])
  })

  it('sweeping forgets a history when its last run need not be kept any more, and not before', async () => {
    const hour = 3_600_000
    let now = Date.UTC(2026, 7, 6)
    const retention: Retention = {
      longestSeconds: 86_400,
      shorterSeconds: 86_400,
      anonymousSeconds: 0,
      isAnonymous: () => false,
    }
    const store = openSqliteStore({ file, clock: () => now, retention: () => retention })
    stores.push(store)
    const histories = (): unknown => {
      const database = new DatabaseSync(file)
      const { count } = database.prepare('SELECT count(*) AS count FROM history').get() as { count: number }
      database.close()
      return count
    }
    const ofAnHour = { personal: [{ window: HOUR, limit: 10 }], organisation: null, global: null }
    await settle(store, charge(1, 'alice', ofAnHour))
    now += 2 * hour
    await settle(store, charge(1, 'alice', ofAnHour))
    now += 22 * hour
    vi.advanceTimersByTime(60_000)
    expect(histories()).toBe(1)
    now += 3 * hour
    vi.advanceTimersByTime(60_000)
    expect(histories()).toBe(0)
  })

  it('sweeping keeps up, however many end in a minute', async () => {
    let now = Date.UTC(2026, 7, 6)
    const store = open(() => now)
    const hour = { personal: [{ window: HOUR, limit: 10 }], organisation: null, global: null }
    const users = Array.from({ length: 2500 }, (_, i) => charge(1, `user-${i}`, hour))
    await settle(store, ...users)
    now += 3_600_000
    vi.advanceTimersByTime(60_000)
    expect(rows()).toHaveLength(1500)
    vi.advanceTimersByTime(100)
    expect(rows()).toEqual([])
  })

  it('sweeping ends with the store', async () => {
    await open().close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('sweeping is put off when another process holds the file', () => {
    open()
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    vi.advanceTimersByTime(60_000)
    other.exec('ROLLBACK')
    other.close()
  })
})

describe('processes on one file', () => {
  const script = fileURLToPath(new URL('./charging.ts', import.meta.url))
  function start(user: string, most?: number): { child: ChildProcess; accepted(): number; ended: Promise<unknown[]> } {
    const child = spawn(process.execPath, [script, file, user, ...(most === undefined ? [] : [String(most)])], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let lines = 0
    child.stdout?.on('data', (chunk: Buffer) => {
      lines += chunk.toString().split('\n').length - 1
    })
    return { child, accepted: () => lines, ended: once(child, 'close') }
  }

  it('processes on one file leave every accepted charge in the file when they are killed', async () => {
    const process = start('alice')
    await vi.waitUntil(() => process.accepted() >= 500, { timeout: 30_000 })
    process.child.kill('SIGKILL')
    expect((await process.ended)[1]).toBe('SIGKILL')
    const [personal, global] = await used(open(), 'alice')
    expect(personal).toBe(global)
    // The one whose line the process had no time to print may be there too.
    expect([process.accepted(), process.accepted() + 1]).toContain(personal)
  })

  it('processes on one file may open a new file at the same moment, and count together', async () => {
    const processes = Array.from({ length: 4 }, (_, i) => start(`user-${i}`, 300))
    for (const each of processes) expect((await each.ended)[0]).toBe(0)
    expect(processes.map((each) => each.accepted())).toEqual([300, 300, 300, 300])
    expect(await used(open(), 'user-0')).toEqual([300, 1200])
  })

  it('processes on one file see what another changes, and number their changes together', async () => {
    const store = open()
    const changing = fileURLToPath(new URL('./changing.ts', import.meta.url))
    const users = Array.from({ length: 4 }, (_, i) => `user-${i}`)
    const children = users.map((user) => spawn(process.execPath, [changing, file, user, '25'], { stdio: 'inherit' }))
    const ended = children.map((child) => once(child, 'close'))
    await vi.waitUntil(async () => (await store.controlVersion()).version > 0, { timeout: 30_000 })
    for (const each of ended) expect((await each)[0]).toBe(0)
    expect((await store.changesSince(UNCHANGED))?.map(({ version }) => version)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
    const { version, overrides } = await store.readControl()
    expect(version).toBe(100)
    expect(users.map((user) => (overrides.get(user)?.value as UserOverride | undefined)?.reason)).toEqual(
      users.map(() => 'change 25'),
    )
  })
})
