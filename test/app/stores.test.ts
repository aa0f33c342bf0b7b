import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { openStore, openStoreToLook } from '../../src/app/stores.ts'
import type { Observation } from '../../src/observe/observation.ts'
import * as sqlite from '../../src/store/sqlite/sqlite-store.ts'
import { tempFolder } from '../setup/at-end.ts'
import { packagesOf } from '../setup/packages.ts'

const NO_LOGIN = { username: null, password: null, tls: null, sentinel: null }

const open = (path: string) =>
  openStore({ location: { kind: 'sqlite', path }, prefix: 'tollgate', ...NO_LOGIN, deadlineMs: 250 }, () => {})

test('a file that is no database, or cannot be opened, is reported with its path and the cure', async () => {
  const folder = tempFolder()
  const path = join(folder, 'x.db')
  writeFileSync(path, 'no database, but long enough to be looked at as one. '.repeat(20))
  await expect(open(path)).rejects.toThrow(`cannot open ${path} (file is not a database): put back a backup`)
  await expect(open(folder)).rejects.toThrow(`cannot open ${folder} (unable to open database file): name a file in a`)
})

test('a database of another program, or of another version of Tollgate, is refused with the cure, and stays as it is', async () => {
  const folder = tempFolder()
  const path = join(folder, 'x.db')
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE counters (a); INSERT INTO counters VALUES (1)')
  for (const version of [0, 1]) {
    other.exec(`PRAGMA user_version = ${version}`)
    const before = readFileSync(path)
    await expect(open(path)).rejects.toThrow(`cannot open ${path} (another program made it): name a file that Tollgate`)
    expect(readFileSync(path)).toEqual(before)
  }
  other.close()
  const ours = join(folder, 'ours.db')
  await (await open(ours)).close()
  const later = new DatabaseSync(ours)
  later.exec('PRAGMA user_version = 99')
  later.close()
  await expect(open(ours)).rejects.toThrow(
    /another version of Tollgate made it: its tables are of version 99, and not \d+\): run the Tollgate that made it/,
  )
})

test('a file that can only be read has its rights as the cure, and is enough for a command that looks', async () => {
  const folder = tempFolder()
  const store = await open(join(folder, 'quota.db'))
  // For root every file can be written.
  const readOnly = `file:${join(folder, 'quota.db')}?mode=ro`
  await expect(open(readOnly)).rejects.toThrow(
    /cannot open .*quota\.db.* \(attempt to write a readonly database\): let the user of the gateway write it/,
  )
  const looking = await openStoreToLook({
    location: { kind: 'sqlite', path: readOnly },
    prefix: 'tollgate',
    ...NO_LOGIN,
    deadlineMs: 250,
  })
  expect(await looking.listTokens()).toEqual([])
  await looking.close()
  await store.close()
})

test('a file that another process is writing can be written', async () => {
  const folder = tempFolder()
  const path = join(folder, 'quota.db')
  await (await open(path)).close()
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  await (await open(path)).close()
  other.close()
})

test.each(['disk I/O error', 'database or disk is full'])(
  'a file with "%s" has another cure than the name of another file, which would be empty',
  async (why) => {
    vi.spyOn(sqlite, 'openSqliteStore').mockImplementation(() => {
      throw new Error(why)
    })
    await expect(open('quota.db')).rejects.toThrow(`cannot open quota.db (${why}): make room on its disk, or mend it`)
    vi.restoreAllMocks()
  },
)

test('a file that is taken away, or replaced, under a gateway that has it open is reported once', async () => {
  const folder = tempFolder()
  const path = join(folder, 'quota.db')
  const seen: Observation[] = []
  const store = await openStore(
    { location: { kind: 'sqlite', path }, prefix: 'tollgate', ...NO_LOGIN, deadlineMs: 250 },
    (o) => seen.push(o),
  )
  await store.ping()
  expect(seen).toEqual([])
  renameSync(path, `${path}.old`)
  await expect.poll(() => seen.length, { timeout: 5000 }).toBe(1)
  await store.ping()
  expect(seen).toEqual([
    {
      type: 'store_warning',
      warning: 'file_gone',
      message: expect.stringContaining(`${path} is gone, or another file`),
    },
  ])
  renameSync(`${path}.old`, path)
  await store.ping()
  expect(seen.at(-1)).toEqual({ type: 'store_warning_over', warning: 'file_gone' })
  rmSync(path)
  writeFileSync(path, '')
  await store.ping()
  expect(seen.map(({ type }) => type)).toEqual(['store_warning', 'store_warning_over', 'store_warning'])
  await store.close()
  expect(seen.at(-1)).toEqual({ type: 'store_lost', file: path })
})

test('a store that cannot be read is out, though its file is there', async () => {
  const folder = tempFolder()
  const store = await open(join(folder, 'quota.db'))
  await store.close()
  await expect(store.ping()).rejects.toThrow()
})

test('a store in memory has no file to look for', async () => {
  const seen: Observation[] = []
  const store = await openStore(
    { location: { kind: 'sqlite', path: ':memory:' }, prefix: 'tollgate', ...NO_LOGIN, deadlineMs: 250 },
    (o) => seen.push(o),
  )
  await store.ping()
  await store.close()
  expect(seen).toEqual([])
})

test('the client of Redis is loaded with a store in Redis, and not before', () => {
  const loaded = packagesOf('src/app/app.ts')
  expect(loaded).toContain('pino')
  expect(loaded).not.toContain('ioredis')
})
