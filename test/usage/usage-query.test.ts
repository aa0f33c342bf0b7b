import { expect, test } from 'vitest'
import { bookWindow, countedName, LONGEST } from '../../src/quota/books.ts'
import { NO_RETENTION } from '../../src/quota/history.ts'
import { readUsageQuery, timeOf, type UsageContext, type UsageFields } from '../../src/usage/usage-query.ts'

const AT = Date.UTC(2026, 10, 20, 12)
const HOUR = 3_600_000
const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
  { name: '1d', seconds: 86_400 },
]
const BOOKS = bookWindow('Europe/Berlin')
const CONTEXT: UsageContext = {
  at: AT,
  windows: WINDOWS,
  books: null,
  zone: 'Europe/Berlin',
  kept: { ...NO_RETENTION, longestSeconds: 35 * 86_400, shorterSeconds: 48 * 3600 },
  since: new Map(
    [...[...WINDOWS, BOOKS].map((window) => countedName(window)), `${LONGEST}86400`].map((name) => [name, 0]),
  ),
}
const BOOKED: UsageContext = { ...CONTEXT, books: BOOKS }

const read = (fields: UsageFields, context: Partial<UsageContext> = {}) =>
  readUsageQuery(fields, { ...CONTEXT, ...context })

const queryOf = (fields: UsageFields, context: Partial<UsageContext> = {}) => {
  const found = read(fields, context)
  if ('problems' in found) throw new Error(JSON.stringify(found.problems))
  return found.query
}

test('a question about usage is of users, today and the day before, and one row for all of it, unless it says otherwise', () => {
  expect(queryOf({})).toMatchObject({
    by: 'user',
    from: Date.UTC(2026, 10, 18, 23),
    to: AT + 1,
    step: 'range',
    name: null,
    isRanked: false,
  })
})

test.each([
  ['2026-11-20T11:00:00Z', '1h', true],
  ['2026-11-18T11:00:00Z', '1h', true],
  ['2026-11-18T10:59:59Z', '5h', true],
  ['2026-11-18T06:00:00Z', '1d', true],
  ['2026-10-15T12:00:00Z', '1d', true],
  ['2026-10-15T11:59:59Z', '1d', false],
])(
  'a question about usage that begins at %s counts runs of %s, and all of them are kept: %s',
  (from, window, isComplete) => {
    const query = queryOf({ from })
    expect([query.window?.name, query.gaps.length === 0]).toEqual([window, isComplete])
  },
)

test('a question about usage counts runs of the window that it names, and says whether all are kept', () => {
  expect(queryOf({ window: '5h', from: '2026-11-01' })).toMatchObject({
    window: { name: '5h' },
    gaps: ['window 5h: the beginning is not kept any more (usage.keep, usage.shorter)'],
  })
})

test('a question about usage is not complete where runs were kept for a shorter time meanwhile, however long they are kept now', () => {
  const day = 86_400
  const state = { keptSeconds: 35 * day, leastSeconds: 5 * day, changedAt: Date.UTC(2026, 10, 18) }
  const of = (from: string, keeping: Partial<typeof state> = {}) =>
    queryOf({ from }, { ...BOOKED, keeping: new Map([['longest', { ...state, ...keeping }]]) }).gaps
  const gap = 'days of this zone: the beginning is not kept any more (usage.keep, usage.shorter)'
  expect(of('2026-11-10')).toEqual([gap])
  expect(of('2026-11-16')).toEqual([])
  expect(of('2026-11-18')).toEqual([])
  expect(of('2026-11-10', { leastSeconds: 35 * day })).toEqual([])
  // A reader whose file is not that of the gateways goes by what they keep.
  expect(of('2026-11-10', { keptSeconds: 5 * day, leastSeconds: 35 * day })).toEqual([gap])
})

test('a question about usage goes by the range of the page before if it names none', () => {
  const range = { from: AT - 7 * HOUR, to: AT - HOUR }
  expect(read({}, { range })).toMatchObject({ query: range })
  expect(read({ to: '2026-11-20T09:00:00Z' }, { range })).toMatchObject({
    query: { from: range.from, to: AT - 3 * HOUR },
  })
})

