import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unreadable } from '../../src/errors.ts'
import { readRegular, readRegularSync } from '../../src/lib/regular-file.ts'
import { tempFolder } from '../setup/at-end.ts'

const folder = tempFolder()
const pipe = join(folder, 'pipe')
execFileSync('mkfifo', [pipe])

const WAYS = [
  ['at once', async (file: string) => readRegularSync(file)],
  ['beside other work', readRegular],
] as const

test.each(WAYS)('a file is read whole: %s', async (_way, read) => {
  const file = join(folder, 'file')
  writeFileSync(file, 'x'.repeat(100_000))
  expect((await read(file)).toString()).toBe('x'.repeat(100_000))
})

test.each(WAYS)(
  'a pipe that nobody writes to and a device are refused, and hold nothing up: %s',
  async (_way, read) => {
    for (const file of [pipe, '/dev/zero']) await expect(read(file)).rejects.toMatchObject({ code: 'ENDLESS' })
    expect(unreadable('ENDLESS')).toBe('is not a regular file: name one')
    await expect(read(join(folder, 'nothing'))).rejects.toMatchObject({ code: 'ENOENT' })
  },
)
