import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { check } from '../../src/cli/check.ts'
import { suggest } from '../../src/cli/suggest.ts'
import { parseConfig } from '../../src/config/load.ts'
import { payerOf } from '../../src/quota/policy.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { suggestFromHistory } from '../../src/suggest/history.ts'
import { noCounts } from '../../src/usage/series.ts'
import { tempFolder } from '../setup/at-end.ts'
import { historyOf, stepsThrough } from '../usage/owners.ts'

const folder = tempFolder()
afterEach(() => vi.restoreAllMocks())

const VARIABLE = `"\${SERVICE}"`
const YAML = `# Ours.
upstream: { url: ${VARIABLE} } # the service
store: sqlite:./history.db
quota:
  baselines:
    personal: { read: { 1h: 3, 1d: 9 }, write: { 1h: 7, 1d: 70 } } # guessed
    global: { read: { 1h: 30, 1d: 90 }, write: { 1h: 70, 1d: 700 } }
routes:
  - { match: GET /items/:id, category: read, cost: 2 }
  - { match: POST /items, category: write, cost: 5 }
`
const ENV = { SERVICE: 'http://127.0.0.1:9000' }
const NOW = Date.UTC(2026, 10, 26)
const HOUR = 3_600_000

function understood(text: string) {
  const loaded = parseConfig(text, 'tollgate.yaml', ENV)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

/** Each of a hundred users used as much as its number in an hour, and twice that in a day; the last one a thousand. */
const OWNERS = Array.from({ length: 100 }, (_, i) => {
  const tokens = i === 99 ? 1000 : i + 1
  return historyOf(`user-${i}`, [
    { category: 'read', seconds: 3600, startedAt: NOW - 30 * HOUR, tokens },
    { category: 'read', seconds: 3600, startedAt: NOW - 20 * HOUR, tokens: 1 },
    { category: 'read', seconds: 86_400, startedAt: NOW - 30 * HOUR, tokens: 2 * tokens },
    { category: 'read', seconds: 3600, startedAt: NOW - 900 * HOUR, tokens: 50_000 },
  ])
})
const source = {
  scanHistory: (_scope: unknown, cursor: string | null) => stepsThrough(() => OWNERS, 30, NOW)(cursor),
  readSeries: async () => ({
    at: NOW,
    rows: [0, 0.5, 1, 9].map((hours) => ({
      start: NOW - 30 * HOUR + hours * HOUR,
      name: 'read',
      counts: { ...noCounts(), tokens: 2000 },
    })),
  }),
}
const MARGIN = { percentile: 99, headroom: 1.5 }

test('baselines come from the busiest runs of users, and all else of the file stays', async () => {
  const { config } = understood(YAML)
  const options = { margin: MARGIN, from: NOW - 168 * HOUR, to: NOW, env: ENV }
  const text = await suggestFromHistory(source, { text: YAML, config }, options)
  const { quota } = understood(text).config
  const plain = (limits: ReadonlyMap<string, ReadonlyMap<string, number>>) =>
    Object.fromEntries([...limits].map(([category, byWindow]) => [category, Object.fromEntries(byWindow)]))
  expect(plain(quota.baselines.personal)).toEqual({ read: { '1h': 150, '1d': 300 }, write: { '1h': 7, '1d': 70 } })
  expect(plain(quota.baselines.global)).toEqual({ read: { '1h': 9000, '1d': 12_000 }, write: { '1h': 70, '1d': 700 } })
  expect(text).toContain(
    '99 % of 100 users stayed within 99, the busiest used 1000; would have stopped 1 of 100 users (1.00 %)',
  )
  expect(text).toContain('7 # not used in this time: as before')
  for (const kept of ['# Ours.', VARIABLE, '# the service', 'match: POST /items, category: write, cost: 5'])
    expect(text).toContain(kept)
})

test('a file without a limit of all users together gets none', async () => {
  const yaml = YAML.replace(/^ +global: .*\n/m, '')
  const options = { margin: MARGIN, from: NOW - 168 * HOUR, to: NOW, env: ENV }
  const text = await suggestFromHistory(source, { text: yaml, config: understood(yaml).config }, options)
  expect(text).not.toContain('global')
  expect(understood(text).config.quota.baselines.global.size).toBe(0)
})

test('a window that is longer than the time looked at keeps its limit', async () => {
  const { config } = understood(YAML)
  const options = { margin: MARGIN, from: NOW - 22 * HOUR, to: NOW, env: ENV }
  const text = await suggestFromHistory(source, { text: YAML, config }, options)
  expect(understood(text).config.quota.baselines.personal.get('read')?.get('1h')).toBe(2)
  expect(text).toContain('9 # longer than the time that is known: as before')
})

test('a limit of all users together comes from the last 7 days, which the file says, and stays if its window is longer', async () => {
  const yaml = YAML.replace('1d: 9 }', '1d: 9, 30d: 90 }').replace('1d: 90 }', '1d: 90, 30d: 90000 }')
  const owner = historyOf('alice', [
    { category: 'read', seconds: 86_400, startedAt: NOW - 30 * HOUR, tokens: 20 },
    { category: 'read', seconds: 30 * 86_400, startedAt: NOW - 1000 * HOUR, tokens: 600 },
  ])
  const old = { ...source, scanHistory: () => stepsThrough(() => [owner], 1, NOW)(null) }
  const options = { margin: MARGIN, from: NOW - 1440 * HOUR, to: NOW, env: ENV }
  const text = await suggestFromHistory(old, { text: yaml, config: understood(yaml).config }, options)
  const { personal, global } = understood(text).config.quota.baselines
  expect(personal.get('read')?.get('30d')).toBe(900)
  expect(global.get('read')?.get('30d')).toBe(90_000)
  expect(text).toContain('90000 # longer than the time that is known: as before')
  expect(text).toContain('12000 # all together used 8000 at most in the last 7 days')
})

test('a store that is younger than half a window keeps the limit of that window, however long a time is asked for', async () => {
  const { config } = understood(YAML)
  const suggestedAt = (hours: number) =>
    suggestFromHistory(
      source,
      { text: YAML, config },
      { margin: MARGIN, from: NOW - 720 * HOUR, to: NOW - hours * HOUR, env: ENV },
    )
  const young = await suggestedAt(19)
  expect(young).toContain(`what users did, ${new Date(NOW - 30 * HOUR).toISOString()} to`)
  expect(young).toContain('150 # longer than the time that is known: by the other limits')
  const personal = understood(young).config.quota.baselines.personal.get('read')
  expect([personal?.get('1h'), personal?.get('1d')]).toEqual([150, 150])
  expect(
    understood(await suggestedAt(17))
      .config.quota.baselines.personal.get('read')
      ?.get('1d'),
  ).toBe(300)
})

test('a store of which nobody used anything has nothing to suggest from', async () => {
  const { config } = understood(YAML)
  const options = { margin: MARGIN, from: NOW - 2 * HOUR, to: NOW, env: ENV }
  await expect(suggestFromHistory(source, { text: YAML, config }, options)).rejects.toThrow('nobody used anything')
})

test('the command reads the store of its configuration, and check accepts what it writes', async () => {
  const [file, out] = [join(folder, 'old.yaml'), join(folder, 'new.yaml')]
  const yaml = YAML.replace(VARIABLE, ENV.SERVICE).replace('./history.db', join(folder, 'history.db'))
  writeFileSync(file, yaml)
  const clock = () => Date.now() - HOUR
  const store = openSqliteStore({ file: join(folder, 'history.db'), toWrite: true, clock })
  const window = { name: '1h', seconds: 3600 }
  const limits = { personal: [{ window, limit: 1000 }], organisation: null, global: null }
  const charges = ['alice', 'bob'].map((user) => ({ ...payerOf(user), category: 'read', cost: 40, limits }))
  await store.settle({ instance: 'test', sequence: 1, refunds: [], charges })
  await store.close()
  const said = vi.spyOn(console, 'log').mockImplementation(() => {})
  vi.spyOn(console, 'error').mockImplementation(() => {})
  expect(await suggest(['--history', '-c', file, '--out', out])).toBe(0)
  expect(readFileSync(out, 'utf8')).toMatch(/1h: 60 # 99 % of 2 users stayed within 40/)
  expect(await check(['-c', out])).toBe(0)
  expect(said.mock.calls.map(([line]) => line).join('\n')).toContain(': ok (2 routes')
})
