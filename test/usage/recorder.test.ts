import { afterEach, describe, expect, it } from 'vitest'
import { BUCKET_MS, bucketStart } from '../../src/failures/histogram.ts'
import type { Observation, Settled } from '../../src/observe/observation.ts'
import type { Decision } from '../../src/quota/charge.ts'
import { NO_RETENTION } from '../../src/quota/history.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { Episode } from '../../src/usage/episodes.ts'
import { createHalfHours } from '../../src/usage/half-hours.ts'
import { createUsageRecorder, type UsageRecorder, type UsageRecorderOptions } from '../../src/usage/recorder.ts'
import { MOST_ROUTES, OTHER_ROUTES, type SeriesKind } from '../../src/usage/series.ts'
import { MOST_CHANGES, type UsageFlush } from '../../src/usage/usage-log-store.ts'
import { refusingLimit, request } from '../observe/request.ts'
import { type Changes, settled } from '../observe/settled.ts'

const ROUTE = 'POST /v1/music/upsert'
const START = Date.UTC(2026, 7, 6, 15)
const SOON = { timeout: 30_000, interval: 2 }

const KEPT = { ...NO_RETENTION, longestSeconds: 35 * 86_400 }

let store: Store
let recorder: UsageRecorder
/** The store's clock; ours is `behind` behind. */
let time: number
const behind = 3_600_000
let observed: Observation[]

/** @param around what happens to a flush on its way to the store */
function start(
  around: (flush: UsageFlush, add: () => Promise<void>) => Promise<void> = (_, add) => add(),
  more: Partial<UsageRecorderOptions> = {},
): void {
  time = START
  observed = []
  store = openSqliteStore({ file: ':memory:', clock: () => time, retention: () => KEPT })
  recorder = createUsageRecorder({
    store: { addUsage: (flush) => around(flush, () => store.addUsage(flush)) },
    instance: 'i',
    flushMs: 2,
    observe: (o) => observed.push(o),
    clock: () => time - behind,
    ...more,
  })
  recorder.observer({ type: 'store_clock', offsetMs: behind })
}
afterEach(async () => {
  await recorder.close(0)
  await store.close()
})

const of = { plan: 'pro', route: ROUTE }
const charged = (cost = 15, at = time): Observation => settled({ cost, at, ...of })
const added = (tokens: number, at = time): Observation => settled({ kind: 'corrected', tokens, at, ...of })
const refunded = (tokens: number, at = time): Observation => settled({ kind: 'given_back', tokens: -tokens, at, ...of })
const done = (changes: Parameters<typeof request>[0] = {}): Observation =>
  request({ plan: 'pro', planLabel: 'pro', ...changes })
const refused = (changes: Changes = {}, by: Parameters<typeof refusingLimit>[0] = {}): Observation => {
  const refusedBy = refusingLimit({ at: time, ...by })
  return settled({ kind: 'refused', at: refusedBy.at, refusedBy, ...of, ...changes })
}
const denied = (): Observation => done({ httpStatus: null, outcome: 'refused', clientStatus: 429 })

function see(...seen: readonly Observation[]): void {
  for (const one of seen) recorder.observer(one)
}

async function rows(by: SeriesKind) {
  return (await store.readSeries({ by, from: 0, to: time + 1 })).rows
}

async function refusals(): Promise<readonly Episode[]> {
  return (await store.readRefusals({}, { cursor: null, limit: 1000 })).episodes
}

