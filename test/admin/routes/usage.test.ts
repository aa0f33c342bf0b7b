import { beforeAll, expect, test } from 'vitest'
import { bucketStart } from '../../../src/failures/histogram.ts'
import { StoreError } from '../../../src/quota/quota-store.ts'
import { noCounts } from '../../../src/usage/series.ts'
import { NOW, type Running, startAdmin, VIEWER } from '../running.ts'

let running: Running
let isBroken = false
beforeAll(async () => {
  const failing = (error: StoreError) => ({
    scanHistory: async (...args: Parameters<Running['store']['scanHistory']>) => {
      if (isBroken) throw error
      return running.store.scanHistory(...args)
    },
  })
  running = await startAdmin({ broken: failing(new StoreError('gone', 'connection', 'no')) })
  await running.spend('alice', 'read', 4)
  await running.spend('alice', 'write', 2)
  await running.spend('=bob', 'read', 30)
  for (let i = 0; i < 40; i++) await running.spend(`user-${i}`, 'read', 1)
  const series = (name: string, tokens: number) =>
    ({ by: 'plan', start: bucketStart(NOW), zone: null, name, counts: { ...noCounts(), tokens, requests: 2 } }) as const
  await running.store.addUsage({
    instance: 'i',
    sequence: 1,
    series: [series('free', 5), series('team', 9)],
    episodes: [],
  })
})

const get = (query: string, headers = {}) => running.call('GET', `/api/usage?${query}`, { headers })

test('GET /api/usage says what one user used, to viewers too', async () => {
  const { status, json } = await get('user=alice', { authorization: `Bearer ${VIEWER}` })
  expect(status).toBe(200)
  const times = { start: '2026-11-19T10:10:00.001Z', end: '2026-11-20T10:10:00.001Z' }
  expect(json).toMatchObject({ by: 'user', step: 'range', window: 'days', complete: true, next: null })
  expect(json.rows).toMatchObject([
    { user: 'alice', category: 'read', window: 'days', tokens: 4, running: true },
    { user: 'alice', category: 'write', window: 'days', tokens: 2, running: true },
  ])
  expect(Object.keys(json.rows[0])).toEqual(['user', 'category', 'window', ...Object.keys(times), 'tokens', 'running'])
})

test('GET /api/usage has everybody once, page by page', async () => {
  const seen: string[] = []
  let cursor = ''
  do {
    const { json } = await get(`category=read&limit=7${cursor}`)
    expect(json.rows.length).toBeLessThanOrEqual(7)
    seen.push(...json.rows.map((row: { user: string }) => row.user))
    cursor = json.next === null ? '' : `&cursor=${json.next}`
  } while (cursor !== '')
  expect(seen.sort()).toEqual(['=bob', 'alice', ...Array.from({ length: 40 }, (_, i) => `user-${i}`)].sort())
})

test('GET /api/usage has the most tokens first', async () => {
  const { json } = await get('order=tokens&limit=2')
  expect(json.rows.map((row: { user: string; tokens: number }) => [row.user, row.tokens])).toEqual([
    ['=bob', 30],
    ['alice', 4],
  ])
  expect((await get('by=plan&order=tokens')).json.rows).toMatchObject([{ plan: 'team', tokens: 9 }, { plan: 'free' }])
})

test('GET /api/usage has series of plans, with what became of requests', async () => {
  const { json } = await get('by=plan&step=30m')
  expect(json).toMatchObject({
    window: null,
    rows: [{ plan: 'free', tokens: 5, requests: 2, running: true }, { plan: 'team' }],
  })
  expect((await get('by=plan&step=30m&limit=1')).json).toMatchObject({
    rows: [{ plan: 'free' }],
    next: expect.any(String),
  })
})

test('GET /api/usage says since when use is known only where a part of the range is not known', async () => {
  const { json } = await get('user=alice&from=2026-11-01')
  expect(json).toMatchObject({ complete: false, knownSince: new Date(NOW).toISOString() })
  for (const query of ['user=alice', 'by=plan']) {
    const { json: known } = await get(query)
    expect([known.complete, known.knownSince], query).toEqual([true, undefined])
  }
})

test('GET /api/usage has one route alone, over a span before now', async () => {
  const series = ['GET /a', 'GET /b'].map((name) => ({ name, tokens: name.length }))
  await running.store.addUsage({
    instance: 'routes',
    sequence: 1,
    series: series.map(({ name, tokens }) => ({
      by: 'route',
      start: bucketStart(NOW),
      zone: null,
      name,
      counts: { ...noCounts(), tokens },
    })),
    episodes: [],
  })
  const { json } = await get('by=route&route=GET%20/b&from=90m&step=30m')
  // The store's time goes on meanwhile.
  expect(json.from).toMatch(/^2026-11-20T08:4/)
  expect(json).toMatchObject({ rows: [{ route: 'GET /b', tokens: 6 }] })
  expect(json.rows).toHaveLength(1)
})

test.each([
  ['csv', 'text/csv; charset=utf-8; header=present'],
  ['ndjson', 'application/x-ndjson; charset=utf-8'],
])('GET /api/usage gives all rows as %s', async (format, type) => {
  const { status, headers, text } = await get(`format=${format}&category=read`)
  expect([status, headers['content-type']]).toEqual([200, type])
  expect(headers['content-disposition']).toBe(`attachment; filename="usage-2026-11-20.${format}"`)
  const lines = text.split('\n').filter((line) => line !== '')
  expect(lines).toHaveLength(format === 'csv' ? 43 : 42)
  expect(lines.some((line) => line.startsWith(format === 'csv' ? "'=bob,read,days," : '{"user":"=bob",'))).toBe(true)
  expect((await running.call('HEAD', `/api/usage?format=${format}`)).text).toBe('')
})

test.each([
  ['by=users', 'by'],
  ['from=2026-13-01', 'from'],
  ['limit=1001', 'limit'],
  ['cursor=x', 'cursor'],
  ['format=xml', 'format'],
  ['format=csv&cursor=x', 'cursor'],
  ['colour=red', 'colour'],
  ['from=2026-11-01&from=2026-11-02', 'from'],
])('GET /api/usage refuses %s with the name of the field', async (query, path) => {
  const { status, json } = await get(query)
  expect(status).toBe(400)
  expect(json).toMatchObject({ error: 'bad_request', problems: [{ path }] })
})

test('GET /api/usage is 503 while the store is out, also of a text that has not begun', async () => {
  isBroken = true
  try {
    expect(await get('')).toMatchObject({ status: 503, json: { error: 'store_unavailable' } })
    expect(await get('format=ndjson')).toMatchObject({ status: 503, json: { error: 'store_unavailable' } })
  } finally {
    isBroken = false
  }
})
