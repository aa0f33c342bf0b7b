import { describe, expect, it } from 'vitest'
import { type Books, preview } from '../../src/admin/preview.ts'
import { applyPatch, type QuotaPatchLike, resolve } from '../../src/control/settings.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { createPolicy, type Override, type Overrides } from '../../src/quota/policy.ts'
import type { Used } from '../../src/quota/quota-store.ts'
import { FILE } from '../control/settings-of-a-file.ts'
import { table } from '../quota/settings.ts'
import { deskOf } from './desk-of.ts'

const AT = Date.UTC(2026, 7, 6, 15)
const HOUR = 3_600_000
type Usages = Record<string, Record<string, { hour?: number; day?: number; started?: number }>>

function counters(used: Usages[string]): Map<string, Counter> {
  return new Map(
    Object.entries(used).map(([category, { hour = 0, day = 0, started = AT - HOUR / 2 }]) => [
      category,
      [
        { seconds: 3600, startedAt: started, used: hour },
        { seconds: 86_400, startedAt: started, used: day },
      ],
    ]),
  )
}

type PreviewStore = Books['store']

/** Users in steps of two, and the global counters. */
function storeOf(usages: Usages, global: Usages[string] = {}, step = 2): PreviewStore {
  const users: Used[] = Object.entries(usages).map(([id, used]) => ({ id, counters: counters(used) }))
  return {
    readUsage: async (_, categories) => ({
      at: AT,
      personal: categories.map(() => []),
      organisation: null,
      global: categories.map((category) => counters(global).get(category) ?? []),
    }),
    scanOrganisations: async () => ({ at: AT, owners: [], next: null }),
    async scanUsers(cursor) {
      const from = Number(cursor ?? 0)
      const next = from + step < users.length ? String(from + step) : null
      return { at: AT, owners: users.slice(from, from + step), next }
    },
  }
}

async function previewOf(
  store: PreviewStore,
  patch: QuotaPatchLike,
  overrides: ReadonlyMap<string, Override> = new Map(),
  signal?: AbortSignal,
  isShadowed: boolean = FILE.shadow,
) {
  const { shadow: _, ...settings } = FILE
  const now = () => createPolicy(settings, 1, overrides)
  const then = resolve(FILE, applyPatch({}, patch))
  const next = () => createPolicy(then.settings, 1, overrides)
  return preview({
    desk: deskOf(store),
    now,
    next,
    cheapest: ONE_TOKEN,
    windows: FILE.windows,
    shadow: { now: isShadowed, next: then.shadow },
    ...(signal !== undefined && { signal }),
  })
}

const ONE_TOKEN = new Map([
  ['read', 1],
  ['write', 1],
])
const conservative: QuotaPatchLike = { mode: 'conservative' }