test('a question about usage begins a span before its end, of a page that follows where the page before did', () => {
  expect(queryOf({ from: '90m' })).toMatchObject({ from: AT + 1 - 1.5 * HOUR, to: AT + 1 })
  expect(queryOf({ from: '6h', to: '2026-11-20T09:00:00Z' })).toMatchObject({ from: AT - 9 * HOUR })
  expect(queryOf({ from: '7d' })).toMatchObject({ from: Date.UTC(2026, 10, 12, 23) })
  const range = { from: AT - 7 * HOUR, to: AT - HOUR }
  expect(read({ from: '6h' }, { range })).toMatchObject({ query: range })
})

test.each<[string, UsageFields, string, readonly string[]]>([
  ['a month', { from: '2026-11-01', to: '2026-12-01' }, 'day', []],
  ['its days', { from: '2026-11-01', step: '1d' }, 'day', []],
  ['an organisation', { by: 'organisation', from: '2026-11-01' }, 'day', []],
  ['nothing in particular', {}, 'day', []],
  ['hours', { from: '2026-11-19', step: '1h' }, '1h', []],
  ['days of another zone', { from: '2026-11-19T00:00:00Z' }, '1h', []],
])(
  'a question about usage is answered by the books where whole days of their zone answer it: %s',
  (_, fields, window, gaps) => {
    expect(queryOf(fields, BOOKED)).toMatchObject({ window: { name: window }, gaps })
  },
)

test('a question about usage has no answer to what was used before its window was counted', () => {
  const since = Date.UTC(2026, 10, 19, 10)
  const context = { ...BOOKED, since: new Map([...CONTEXT.since, [countedName(BOOKS), since]]) }
  const gaps = ['days of this zone: what was used before 2026-11-19T10:00:00.000Z is not known']
  expect(queryOf({ from: '2026-11-19' }, context)).toMatchObject({ window: BOOKS, gaps })
  expect(queryOf({ from: '2026-11-20' }, context)).toMatchObject({ window: BOOKS, gaps: [] })
  expect(queryOf({}, context)).toMatchObject({ from: since, window: BOOKS, gaps: [] })
  const unknown = { ...BOOKED, since: new Map<string, number>() }
  expect(queryOf({}, unknown).gaps).toEqual(['days of this zone: it is not known since when they are counted'])
})

test('a question about usage takes a window that each category has, or one of the category that it names', () => {
  const since = new Map([...CONTEXT.since, ['3600 read', 0]])
  since.delete('3600')
  expect(queryOf({ from: '6h' }, { since })).toMatchObject({ window: { name: '5h' }, gaps: [] })
  expect(queryOf({ from: '6h', category: 'read' }, { since })).toMatchObject({ window: { name: '1h' }, gaps: [] })
  expect(queryOf({ from: '6h', window: '1h' }, { since }).gaps).toEqual([
    'window 1h: it counts some categories only: ask for one of them',
  ])
  expect(queryOf({ from: '6h', window: '1h', category: 'login' }, { since }).gaps).toEqual([
    'window 1h: it is not known since when category login is counted in it',
  ])
})

test('a question about usage reads each category by its own best window where none has them all, so that nothing is missing', () => {
  const of = (...names: string[]) => {
    const { windows, gaps } = queryOf({ from: '50h' }, { since: new Map(names.map((name) => [name, 0])) })
    return { by: windows && [...windows].map(([category, { name }]) => `${category} ${name}`), gaps }
  }
  // Runs of one hour are kept for two days.
  expect(of('3600 login', '86400 login', '18000 read', '86400 read', '86400 write')).toEqual({
    by: ['login 1d', 'read 5h', 'write 1d'],
    gaps: [],
  })
  expect(of('3600 login', '18000 login', '86400 read')).toEqual({ by: ['login 5h', 'read 1d'], gaps: [] })
  const since = new Map([
    ['3600 login', 0],
    ['18000 read', 0],
  ])
  expect(queryOf({ from: '6h' }, { since })).toMatchObject({ gaps: [] })
  expect(queryOf({ from: '6h', window: '5h' }, { since })).toMatchObject({
    windows: null,
    gaps: ['window 5h: it counts some categories only: ask for one of them'],
  })
})

