import { expect, it } from 'vitest'
import { cureOf } from '../../../src/store/sqlite/cures.ts'

it.each([
  ['database or disk is full', 'make room on its disk'],
  ['disk I/O error', 'make room on its disk, or mend it'],
  ['attempt to write a readonly database', 'let the user of the gateway write it'],
  ['file is not a database', 'put back a backup in its place'],
  ['database disk image is malformed', 'put back a backup in its place'],
  ['unable to open database file', 'name a file in a folder that exists'],
])('an error "%s" of SQLite has the cure %s', (why, cure) => {
  expect(cureOf(why)).toContain(cure)
})

it('anything else that SQLite says has no cure', () => {
  expect(cureOf('database is locked')).toBeNull()
})