it('the series count what ends, and what is charged, given back and refused, for all, category, plan and route', async () => {
  start()
  see(charged(), done({ httpStatus: 404, durationMs: 25 }))
  see(charged(), done({ httpStatus: 503, durationMs: 25.1 }), refunded(15))
  see(charged(), added(6), done({ httpStatus: 0, outcome: 'failed', durationMs: 99_999 }))
  see(charged(), done({ httpStatus: 500, outcome: 'aborted', durationMs: 1 }))
  for (const scope of ['personal', 'organisation', 'global', 'global'] as const) {
    see(refused({}, { scope }), denied())
  }
  see(refused({ kind: 'shadowed' }), done({ shadowed: true, durationMs: 1 }))
  for (const refusedBy of ['store', 'key'] as const) see(settled({ kind: 'shadowed', refusedBy, at: time, ...of }))
  see(done({ httpStatus: null, outcome: 'denied', clientStatus: 503 }), done({ httpStatus: null, clientStatus: 401 }))
  see(done({ httpStatus: 101, clientStatus: 101, durationMs: 5000 }))
  see({ type: 'stopped' })
  const expected = {
    start: START,
    counts: {
      requests: 12,
      accepted: 4,
      tokens: 51,
      refusedPersonal: 1,
      refusedOrganisation: 1,
      refusedGlobal: 2,
      shadowed: 1,
      status4xx: 1,
      status5xx: 1,
      status0: 1,
      gateway5xx: 1,
      over: 0,
      latency: [3, 1, 0, 0, 0, 0, 0, 0, 1],
    },
  }
  await recorder.close(0)
  expect(await rows('all')).toEqual([{ name: '', ...expected }])
  expect(await rows('category')).toEqual([{ name: 'write', ...expected }])
  expect(await rows('plan')).toEqual([{ name: 'pro', ...expected }])
  expect(await rows('route')).toEqual([{ name: ROUTE, ...expected }])
})

it('the series of a plan, a category and a route are apart, and what has none of them is only in the sum', async () => {
  start()
  see(done(), done({ planLabel: 'free' }), done({ planLabel: null, category: 'read', route: 'GET /a' }))
  see(done({ planLabel: null, category: null, route: null }))
  await recorder.close(0)
  const counted = async (by: SeriesKind) => (await rows(by)).map(({ name, counts }) => [name, counts.requests])
  expect(await counted('all')).toEqual([['', 4]])
  expect(await counted('category')).toEqual([
    ['read', 1],
    ['write', 2],
  ])
  expect(await counted('plan')).toEqual([
    ['free', 1],
    ['pro', 1],
  ])
  expect(await counted('route')).toEqual([
    ['GET /a', 1],
    [ROUTE, 2],
  ])
})

it("the series count tokens in the half hour of the charge on the store's clock, and requests in that of their end", async () => {
  start()
  time = START + BUCKET_MS - 1
  see(charged(15), charged(4))
  const at = time
  time = START + BUCKET_MS
  see(charged(7), refunded(5, at), added(1, at), done())
  await recorder.close(0)
  expect((await rows('all')).map(({ start, counts }) => [start, counts.tokens, counts.requests])).toEqual([
    [START, 15, 0],
    [START + BUCKET_MS, 7, 1],
  ])
})

it('the series count what a repetition costs beyond in the half hour of the charge that it repeats', async () => {
  start()
  see(charged(15))
  time += BUCKET_MS
  const repeated = added(6) as Settled
  const receipt = { category: 'write', organisation: null, runs: { personal: [], organisation: [], global: [] } }
  const once = { kind: 'replayed', since: START, receipt } as const
  see({ ...repeated, decision: { ...(repeated.decision as Decision), once } })
  await expect.poll(() => rows('category'), SOON).toMatchObject([{ start: START, counts: { tokens: 21 } }])
})