describe('a preview of organisations and of everybody', () => {
  const plans = new Map([['team', { personal: table({}), organisation: table({ read: { '1h': 100 } }) }]])
  const FILE_WITH_PLANS = { ...FILE, plans }
  const organisations = Object.entries({ idle: 5, 'at 75': 75, 'at 100': 100, other: 100 }).map(([id, hour]) => ({
    id,
    counters: counters({ read: { hour } }),
  }))
  const store = (global: Usages[string] = {}): PreviewStore => ({
    ...storeOf({}, global),
    // A scan may come by one twice.
    scanOrganisations: async (cursor) =>
      cursor === null
        ? { at: AT, owners: organisations, next: 'more' }
        : { at: AT, owners: organisations.slice(2, 3), next: null },
  })
  const membersOf = async (ids: readonly string[]) =>
    ids.map((organisation) => ({ user: '', organisation, plan: organisation === 'other' ? null : 'team' }))
  const ofPatch = (patch: QuotaPatchLike, global: Usages[string] = {}, overrides: Overrides = new Map()) => {
    const [now, next] = [{}, applyPatch({}, patch)].map((changes) => resolve(FILE_WITH_PLANS, changes))
    if (now === undefined || next === undefined) throw new Error('two')
    return preview({
      ...{ desk: deskOf(store(global), membersOf), cheapest: ONE_TOKEN, windows: FILE.windows },
      now: () => createPolicy(now.settings, 1, overrides),
      next: () => createPolicy(next.settings, 1, overrides),
      shadow: { now: now.shadow, next: next.shadow },
    })
  }

  it('a preview of organisations and of everybody counts the organisations that their windows would block, by the plan of each', async () => {
    const { organisations: found } = await ofPatch(conservative)
    expect(found).toMatchObject({ scanned: 4, blockedCount: 2, newlyBlockedCount: 1, freedCount: 0 })
    expect(found.blocked).toEqual([
      {
        ...{ organisation: 'at 75', plan: 'team', scope: 'Organisation', category: 'read', window: '1h' },
        ...{ limit: 75, used: 75, blockedNow: false },
        resetAt: '2026-08-06T15:30:00.000Z',
      },
      expect.objectContaining({ organisation: 'at 100', blockedNow: true }),
    ])
    expect((await ofPatch({ mode: 'loose' })).organisations).toMatchObject({ blockedCount: 0, freedCount: 1 })
    expect((await ofPatch({ shadow: true })).organisations).toMatchObject({ blockedCount: 0, freedCount: 1 })
  })

  it('a preview of organisations and of everybody counts an organisation by its override, also without plans, and looks at none if nothing limits any', async () => {
    const value = { limits: table({ read: { '1h': 50 } }) }
    const overrides = Object.assign(new Map(), { organisations: new Map([['other', value]]) })
    const { organisations: found } = await ofPatch({}, {}, overrides)
    expect(found.blocked.map(({ organisation, limit }) => [organisation, limit])).toEqual([
      ['at 100', 100],
      ['other', 50],
    ])
    const { organisations: none } = await previewOf(store(), conservative)
    expect(none).toEqual({ scanned: 0, blockedCount: 0, newlyBlockedCount: 0, freedCount: 0, blocked: [] })
  })

  it('a preview of organisations and of everybody names the global windows that would block new users alone, by the part that is kept for known ones', async () => {
    const { shadow: _, ...settings } = FILE
    const reserve = { share: 0.2, knownAfterMs: 24 * HOUR, rememberMs: 720 * HOUR }
    const policy = (of: object) => () => createPolicy({ ...settings, ...of }, 1)
    const hour = FILE.baselines.global.get('read')?.get('1h') ?? 0
    const of = async (used: number) => {
      const store = storeOf({}, { read: { hour: used } })
      const options = {
        desk: deskOf(store),
        cheapest: ONE_TOKEN,
        windows: FILE.windows,
        shadow: { now: false, next: false },
      }
      return preview({ ...options, now: policy({}), next: policy({ reserve }) })
    }
    const { newUsers, everybody } = await of(0.8 * hour)
    expect([newUsers, everybody]).toMatchObject([
      [{ category: 'read', window: '1h', limit: 0.8 * hour, blockedNow: false }],
      [],
    ])
    expect((await of(0.8 * hour - 1)).newUsers).toEqual([])
    expect(await of(hour)).toMatchObject({ newUsers: [], everybody: [{ window: '1h' }] })
  })

  it('a preview of organisations and of everybody names the global windows that would block everybody, and whether they do now', async () => {
    const limit = FILE.baselines.global.get('read')?.get('1h') ?? 0
    const full = { read: { hour: limit } }
    expect((await ofPatch({}, full)).everybody).toEqual([
      {
        ...{ scope: 'Global', category: 'read', window: '1h', limit, used: limit, blockedNow: true },
        resetAt: '2026-08-06T15:30:00.000Z',
      },
    ])
    const nearly = { read: { hour: limit * 0.8 } }
    expect((await ofPatch(conservative, nearly)).everybody).toMatchObject([{ window: '1h', blockedNow: false }])
    for (const patch of [{ global: { multiplier: 2 } }, { global: { enabled: false } }, { shadow: true }]) {
      expect((await ofPatch(patch, full)).everybody).toEqual([])
    }
  })
})

it('a preview counts nobody as blocked whom shadow mode lets through', async () => {
  const usages: Usages = { tried: { read: { hour: 150 } }, other: { read: { hour: 150 } } }
  const tried = new Map([['tried', { limits: new Map(), bypassGlobal: false, shadow: true }]])
  const ends = await previewOf(storeOf(usages), { shadow: false }, tried, undefined, true)
  expect(ends).toMatchObject({ scanned: 2, blockedCount: 1, newlyBlockedCount: 1, freedCount: 0 })
  expect(ends.blocked).toMatchObject([{ user: 'other', blockedNow: false }])
  const begins = await previewOf(storeOf(usages), { shadow: true }, tried)
  expect(begins).toMatchObject({ blockedCount: 0, newlyBlockedCount: 0, freedCount: 1 })
})