test('a question about usage takes a window that is counted for longer, before a shorter one that is new', () => {
  const since = new Map([...CONTEXT.since, ['3600', AT - HOUR]])
  expect(queryOf({ from: '24h' }, { since })).toMatchObject({ window: { name: '5h' }, gaps: [] })
})

test('a question about usage has no answer to more runs than a store keeps', () => {
  const windows = [{ name: '10s', seconds: 10 }, ...WINDOWS]
  const since = new Map([...CONTEXT.since, ['10', 0]])
  expect(queryOf({ from: '10h' }, { windows, since })).toMatchObject({ window: { name: '1h' }, gaps: [] })
  expect(queryOf({ from: '10h', window: '10s' }, { windows, since }).gaps).toEqual([
    'window 10s: of its runs the last 3000 are kept',
  ])
})

test('a question about usage is not answered for certain within an organisation, and of one only for whole days', () => {
  expect(queryOf({ organisation: 'acme', from: '2026-11-01' }, BOOKED).gaps).toEqual([
    expect.stringContaining('by=organisation'),
  ])
  expect(queryOf({ by: 'organisation', from: '6h' }, BOOKED).gaps).toEqual([expect.stringContaining('whole days')])
})

test('a question about usage of somebody whose days are not kept has no answer', () => {
  const kept = { ...CONTEXT.kept, isAnonymous: (user: string) => user.startsWith('ip:') }
  expect(queryOf({ user: 'ip:10.0.0.1' }, { ...BOOKED, kept }).gaps).toEqual([expect.stringContaining('usage.keep')])
  expect(queryOf({ user: 'alice' }, { ...BOOKED, kept }).gaps).toEqual([])
})

test('a question about usage is not complete where its window was not the longest yet, whose runs were kept for a shorter time then', () => {
  const since = new Map([...CONTEXT.since, [`${LONGEST}18000`, Date.UTC(2026, 10, 12)]])
  const of = (from: string) => queryOf({ window: '5h', from }, { windows: WINDOWS.slice(0, 2), since }).gaps
  const gap = 'window 5h: the beginning is not kept any more (usage.keep, usage.shorter)'
  expect(of('2026-11-11T00:00:00Z')).toEqual([gap])
  expect(of('2026-11-12T00:00:00Z')).toEqual([])
  expect(of('2026-11-19T00:00:00Z')).toEqual([])
  // Nobody knows since when that is so.
  const unknown = queryOf({ window: '5h', from: '2026-11-12T00:00:00Z' }, { windows: WINDOWS.slice(0, 2) })
  expect(unknown.gaps).toEqual([gap])
})

test('a question about usage takes an organisation for the one that is asked for, or for that of the users', () => {
  expect(queryOf({ by: 'organisation', organisation: 'acme' })).toMatchObject({ name: 'acme', organisation: null })
  expect(queryOf({ organisation: 'acme' })).toMatchObject({ name: null, organisation: 'acme' })
})

test('a question about usage about a user within an organisation is told that this is not kept, and what to ask instead', () => {
  const query = queryOf({ user: 'alice', organisation: 'acme' })
  expect(query).toMatchObject({ name: 'alice', organisation: 'acme' })
  expect(query.gaps).toEqual([
    'what alice used within acme alone is not kept: the rows have all that alice used, if the credential named acme last. Leave the organisation out, or ask by=organisation without the user',
  ])
})

test('a question about usage has no window of plans, categories and routes, of whose half hours seven days are kept', () => {
  expect(queryOf({ by: 'plan' })).toMatchObject({ window: null, gaps: [] })
  const gap = 'half hours are kept for 7 days: a range of whole days is known for as long as usage.keep says'
  for (const by of ['plan', 'category', 'route'] as const) {
    const asked = { by, from: '2026-11-01', step: '1h' }
    expect(queryOf(asked, BOOKED)).toMatchObject({ gaps: [gap], byDays: false })
  }
  expect(queryOf({ by: 'all', from: '2026-11-19T10:10:00Z', to: '2026-11-20T10:10:00Z' })).toMatchObject({
    gaps: ['the range begins within a half hour', 'the range ends within a half hour'],
  })
  expect(queryOf({ by: 'category', category: 'read' })).toMatchObject({ name: 'read' })
  expect(queryOf({ by: 'route', route: 'GET /x' })).toMatchObject({ name: 'GET /x' })
})

