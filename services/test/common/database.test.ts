import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { atEnd, tempFolder } from '../../../test/setup/at-end.ts'
import { SCHEMA as CHART } from '../../chart/tables.ts'
import { DatabaseBusy, openDatabase } from '../../common/database.ts'
import { SCHEMA } from '../../score/tables.ts'
import { SCHEMA as SYNC } from '../../sync/tables.ts'
import { changed, locked } from '../other-process.ts'

function open(file = join(tempFolder(), 'score.db'), busyTimeout?: number) {
  const db = openDatabase(file, SCHEMA, busyTimeout)
  atEnd(() => db.close())
  return { db, file }
}

it('openDatabase makes the schema once and leaves it alone the second time', () => {
  const file = join(tempFolder(), 'score.db')
  openDatabase(file, SCHEMA).close()
  const { db } = open(file)
  expect(db.prepare('PRAGMA user_version').get()).toMatchObject({ user_version: 1 })
  expect(db.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
})

it('openDatabase refuses a file of a newer version', () => {
  const file = join(tempFolder(), 'score.db')
  changed(file, 'PRAGMA user_version = 99')
  expect(() => openDatabase(file, SCHEMA)).toThrow('newer')
})

it('openDatabase refuses the database of another program, and leaves it as it is', () => {
  const file = join(tempFolder(), 'notes.db')
  changed(file, 'CREATE TABLE notes (text TEXT)')
  const before = readFileSync(file)
  expect(() => openDatabase(file, SCHEMA)).toThrow(`cannot open ${file} (another program made it): name a file`)
  expect(readFileSync(file).equals(before)).toBe(true)
})

it('openDatabase refuses the database of another bundled service', () => {
  for (const other of [CHART, SYNC]) {
    const file = join(tempFolder(), 'other.db')
    openDatabase(file, other).close()
    expect(() => openDatabase(file, SCHEMA)).toThrow(`cannot open ${file} (another program made it): name a file`)
  }
})

it('a file that cannot be opened is named, with the cure', () => {
  const file = join(tempFolder(), 'none', 'score.db')
  expect(() => openDatabase(file, SCHEMA)).toThrow(`cannot open ${file} (unable to open database file): name a file`)
})

describe('write', () => {
  const add = "INSERT INTO players (player, user) VALUES (1, 'a')"

  it('write undoes everything when the work throws, and can be used again', async () => {
    const { db } = open()
    const count = () => Number(db.prepare('SELECT count(*) AS n FROM players').get()?.n)
    const failing = db.write(() => {
      db.prepare(add).run()
      throw new Error('stop')
    })
    await expect(failing).rejects.toThrow('stop')
    expect(count()).toBe(0)
    await db.write(() => db.prepare(add).run())
    expect(count()).toBe(1)
  })

  it('write gives up with DatabaseBusy when another connection keeps the lock', async () => {
    const { db, file } = open(undefined, 50)
    locked(file)
    await expect(db.write(() => db.prepare(add).run())).rejects.toThrow(DatabaseBusy)
  })

  it('write waits for the lock without blocking the thread', async () => {
    const { db, file } = open()
    const other = locked(file)
    const waiting = db.write(() => db.prepare(add).run())
    await new Promise((resolve) => setTimeout(resolve, 60))
    other.exec('COMMIT')
    await expect(waiting).resolves.toMatchObject({ changes: 1 })
  })
})

it('read does not wait for a writer', async () => {
  const { db, file } = open(undefined, 0)
  locked(file)
  expect(await db.read(() => db.prepare('SELECT 1 AS one').get())).toMatchObject({ one: 1 })
})
