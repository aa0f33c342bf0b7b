import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openStore } from '../src/open-store.ts'
import * as sqlite from '../src/store/sqlite/store.ts'

const open = (path: string) =>
  openStore({ location: { kind: 'sqlite', path }, prefix: 'tollgate', deadlineMs: 250 }, () => {})

test('a file that is none of ours: another one is to be named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-open-'))
  writeFileSync(join(folder, 'x.db'), 'no database, but long enough to be looked at as one. '.repeat(20))
  expect(() => open(join(folder, 'x.db'))).toThrow(/\(file is not a database\): name a file in a folder/)
  rmSync(folder, { recursive: true })
})

test.each(['disk I/O error', 'database or disk is full'])(
  '%s: no other file is to be named, which would be empty',
  (why) => {
    vi.spyOn(sqlite, 'openSqliteStore').mockImplementation(() => {
      throw new Error(why)
    })
    expect(() => open('quota.db')).toThrow(`cannot open quota.db (${why}): make room on its disk, or mend it`)
    vi.restoreAllMocks()
  },
)