it('a preview shows who would be blocked, who is already, and who would be freed', async () => {
  const usages: Usages = {
    idle: { read: { hour: 10 } },
    'at 89': { read: { hour: 89 } },
    'at 90': { read: { hour: 90 } },
    'at 120': { read: { hour: 120 } },
    'over 120': { read: { hour: 150 } },
  }
  const stricter = await previewOf(storeOf(usages), conservative)
  expect(stricter).toMatchObject({ scanned: 5, blockedCount: 3, newlyBlockedCount: 1, freedCount: 0 })
  expect(stricter.blocked.map(({ user, blockedNow }) => [user, blockedNow])).toEqual([
    ['at 90', false],
    ['at 120', true],
    ['over 120', true],
  ])
  const looser = await previewOf(storeOf(usages), { mode: 'loose' })
  expect(looser).toMatchObject({ scanned: 5, blockedCount: 0, newlyBlockedCount: 0, freedCount: 2, blocked: [] })
})

it('a preview shows for each user the window that would keep him waiting longest', async () => {
  const usages: Usages = { alice: { read: { hour: 130, day: 950 }, write: { hour: 60, day: 90 } } }
  const { blocked } = await previewOf(storeOf(usages), conservative)
  expect(blocked).toEqual([
    {
      user: 'alice',
      scope: 'Personal',
      category: 'read',
      window: '1d',
      limit: 900,
      used: 950,
      blockedNow: true,
      resetAt: '2026-08-07T14:30:00.000Z',
    },
  ])
})

it('a preview shows the first of two windows that end together, as the settings have them', async () => {
  const { blocked } = await previewOf(storeOf({ alice: { read: { hour: 120 }, write: { hour: 60 } } }), {})
  expect(blocked).toMatchObject([{ category: 'read', window: '1h' }])
})

it('a preview does not count windows that have ended', async () => {
  const { blockedCount } = await previewOf(
    storeOf({ alice: { read: { hour: 500, started: AT - HOUR } } }),
    conservative,
  )
  expect(blockedCount).toBe(0)
})

it('a preview says of a limit of 0 that no waiting helps', async () => {
  const patch = { baselines: { personal: { write: { '1h': 0 } } } }
  const { blocked } = await previewOf(storeOf({ alice: { read: { hour: 130 }, write: { day: 5 } } }), patch)
  expect(blocked).toMatchObject([{ user: 'alice', category: 'write', window: '1h', limit: 0, resetAt: null }])
})

it('a preview says of a limit that fits one request when it ends', async () => {
  const patch = { baselines: { personal: { write: { '1h': 1 } } } }
  const { blocked } = await previewOf(storeOf({ alice: { write: { hour: 1 } } }), patch)
  expect(blocked).toMatchObject([{ window: '1h', limit: 1, resetAt: '2026-08-06T15:30:00.000Z' }])
})

it('a preview counts as blocked whoever has no room for the cheapest request of a category that may be refused', async () => {
  const usages: Usages = {
    alice: { read: { hour: 116 } },
    bob: { read: { hour: 115 } },
    carol: { write: { hour: 60 } },
  }
  const { shadow: _, ...settings } = FILE
  const policy = () => createPolicy(settings)
  const cheapest = new Map([['read', 5]])
  const windows = FILE.windows
  const options = {
    desk: deskOf(storeOf(usages)),
    windows,
    now: policy,
    next: policy,
    shadow: { now: false, next: false },
  }
  const { blocked } = await preview({ ...options, cheapest })
  expect(blocked).toMatchObject([{ user: 'alice', category: 'read', window: '1h', limit: 120, used: 116 }])
  const dearer = new Map([['write', 61]])
  const none = await preview({ ...options, cheapest: dearer })
  expect(none.blocked.map(({ user, resetAt }) => [user, resetAt])).toEqual([
    ['alice', null],
    ['bob', null],
    ['carol', null],
  ])
})

