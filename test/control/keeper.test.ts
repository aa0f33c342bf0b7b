import { describe, expect, test } from 'vitest'
import { type ChangeFollower, createChangeFollower } from '../../src/control/change-follower.ts'
import type { Author, Change } from '../../src/control/control-store.ts'
import { createKeeper, type Keeper, type Outcome, upsetOf } from '../../src/control/keeper.ts'
import { problemsOf } from '../../src/control/settings.ts'
import type { Changes, Layer, Packed } from '../../src/control/state.ts'
import { timingProblems } from '../../src/control/timing.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { settled } from '../observe/settled.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { FILE } from './settings-of-a-file.ts'

const T = Date.UTC(2026, 10, 27, 9)
const MINUTE = 60_000

const start = (from: number, more: Partial<Layer> = {}): Layer => ({
  id: `s${from}`,
  from,
  until: null,
  value: { mode: 'loose' },
  who: 'ann',
  why: 'a busy evening',
  ...more,
})
const scheduled = (permanent: Changes, ...layers: Layer[]): Packed<Changes> => ({ ...permanent, layers })

interface Replica {
  readonly keeper: Keeper
  readonly control: ChangeFollower
  readonly made: string[]
  readonly unknown: [Change, Author][]
}

/**
 * Some replicas on one store, whose clock the test has in hand.
 * @param brokenFrom the first of the replicas whose calls `broken` takes the place of
 */
function world(count = 1, { file = [FILE], broken = {} as Partial<Store>, brokenFrom = 0 } = {}) {
  let at = T
  const outcomes: Outcome[] = []
  const store = closedAtEnd(openSqliteStore({ file: ':memory:', clock: () => at }))
  const replicas = Array.from({ length: count }, (_, i): Replica => {
    const theirs = { ...store, ...(i >= brokenFrom && broken) }
    const control = createChangeFollower({ store: theirs, observe: () => {}, now: () => at })
    const made: string[] = []
    const unknown: [Change, Author][] = []
    const keeper = createKeeper({
      store: theirs,
      control,
      problemsOf: (patch, changes) => problemsOf(patch, file[i] ?? FILE, changes),
      onChange(entry, _, outcome) {
        made.push(`${entry.who}: ${entry.why}`)
        outcomes.push(outcome)
      },
      onUnknown: (change, author) => void unknown.push([change, author]),
      onError(error) {
        throw error
      },
    })
    return { keeper, control, made, unknown }
  })
  return {
    store,
    replicas,
    outcomes,
    /** Moves the clock, and has every replica follow and look. */
    async pass(to: number): Promise<void> {
      at = to
      await Promise.all(
        replicas.map(async ({ control, keeper }) =>
          control
            .fresh()
            .catch(() => {})
            .then(() => keeper.look()),
        ),
      )
    },
    set: (to: Packed<Changes>) => store.change({ kind: 'settings', to }, { who: 'ann', why: null }, null),
    settings: async () => (await store.readControl()).settings.value,
    inForce: (replica = 0) => replicas[replica]?.control.state().settings.value,
    audit: async () => (await store.readAudit(null, 100)).map(({ who, why }) => `${who}: ${why}`),
  }
}

test('a change that is to begin later is made when its time has come, once over all replicas, and ends by itself', async () => {
  const { pass, replicas, set, settings, inForce, audit } = world(5)
  await set(scheduled({ shadow: true }, start(T + MINUTE, { until: T + 3 * MINUTE })))
  await pass(T + MINUTE - 1)
  expect(replicas.map((_, i) => inForce(i))).toEqual(Array(5).fill({ shadow: true }))
  await pass(T + MINUTE)
  expect(replicas.map((_, i) => inForce(i))).toEqual(Array(5).fill({ shadow: true, mode: 'loose' }))
  expect(await settings()).toMatchObject({ shadow: true, layers: [{ begun: true }] })
  await pass(T + 3 * MINUTE)
  expect(replicas.map((_, i) => inForce(i))).toEqual(Array(5).fill({ shadow: true }))
  expect(await settings()).toEqual({ shadow: true })
  expect(replicas.flatMap(({ made }) => made).sort()).toEqual([
    'schedule: begins as scheduled by ann: a busy evening',
    'schedule: ends as scheduled by ann: a busy evening',
  ])
  expect(await audit()).toHaveLength(3)
})

test('a change that is to begin later is not made if its end has passed too, as while nobody was there', async () => {
  const { pass, set, settings, audit, store } = world()
  await set(scheduled({}, start(T + MINUTE, { until: T + 2 * MINUTE })))
  await pass(T + 60 * MINUTE)
  expect(await settings()).toEqual({})
  expect((await store.readAudit(null, 9)).map(upsetOf)).toEqual(['not_made', null])
  expect((await audit())[0]).toMatch(/^schedule: is not made as scheduled by ann: a busy evening: its end had come/)
})

