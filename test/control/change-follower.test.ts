import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type ChangeFollower, createChangeFollower } from '../../src/control/change-follower.ts'
import type { Change } from '../../src/control/control-store.ts'
import type { ControlState, OrganisationOverride, UserOverride } from '../../src/control/state.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { createFakeStore, type FakeStore } from './fake-store.ts'

const override = (hourly: number, expiresAt: number | null = null): UserOverride => ({
  limits: { read: { '1h': hourly } },
  bypassGlobal: false,
  shadow: false,
  reason: 'test',
  expiresAt,
})
const forUser = (user: string, to: UserOverride | null): Change => ({ kind: 'override', user, to })
const ofOrganisation = (daily: number, expiresAt: number | null = null): OrganisationOverride => ({
  limits: { read: { '1d': daily } },
  reason: 'test',
  expiresAt,
})
const forOrganisation = (organisation: string, daily: number | null, expiresAt: number | null = null): Change => ({
  kind: 'organisation_override',
  organisation,
  to: daily === null ? null : ofOrganisation(daily, expiresAt),
})
const loose: Change = { kind: 'settings', to: { mode: 'loose' } }

let store: FakeStore
let keeper: ChangeFollower
/** But for what is followed. */
let told: Observation[]
let followed: Observation[]
/** Our monotonic clock. */
let time: number

const open = (pollMs = 5) =>
  createChangeFollower({
    store,
    observe: (seen) => (seen.type === 'control_followed' ? followed : told).push(seen),
    pollMs,
    now: () => time,
  })

beforeEach(() => {
  store = createFakeStore()
  told = []
  followed = []
  time = 1000
  keeper = open()
})
afterEach(() => keeper.close())

/** Never polls by itself: what is seen was seen by a hint or by asking. */
async function onlyWhenAsked(...before: Change[]): Promise<void> {
  for (const change of before) await store.set(change)
  keeper.close()
  keeper = open(1e9)
  await keeper.start()
}

/** What the keeper knows after it. */
async function freshAfter(...changes: Change[]): Promise<ControlState> {
  for (const change of changes) await store.set(change)
  return keeper.fresh()
}

it('a change by an administrator is known once the keeper has started', async () => {
  await store.set(loose)
  await store.set(forUser('alice', override(5)))
  await store.set(forOrganisation('acme', 7))
  await keeper.start()
  expect(keeper.state()).toEqual({
    version: 3,
    changedAt: store.at,
    settings: { version: 1, value: { mode: 'loose' } },
    overrides: new Map([['alice', { version: 2, value: override(5) }]]),
    organisationOverrides: new Map([['acme', { version: 3, value: ofOrganisation(7) }]]),
    grants: new Map(),
  })
})

it('a change by an administrator comes with a hint, without waiting for the next poll', async () => {
  await onlyWhenAsked()
  await store.set(loose)
  await vi.waitFor(() => expect(keeper.state().settings.value).toEqual({ mode: 'loose' }), { timeout: 30_000 })
})

it('a change by an administrator comes with the next poll if the hint was lost', async () => {
  await keeper.start()
  store.isDeaf = true
  await store.set(loose)
  await vi.waitFor(() => expect(keeper.state().version).toBe(1), { timeout: 30_000 })
})

it('a change by an administrator comes within a second if nothing else is asked for', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  store.isDeaf = true
  const usual = createChangeFollower({ store, observe: () => {} })
  onTestFinished(() => usual.close())
  await usual.start()
  await store.set(loose)
  await vi.advanceTimersByTimeAsync(999)
  expect(usual.state().version).toBe(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(usual.state().version).toBe(1)
})

it('a change by an administrator is reported to every follower until it unsubscribes', async () => {
  await onlyWhenAsked()
  const heard: ControlState[] = []
  const stop = keeper.follow((state) => heard.push(state))
  await freshAfter(loose)
  await keeper.fresh()
  stop()
  await freshAfter(forUser('alice', override(5)))
  expect(heard.map(({ version }) => version)).toEqual([1])
  expect(followed).toEqual([
    { type: 'control_followed', version: 1, before: 0 },
    { type: 'control_followed', version: 2, before: 1 },
  ])
})

it('a change by an administrator is in force already when it is reported', async () => {
  await onlyWhenAsked()
  const heard: boolean[] = []
  keeper.follow((state) => heard.push(state === keeper.state()))
  await freshAfter(loose)
  expect(heard).toEqual([true])
})

it('a change by an administrator reaches the other followers if one fails', async () => {
  await onlyWhenAsked()
  const heard: number[] = []
  keeper.follow(() => {
    throw new Error('cannot')
  })
  keeper.follow(({ version }) => heard.push(version))
  await freshAfter(loose)
  expect(heard).toEqual([1])
  expect(followed).toEqual([])
  expect(told).toMatchObject([{ type: 'internal_error', where: 'control' }])
})