test('a question about usage is not answered for certain by series whose last seconds gateways may not have sent, unless it goes on still', () => {
  const of = (by: string, to: string, at: number) => queryOf({ by, from: '2026-11-20', to }, { at }).gaps
  const noon = '2026-11-20T12:00:00Z'
  const gap = 'gateways may not have sent the last seconds of the range yet: ask again in 6 seconds'
  expect(of('all', noon, AT)).toEqual([gap])
  expect(of('plan', noon, AT + 5999)).toEqual([gap])
  expect(of('plan', noon, AT + 6000)).toEqual([])
  // Rows of what goes on are running; users are charged at once.
  expect(of('all', '2026-11-20T13:00:00Z', AT)).toEqual([])
  expect(of('user', noon, AT)).toEqual([])
})

test('a question about usage about plans, categories and routes is answered by their days if it has whole ones, for as long as days are kept', () => {
  for (const by of ['plan', 'category', 'route', 'all'] as const) {
    const october = { by, from: '2026-10-17', to: '2026-11-01' }
    for (const step of ['range', '1d']) {
      expect(queryOf({ ...october, step }, BOOKED)).toMatchObject({ byDays: true, gaps: [] })
    }
  }
  const gap = 'days of this zone: the beginning is not kept any more (usage.keep, usage.shorter)'
  const old = queryOf({ by: 'plan', from: '2026-10-14', to: '2026-11-01' }, BOOKED)
  expect(old).toMatchObject({ byDays: true, gaps: [gap] })
  expect(queryOf({ by: 'plan', from: '2026-10-31T12:00:00Z', to: '2026-11-01' }, BOOKED).byDays).toBe(false)
  expect(queryOf({ by: 'user', from: '2026-10-31' }, BOOKED).byDays).toBe(false)
  // A zone whose midnight lies within a half hour has days all the same.
  const zone = 'Asia/Kathmandu'
  const books = bookWindow(zone)
  const since = new Map([[countedName(books), Date.UTC(2026, 10, 18, 3)]])
  const nepal = { books, zone, since }
  expect(queryOf({ by: 'plan', from: '2026-11-19', to: '2026-11-20' }, nepal)).toMatchObject({
    from: Date.UTC(2026, 10, 18, 18, 15),
    byDays: true,
    gaps: [],
  })
  expect(queryOf({ by: 'plan', from: '2026-11-18' }, nepal).gaps).toEqual([
    'days of this zone: what was used before 2026-11-18T03:00:00.000Z is not known',
  ])
})

test('a question about usage about days is answered by half hours where more is known of these', () => {
  const keeping = new Map([
    ['longest', { keptSeconds: 35 * 86_400, leastSeconds: 86_400, changedAt: Date.UTC(2026, 10, 20) }],
  ])
  const asked = { by: 'plan', from: '2026-11-16', to: '2026-11-19' }
  expect(queryOf(asked, { ...BOOKED, keeping })).toMatchObject({ byDays: false, gaps: [] })
})

test('a question about usage is not answered for certain by series where a process ended that may have counted something in the range', () => {
  const silences = [{ from: Date.UTC(2026, 10, 20, 10, 20, 5), to: Date.UTC(2026, 10, 20, 10, 20, 21) }]
  const of = (fields: UsageFields) => queryOf({ by: 'route', ...fields }, { silences }).gaps
  const gap =
    'a gateway ended or fell silent without sending all that it had counted between 2026-11-20T10:20:05.000Z and 2026-11-20T10:20:21.000Z: the rows of by=user have it'
  expect(of({ from: '2026-11-20' })).toEqual([gap])
  expect(of({ from: '2026-11-20T09:00:00Z', to: '2026-11-20T10:00:00Z' })).toEqual([])
  // What is counted of a half hour begins with it.
  expect(of({ from: '2026-11-20T10:00:00Z', to: '2026-11-20T10:30:00Z' })).toEqual([gap])
  expect(of({ from: '2026-11-20T10:30:00Z' })).toEqual([])
  expect(queryOf({ from: '2026-11-20' }, { silences }).gaps).toEqual([])
  expect(queryOf({ by: 'plan', from: '2026-11-01' }, { ...BOOKED, silences })).toMatchObject({
    byDays: true,
    gaps: [gap],
  })
  expect(queryOf({ by: 'plan', from: '2026-11-01', to: '2026-11-20' }, { ...BOOKED, silences }).gaps).toEqual([])
})

