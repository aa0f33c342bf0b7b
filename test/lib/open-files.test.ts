import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { openFiles, openFilesLimit } from '../../src/lib/open-files.ts'

test('a process without a free file counts as full, and not as it was before', () => {
  const limit = Number(openFilesLimit())
  expect(openFiles(limit)).toBeGreaterThan(2)
  expect(openFiles(limit)).toBeLessThan(limit)
  const source = `
    import { openSync } from 'node:fs'
    import { openFiles, openFilesLimit } from '${new URL('../../src/lib/open-files.ts', import.meta.url).href}'
    const limit = openFilesLimit()
    openFiles(limit)
    try { for (;;) openSync('/dev/null') } catch {}
    process.stdout.write(openFiles(limit) + ' of ' + limit)`
  const args = ['-c', 'ulimit -n 64; exec "$0" --input-type=module-typescript -e "$1"', process.execPath, source]
  expect(execFileSync('sh', args, { encoding: 'utf8' })).toBe('64 of 64')
}, 60_000)