it('a change by an administrator is reported one by one to those who follow single changes, and not if all is read at once', async () => {
  const heard: string[] = []
  await onlyWhenAsked()
  const stop = keeper.followChanges(({ version, what }) => heard.push(`${version} ${what}`))
  await freshAfter(loose, { kind: 'quota_reset', category: 'read', windows: [], all: true })
  await keeper.fresh()
  expect(heard).toEqual(['1 settings', '2 quota_reset'])
  store.remembered = 0
  expect((await freshAfter({ kind: 'quota_reset', category: 'read', windows: [], all: true })).version).toBe(3)
  expect(heard).toHaveLength(2)
  store.remembered = 100
  stop()
  await freshAfter(loose)
  expect(heard).toHaveLength(2)
})

it('a change by an administrator leaves the parts it does not touch the same objects', async () => {
  await store.set(forUser('alice', override(5, store.at + 10)))
  await store.set(forUser('bob', override(6)))
  store.at += 20
  await onlyWhenAsked()
  const before = keeper.state()
  expect([...before.overrides.keys()]).toEqual(['bob'])
  expect((await freshAfter(loose)).overrides).toBe(before.overrides)
  const between = keeper.state()
  const { version, settings, overrides } = await freshAfter({ kind: 'reset', user: 'bob' })
  expect(version).toBe(4)
  expect([settings, overrides]).toEqual([between.settings, between.overrides])
  expect(settings).toBe(between.settings)
  expect(overrides).toBe(between.overrides)
})

it('a change by an administrator is read change by change, and all of it if there were too many', async () => {
  await onlyWhenAsked()
  await freshAfter(loose)
  expect(store.asked).toContain('since 0')
  expect(store.asked).not.toContain('everything')
  store.isDeaf = true
  for (let i = 0; i < 101; i++) await store.set(forUser(`user ${i}`, override(i)))
  expect((await keeper.fresh()).overrides.size).toBe(101)
  expect(store.asked).toContain('everything')
})

it('a change by an administrator is, after any changes, in any pieces, what the store has', async () => {
  const user = fc.constantFrom('alice', 'bob', '__proto__')
  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.constant(loose),
    fc.record({ kind: fc.constant('settings' as const), to: fc.constantFrom({}, { shadow: true }) }),
    fc.record({ kind: fc.constant('reset' as const), user }),
    fc.tuple(user, fc.option(fc.nat(9))).map(([user, n]) => forUser(user, n === null ? null : override(n))),
    fc.tuple(user, fc.option(fc.nat(9))).map(([id, n]) => forOrganisation(id, n)),
  )
  const pieces = fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 0, max: 4 }), async (all, remembered) => {
      store = createFakeStore()
      store.remembered = remembered
      await onlyWhenAsked()
      for (const piece of all) {
        for (const each of piece) await store.set(each)
        expect(await keeper.fresh()).toEqual(await store.readControl())
      }
    }),
  )
}, 60_000)

it("an override that expires is dropped by the store's time, not by ours", async () => {
  await onlyWhenAsked(forUser('alice', override(5, store.at + 60_000)), forUser('bob', override(5)))
  const heard: string[][] = []
  keeper.follow(({ overrides }) => heard.push([...overrides.keys()]))
  store.at += 59_999
  await keeper.fresh()
  expect(keeper.state().overrides.has('alice')).toBe(true)
  store.at += 1
  await keeper.fresh()
  expect(heard).toEqual([['bob']])
  expect(keeper.state().version).toBe(2)
})

it('an override that expires of an organisation is dropped by itself, and those of users stay the same object', async () => {
  await onlyWhenAsked(
    forUser('alice', override(5)),
    forOrganisation('acme', 7, store.at + 1000),
    forOrganisation('other', 7),
  )
  const { overrides } = await keeper.fresh()
  store.at += 1000
  const state = await keeper.fresh()
  expect([...state.organisationOverrides.keys()]).toEqual(['other'])
  expect(state.overrides).toBe(overrides)
  store.at -= 1
  expect([...(await keeper.fresh()).organisationOverrides.keys()]).toEqual(['acme', 'other'])
})

it('an override that expires is dropped while the store is out too, as time goes on', async () => {
  await onlyWhenAsked(forUser('alice', override(5, store.at + 60_000)))
  store.out = true
  time += 59_999
  await keeper.fresh().catch(() => {})
  expect(keeper.state().overrides.size).toBe(1)
  time += 1
  await keeper.fresh().catch(() => {})
  expect(keeper.state().overrides.size).toBe(0)
})