it('the series add up by the days of a zone too, also of one whose midnight lies within a half hour', async () => {
  const nepal = { unit: 'day', zone: 'Asia/Kathmandu' } as const
  start()
  recorder.keepDays(nepal)
  const midnight = Date.UTC(2026, 7, 6, 18, 15)
  time = midnight - 1
  see(charged(15))
  time = midnight
  see(charged(4), refunded(1, midnight - 1))
  recorder.keepDays({ unit: 'day', zone: 'UTC' })
  see(charged(7))
  recorder.keepDays(null)
  see(charged(2))
  time += 10 * BUCKET_MS
  await recorder.close(0)
  const days = async (zone: string, by: SeriesKind) => {
    const { rows } = await store.readSeries({ by, from: 0, to: time, days: { unit: 'day', zone } })
    return rows.map(({ start, name, counts }) => [start, name, counts.tokens])
  }
  const before = Date.UTC(2026, 7, 5, 18, 15)
  for (const [by, name] of [
    ['all', ''],
    ['category', 'write'],
    ['plan', 'pro'],
    ['route', ROUTE],
  ] as const) {
    expect(await days('Asia/Kathmandu', by)).toEqual([
      [before, name, 14],
      [midnight, name, 4],
    ])
    expect(await days('UTC', by)).toEqual([[Date.UTC(2026, 7, 6), name, 7]])
  }
  expect((await rows('all')).map(({ start, counts }) => [start, counts.tokens])).toEqual([
    [Date.UTC(2026, 7, 6, 18), 27],
  ])
})

it('the series keep what is charged when the clock of the store was just set back, and nobody has heard it yet', async () => {
  start(undefined, { clock: () => START - behind })
  time = START - 30 * 48 * BUCKET_MS
  see(charged())
  await recorder.close(0)
  expect((await rows('all')).map(({ start, counts }) => [start, counts.tokens])).toEqual([[time, 15]])
})

it('the series learn the time of the store from a charge before they have heard its clock', async () => {
  start(undefined, { clock: () => START - 5 * BUCKET_MS })
  await recorder.close(0)
  const early = createUsageRecorder({ store, instance: 'j', observe: () => {}, clock: () => START - 5 * BUCKET_MS })
  early.observer(charged())
  early.observer(done())
  await early.close(0)
  expect((await rows('all')).map(({ start, counts }) => [start, counts.requests])).toEqual([[START, 1]])
})

it('the series go to the store on their own, and nothing goes while there is nothing', async () => {
  const sent: UsageFlush[] = []
  start((flush, add) => {
    sent.push(flush)
    return add()
  })
  see(charged(), done())
  await expect.poll(() => sent.length, SOON).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(sent.map(({ sequence }) => sequence)).toEqual([1])
  see(charged())
  await expect.poll(() => sent.map(({ sequence }) => sequence), SOON).toEqual([1, 2])
})

it('the series whose reply was lost are sent again as they were, and are counted once', async () => {
  const sent: UsageFlush[] = []
  let lost = 3
  start(async (flush, add) => {
    sent.push(flush)
    await add()
    if (lost-- > 0) throw new StoreError('lost', 'timeout', 'unknown')
  })
  see(charged(), refused(), denied())
  await expect.poll(() => sent.length, SOON).toBeGreaterThan(1)
  see(charged(2))
  await expect.poll(() => sent.length, SOON).toBe(5)
  await recorder.close(0)
  expect(new Set(sent.slice(0, 4)).size).toBe(1)
  expect((await rows('all'))[0]?.counts).toMatchObject({ requests: 1, accepted: 2, tokens: 17 })
  expect(await refusals()).toMatchObject([{ count: 1 }])
  const failure = { type: 'store_failed', operation: 'usage_flush', reason: 'timeout', message: 'lost' }
  expect(observed).toEqual([failure, failure, failure])
})

it('the series of an outage wait by their half hours, and come when the store is back', async () => {
  let isOut = true
  start((_, add) => (isOut ? Promise.reject(new StoreError('out', 'connection', 'no')) : add()))
  see(charged(1))
  await expect.poll(() => observed.length, SOON).toBeGreaterThan(0)
  for (let i = 1; i < 4; i++) {
    time += BUCKET_MS
    see(charged(10 ** i), done())
  }
  isOut = false
  await expect
    .poll(async () => (await rows('all')).map(({ counts }) => counts.tokens), SOON)
    .toEqual([1, 10, 100, 1000])
})