it('a preview heeds overrides, before and after', async () => {
  const limits = (hourly: number) => ({
    limits: table({ read: { '1h': hourly } }),
    bypassGlobal: false,
    shadow: false,
  })
  const overrides = new Map([
    ['vip', limits(1000)],
    ['slow', limits(10)],
  ])
  const usages: Usages = { vip: { read: { hour: 500 } }, slow: { read: { hour: 10 } }, bob: { read: { hour: 100 } } }
  const { blocked, newlyBlockedCount } = await previewOf(storeOf(usages), conservative, overrides)
  expect(blocked.map(({ user, limit, blockedNow }) => [user, limit, blockedNow])).toEqual([
    ['bob', 90, false],
    ['slow', 10, true],
  ])
  expect(newlyBlockedCount).toBe(1)
})

it('a preview counts a user once that the scan came by twice', async () => {
  const store = storeOf({ alice: { read: { hour: 100 } }, bob: { read: { hour: 1 } } })
  const twice: PreviewStore = {
    ...store,
    async scanUsers(cursor) {
      const step = await store.scanUsers(null)
      return { ...step, next: cursor === null ? 'again' : null }
    },
  }
  expect(await previewOf(twice, conservative)).toMatchObject({ blockedCount: 1, newlyBlockedCount: 1 })
})

it('a preview shows the first 100, those first who are not blocked now', async () => {
  const usages = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`user ${i}`, { read: { hour: i % 5 === 0 ? 100 : 200 } }]),
  )
  const { blocked, blockedCount, newlyBlockedCount } = await previewOf(storeOf(usages, {}, 7), conservative)
  expect([blockedCount, newlyBlockedCount, blocked.length]).toEqual([300, 60, 100])
  expect(blocked.map(({ blockedNow }) => blockedNow)).toEqual([
    ...Array.from({ length: 60 }, () => false),
    ...Array.from({ length: 40 }, () => true),
  ])
})

it('a preview shows the head-room of the global windows, under the change and now', async () => {
  const store = storeOf({}, { read: { hour: 10_000, day: 20_000 } })
  const { windows, effective } = await previewOf(store, { global: { multiplier: 0.5 } })
  expect(windows.read).toEqual([
    { window: '1h', used: 10_000, limit: 6000, remaining: 0, limitNow: 12_000, remainingNow: 2000 },
    { window: '1d', used: 20_000, limit: 60_000, remaining: 40_000, limitNow: 120_000, remainingNow: 100_000 },
  ])
  expect(windows.write?.map(({ used }) => used)).toEqual([0, 0])
  expect(effective.global.read).toEqual({ '1h': 6000, '1d': 60_000 })
  const off = await previewOf(store, { global: { enabled: false } })
  expect([off.windows, off.effective.global]).toEqual([{ read: [], write: [] }, {}])
})

it('a preview leaves the event loop to others between its steps, with 100,000 users too', async () => {
  const usages = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, i) => [`user ${i}`, { read: { hour: i % 200 } }]),
  )
  const store = storeOf(usages, {}, 1000)
  let steps = 0
  let turns = 0
  const counting: PreviewStore = {
    ...store,
    scanUsers: (cursor) => {
      steps++
      return store.scanUsers(cursor)
    },
  }
  let isDone = false
  const turn = () => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const { scanned, blockedCount } = await previewOf(counting, conservative)
  isDone = true
  expect([scanned, blockedCount, steps]).toEqual([100_000, 55_000, 100])
  expect(turns).toBeGreaterThanOrEqual(steps)
}, 60_000)

it('a preview ends between two steps when nobody waits for it any more', async () => {
  const usages = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`user ${i}`, { read: { hour: 1 } }]))
  const gone = new AbortController()
  const store = storeOf(usages)
  let steps = 0
  const counting: PreviewStore = {
    ...store,
    async scanUsers(cursor) {
      if (++steps === 3) gone.abort()
      return store.scanUsers(cursor)
    },
  }
  await expect(previewOf(counting, conservative, new Map(), gone.signal)).rejects.toThrow('aborted')
  expect(steps).toBe(3)
})

it('a preview fails as the store fails', async () => {
  const store = { ...storeOf({}), scanUsers: () => Promise.reject(new Error('out')) }
  await expect(previewOf(store, conservative)).rejects.toThrow('out')
})
