import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bookWindow, countedName } from '../../src/quota/books.ts'
import { NO_RETENTION } from '../../src/quota/history.ts'
import type { Window } from '../../src/quota/window.ts'
import { NO_TERMS } from '../../src/usage/beyond.ts'
import { noCounts } from '../../src/usage/series.ts'
import { readPagedQuery, writeUsageCursor } from '../../src/usage/usage-cursor.ts'
import { allOfRuns, pageOfRuns, topOfRuns } from '../../src/usage/usage-pages.ts'
import type { UsageFields, UsageQuery } from '../../src/usage/usage-query.ts'
import { rowsOfGrants, rowsOfRuns, rowsOfSeries, type UsageRow } from '../../src/usage/usage-rows.ts'
import { historyOf, type Run, stepsThrough } from './owners.ts'

const HOUR = 3_600_000
const AT = Date.UTC(2026, 10, 20, 12)
const H1: Window = { name: '1h', seconds: 3600 }
const MONTH: Window = { name: 'month', seconds: 32 * 86_400, calendar: { unit: 'month', zone: 'Asia/Shanghai' } }
const CONTEXT = {
  at: AT,
  windows: [H1, MONTH],
  books: null,
  zone: 'UTC',
  kept: { ...NO_RETENTION, longestSeconds: 1e7, shorterSeconds: 1e7 },
  since: new Map([H1, MONTH].map((window) => [countedName(window), 0])),
}
const NOT_MET = { reachesOver: false }
const { signal } = new AbortController()

function queryOf(fields: UsageFields, cursor?: string) {
  const read = readPagedQuery(fields, cursor, CONTEXT)
  if ('problems' in read) throw new Error(JSON.stringify(read.problems))
  return read
}

const run = (startedAt: number, tokens: number, more: Partial<Run> = {}): Run => ({
  category: 'read',
  seconds: 3600,
  startedAt,
  tokens,
  ...more,
})

const shown = (rows: readonly UsageRow[]) =>
  rows.map(({ category, start, end, tokens, running }) => [
    category,
    new Date(start).toISOString().slice(5, 16),
    Math.round((10 * (end - start)) / HOUR) / 10,
    tokens,
    running,
  ])

