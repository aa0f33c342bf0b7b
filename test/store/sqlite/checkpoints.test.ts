import { copyFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import type { Observation } from '../../../src/observe/observation.ts'
import type { Charge } from '../../../src/quota/charge.ts'
import { type Checkpoints, checkpointsOf } from '../../../src/store/sqlite/checkpoints.ts'
import { openDatabase, SqliteFile } from '../../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { limits } from '../../quota/quota-store.suite.ts'
import { newFile } from './new-file.ts'

const MiB = 1024 * 1024

const logOf = (file: string): number => statSync(`${file}-wal`).size
/** How often the log has begun anew. https://www.sqlite.org/fileformat2.html#walformat */
const beginningOf = (file: string): number => readFileSync(`${file}-wal`).readUInt32BE(12)

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** A database with one table, and what copies its log. */
function start(thread?: URL) {
  const file = newFile()
  const database = openDatabase(file)
  const seen: Observation[] = []
  database.exec('CREATE TABLE pages (id INTEGER PRIMARY KEY, value BLOB)')
  const checkpoints: Checkpoints = checkpointsOf(database, file, (one) => seen.push(one), thread)
  open.push({ close: async () => database.close() }, checkpoints)
  const { writing } = new SqliteFile(database)
  const insert = database.prepare('INSERT OR REPLACE INTO pages VALUES (?, ?)')
  /** So many batches, each of four new pages in the log. */
  async function write(batches: number): Promise<void> {
    for (let batch = 0; batch < batches; batch++) {
      writing(() => {
        for (let id = 0; id < 4; id++) insert.run(id * 100, Buffer.alloc(4000, batch))
      })
      checkpoints.written()
      if (batch % 16 === 0) await sleep(1)
    }
  }
  return { file, database, checkpoints, seen, write }
}

it('a long log of a busy store is copied beside its work, and begins anew before SQLite would copy it within a commit', async () => {
  const { file, database, write, seen } = start()
  // 34 MiB of pages.
  await write(2200)
  const before = beginningOf(file)
  await expect
    .poll(
      async () => {
        await write(64)
        return beginningOf(file)
      },
      { interval: 100, timeout: 60_000 },
    )
    .not.toBe(before)
  expect(database.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 16_384 })
  expect(logOf(file)).toBeLessThan(64 * MiB)
  expect(seen).toEqual([])
})

it('nothing is started before there is something to copy, and in memory never', async () => {
  const { database, write } = start()
  await write(255)
  expect(database.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 1000 })

  const memory = openDatabase(':memory:')
  const none = checkpointsOf(memory, ':memory:', () => {})
  for (let batch = 0; batch < 1000; batch++) none.written()
  expect(memory.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 1000 })
  await none.close()
  memory.close()
})

it('a thread that cannot start is reported, and SQLite copies within a commit as it would without', async () => {
  const { file, database, write, seen } = start(new URL('./no-such-thread.ts', import.meta.url))
  await write(256)
  await expect.poll(() => seen, { timeout: 30_000 }).toHaveLength(1)
  expect(seen[0]).toMatchObject({ type: 'internal_error', where: 'checkpoints' })
  expect(database.prepare('PRAGMA wal_autocheckpoint').get()).toEqual({ wal_autocheckpoint: 1000 })
  await write(2000)
  expect(logOf(file)).toBeLessThan(16 * MiB)
})

it('a store that is closed while its log is copied has every charge, and leaves no log', async () => {
  const file = newFile()
  const charge: Charge = chargeOf({ user: 'ann', limits: limits([9000, 9000], [9000, 9000]) })
  const store = openSqliteStore({ file })
  for (let sequence = 1; sequence <= 1500; sequence++) {
    await store.settle({
      instance: 'one',
      sequence,
      refunds: [],
      charges: [{ ...charge, user: `user ${sequence % 7}` }],
    })
  }
  await store.settle({ instance: 'one', sequence: 1501, refunds: [], charges: [charge] })
  await store.close()
  expect(() => logOf(file)).toThrow(/ENOENT/)
  const again = openSqliteStore({ file })
  open.push(again)
  const { global, personal } = await again.readUsage('ann', ['read'])
  expect([personal[0]?.[0]?.used, global[0]?.[0]?.used]).toEqual([1, 1501])
})

it('a file that is moved away before there is something to copy keeps its log, and has every row when it is back', async () => {
  const { file, write } = start()
  await write(10)
  renameSync(file, `${file}.away`)
  await write(600)
  expect(existsSync(file)).toBe(false)
  renameSync(`${file}.away`, file)
  expect(logOf(file)).toBeGreaterThan(MiB)
  // As a process that was killed leaves it.
  const killed = newFile()
  for (const suffix of ['', '-wal']) copyFileSync(file + suffix, killed + suffix)
  const again = openDatabase(killed)
  // The last batch that was written.
  expect(again.prepare('SELECT value FROM pages WHERE id = 300').get()).toEqual({
    value: new Uint8Array(4000).fill(599 % 256),
  })
  again.close()
})