it('the series of more routes than have a series are together, the busiest by themselves', async () => {
  start(undefined, { flushMs: 60_000 })
  for (let i = 0; i < 2 * MOST_ROUTES; i++) {
    for (let n = 0; n <= i % 2; n++) see(done({ route: `GET /${i}` }))
  }
  await recorder.close(0)
  const all = await rows('route')
  expect(all).toHaveLength(MOST_ROUTES + 1)
  expect(all.find(({ name }) => name === OTHER_ROUTES)?.counts.requests).toBe(MOST_ROUTES)
  expect(all.filter(({ name }) => name !== OTHER_ROUTES).every(({ counts }) => counts.requests === 2)).toBe(true)
})

it('the series count no request without a route under the other routes, even where there is no room for further routes', () => {
  const halves = createHalfHours(() => START)
  const routes = Array.from({ length: 20_000 }, (_, i) => `GET /${i}`)
  for (const route of [...routes, null, 'GET /further']) halves.count(request({ route }))
  const others = halves.take().filter(({ by, name }) => by === 'route' && name === OTHER_ROUTES)
  expect(others.map(({ counts }) => counts.requests)).toEqual([1])
})

it('the series are dropped by a fault of ours, which is reported and ends nothing', async () => {
  let first = true
  start((_, add) => {
    if (!first) return add()
    first = false
    throw new TypeError('bug')
  })
  see(charged(1))
  await expect.poll(() => observed, SOON).toMatchObject([{ type: 'internal_error', where: 'usage_flush' }])
  see(charged(2))
  await recorder.close(0)
  expect((await rows('all'))[0]?.counts.tokens).toBe(2)
})

it('the series are sent at the end, again and again while the grace lasts', async () => {
  let failures = 3
  start((_, add) => (failures-- > 0 ? Promise.reject(new StoreError('out', 'connection', 'no')) : add()), {
    flushMs: 60_000,
  })
  see(charged(), refused())
  await recorder.close(20_000)
  expect((await rows('all'))[0]?.counts.tokens).toBe(15)
  expect(await refusals()).toHaveLength(1)
})

it('the series that cannot be sent keep no process from its end', async () => {
  start(() => Promise.reject(new StoreError('out', 'connection', 'no')), { flushMs: 60_000 })
  see(charged())
  await expect(recorder.close(60)).resolves.toBe(false)
})