describe('the rows of one user', () => {
  const history = historyOf('alice', [
    run(AT - 26 * HOUR, 1),
    run(AT - 5 * HOUR, 10),
    run(AT - 3.5 * HOUR, 20),
    run(AT - HOUR / 2, 4, { isCounted: true }),
    run(AT - 5 * HOUR, 7, { category: 'write' }),
    run(AT - 5 * HOUR, 41, { seconds: MONTH.seconds, isCounted: true }),
  ])

  test('the rows of one user count the runs of one window that start in the range', () => {
    expect(shown(rowsOfRuns(history, queryOf({}).query, AT, NOT_MET))).toEqual([
      ['read', '11-19T00:00', 36, 35, true],
      ['write', '11-19T00:00', 36, 7, false],
    ])
  })

  test('the rows of one user have what each run used beyond a soft limit, where one is known', () => {
    const soft = [{ window: H1, limit: 30, over: 18 }]
    const limitsOf = (category: string) => (category === 'read' ? soft : [{ window: H1, limit: 5 }])
    const over = (fields: UsageFields) =>
      rowsOfRuns(history, queryOf(fields).query, AT, NOT_MET, { ...NO_TERMS, limitsOf }).map((row) => [
        row.tokens,
        row.over,
      ])
    expect(over({ step: 'run', from: '24h' })).toEqual([
      [10, 0],
      [20, 8],
      [4, 0],
      [7, null],
    ])
    expect(over({})).toEqual([
      [35, 8],
      [7, null],
    ])
    expect(over({ window: 'month' })).toEqual([[41, null]])
  })

  test('the rows of one user name each grant that paid something and that the range touches, whole if all its time lies in the range', () => {
    const given = { category: 'read', tokens: 9 }
    const known = new Map([
      ['over', { ...given, from: AT - 40 * HOUR, until: AT - 30 * HOUR }],
      ['before', { ...given, from: AT - 40 * HOUR, until: AT - 10 * HOUR }],
      ['in', { ...given, from: AT - 20 * HOUR, until: AT - 5 * HOUR }],
      ['still', { ...given, from: AT - 10 * HOUR, until: AT + 5 * HOUR }],
      ['write', { ...given, category: 'write', from: AT - 10 * HOUR, until: AT + 5 * HOUR }],
    ])
    const owner = historyOf('alice', [], { still: 4, over: 1, unknown: 6, write: 5, in: 3, before: 2 })
    const terms = { ...NO_TERMS, grantOf: (id: string) => known.get(id) ?? null }
    const named = (fields: UsageFields) =>
      rowsOfGrants(owner, queryOf(fields).query, AT, terms).map(({ grant, tokens, isWhole, running }) => [
        ...[grant?.id, grant?.taken, tokens],
        ...[isWhole, running],
      ])
    const still = ['still', 4, 0, true, true]
    const before = ['before', 2, 0, false, false]
    expect(named({ from: '24h' })).toEqual([before, ['in', 3, 0, true, false], still, ['write', 5, 0, true, true]])
    expect(named({ from: '24h', category: 'write' })).toEqual([['write', 5, 0, true, true]])
    const to = new Date(AT - 8 * HOUR).toISOString()
    expect(named({ from: new Date(AT - 24 * HOUR).toISOString(), to, category: 'read' })).toEqual([
      before,
      ['in', 3, 0, false, false],
      ['still', 4, 0, false, true],
    ])
    expect(rowsOfGrants(owner, queryOf({}).query, AT, NO_TERMS)).toEqual([])
  })

  test('the rows of one user have nothing that grants paid beyond a soft limit, whether its day is kept beside the books or not', () => {
    const day: Window = { name: 'day', seconds: 86_400, calendar: { unit: 'day', zone: 'UTC' } }
    const books = bookWindow('UTC')
    const limitsOf = () => [{ window: day, limit: 15, over: 5 }]
    const { query } = queryOf({ step: 'run', from: '7d' })
    const [first, second, third] = [96, 72, 48].map((hours) => AT - hours * HOUR) as [number, number, number]
    const runs = [
      run(first, 35, { seconds: books.seconds }),
      run(second, 30, { seconds: books.seconds }),
      run(second + HOUR, 12, { seconds: day.seconds }),
      run(third, 30, { seconds: books.seconds }),
      run(third + HOUR, 8, { seconds: day.seconds }),
      run(third + 24 * HOUR, 40, { seconds: books.seconds }),
    ]
    const over = (taken?: Readonly<Record<string, number>>) =>
      rowsOfRuns(historyOf('alice', runs, taken), { ...query, window: books, windows: null }, AT, NOT_MET, {
        ...NO_TERMS,
        limitsOf,
      }).map((row) => [row.tokens, row.over])
    expect(over({ a1: 60 })).toEqual([
      [35, 5],
      [30, 2],
      [30, 0],
      [40, 0],
    ])
    expect(over()).toEqual([
      [35, 25],
      [30, 20],
      [30, 20],
      [40, 30],
    ])
  })

  test('the rows of one user are runs, each with its end', () => {
    expect(
      shown(rowsOfRuns(history, queryOf({ step: 'run', category: 'read', from: '24h' }).query, AT, NOT_MET)),
    ).toEqual([
      ['read', '11-20T07:00', 1, 10, false],
      ['read', '11-20T08:30', 1, 20, false],
      ['read', '11-20T11:30', 1, 4, true],
    ])
  })

  test('the rows of one user are those of each category by its own window, where none counts them all', () => {
    const login = { category: 'login', seconds: 60 }
    const mixed = historyOf('alice', [
      run(AT - 4 * HOUR, 1, login),
      run(AT - 3 * HOUR, 2, login),
      run(AT - 4 * HOUR, 3, { ...login, seconds: 3600 }),
      run(AT - 4 * HOUR, 40),
    ])
    const { query } = queryOf({ from: '5h' })
    const [hour, minute] = [
      { name: '1h', seconds: 3600 },
      { name: '1m', seconds: 60 },
    ]
    const windows = new Map([
      ['login', minute],
      ['read', hour],
    ])
    const rows = rowsOfRuns(mixed, { ...query, window: hour, windows }, AT, NOT_MET)
    expect(rows.map(({ category, window, tokens }) => [category, window?.name, tokens])).toEqual([
      ['login', '1m', 3],
      ['read', '1h', 40],
    ])
  })

  test('the rows of one user are steps of UTC, cut at the ends of the range', () => {
    const query = queryOf({ step: '1d', from: '2026-11-19T06:00:00Z', to: '2026-11-20T09:00:00Z', window: '1h' }).query
    expect(shown(rowsOfRuns(history, query, AT, NOT_MET))).toEqual([
      ['read', '11-19T06:00', 18, 1, false],
      ['read', '11-20T00:00', 9, 30, false],
      ['write', '11-20T00:00', 9, 7, false],
    ])
  })

  test('the rows of one user of a calendar window are in the range in which they were charged first, and shown with their period', () => {
    const begin = Date.UTC(2026, 9, 31, 16)
    const query = queryOf({ step: 'run', window: 'month' }).query
    const of = (from: number, to: number) => rowsOfRuns(history, { ...query, from, to }, AT, NOT_MET)
    expect(of(AT - 5 * HOUR, AT)).toMatchObject([
      { start: begin, end: Date.UTC(2026, 10, 30, 16), tokens: 41, running: true },
    ])
    expect(of(begin, AT - 5 * HOUR)).toEqual([])
  })

  test.each<[string, number, number, Run, boolean]>([
    ['begins before the range and ends in it', AT - 2 * HOUR, AT, run(AT - 2 * HOUR - 1, 1), true],
    ['ends with the moment at which the range begins', AT - 2 * HOUR, AT, run(AT - 3 * HOUR, 1), false],
    ['begins in the range and ends behind it', AT - 9 * HOUR, AT - 2 * HOUR, run(AT - 3 * HOUR + 1, 1), true],
    ['ends with the range', AT - 9 * HOUR, AT - 2 * HOUR, run(AT - 3 * HOUR, 1), false],
    ['goes on now, in a range that ends now', AT - 9 * HOUR, AT + 1, run(AT - HOUR / 2, 1), false],
    ['is of another window', AT - 2 * HOUR, AT, run(AT - 2 * HOUR - 1, 1, { seconds: MONTH.seconds }), false],
  ])('the rows of one user reach over an end of the range where one %s', (_, from, to, one, reachesOver) => {
    const found = { reachesOver: false }
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
    rowsOfRuns(historyOf('alice', [one]), queryOf({ window: '1h', ...range }).query, AT, found)
    expect(found.reachesOver).toBe(reachesOver)
  })

  test('the rows of one user say of each category whether a run of it reaches over an end of the range', () => {
    const [from, to] = [AT - 9 * HOUR, AT - 2 * HOUR]
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
    const runs = [run(from - 1, 1), run(AT - 5 * HOUR, 1), run(AT - 5 * HOUR, 1, { category: 'write' })]
    const rows = rowsOfRuns(historyOf('alice', runs), queryOf({ window: '1h', ...range }).query, AT, {
      reachesOver: false,
    })
    expect(rows.map(({ category, isWhole }) => [category, isWhole])).toEqual([
      ['read', false],
      ['write', true],
    ])
  })

  test('the rows of one user are days of the zone, of 23 and of 25 hours where its clocks are set', () => {
    const books = bookWindow('Europe/Berlin')
    const context = { ...CONTEXT, at: Date.UTC(2026, 10, 1), books, zone: 'Europe/Berlin', since: new Map() }
    const day = (startedAt: number) => run(startedAt, 1, { seconds: books.seconds })
    const daysOf = (from: string, to: string, ...all: Run[]) => {
      const read = readPagedQuery({ step: '1d', from, to }, undefined, context)
      if ('problems' in read) throw new Error(JSON.stringify(read.problems))
      return shown(rowsOfRuns(historyOf('alice', all), read.query, context.at, NOT_MET))
    }
    const autumn = [24, 25].map((date) => day(Date.UTC(2026, 9, date, 21)))
    expect(daysOf('2026-10-24', '2026-10-26', ...autumn)).toEqual([
      ['read', '10-23T22:00', 24, 1, false],
      ['read', '10-24T22:00', 25, 1, false],
    ])
    expect(daysOf('2026-03-29', '2026-03-30', day(Date.UTC(2026, 2, 29, 1)))).toEqual([
      ['read', '03-28T23:00', 23, 1, false],
    ])
  })
})

