import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kindOf } from '../../../src/app/store-kinds/kinds.ts'
import { tempFolder } from '../../setup/at-end.ts'

function open(path: string) {
  const location = { kind: 'sqlite', path } as const
  return kindOf(location).openCopyable({ location, prefix: 'tollgate' }, true, () => {})
}

test('a file that cannot be copied from is reported with its path and the cure', async () => {
  const folder = tempFolder()
  const path = join(folder, 'x.db')
  await expect(open(path)).rejects.toThrow(`there is no file ${path}: check the path`)
  writeFileSync(path, 'no database, but long enough to be looked at as one. '.repeat(20))
  await expect(open(path)).rejects.toThrow(`cannot open ${path} (file is not a database): put back a backup`)
  await expect(open(folder)).rejects.toThrow(
    `cannot open ${folder} (unable to open database file): name a file in a folder`,
  )
})