test('a change that is to begin later rests under a configuration that has no place for it, and the audit says why', async () => {
  const { pass, set, settings, audit, outcomes } = world()
  const value = { baselines: { personal: { gone: { '1h': 5 } } } }
  await set(scheduled({}, start(T + MINUTE, { value })))
  await pass(T + MINUTE)
  expect(await settings()).toMatchObject({ layers: [{}] })
  await pass(T + MINUTE + 5000)
  expect(await settings()).toEqual(value)
  expect((await audit())[0]).toMatch(
    /^schedule: is not made as scheduled by ann: a busy evening: baselines.personal.gone.1h: rests, since the file has no such plan, category/,
  )
  expect(outcomes).toEqual(['not_made'])
})

test('a change that is to begin later is made by a replica whose configuration takes it, if others refuse it', async () => {
  const windows = FILE.windows.filter(({ name }) => name !== '1d')
  const { pass, set, settings, replicas } = world(2, { file: [{ ...FILE, windows }, FILE] })
  await set(scheduled({}, start(T + MINUTE, { value: { baselines: { personal: { read: { '1d': 5 } } } } })))
  await pass(T + MINUTE)
  expect(await settings()).toEqual({ baselines: { personal: { read: { '1d': 5 } } } })
  expect(replicas.map(({ made }) => made.length)).toEqual([0, 1])
})

test('a change that is to begin later is one of several, which are made in the order of their times', async () => {
  const { pass, set, settings, inForce, audit } = world()
  const first = start(T + MINUTE, { until: T + 2 * MINUTE })
  const second = start(T + 2 * MINUTE, { value: { mode: 'conservative' }, why: null })
  await set(scheduled({}, first, second))
  await pass(T + 90_000)
  expect(inForce()).toMatchObject({ mode: 'loose' })
  await pass(T + 5 * MINUTE)
  expect(await settings()).toEqual({ mode: 'conservative' })
  expect((await audit()).slice(0, 3)).toEqual([
    'schedule: begins as scheduled by ann',
    'schedule: ends as scheduled by ann: a busy evening',
    'schedule: begins as scheduled by ann: a busy evening',
  ])
})