test('the rows of a series are its half hours, in the steps that are asked for', () => {
  const { query } = queryOf({ by: 'plan', step: '1h', from: '2026-11-20T10:30:00Z' })
  const half = (start: number, name: string, tokens: number) => ({
    start,
    name,
    counts: { ...noCounts(), tokens, requests: 2 },
  })
  const rows = rowsOfSeries(
    [
      half(AT - 1.5 * HOUR, 'free', 3),
      half(AT - HOUR, 'free', 5),
      half(AT - HOUR / 2, 'free', 6),
      half(AT - HOUR, 'a', 1),
    ],
    query,
    AT - 1,
  )
  expect(
    rows.map(({ name, start, end, tokens, running, counts }) => [
      name,
      AT - start,
      end - start,
      tokens,
      running,
      counts?.requests,
    ]),
  ).toEqual([
    ['free', 1.5 * HOUR, HOUR / 2, 3, false, 2],
    ['a', HOUR, HOUR, 1, true, 2],
    ['free', HOUR, HOUR, 11, true, 4],
  ])
})

test('a half hour that has ended is running until gateways have sent its last seconds', () => {
  const { query } = queryOf({ by: 'all', step: '30m', from: '2026-11-20T10:30:00Z' })
  const half = { start: AT - HOUR / 2, name: '', counts: { ...noCounts(), tokens: 60, requests: 2 } }
  const running = [0, 5999, 6000].map((after) => rowsOfSeries([half], query, AT + after).map((row) => row.running))
  expect(running).toEqual([[true], [true], [false]])
})

