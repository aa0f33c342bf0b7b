import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BUCKET_MS, bucketStart } from '../../src/failures/histogram.ts'
import { everyStep } from '../../src/lib/steps.ts'
import type { Calendar } from '../../src/quota/calendar.ts'
import { periodOf } from '../../src/quota/calendar.ts'
import type { HistoryStore } from '../../src/quota/history-store.ts'
import { type Episode, KEEP_EPISODES_MS, MOST_EPISODES, type Place } from '../../src/usage/episodes.ts'
import {
  MOST_ROUTES,
  noCounts,
  OTHER_ROUTES,
  oldestStart,
  type SeriesCounts,
  type SeriesEntry,
} from '../../src/usage/series.ts'
import { MOST_CHANGES, MOST_ENTRIES, type UsageFlush, type UsageLogStore } from '../../src/usage/usage-log-store.ts'

/** What every store of series and refusals must do. */
export interface UsageLogUnderTest {
  readonly store: UsageLogStore & Pick<HistoryStore, 'noteCounted' | 'forgetRuns'>
  /** How long the store keeps days from now on. Before the first call none. */
  keep(days: number): void
  /** Of how many half hours the store holds a series, also of those that no question reaches yet. */
  heldHalfHours(): Promise<number>
  close(): Promise<void>
}

/** 15 tokens of one accepted request, changed in places. */
export function entry({ counts = {}, ...changes }: Changes = {}): SeriesEntry {
  const latency = [0, 1, 0, 0, 0, 0, 0, 0, 0]
  const all = { ...noCounts(), requests: 1, accepted: 1, tokens: 15, latency, ...counts }
  return { by: 'all', start: 0, zone: null, name: '', ...changes, counts: all }
}

type Changes = Partial<Omit<SeriesEntry, 'counts'>> & { readonly counts?: Partial<SeriesCounts> }

/** A refusal of a user, changed in places; its id follows from its user and window. */
export function episode(changes: Partial<Episode> = {}): Episode {
  const { user = 'alice', window = '1h' } = changes
  return {
    id: createHash('sha256').update(`${window} ${user}`).digest('base64url').slice(0, 16),
    user,
    plan: null,
    organisation: null,
    category: 'write',
    scope: 'Personal',
    window,
    startedAt: 0,
    first: 0,
    last: 0,
    count: 1,
    routes: ['POST /v1/x'],
    limit: 120,
    used: 118,
    source: 'baseline',
    ...changes,
  }
}

const FIRST_PAGE = { cursor: null, limit: 1000 }