describe('a guarded change', () => {
  const guard = { id: 'g', until: T + 10 * MINUTE, refused: 0.05 }
  const layer = (more: Partial<Layer> = {}): Layer => ({
    ...start(T, { id: 'less', value: { mode: 'conservative', shadow: null }, guard, begun: true, why: 'less for all' }),
    ...more,
  })
  const guarded = () => scheduled({ shadow: false }, layer())

  function decide({ keeper }: Replica | Record<'keeper', undefined>, callers: number, refusedOf10: number): void {
    for (let i = 0; i < 10 * callers; i++) {
      const isRefused = Math.floor(i / callers) < refusedOf10
      keeper?.observer(settled({ user: `user-${i % callers}`, kind: isRefused ? 'refused' : 'charged' }))
    }
  }

  test('a guarded change is taken back once over all replicas, if too much is refused', async () => {
    const { pass, set, replicas, settings, audit } = world(4)
    await set(guarded())
    await pass(T)
    for (const replica of replicas) decide(replica, 20, 1)
    await pass(T + MINUTE)
    expect(await settings()).toEqual({ shadow: false })
    expect(replicas.flatMap(({ made }) => made)).toHaveLength(1)
    expect((await audit()).slice(0, -1)).toEqual([
      expect.stringMatching(
        /^guard: takes back the change of ann: 10.0 % of \d+ weighed requests were refused, and 5 % may be$/,
      ),
    ])
  })

  test('a guarded change stays if little is refused, and its guard ends', async () => {
    const { pass, set, replicas, settings, audit } = world(2)
    await set(guarded())
    await pass(T)
    decide(replicas[0] ?? { keeper: undefined }, 20, 0)
    await pass(T + 10 * MINUTE)
    expect(await settings()).toMatchObject({ layers: [{ guard: { id: 'g' } }] })
    await pass(T + 10 * MINUTE + 3000)
    expect(await settings()).toEqual({ mode: 'conservative' })
    // In one run of forty, two of the callers share a slot and are weighed as one: 18 requests for 20. So may two pairs.
    expect((await audit())[0]).toMatch(
      /^guard: keeps the change of ann: 0\.0 % of (?:200|19\d) weighed requests were refused$/,
    )
  })

  test('a guarded change is not judged by what was refused before it, nor by what is charged in addition', async () => {
    const { pass, set, replicas, settings, store } = world()
    const [replica] = replicas
    decide(replica ?? { keeper: undefined }, 20, 10)
    await set(guarded())
    await pass(T)
    replica?.keeper.observer(settled({ kind: 'corrected', tokens: 1, source: 'response' }))
    replica?.keeper.observer(settled({ kind: 'shadowed', refusedBy: 'store' }))
    await pass(T + MINUTE)
    expect(await settings()).toMatchObject({ layers: [{ guard }] })
    expect(await store.readGuard('g')).toEqual({ requests: 0, refused: 0 })
  })

  test('a guarded change is judged by what processes have counted that have ended since', async () => {
    const { pass, set, replicas, settings, store } = world(2)
    await set(guarded())
    await pass(T)
    decide(replicas[0] ?? { keeper: undefined }, 20, 0)
    await store.countForGuard('g', 'a process that is gone', { requests: 100, refused: 90 })
    await pass(T + MINUTE)
    expect(await settings()).toEqual({ shadow: false })
  })

  test('a guarded change is not judged by what was counted for the guard before', async () => {
    const { pass, set, replicas, settings } = world()
    const [replica] = replicas
    await set(guarded())
    await pass(T)
    decide(replica ?? { keeper: undefined }, 20, 10)
    // The replica has not followed this one yet.
    await set(scheduled({}, layer({ id: 'more', guard: { ...guard, id: 'h' } })))
    await replica?.keeper.look()
    expect(await settings()).toMatchObject({ layers: [{ guard: { id: 'h' } }] })
  })

  test('a guarded change is not judged by what is decided while the store is out', async () => {
    const { pass, set, replicas, settings, store } = world()
    const [replica] = replicas
    await set(guarded())
    await pass(T)
    decide(replica ?? { keeper: undefined }, 20, 0)
    replica?.keeper.observer({ type: 'store_out', reason: 'connection' })
    decide(replica ?? { keeper: undefined }, 20, 10)
    replica?.keeper.observer({ type: 'store_recovered', downMs: 1000 })
    decide(replica ?? { keeper: undefined }, 20, 0)
    await pass(T + MINUTE)
    expect(await store.readGuard('g')).toMatchObject({ refused: 0 })
    // An outage that nobody saw begin.
    decide(replica ?? { keeper: undefined }, 20, 10)
    replica?.keeper.observer({ type: 'store_recovered', downMs: 1000 })
    await pass(T + 2 * MINUTE)
    expect(await settings()).toMatchObject({ layers: [{ guard }] })
  })

  test('a guarded change is one of two that are guarded: the newer one is taken back first, and then the older one is counted anew', async () => {
    const { pass, set, replicas, settings, audit } = world(2)
    const newer = layer({ id: 'newer', from: T + 1, value: { shadow: true }, guard: { ...guard, id: 'h' }, who: 'bob' })
    await set(scheduled({}, layer({ value: { mode: 'conservative' } }), newer))
    await pass(T + 1)
    for (const replica of replicas) decide(replica, 20, 1)
    await pass(T + MINUTE)
    expect(await settings()).toEqual(
      scheduled({}, layer({ value: { mode: 'conservative' }, guard: { ...guard, id: 'g+' } })),
    )
    expect((await audit())[0]).toMatch(/^guard: takes back the change of bob/)
    await pass(T + 2 * MINUTE)
    expect(await settings()).toMatchObject({ layers: [{ id: 'less' }] })
    for (const replica of replicas) decide(replica, 20, 1)
    await pass(T + 3 * MINUTE)
    expect(await settings()).toEqual({})
  })

  test('a guarded change goes on through starts and ends of other values', async () => {
    const { pass, set, replicas, settings, audit } = world()
    const others = [
      start(T + 1, { id: 'a', value: { shadow: true }, until: T + MINUTE, begun: true }),
      start(T + 2 * MINUTE, { id: 'b', value: { global: { multiplier: 2 } } }),
    ]
    await set(scheduled({}, layer({ value: { mode: 'conservative' } }), ...others))
    await pass(T + 2)
    await pass(T + MINUTE)
    await pass(T + 2 * MINUTE)
    expect(await settings()).toMatchObject({ global: { multiplier: 2 }, layers: [{ guard }] })
    decide(replicas[0] ?? { keeper: undefined }, 20, 1)
    await pass(T + 3 * MINUTE)
    expect(await settings()).toEqual({ global: { multiplier: 2 } })
    expect((await audit()).map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      'guard: takes',
      'schedule: begins',
      'schedule: ends',
      'ann: null',
    ])
  })

  test('a guarded change is guarded no more once something begins that sets all of its values', async () => {
    const { pass, set, settings } = world()
    const begins = start(T + MINUTE, { until: T + 2 * MINUTE })
    await set(scheduled({}, layer({ value: { mode: 'conservative' } }), begins))
    await pass(T + MINUTE)
    expect(await settings()).toEqual(scheduled({ mode: 'conservative' }, { ...begins, begun: true }))
  })

  test('a guarded change may be scheduled: it is guarded from when it is made', async () => {
    const { pass, set, replicas, settings } = world()
    await set(scheduled({}, start(T + MINUTE, { guard: { id: 'g', until: T + 3 * MINUTE, refused: 0.1 } })))
    await pass(T + MINUTE)
    decide(replicas[0] ?? { keeper: undefined }, 20, 2)
    await pass(T + 2 * MINUTE)
    expect(await settings()).toEqual({})
  })
})