const owners = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 12 }).chain((ids) =>
  fc.tuple(
    ...ids.map((id) =>
      fc
        .uniqueArray(
          fc.record({
            category: fc.constantFrom('read', 'write'),
            seconds: fc.constantFrom(3600, 18_000),
            startedAt: fc.integer({ min: AT - 30 * HOUR, max: AT }),
            tokens: fc.integer({ min: 1, max: 9 }),
          }),
          { maxLength: 6, selector: ({ category, seconds, startedAt }) => `${category} ${seconds} ${startedAt}` },
        )
        .map((runs) => ({ id, runs })),
    ),
  ),
)

const key = ({ name, category, place, tokens }: UsageRow) => JSON.stringify([name, category, place, tokens])

describe('pages', () => {
  test('pages have each row once, in whatever order steps have their users, while others come', async () => {
    await fc.assert(
      fc.asyncProperty(
        owners,
        fc.constantFrom('range', 'run', '1h' as const),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 4 }),
        async (all, step, limit, size) => {
          const histories = all.map(({ id, runs }) => historyOf(id, runs))
          const steps = stepsThrough(() => histories, size, AT)
          const fields = { step }
          const seen: string[] = []
          let cursor: string | undefined
          do {
            const { query, from } = queryOf(fields, cursor)
            const page = await pageOfRuns({ query, steps, from, limit, most: 3, signal })
            expect(page.rows.length).toBeLessThanOrEqual(limit)
            seen.push(...page.rows.map(key))
            cursor = page.next === null ? undefined : writeUsageCursor(query, page.next)
          } while (cursor !== undefined)
          const { query } = queryOf(fields)
          const whole = histories.flatMap((history) => rowsOfRuns(history, query, AT, NOT_MET))
          expect(seen.toSorted()).toEqual(whole.map(key).toSorted())
        },
      ),
      { numRuns: 100 },
    )
  }, 60_000)

  test('pages of the most tokens have those, and together what there is', async () => {
    await fc.assert(
      fc.asyncProperty(owners, fc.integer({ min: 1, max: 5 }), async (all, limit) => {
        const histories = all.map(({ id, runs }) => historyOf(id, runs))
        const { query } = queryOf({ order: 'tokens' })
        const steps = stepsThrough(() => histories, 3, AT)
        const { rows, next } = await topOfRuns({ query, steps, limit, most: Number.POSITIVE_INFINITY, signal })
        const tokens = histories.flatMap((history) => rowsOfRuns(history, query, AT, NOT_MET)).map((row) => row.tokens)
        expect(rows.map((row) => row.tokens)).toEqual(tokens.sort((a, b) => b - a).slice(0, limit))
        expect(next).toBeNull()
      }),
      { numRuns: 100 },
    )
  }, 60_000)

  test('an export has a user whom the scan gives twice once', async () => {
    const alice = historyOf('alice', [run(AT - HOUR, 3)])
    const steps = stepsThrough(() => [alice, historyOf('bob', [run(AT - HOUR, 4)]), alice], 1, AT)
    const rows: UsageRow[] = []
    for await (const some of allOfRuns(queryOf({}).query, steps, signal, NOT_MET)) rows.push(...some)
    expect(rows.map(({ name, tokens }) => [name, tokens])).toEqual([
      ['alice', 3],
      ['bob', 4],
    ])
  })

  test('pages stop looking after as many users as one request looks at, and go on there', async () => {
    const histories = Array.from({ length: 10 }, (_, i) => historyOf(`u${i}`, i === 9 ? [run(AT - HOUR, 1)] : []))
    const steps = stepsThrough(() => histories, 2, AT)
    const { query } = queryOf({})
    const first = await pageOfRuns({ query, steps, limit: 5, most: 4, signal })
    expect(first).toEqual({ rows: [], next: { step: '4', after: null }, reachesOver: false })
    const aborted = AbortSignal.abort(new Error('gone'))
    await expect(pageOfRuns({ query, steps, limit: 5, most: 4, signal: aborted })).rejects.toThrow('gone')
  })
})

