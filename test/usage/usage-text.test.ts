import { describe, expect, test } from 'vitest'
import { noCounts } from '../../src/usage/series.ts'
import type { UsageQuery } from '../../src/usage/usage-query.ts'
import type { UsageRow } from '../../src/usage/usage-rows.ts'
import { fileNameOf, piecesOf, writerOf } from '../../src/usage/usage-text.ts'

const AT = Date.UTC(2026, 10, 20)
const QUERY = { by: 'user', window: { name: '1h', seconds: 3600 }, gaps: [] as readonly string[] } as UsageQuery
const row = (name: string, more: Partial<UsageRow> = {}): UsageRow => ({
  name,
  category: 'read',
  window: QUERY.window,
  start: AT,
  end: AT + 3_600_000,
  place: AT,
  tokens: 118,
  over: null,
  running: false,
  isWhole: true,
  counts: null,
  grant: null,
  ...more,
})

describe('usage as CSV', () => {
  const csv = writerOf('csv', QUERY)

  test('usage as CSV begins with a byte order mark and the names of the columns, and has lines of RFC 4180', () => {
    expect(csv.head).toBe('\ufeffuser,category,window,start,end,tokens,running,complete,over,grant,taken\r\n')
    expect(csv.line(row('alice'))).toBe(
      'alice,read,1h,2026-11-20T00:00:00.000Z,2026-11-20T01:00:00.000Z,118,false,true,,,\r\n',
    )
    expect(csv.line(row('alice', { over: 18 }))).toContain(',118,false,true,18,,\r\n')
    const grant = { id: '6f9e34519fb4', taken: 20 }
    expect(csv.line(row('alice', { window: null, tokens: 0, grant }))).toBe(
      'alice,read,,2026-11-20T00:00:00.000Z,2026-11-20T01:00:00.000Z,0,false,true,,6f9e34519fb4,20\r\n',
    )
  })

  test.each([
    ['a,b', '"a,b"'],
    ['a"b', '"a""b"'],
    ['a\nb', '"a\nb"'],
    [' a', '" a"'],
    ['用户', '用户'],
    ['=1+1', "'=1+1"],
    ['+86138', "'+86138"],
    ['-2', "'-2"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['\t=1', `"'\t=1"`],
    ['\ta', `"'\ta"`],
    ['＝1', "'＝1"],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ['a=1', 'a=1'],
  ])('usage as CSV has the name %j as %s, which is never a formula', (name, cell) => {
    expect(csv.line(row(name)).split(',read,')[0]).toBe(cell)
  })

  test('usage as CSV has the counts of a series, and numbers below 0 as numbers', () => {
    const series = writerOf('csv', { ...QUERY, by: 'plan', window: null } as UsageQuery)
    expect(series.head).toBe(
      '\ufeffplan,start,end,tokens,running,complete,requests,accepted,refusedPersonal,refusedOrganisation,refusedGlobal,shadowed,status4xx,status5xx,status0,gateway5xx,over\r\n',
    )
    const counts = { ...noCounts(), requests: 3, status5xx: 1, gateway5xx: 2, over: 9 }
    expect(series.line(row('free', { category: null, tokens: -4, counts }))).toMatch(
      /^free,.*,-4,false,true,3,0,0,0,0,0,0,1,0,2,9\r\n$/,
    )
  })
})

test('usage as NDJSON is one object a line, with all that JSON has', () => {
  const { head, line } = writerOf('ndjson', QUERY)
  expect(head).toBe('')
  const text = line(row('a\nb'))
  expect(text.indexOf('\n')).toBe(text.length - 1)
  expect(JSON.parse(text)).toEqual({
    user: 'a\nb',
    category: 'read',
    window: '1h',
    start: '2026-11-20T00:00:00.000Z',
    end: '2026-11-20T01:00:00.000Z',
    tokens: 118,
    running: false,
    complete: true,
  })
})

test('each line of a text says whether all of its range is known', () => {
  const completeOf = (query: UsageQuery, more: Partial<UsageRow> = {}) =>
    JSON.parse(writerOf('ndjson', query).line(row('alice', more))).complete
  expect(completeOf(QUERY)).toBe(true)
  expect(completeOf(QUERY, { isWhole: false })).toBe(false)
  expect(completeOf({ ...QUERY, gaps: ['the beginning is not kept any more'] })).toBe(false)
})

test('a text goes out in pieces, as fast as they are taken', async () => {
  let asked = 0
  async function* batches() {
    for (; asked < 1000; asked++) yield Array.from({ length: 100 }, (_, i) => row(`user-${asked}-${i}`))
  }
  const pieces = piecesOf(writerOf('csv', QUERY), batches())
  const first = await pieces.next()
  expect(String(first.value).length).toBeGreaterThan(30_000)
  expect(String(first.value).length).toBeLessThan(40_000)
  expect(asked).toBeLessThan(10)
  await pieces.return(undefined)
  expect(asked).toBeLessThan(10)
})

describe('the name of a file of usage', () => {
  const berlin = { unit: 'day', zone: 'Europe/Berlin' } as const
  const named = (from: string, to: string, more: Partial<UsageQuery> = {}) =>
    fileNameOf({
      ...QUERY,
      name: 'acme',
      days: berlin,
      step: 'range',
      from: Date.parse(from),
      to: Date.parse(to),
      ...more,
    })

  test.each([
    ['2026-10-31T23:00:00Z', '2026-11-30T23:00:00Z', {}, 'acme-2026-11'],
    ['2026-10-31T23:00:00Z', '2026-11-30T23:00:00Z', { step: '1d' }, 'acme-2026-11-days'],
    ['2026-10-31T23:00:00Z', '2026-11-07T23:00:00Z', {}, 'acme-2026-11-01-to-2026-11-07'],
    ['2026-11-14T23:00:00Z', '2026-12-14T23:00:00Z', {}, 'acme-2026-11-15-to-2026-12-14'],
    ['2026-11-14T23:00:00Z', '2026-11-15T10:00:00Z', { name: null, step: '30m' }, 'usage-2026-11-15-half-hours'],
  ] as const)('the name of a file of usage from %s to %s with %j is %s', (from, to, more, name) => {
    expect(named(from, to, more)).toBe(name)
  })
})
