import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { usage } from '../../src/cli/usage.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-usage-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => vi.restoreAllMocks())

test('an export that begins before what is kept says so, and its exit code is that of half a file', async () => {
  const [file, database] = [join(folder, 'tollgate.yaml'), join(folder, 'quota.db')]
  writeFileSync(
    file,
    `upstream: { url: "http://127.0.0.1:9" }
store: sqlite:${database}
quota: { baselines: { personal: { read: { 1h: 9 } }, global: { read: { 1h: 99 } } } }
routes: [{ match: GET /*, category: read, cost: 1 }]
`,
  )
  await openSqliteStore({ file: database, toWrite: true }).close()
  const errors = vi.spyOn(console, 'error').mockImplementation(() => {})
  const swallow = (_text: unknown, written?: unknown): boolean => {
    if (typeof written === 'function') written()
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(swallow as typeof process.stdout.write)
  expect(await usage(['export', '--from', '1d', '-c', file])).toBe(0)
  expect(errors.mock.calls).toEqual([])
  expect(await usage(['export', '--from', '90d', '-c', file])).toBe(1)
  expect(errors.mock.calls.flat().join()).toContain('--from lies before what is kept')
})