describe('a cursor', () => {
  const place = { step: '17', after: { name: 'älice', category: 'read', place: AT } }
  const written = (query: UsageQuery) => writeUsageCursor(query, place)

  test('a cursor brings back the place and the range', () => {
    const { query } = queryOf({ from: '2026-11-20' })
    expect(queryOf({}, written(query))).toMatchObject({ query: { from: query.from, to: query.to }, from: place })
  })

  test('a cursor holds the latest time that a question can name', () => {
    const fields = { from: '9999-12-31', to: '9999-12-31T23:59:59.999-23:59', window: 'month' }
    const { query } = queryOf(fields)
    expect(queryOf({ window: 'month' }, writeUsageCursor(query, { step: '17', after: null })).query.to).toBe(query.to)
  })

  test.each<UsageFields>([
    { by: 'organisation' },
    { step: '1h' },
    { user: 'bob' },
    { category: 'write' },
    { window: 'month' },
    { order: 'tokens' },
    { organisation: 'acme' },
    { from: '2026-11-19' },
    { to: '2026-11-21' },
  ])('a cursor is of no use for another question: %j', (fields) => {
    const { query } = queryOf({ from: '2026-11-20' })
    expect(readPagedQuery(fields, written(query), CONTEXT)).toMatchObject({ problems: [{ path: 'cursor' }] })
  })

  test('a cursor that somebody made up is refused, or stays within the bounds of a range', () => {
    const { query } = queryOf({})
    const parts = JSON.parse(Buffer.from(written(query), 'base64url').toString()) as unknown[]
    const made = (change: (parts: unknown[]) => unknown) =>
      Buffer.from(JSON.stringify(change(parts.slice()))).toString('base64url')
    for (const cursor of [
      '',
      'x',
      'x'.repeat(9000),
      made(() => ({})),
      made((all) => all.slice(1)),
      made((all) => all.with(1, 0)),
      made((all) => all.with(1, -1)),
      made((all) => all.with(2, 1e300)),
      made((all) => all.with(2, all[1])),
      made((all) => all.with(3, 5)),
      made((all) => all.with(4, ['a', 'b'])),
      made((all) => all.with(4, ['a', 'b', '3'])),
      made((all) => all.with(0, 'other')),
    ]) {
      expect([cursor, readPagedQuery({}, cursor, CONTEXT)]).toMatchObject([cursor, { problems: [{ path: 'cursor' }] }])
    }
    // A calendar has no months where dates end.
    for (const back of [1, 86_400_000, 40 * 86_400_000]) {
      const cursor = made((all) => all.with(1, 8.64e15 - back).with(2, 8.64e15))
      expect(readPagedQuery({ window: 'month' }, cursor, CONTEXT)).toMatchObject({ problems: [{ path: 'cursor' }] })
    }
    fc.assert(
      fc.property(fc.json(), (json) => {
        const read = readPagedQuery({}, Buffer.from(json).toString('base64url'), CONTEXT)
        expect(read).toHaveProperty('problems')
      }),
    )
  }, 60_000)
})