describe('refusals', () => {
  it('refusals are one episode for a user, category, scope, window and run', async () => {
    start()
    const by = { startedAt: START - 60_000, source: 'baseline x mode', limit: 90, used: 80 }
    see(refused({}, by), refused({ route: 'GET /b' }, { ...by, at: time + 5, used: 81 }))
    see(refused({ user: 'bob', organisation: 'acme' }, by), refused({ category: 'read' }, by))
    see(refused({}, { ...by, scope: 'global' }), refused({}, { ...by, window: '1d' }))
    see(refused({}, { ...by, startedAt: START }))
    await recorder.close(0)
    const found = await refusals()
    expect(found).toHaveLength(6)
    expect(new Set(found.map(({ id }) => id)).size).toBe(6)
    expect(found[0]).toEqual({
      id: expect.stringMatching(/^[\w-]{16}$/),
      user: 'alice',
      plan: 'pro',
      organisation: null,
      category: 'write',
      scope: 'Personal',
      window: '1h',
      startedAt: START - 60_000,
      first: START,
      last: START + 5,
      count: 2,
      routes: [ROUTE, 'GET /b'],
      limit: 90,
      used: 81,
      source: 'baseline x mode',
      cost: 15,
    })
    expect(found.find(({ user }) => user === 'bob')).toMatchObject({ organisation: 'acme', count: 1 })
  })

  it('in shadow are episodes of their own, which only who asks for them reads', async () => {
    start()
    const inShadow = refused({ kind: 'shadowed' })
    see(refused(), inShadow, inShadow)
    await recorder.close(0)
    expect(await refusals()).toMatchObject([{ user: 'alice', count: 1 }])
    const { episodes } = await store.readRefusals({ shadow: true }, { cursor: null, limit: 10 })
    expect(episodes).toMatchObject([{ user: 'alice', count: 2, shadow: true }])
  })

  it('refusals of a window that does not run are one for each half hour', async () => {
    start()
    for (const at of [START, START + 5, START + BUCKET_MS]) see(refused({}, { startedAt: null, at }))
    await recorder.close(0)
    expect(await refusals()).toMatchObject([
      { startedAt: null, count: 1 },
      { startedAt: null, count: 2 },
    ])
  })

  it('refusals of callers whom nobody knows are one for all of them', async () => {
    start()
    for (let i = 0; i < 50; i++) {
      see(refused({ user: `address:192.0.2.${i}`, isVerified: false }), refused({ user: `k${i}`, isVerified: false }))
    }
    see(refused({ user: 'ann' }))
    await recorder.close(0)
    expect((await refusals()).map(({ user, plan, count }) => `${user} ${plan} ${count}`).sort()).toEqual([
      'ann pro 1',
      'null null 100',
    ])
  })

  it('refusals are sent at once when an episode begins, and seldom while it is only repeated', async () => {
    let monotonic = 0
    const sent: UsageFlush[] = []
    start(
      (flush, add) => {
        sent.push(flush)
        return add()
      },
      { now: () => monotonic },
    )
    see(refused())
    await expect.poll(refusals, SOON).toMatchObject([{ count: 1 }])
    for (let i = 0; i < 5; i++) see(refused(), denied())
    // Another flush goes, without the episode.
    await expect.poll(async () => (await rows('all'))[0]?.counts.requests, SOON).toBe(5)
    expect(await refusals()).toMatchObject([{ count: 1 }])
    monotonic = 10_000
    await expect.poll(refusals, SOON).toMatchObject([{ count: 6 }])
    see(refused())
    await recorder.close(0)
    expect(await refusals()).toMatchObject([{ count: 7 }])
    expect(sent.every(({ episodes }) => episodes.length <= 1)).toBe(true)
  })

  it('refusals of many users are sent in several flushes, and of too many, without those in shadow, some are counted with the unknown', async () => {
    const sizes: number[] = []
    start(
      (flush, add) => {
        sizes.push(flush.episodes.length)
        return add()
      },
      { flushMs: 600_000 },
    )
    const many = 10_000 + 7
    for (let i = 0; i < 9000; i++) see(refused({ user: `s${i}`, kind: 'shadowed' }))
    for (let i = 0; i < many; i++) see(refused({ user: `u${i}` }))
    await recorder.close(0)
    expect(Math.max(...sizes)).toBe(MOST_CHANGES)
    const { episodes } = await store.readRefusals({}, { cursor: null, limit: many })
    expect(episodes.length).toBe(10_001)
    expect(episodes.find(({ user }) => user === null)?.count).toBe(7)
  }, 60_000)
})

it('the half hour of now is that of the store, not ours', async () => {
  start()
  see(done())
  await recorder.close(0)
  expect((await rows('all'))[0]?.start).toBe(bucketStart(time))
})

it('what would be lost with the process is what was counted since the last flush that is known, and how late that may be', async () => {
  let isOut = false
  let passed = 0
  start(
    async (_flush, add) => {
      if (isOut) throw new StoreError('out', 'connection', 'no')
      await add()
    },
    { now: () => passed },
  )
  see(charged())
  await expect.poll(async () => (await rows('all')).length, SOON).toBe(1)
  passed = 5000
  await expect.poll(() => recorder.unsent(), SOON).toEqual({ forMs: 0, lateMs: 0 })
  isOut = true
  time = bucketStart(time) + BUCKET_MS + 100
  see(done(), refunded(5, time - 60_000))
  passed = 9000
  await expect.poll(() => observed.length, SOON).toBeGreaterThan(0)
  expect(recorder.unsent().forMs).toBeGreaterThanOrEqual(4000)
  expect(recorder.unsent().lateMs).toBe(60_000)
  isOut = false
  await expect.poll(() => recorder.unsent().forMs, SOON).toBe(0)
  expect(await recorder.close(1000)).toBe(true)
})
