import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { tempFolder } from '../../../test/setup/at-end.ts'
import { MIGRATIONS } from '../../sync/migrations.ts'
import { chunk, finalChunk, NOON, QQ, record, startSync } from './harness.ts'

/** A file of the first version, with the last snapshot of a player and one record of it. */
function firstVersion(isOpen: 0 | 1): string {
  const database = join(tempFolder(), 'sync.db')
  const db = new DatabaseSync(database)
  db.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1`)
  db.exec(`INSERT INTO players VALUES (${QQ}, 'Tester', 'sega', 1, 1, 0, 5, ${NOON})`)
  db.exec(`INSERT INTO records VALUES (${QQ}, 2001, 3, '', '', 'Master', 0, 995000, 0, 'ss', 1000, 0, 0, 2)`)
  db.exec(`INSERT INTO snapshots VALUES (${QQ}, 'A', ${isOpen}, ${NOON})`)
  db.exec(`INSERT INTO snapshot_chunks VALUES (${QQ}, x'00', -1)`)
  db.close()
  return database
}

it('a database of the first version keeps its scores, and knows its last snapshot', async () => {
  const { sync, stored } = await startSync({ database: firstVersion(0) })
  expect((await sync(chunk('A', [record(2002)]))).json).toMatchObject({ status: 'ok', removed: 0 })
  expect(await stored()).toMatchObject({ '2001/3': { achievements: 99.5, dxScore: 1000 }, '2002/3': {} })
})

it('a snapshot that was open in a database of the first version is given up', async () => {
  const { sync, stored } = await startSync({ database: firstVersion(1) })
  expect((await sync(finalChunk('A', [record(2002)]))).json.detail).toBe('snapshot_expired')
  expect(Object.keys(await stored())).toEqual(['2001/3'])
  expect((await sync(finalChunk('B', [record(2002)]))).json).toMatchObject({ removed: 1 })
})