test.each<[UsageFields, string, string]>([
  [{ by: 'users' }, 'by', 'must be one of user, organisation, plan, category, route, all'],
  [{ step: '2h' }, 'step', 'must be one of range, run, 30m, 1h, 1d'],
  [{ order: 'name' }, 'order', 'must be tokens, or be left out'],
  [{ window: '2h' }, 'window', 'must be one of 1h, 5h, 1d'],
  [
    { from: 'yesterday' },
    'from',
    'must be a time like 2026-11-01T00:00:00Z, or a day like 2026-11-01, or a span like 6h or 7d',
  ],
  [{ from: '0h' }, 'from', 'must lie before to'],
  [{ from: '401d' }, 'from', 'must lie at most 400 days before to'],
  [{ to: '2026-02-30' }, 'to', 'must be a time like 2026-11-01T00:00:00Z, or a day like 2026-11-01'],
  [{ from: '2026-11-20', to: '2026-11-20' }, 'from', 'must lie before to'],
  [{ from: '2025-01-01', to: '2026-11-01' }, 'from', 'must lie at most 400 days before to'],
  [{ from: '2026-01-01', step: '30m' }, 'step', 'makes more than 10000 steps: take a longer one, or a shorter range'],
  [{ by: 'organisation', user: 'a' }, 'user', 'is for by=user: leave it out'],
  [{ by: 'plan', user: 'a' }, 'user', 'is not known of by=plan: leave it out, or ask by=user'],
  [{ by: 'route', category: 'read' }, 'category', 'is not known of by=route: leave it out, or ask by=user'],
  [{ by: 'all', route: 'GET /x' }, 'route', 'is not known of by=all: leave it out, or ask by=route'],
  [{ route: 'GET /x' }, 'route', 'is for by=route: leave it out'],
  [{ by: 'all', step: 'run' }, 'step', 'by=all has no runs: take 30m, 1h, 1d or range'],
])('a question about usage is refused with the place and the cure: %j', (fields, path, msg) => {
  expect(read(fields)).toEqual({ problems: [{ path, msg }] })
})

test('a question about usage reports all that is wrong at once', () => {
  expect(read({ by: 'x', step: 'y', from: 'z' })).toMatchObject({
    problems: [{ path: 'by' }, { path: 'step' }, { path: 'from' }],
  })
})

test.each([
  ['2026-11-01', Date.UTC(2026, 10, 1)],
  ['2026-11-01T00:00:00+08:00', Date.UTC(2026, 9, 31, 16)],
  ['2026-11-01T00:00:00 08:00', Date.UTC(2026, 9, 31, 16)],
  ['2026-11-01T07:08:09.5Z', Date.UTC(2026, 10, 1, 7, 8, 9, 500)],
  ['2026-11-01T07:08Z', Date.UTC(2026, 10, 1, 7, 8)],
  ['2026-11-01T07:08', null],
  ['2026-11-01T25:00Z', null],
  ['2026-13-01', null],
  ['1969-12-31', null],
  ['', null],
  ['1700000000000', null],
])('the time %s is %s', (text, time) => {
  expect(timeOf(text)).toBe(time)
})

test('a plain date is the first moment of that day in the zone, also where it has no midnight', () => {
  expect(timeOf('2026-11-01', 'Asia/Shanghai')).toBe(Date.UTC(2026, 9, 31, 16))
  expect(timeOf('2026-10-25', 'Europe/Berlin')).toBe(Date.UTC(2026, 9, 24, 22))
  // Clocks of Santiago are set forward over midnight.
  expect(timeOf('2026-09-06', 'America/Santiago')).toBe(Date.UTC(2026, 8, 6, 4))
})