test('without anything that is due the store is not asked', async () => {
  let asked = 0
  const { pass, replicas, set } = world()
  const [replica] = replicas
  await set(scheduled({}, start(T + MINUTE)))
  await pass(T)
  replica?.control.follow(() => asked++)
  for (let i = 0; i < 10; i++) await replica?.keeper.look()
  expect(asked).toBe(0)
})

test('a replica that was cut off makes nothing that others have made meanwhile', async () => {
  let isCutOff = false
  const cut = async <T>(value: Promise<T>): Promise<T> => {
    if (isCutOff) throw new StoreError('nobody there', 'connection', 'no')
    return value
  }
  const { pass, replicas, set, audit, settings, store } = world(2, {
    broken: { controlVersion: () => cut(store.controlVersion()), change: (...args) => cut(store.change(...args)) },
    brokenFrom: 1,
  })
  await set(scheduled({}, start(T + MINUTE, { until: T + 3 * MINUTE })))
  await pass(T)
  isCutOff = true
  await pass(T + MINUTE)
  expect(replicas.map(({ made }) => made.length)).toEqual([1, 0])
  await pass(T + 3 * MINUTE)
  // It still has the old state when it is back, and the time of both changes has passed.
  isCutOff = false
  await replicas[1]?.keeper.look()
  await pass(T + 4 * MINUTE)
  expect(replicas.map(({ made }) => made.length)).toEqual([2, 0])
  expect(await audit()).toHaveLength(3)
  expect(await settings()).toEqual({})
})

test('a change whose reply is lost is reported as one that may have been made, and is not made twice', async () => {
  let isLost = true
  const again = world(1, {
    broken: {
      change: async (...args: Parameters<Store['change']>) => {
        const changed = await again.store.change(...args)
        if (isLost) throw new StoreError('gone', 'timeout', 'unknown')
        return changed
      },
    },
  })
  await again.set(scheduled({}, start(T + MINUTE)))
  await again.pass(T + MINUTE)
  isLost = false
  await again.pass(T + 2 * MINUTE)
  expect(again.replicas[0]?.unknown).toHaveLength(1)
  expect(again.replicas[0]?.made).toEqual([])
  expect(await again.settings()).toEqual({ mode: 'loose' })
  expect(await again.audit()).toHaveLength(2)
})

test('times that do not go together are refused with the place', () => {
  const iso = (at: number): string => new Date(at).toISOString()
  const places = (body: object) => timingProblems({ ...body }, T).map(({ path }) => path)
  expect(places({ from: iso(T + 1), until: iso(T + 2) })).toEqual([])
  expect(places({ until: iso(T + 1) })).toEqual([])
  expect(places({ from: iso(T) })).toEqual(['from'])
  expect(places({ until: iso(T) })).toEqual(['until'])
  expect(places({ from: iso(T + 2), until: iso(T + 2) })).toEqual(['until'])
  expect(places({ from: iso(T + 400 * 24 * 60 * MINUTE) })).toEqual(['from'])
  const guards = [
    {},
    { for: '10m' },
    { for: '9s', refused: '5%' },
    { for: '2d', refused: '5%' },
    { for: '1m', refused: 5 },
    5,
  ]
  for (const guard of guards) expect(problemsOf({ guard }, FILE)).not.toEqual([])
  for (const refused of ['0%', '100%', '5', '-1%'])
    expect(problemsOf({ guard: { for: '1m', refused } }, FILE)).toHaveLength(1)
  for (const guard of [null, { for: '10s', refused: '0.5%' }, { for: '1d', refused: '99%' }]) {
    expect(problemsOf({ guard }, FILE)).toEqual([])
  }
  expect(problemsOf({ from: 'tomorrow', until: 5 }, FILE).map(({ path }) => path)).toEqual(['from', 'until'])
})