it('an override that expires is dropped in time also if something else was changed meanwhile', async () => {
  await onlyWhenAsked(forUser('alice', override(5, store.at + 60_000)))
  expect((await freshAfter(loose)).overrides.has('alice')).toBe(true)
  store.at += 60_000
  expect((await keeper.fresh()).overrides.has('alice')).toBe(false)
})

it('an override that expires comes back with a later one for the same user', async () => {
  await onlyWhenAsked(forUser('alice', override(5, store.at + 1000)))
  store.at += 1000
  await keeper.fresh()
  expect((await freshAfter(forUser('alice', override(7, store.at + 1000)))).overrides.get('alice')).toEqual({
    version: 2,
    value: override(7, store.at + 1000),
  })
})

it('an override that expires comes back if the clock of the store had leapt ahead and is set back', async () => {
  await onlyWhenAsked(forUser('alice', override(5, store.at + 60_000)), forUser('bob', override(5)))
  store.at += 3_600_000
  expect([...(await keeper.fresh()).overrides.keys()]).toEqual(['bob'])
  expect([...(await freshAfter(loose)).overrides.keys()]).toEqual(['bob'])
  store.at -= 3_600_000
  expect([...(await keeper.fresh()).overrides.keys()]).toEqual(['alice', 'bob'])
  store.at += 60_000
  expect([...(await keeper.fresh()).overrides.keys()]).toEqual(['bob'])
})

it('an override that expires may be over before the keeper starts', async () => {
  await store.set(forUser('alice', override(5, store.at)))
  await keeper.start()
  expect(keeper.state()).toMatchObject({ version: 1, overrides: new Map() })
})

it("the store's time is that of its last response, and goes on from there by our clock", async () => {
  await onlyWhenAsked()
  expect(keeper.storeTime()).toBe(store.at)
  time += 250.7
  expect(keeper.storeTime()).toBe(store.at + 250)
})

it("the store's time is known since its last response, which is no failure", async () => {
  const fresh = open()
  expect(fresh.heardAt()).toBe(Number.NEGATIVE_INFINITY)
  await fresh.fresh()
  const heardAt = time
  expect(fresh.heardAt()).toBe(heardAt)
  time += 250
  store.out = true
  await fresh.fresh().catch(() => {})
  expect(fresh.heardAt()).toBe(heardAt)
})

it("the store's time is ours before the first response", () => {
  const before = Date.now()
  const fresh = open()
  expect(fresh.storeTime()).toBeGreaterThanOrEqual(before)
  expect(fresh.storeTime()).toBeLessThanOrEqual(Date.now())
})

describe('while the store is out', () => {
  it('the keeper starts with nothing changed, and catches up', async () => {
    await store.set(loose)
    store.out = true
    await keeper.start()
    expect(keeper.state().version).toBe(0)
    store.out = false
    await vi.waitFor(() => expect(keeper.state().settings.value).toEqual({ mode: 'loose' }), { timeout: 30_000 })
  })

  it('the keeper keeps what it knew, reports each outage once, and catches up with what was changed meanwhile', async () => {
    await onlyWhenAsked()
    await freshAfter(loose)
    for (let outage = 1; outage <= 2; outage++) {
      store.out = true
      for (let i = 0; i < 3; i++) await expect(keeper.fresh()).rejects.toThrow('nobody there')
      expect(keeper.state().settings.value).toEqual({ mode: 'loose' })
      await store.set(forUser('alice', override(outage)))
      store.out = false
      expect((await keeper.fresh()).overrides.get('alice')?.value).toEqual(override(outage))
      const one = { type: 'store_failed', operation: 'control', reason: 'connection', message: 'nobody there' }
      expect(told).toEqual(Array.from({ length: outage }, () => one))
    }
  })

  it('the keeper sees what is changed while everything is being read', async () => {
    await store.set(loose)
    await store.set(loose)
    store.remembered = 1
    const { readControl } = store
    store.readControl = async () => {
      const read = await readControl()
      await store.set(forUser('alice', override(5)))
      return read
    }
    await keeper.start()
    expect(keeper.state().version).toBe(3)
    expect(keeper.state().overrides.get('alice')?.value).toEqual(override(5))
  })

  it('a failure in the middle of catching up leaves the old state whole', async () => {
    await onlyWhenAsked()
    const changesSince = store.changesSince
    store.changesSince = () => Promise.reject(new Error('broken answer'))
    await store.set(loose)
    await expect(keeper.fresh()).rejects.toThrow('broken answer')
    expect(keeper.state().version).toBe(0)
    expect(told).toMatchObject([{ type: 'internal_error', where: 'control' }])
    store.changesSince = changesSince
    expect((await keeper.fresh()).version).toBe(1)
  })
})