export function usageLogSuite(open: () => Promise<UsageLogUnderTest>): void {
  let under: UsageLogUnderTest
  let store: UsageLogUnderTest['store']
  /** The half hour of the store's clock. */
  let now: number
  let sequence: number
  beforeEach(async () => {
    under = await open()
    store = under.store
    const { at } = await store.readSeries({ by: 'all', from: 0, to: 0 })
    now = bucketStart(at)
    sequence = 0
  })
  afterEach(() => under.close())

  const add = (what: Partial<UsageFlush>): Promise<void> =>
    store.addUsage({ instance: 'one', sequence: ++sequence, series: [], episodes: [], ...what })
  const rows = async (question: Partial<Parameters<UsageLogStore['readSeries']>[0]> = {}) =>
    (await store.readSeries({ by: 'all', from: 0, to: now + BUCKET_MS, ...question })).rows
  const refusals = async (filter: Parameters<UsageLogStore['readRefusals']>[0] = {}) =>
    (await store.readRefusals(filter, FIRST_PAGE)).episodes

  describe('series', () => {
    it('series of a fresh store are empty', async () => {
      expect(await rows()).toEqual([])
    })

    it('series add up by half hour, kind and name, large numbers and those below 0 too', async () => {
      const many = { tokens: 2 ** 50, refusedGlobal: 3, shadowed: 1, status0: 7, gateway5xx: 2 }
      await add({
        series: [
          entry({ start: now }),
          entry({ start: now - BUCKET_MS, counts: { tokens: -4 } }),
          entry({ by: 'category', start: now, name: 'write', counts: many }),
        ],
      })
      await add({
        instance: 'two',
        sequence: 1,
        series: [entry({ start: now, counts: { tokens: -5 } }), entry({ by: 'category', start: now, name: 'write' })],
      })
      const { counts: one } = entry()
      expect(await rows()).toEqual([
        { start: now - BUCKET_MS, name: '', counts: { ...one, tokens: -4 } },
        {
          start: now,
          name: '',
          counts: { ...one, requests: 2, accepted: 2, tokens: 10, latency: one.latency.map((count) => 2 * count) },
        },
      ])
      const [write] = await rows({ by: 'category' })
      expect(write).toMatchObject({ name: 'write', counts: { ...many, tokens: 2 ** 50 + 15 } })
      expect(await rows({ by: 'plan' })).toEqual([])
    })

    it('series are added once, however often the flush of a number is sent, and apart by instance', async () => {
      const series = [entry({ start: now })]
      for (const sequence of [1, 1, 2, 2, 1]) await add({ sequence, series })
      await add({ instance: 'two', sequence: 1, series })
      expect((await rows())[0]?.counts).toMatchObject({ requests: 3, tokens: 45 })
    })

    it('series lose nothing of many flushes that come at once', async () => {
      const series = [entry({ start: now }), entry({ by: 'route', start: now, name: 'GET /"用户"' })]
      await Promise.all(Array.from({ length: 40 }, (_, i) => add({ instance: `i${i}`, sequence: 1, series })))
      expect((await rows())[0]?.counts.tokens).toBe(600)
      expect(await rows({ by: 'route' })).toMatchObject([{ name: 'GET /"用户"', counts: { requests: 40 } }])
    })

    it('series are read for a time, in steps that are aligned', async () => {
      const day = 24 * 60 * 60_000
      const starts = [0, 1, 2, 50, 100].map((ago) => now - ago * BUCKET_MS)
      await add({ series: starts.flatMap((start) => [entry({ start }), entry({ by: 'plan', start, name: 'pro' })]) })
      const startsOf = async (question: Parameters<typeof rows>[0]) => (await rows(question)).map(({ start }) => start)
      expect(await startsOf({ from: now - 2 * BUCKET_MS, to: now })).toEqual([now - 2 * BUCKET_MS, now - BUCKET_MS])
      expect(await startsOf({ from: now - 2 * BUCKET_MS + 1, to: now + 1 })).toEqual([now - BUCKET_MS, now])
      const days = await rows({ by: 'plan', step: day })
      expect(new Set(days.map(({ start }) => start % day))).toEqual(new Set([0]))
      expect(days.reduce((sum, { counts }) => sum + counts.requests, 0)).toBe(5)
    })

    it('series are read of one name alone, also of one that is like no other', async () => {
      const names = ['GET /a', 'GET /b', '%']
      const starts = [now, now - 60 * BUCKET_MS]
      const series = names.flatMap((name) => starts.map((start) => entry({ by: 'route', start, name })))
      await add({ series: [...series, entry({ by: 'plan', start: now, name: 'GET /b' })] })
      for (const name of names) {
        const found = await rows({ by: 'route', name })
        expect(found.map((row) => [row.start, row.name])).toEqual(starts.toReversed().map((start) => [start, name]))
      }
      expect(await rows({ by: 'route', name: 'GET /' })).toEqual([])
    })

    it('series are kept for seven days, and nothing is taken that is older or far ahead', async () => {
      // A half hour may begin meanwhile.
      const oldest = oldestStart(now) + BUCKET_MS
      await add({
        series: [oldest, oldest - 2 * BUCKET_MS, now + 3 * 24 * 60 * 60_000].map((start) => entry({ start })),
      })
      expect((await rows({ to: now + 30 * 24 * 60 * 60_000 })).map(({ start }) => start)).toEqual([oldest])
      // What lies ahead would be shown when its time has come.
      expect(await under.heldHalfHours()).toBe(1)
    })

    it('series hold no more routes in a half hour than is meant, the others together, and all categories', async () => {
      const many = 2 * MOST_ROUTES + 20
      const names = Array.from({ length: many }, (_, i) => `GET /${i}`)
      const series = names.flatMap((name) => [
        entry({ by: 'route', start: now, name }),
        entry({ by: 'category', start: now, name }),
      ])
      // The bound lies in the middle of a flush.
      const size = MOST_ENTRIES - 10
      for (let i = 0; i < series.length; i += size) await add({ series: series.slice(i, i + size) })
      await add({ series: [entry({ by: 'route', start: now, name: 'GET /0' })] })
      const routes = await rows({ by: 'route' })
      expect(routes.length).toBeLessThanOrEqual(2 * MOST_ROUTES + 1)
      expect(routes.reduce((sum, { counts }) => sum + counts.tokens, 0)).toBe(15 * (many + 1))
      expect(routes.find(({ name }) => name === OTHER_ROUTES)?.counts.requests).toBeGreaterThanOrEqual(20)
      expect(routes.find(({ name }) => name === 'GET /0')?.counts.requests).toBe(2)
      expect(await rows({ by: 'category' })).toHaveLength(many)
    })
  })

  describe('series of days', () => {
    const shanghai: Calendar = { unit: 'day', zone: 'Asia/Shanghai' }
    const hour = 3_600_000
    /** The first moment of the day so many days before that of now. */
    const dayBefore = (days: number) => periodOf(shanghai, now - days * 24 * hour).from
    const day = (days: number, changes: Partial<SeriesEntry> = {}) =>
      entry({ by: 'plan', name: 'pro', start: dayBefore(days), zone: 'Asia/Shanghai', ...changes })
    const daysOf = async (question: Partial<Parameters<UsageLogStore['readSeries']>[0]> = {}) =>
      (await rows({ by: 'plan', days: shanghai, ...question })).map(({ start, name, counts }) => [
        start,
        name,
        counts.tokens,
      ])

    it('series of days are kept for as long as they are to be, apart from half hours and from days of other zones', async () => {
      under.keep(300)
      const start = dayBefore(1)
      for (let i = 0; i < 2; i++) await add({ series: [day(1), entry({ by: 'plan', name: 'pro', start })] })
      await add({ series: [day(1, { zone: 'Etc/GMT-8' }), day(299), day(310), day(1, { name: 'free' })] })
      expect(await daysOf()).toEqual([
        [dayBefore(299), 'pro', 15],
        [start, 'free', 15],
        [start, 'pro', 30],
      ])
      expect(await daysOf({ name: 'pro', from: start })).toEqual([[start, 'pro', 30]])
      expect(await daysOf({ to: start })).toEqual([[dayBefore(299), 'pro', 15]])
      expect(await rows({ by: 'plan' })).toMatchObject([{ start, counts: { tokens: 30 } }])
      expect(await daysOf({ days: { unit: 'day', zone: 'Etc/GMT-8' } })).toEqual([[start, 'pro', 15]])
    })

    it('series of days are added once, however often the flush of a number is sent', async () => {
      under.keep(35)
      for (let i = 0; i < 3; i++) await add({ sequence: 1, series: [day(0)] })
      expect(await daysOf()).toEqual([[dayBefore(0), 'pro', 15]])
    })

    it('series of days have no more routes than is meant, the others together', async () => {
      under.keep(35)
      const names = Array.from({ length: 2 * MOST_ROUTES + 20 }, (_, i) => `GET /${i}`)
      const series = names.map((name) => day(0, { by: 'route', name }))
      for (let i = 0; i < series.length; i += MOST_ENTRIES) await add({ series: series.slice(i, i + MOST_ENTRIES) })
      const found = await daysOf({ by: 'route' })
      expect(found).toHaveLength(2 * MOST_ROUTES + 1)
      expect(found.find(([, name]) => name === OTHER_ROUTES)?.[2]).toBe(15 * 20)
    })

    it('series of days are hidden at once when they are to be kept for a shorter time, and taken away by one look', async () => {
      under.keep(35)
      await store.noteCounted([])
      await add({ series: [day(2), day(20)] })
      under.keep(5)
      expect(await daysOf()).toEqual([[dayBefore(2), 'pro', 15]])
      expect(await store.noteCounted([])).toBe(true)
      await store.forgetRuns()
      under.keep(35)
      expect(await daysOf()).toEqual([[dayBefore(2), 'pro', 15]])
    })

    it('series of days are none where no days are to be kept', async () => {
      await add({ series: [day(0)] })
      under.keep(35)
      expect(await daysOf()).toEqual([])
    })
  })

  describe('refusals', () => {
    it('refusals of a fresh store are empty', async () => {
      expect(await store.readRefusals({}, FIRST_PAGE)).toMatchObject({ episodes: [], next: null })
    })

    it('refusals come back as they were, whatever the user is called', async () => {
      const whole = episode({
        user: 'a/"b" {用户}',
        plan: 'pro',
        organisation: 'acme',
        startedAt: null,
        first: now - 7,
        last: now - 5,
        limit: 10 ** 12,
        used: 10 ** 12,
        routes: ['GET /"a"'],
      })
      await add({ episodes: [whole, episode({ user: null, first: now, last: now })] })
      expect(await refusals()).toEqual([episode({ user: null, first: now, last: now }), whole])
    })

    it('refusals are one while they are the same, with the first and the last time, all counts, and the limit and organisation of the last', async () => {
      const of = (changes: Partial<Episode>) => [episode(changes)]
      await add({ episodes: of({ first: now - 50, last: now - 40, count: 3, routes: ['a', 'b'], plan: 'free' }) })
      await add({
        instance: 'two',
        sequence: 1,
        episodes: of({ first: now - 90, last: now - 80, limit: 5, source: 'old', count: 4, routes: ['c'] }),
      })
      await add({
        instance: 'three',
        sequence: 1,
        episodes: of({
          first: now - 45,
          last: now - 20,
          count: 5,
          limit: 60,
          used: 60,
          source: 'override',
          cost: 4,
          organisation: 'acme',
          routes: ['b'],
        }),
      })
      await add({
        instance: 'four',
        sequence: 1,
        episodes: of({
          first: now - 30,
          last: now - 25,
          limit: 7,
          used: 7,
          source: 'late',
          cost: 9,
          organisation: 'former',
          count: 1,
          routes: ['a'],
        }),
      })
      const merged = { first: now - 90, last: now - 20, count: 13, limit: 60, used: 60, source: 'override', cost: 4 }
      expect(await refusals()).toEqual([episode({ ...merged, organisation: 'acme', routes: ['a', 'b', 'c'] })])
    })

    it('refusals are added once, however often the flush of a number is sent', async () => {
      const episodes = [episode({ first: now, last: now, count: 2 })]
      for (const sequence of [1, 1, 2, 1]) await add({ sequence, episodes })
      expect(await refusals()).toMatchObject([{ count: 4 }])
    })

    it('refusals name so many routes and no more', async () => {
      const named = (from: number) => Array.from({ length: 6 }, (_, i) => `GET /${from + i}`)
      for (const from of [0, 6]) await add({ episodes: [episode({ first: now, last: now, routes: named(from) })] })
      expect((await refusals())[0]?.routes).toEqual([...named(0), 'GET /6', 'GET /7'])
    })

    it('refusals are found by user, organisation, scope, category, route and time', async () => {
      await add({
        episodes: [
          episode({
            user: 'alice',
            organisation: 'a',
            first: now - 60,
            last: now - 30,
            category: 'read',
            routes: ['x', 'y'],
          }),
          episode({ user: 'bob', first: now - 20, last: now - 20, scope: 'Global' }),
          episode({
            user: 'carol',
            first: now - 10,
            last: now - 10,
            scope: 'Organisation',
            organisation: 'b',
            routes: ['y'],
          }),
        ],
      })
      const users = async (filter: Parameters<typeof refusals>[0]) => (await refusals(filter)).map(({ user }) => user)
      expect(await users({})).toEqual(['carol', 'bob', 'alice'])
      expect(await users({ user: 'bob' })).toEqual(['bob'])
      expect(await users({ organisation: 'a' })).toEqual(['alice'])
      expect(await users({ scope: 'Organisation' })).toEqual(['carol'])
      expect(await users({ category: 'read' })).toEqual(['alice'])
      expect(await users({ route: 'y' })).toEqual(['carol', 'alice'])
      expect(await users({ since: now - 20 })).toEqual(['carol', 'bob'])
      expect(await users({ route: 'y', since: now - 20, category: 'read' })).toEqual([])
      expect(await users({ until: now - 20 })).toEqual(['bob', 'alice'])
      expect(await users({ since: now - 20, until: now - 20 })).toEqual(['bob'])
    })

    it('in shadow are apart, and stay so when they are added to', async () => {
      const inShadow = episode({ user: 'bob', first: now, last: now, shadow: true })
      await add({ episodes: [episode({ first: now, last: now }), inShadow] })
      await add({ episodes: [inShadow] })
      expect((await refusals()).map(({ user }) => user)).toEqual(['alice'])
      expect(await refusals({ shadow: true })).toEqual([{ ...inShadow, count: 2 }])
    })

    it('refusals come page by page, each once, also many of one moment', async () => {
      const all = Array.from({ length: 620 }, (_, i) => episode({ user: `u${i}`, last: now - (i % 2) }))
      for (let i = 0; i < all.length; i += MOST_CHANGES) await add({ episodes: all.slice(i, i + MOST_CHANGES) })
      const found: Episode[] = []
      const read = (cursor: Place | null) => store.readRefusals({ category: 'write' }, { cursor, limit: 103 })
      for await (const { episodes } of everyStep(read)) found.push(...episodes)
      expect(found.map(({ user }) => user).sort()).toEqual(all.map(({ user }) => user).sort())
      expect(found.map(({ last }) => last)).toEqual(found.map(({ last }) => last).toSorted((a, b) => b - a))
    })

    it('refusals are forgotten seven days after the last one', async () => {
      const { at } = await store.readRefusals({}, FIRST_PAGE)
      const old = at - KEEP_EPISODES_MS
      await add({
        episodes: [episode({ user: 'gone', last: old - 1 }), episode({ user: 'kept', last: old + 3_600_000 })],
      })
      expect(await refusals()).toMatchObject([{ user: 'kept' }])
    })
  })
}

/** Of many refusals, which takes seconds: the oldest go first. */
export async function boundOfRefusals(store: UsageLogStore): Promise<void> {
  const { at } = await store.readRefusals({}, FIRST_PAGE)
  const all = Array.from({ length: MOST_EPISODES + 100 }, (_, i) => episode({ user: `u${i}`, last: at - 100_000 + i }))
  for (let i = 0, sequence = 1; i < all.length; i += MOST_CHANGES, sequence++) {
    await store.addUsage({ instance: 'one', sequence, series: [], episodes: all.slice(i, i + MOST_CHANGES) })
  }
  let held = 0
  let oldest = Number.POSITIVE_INFINITY
  for (let cursor: Place | null = null; ; ) {
    const page: Awaited<ReturnType<UsageLogStore['readRefusals']>> = await store.readRefusals(
      {},
      { cursor, limit: 1000 },
    )
    held += page.episodes.length
    oldest = Math.min(oldest, ...page.episodes.map(({ last }) => last))
    cursor = page.next
    if (cursor === null) break
  }
  expect([held, oldest]).toEqual([MOST_EPISODES, at - 100_000 + 100])
}
