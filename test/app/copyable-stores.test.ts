import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCopyable } from '../../src/app/copyable-stores.ts'

const open = (path: string) => openCopyable({ location: { kind: 'sqlite', path }, prefix: 'tollgate' }, true)

test('a file that cannot be copied from is reported with its path and the cure', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-copy-'))
  const path = join(folder, 'x.db')
  expect(() => open(path)).toThrow(`there is no file ${path}: check the path`)
  writeFileSync(path, 'no database, but long enough to be looked at as one. '.repeat(20))
  expect(() => open(path)).toThrow(`cannot open ${path} (file is not a database): put back a backup`)
  expect(() => open(folder)).toThrow(`cannot open ${folder} (unable to open database file): name a file in a folder`)
  rmSync(folder, { recursive: true })
})
