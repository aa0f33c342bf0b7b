import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { usage } from '../../src/cli/usage.ts'
import { bookWindow, countedName } from '../../src/quota/books.ts'
import { NO_RETENTION } from '../../src/quota/history.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { tempFolder } from '../setup/at-end.ts'

const KEPT = { ...NO_RETENTION, longestSeconds: 35 * 86_400, shorterSeconds: 48 * 3600 }
const folder = tempFolder()
afterEach(() => vi.restoreAllMocks())

test('an export has the days of the zone, and says what it does not know with the exit code of half a file', async () => {
  const [file, database] = [join(folder, 'tollgate.yaml'), join(folder, 'quota.db')]
  writeFileSync(
    file,
    `upstream: { url: "http://127.0.0.1:9" }
store: sqlite:${database}
quota: { baselines: { personal: { read: { 1h: 9 } }, global: { read: { 1h: 99 } } } }
routes: [{ match: GET /*, category: read, cost: 1 }]
`,
  )
  const month = { name: 'month', seconds: 2_707_201, calendar: { unit: 'month', zone: 'Asia/Shanghai' } } as const
  let now = Date.UTC(2026, 10, 1)
  const store = openSqliteStore({ file: database, toWrite: true, clock: () => now, retention: () => KEPT })
  const books = bookWindow('Asia/Shanghai')
  await store.noteCounted([countedName(books)])
  let sequence = 0
  const spend = async (at: number, organisation: string, cost: number) => {
    now = at
    const limits = { personal: [{ window: month, limit: 999 }], organisation: null, global: null, books }
    const charge = { user: 'alice', organisation, category: 'read', cost, limits }
    await store.settle({ instance: 'i', sequence: ++sequence, refunds: [], charges: [charge] })
  }
  await spend(Date.UTC(2026, 10, 20), 'acme', 35)
  // In Shanghai it is December by now.
  await spend(Date.UTC(2026, 10, 30, 17), 'beta', 14)
  now = Date.UTC(2026, 11, 5)
  const errors = vi.spyOn(console, 'error').mockImplementation(() => {})
  let text = ''
  const swallow = (some: unknown, written?: unknown): boolean => {
    text += String(some)
    if (typeof written === 'function') written()
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(swallow as typeof process.stdout.write)
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now)
  const exported = async (...args: string[]) => {
    text = ''
    errors.mockClear()
    const code = await usage(['export', '-c', file, '--format', 'ndjson', ...args])
    const rows = text.split('\n').filter((line) => line !== '')
    const tokens = rows.map((line) => JSON.parse(line)).map((row) => [row.user ?? row.organisation, row.tokens])
    return { code, tokens, why: errors.mock.calls.flat().join() }
  }
  const november = ['--from', '2026-11-01', '--to', '2026-12-01']
  try {
    // The store was first used eight hours after midnight of the first of November in Shanghai.
    const first =
      'usage: not all of this range is known: days of this zone: what was used before 2026-11-01T00:00:00.000Z is not known'
    expect(await exported(...november)).toEqual({ code: 1, tokens: [['alice', 35]], why: first })
    const days = ['--from', '2026-11-02', '--to', '2026-12-01']
    expect(await exported(...days)).toEqual({ code: 0, tokens: [['alice', 35]], why: '' })
    expect(await exported(...days, '--by', 'organisation')).toEqual({ code: 0, tokens: [['acme', 35]], why: '' })
    const december = ['--from', '2026-12-01', '--to', '2027-01-01']
    expect(await exported(...december, '--by', 'organisation')).toEqual({ code: 0, tokens: [['beta', 14]], why: '' })
    expect(await exported(...december)).toEqual({ code: 0, tokens: [['alice', 14]], why: '' })
    // Within an organisation only that is certain which the organisation itself used.
    expect(await exported(...december, '--organisation', 'beta')).toMatchObject({
      code: 1,
      why: expect.stringContaining('by=organisation'),
    })
    const utc = ['--from', '2026-11-02T00:00:00Z', '--to', '2026-12-01T00:00:00Z']
    expect((await exported(...utc)).code).toBe(1)
  } finally {
    clock.mockRestore()
    await store.close()
  }
})

test('an export has what lies beyond a soft limit, by the plan and the override that are in force', async () => {
  const [file, database] = [join(folder, 'soft.yaml'), join(folder, 'soft.db')]
  writeFileSync(
    file,
    `upstream: { url: "http://127.0.0.1:9" }
store: sqlite:${database}
quota:
  baselines: { personal: { read: { 1h: 9 } } }
  plans: { free: { personal: { read: { 1h: { limit: 10, over: 5 } } } } }
  default_plan: free
routes: [{ match: GET /*, category: read, cost: 1 }]
`,
  )
  const store = openSqliteStore({ file: database, toWrite: true, retention: () => KEPT })
  const hour = { name: '1h', seconds: 3600 }
  await store.noteCounted([countedName(hour)])
  const limits = { personal: [{ window: hour, limit: 15, over: 5 }], organisation: null, global: null }
  const charges = ['alice', 'bob'].map((user) => ({ user, organisation: null, category: 'read', cost: 14, limits }))
  await store.settle({ instance: 'i', sequence: 1, refunds: [], charges })
  const hard = { limits: { read: { '1h': 7 } }, bypassGlobal: false, shadow: false, reason: 'hard', expiresAt: null }
  await store.change({ kind: 'override', user: 'bob', to: hard }, { who: 'ops', why: null }, 0)
  await store.close()
  let text = ''
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const swallow = (some: unknown, written?: unknown): boolean => {
    text += String(some)
    if (typeof written === 'function') written()
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(swallow as typeof process.stdout.write)
  await usage(['export', '-c', file, '--window', '1h'])
  const [head = '', ...lines] = text.trim().split('\r\n')
  expect(head).toMatch(/,complete,over,grant,taken$/)
  expect(lines.map((line) => line.split(',').filter((_, i) => [0, 5, 8].includes(i)))).toEqual([
    ['alice', '14', '4'],
    ['bob', '14', ''],
  ])
})