describe('a version that is lower than one seen before', () => {
  beforeEach(async () => {
    await onlyWhenAsked()
    await freshAfter(loose, forUser('alice', override(5)))
  })

  it('once is passed over: it is the late response of a store that is being replaced', async () => {
    const controlVersion = store.controlVersion
    store.controlVersion = async () => ({ version: 1, changedAt: store.at, at: store.at })
    expect((await keeper.fresh()).version).toBe(2)
    store.controlVersion = controlVersion
    await keeper.fresh()
    store.controlVersion = async () => ({ version: 1, changedAt: store.at, at: store.at })
    expect((await keeper.fresh()).version).toBe(2)
  })

  it('twice in a row is followed: the store has lost changes, and every replica is to agree', async () => {
    store.lose(1)
    expect((await keeper.fresh()).version).toBe(2)
    expect(await keeper.fresh()).toEqual(await store.readControl())
    expect(keeper.state()).toMatchObject({ version: 1, overrides: new Map() })
  })
})

describe('a store that has lost changes and made as many others between two looks', () => {
  beforeEach(async () => {
    await onlyWhenAsked()
    await freshAfter(loose, forUser('alice', override(5)))
    store.at += 1000
  })

  it.each([
    ['all of them, to the very number', 2, 2],
    ['all of them, and more', 2, 5],
    ['the last one, to the very number', 1, 1],
    ['the last one, and more', 1, 3],
  ])(
    'a store that has lost changes and made as many others between two looks is read anew: %s',
    async (_, lost, made) => {
      store.lose(lost)
      for (let i = 0; i < made; i++) await store.set(forUser('bob', override(i)))
      expect(await keeper.fresh()).toEqual(await store.readControl())
      expect([...keeper.state().overrides.keys()]).toEqual(['bob'])
    },
  )

  it('a store that has lost changes and made as many others between two looks is read anew once, and then followed change by change', async () => {
    store.lose(2)
    for (let i = 0; i < 2; i++) await store.set(forUser('bob', override(i)))
    await keeper.fresh()
    store.asked.length = 0
    store.isDeaf = true
    await freshAfter(loose)
    await keeper.fresh()
    expect(store.asked).toEqual(['version', 'since 2', 'version'])
  })
})

it('overrides are copied once for all changes of a reading, however many they are', async () => {
  await onlyWhenAsked()
  for (let i = 0; i < 50; i++) await store.set(forUser(`user ${i}`, override(i)))
  await keeper.fresh()
  store.isDeaf = true
  let copies = 0
  class CountedMap<K, V> extends Map<K, V> {
    constructor(entries?: Iterable<readonly [K, V]>) {
      super(entries)
      if (this.size >= 50) copies++
    }
  }
  vi.stubGlobal('Map', CountedMap)
  try {
    for (let i = 0; i < 20; i++) await store.set(forUser(`user ${i}`, override(99)))
    await keeper.fresh()
  } finally {
    vi.unstubAllGlobals()
  }
  expect(keeper.state().overrides.get('user 19')?.value).toEqual(override(99))
  expect(copies).toBe(1)
})

it('many hints at once lead to one reading at a time, and to one more after it', async () => {
  await onlyWhenAsked()
  let go = () => {}
  store.pace = new Promise((resolve) => {
    go = resolve
  })
  store.asked.length = 0
  for (let i = 0; i < 1000; i++) await store.set(forUser(`user ${i % 7}`, override(i)))
  expect(store.asked).toEqual(['version'])
  go()
  const state = await keeper.fresh()
  expect(state).toEqual(await store.readControl())
  expect(store.most()).toBe(1)
  expect(store.asked.filter((call) => call === 'version')).toHaveLength(2)
})

it('many hints at once hide no change that is made while one is read', async () => {
  await onlyWhenAsked()
  await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      await store.set(forUser('alice', override(i)))
      const seen = (await keeper.fresh()).overrides.get('alice')?.version ?? 0
      expect(seen).toBeGreaterThanOrEqual(i + 1)
    }),
  )
})

it('a closed keeper reports nothing of a store that closes meanwhile', async () => {
  await keeper.start()
  const asked = keeper.fresh()
  keeper.close()
  store.out = true
  await expect(asked).rejects.toThrow('nobody there')
  expect(told).toEqual([])
})

it('a closed keeper reports and asks nothing any more', async () => {
  await keeper.start()
  const heard: ControlState[] = []
  keeper.follow((state) => heard.push(state))
  let go = () => {}
  store.pace = new Promise((resolve) => {
    go = resolve
  })
  await store.set(loose)
  keeper.close()
  go()
  await keeper.fresh().catch(() => {})
  store.asked.length = 0
  await store.set(forUser('alice', override(5)))
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect([heard, store.asked]).toEqual([[], []])
})
