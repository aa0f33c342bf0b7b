import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lookBack } from '../../src/admin/look-back.ts'
import type { Change, QuotaReset } from '../../src/control/control-store.ts'
import { everyStep } from '../../src/lib/steps.ts'
import { BOOK_SECONDS, bookWindow } from '../../src/quota/books.ts'
import type { Batch, Charge, Decision, Limits, Refund } from '../../src/quota/charge.ts'
import type { Retention } from '../../src/quota/history.ts'
import type { HistoryScope, HistoryStore } from '../../src/quota/history-store.ts'
import { createPolicy, payerOf, type QuotaSettings } from '../../src/quota/policy.ts'
import type { Limit } from '../../src/quota/window.ts'
import { runs } from '../setup/runs.ts'
import { settings, table } from './settings.ts'
import { STRANGE_IDS } from './usage.suite.ts'

type UserReset = Extract<Change, { readonly kind: 'reset' }>

/** A store whose clock the test holds, and its histories. */
export interface HistoryStoreUnderTest {
  settle(batch: Batch, now: number): Promise<readonly Decision[]>
  change(change: UserReset | QuotaReset, now: number): Promise<void>
  readonly history: HistoryStore
  close(): Promise<void>
}

export type OpenHistory = (retention: Retention) => Promise<HistoryStoreUnderTest>

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** A Redis keeps each key by a clock of its own, while the test moves that of its scripts. */
const BEGIN = Date.UTC(2150, 0, 1)
const YEARS = 10 * 366 * 86_400

export const KEPT_FOR_EVER: Retention = {
  longestSeconds: YEARS,
  shorterSeconds: YEARS,
  anonymousSeconds: 0,
  isAnonymous: (user) => user.startsWith('key:'),
}

const WINDOWS = { '1h': 3600, '5h': 18_000, '1d': 86_400 }
/** Whoever is charged by these has so many tokens in each window. */
function windows(limit: number, names = Object.keys(WINDOWS)): readonly Limit[] {
  return names.map((name) => ({ window: { name, seconds: WINDOWS[name as '1h'] }, limit }))
}
const ROOMY: Limits = { personal: windows(10 ** 9), organisation: null, global: null }

function charge(user: string, cost: number, limits = ROOMY, organisation: string | null = null): Charge {
  return { user, organisation, category: 'read', cost, limits }
}

/** Settings under which everybody may have so many tokens of `read` in an hour. */
function hourly(limit: number): QuotaSettings {
  return settings({ baselines: { personal: table({ read: { '1h': limit } }), global: table({}) } })
}

interface Read {
  readonly category: string
  readonly seconds: number
  readonly startedAt: number
  readonly tokens: number
  readonly isCounted: boolean
}

function allRuns({ eachRun }: Awaited<ReturnType<HistoryStore['readHistory']>>['history'], from = 0, to = 2 ** 48) {
  const found: Read[] = []
  eachRun(from, to, (category, seconds, startedAt, tokens, isCounted) =>
    found.push({ category, seconds, startedAt, tokens, isCounted }),
  )
  return found.sort((a, b) => a.startedAt - b.startedAt || a.seconds - b.seconds)
}

/** What every store must do for whoever asks what was used. */
export function historyStoreSuite(open: OpenHistory): void {
  async function withStore(retention: Retention, test: (under: Under) => Promise<void>): Promise<void> {
    const store = await open(retention)
    let sequence = 0
    const settle = (charges: Charge[], at: number, refunds: Refund[] = []) =>
      store.settle({ instance: 'history', sequence: ++sequence, charges, refunds }, BEGIN + at)
    const read = async (user: string, scope: HistoryScope = 'personal') =>
      allRuns((await store.history.readHistory(scope, user)).history)
    try {
      await test({ ...store, settle, read })
    } finally {
      await store.close()
    }
  }
  interface Under extends Omit<HistoryStoreUnderTest, 'settle'> {
    settle(charges: Charge[], at: number, refunds?: Refund[]): Promise<readonly Decision[]>
    read(user: string, scope?: HistoryScope): Promise<Read[]>
  }
  const hoursOf = (all: readonly Read[]) =>
    all.filter(({ seconds }) => seconds === 3600).map(({ startedAt, tokens }) => [startedAt - BEGIN, tokens])

  describe('the history of a user', () => {
    it('the history of a user is empty for one who has used nothing', () =>
      withStore(KEPT_FOR_EVER, async ({ read }) => {
        expect([await read('nobody'), await read('nobody', 'organisation')]).toEqual([[], []])
      }))

    it('the history of a user has each run of each window, also when the limits and the windows have changed since', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        await settle([charge('alice', 5), charge('alice', 2)], 0)
        await settle([charge('alice', 3, { ...ROOMY, personal: windows(50, ['1h', '1d']) })], 2 * HOUR)
        await settle([charge('alice', 4, { ...ROOMY, personal: windows(99, ['1d']) })], 9 * HOUR)
        await settle([charge('alice', 1)], 30 * HOUR)
        expect(await read('alice')).toEqual([
          { category: 'read', seconds: 3600, startedAt: BEGIN, tokens: 7, isCounted: false },
          { category: 'read', seconds: 18_000, startedAt: BEGIN, tokens: 7, isCounted: false },
          { category: 'read', seconds: 86_400, startedAt: BEGIN, tokens: 14, isCounted: false },
          { category: 'read', seconds: 3600, startedAt: BEGIN + 2 * HOUR, tokens: 3, isCounted: false },
          ...[3600, 18_000, 86_400].map((seconds) => ({
            ...{ category: 'read', seconds, startedAt: BEGIN + 30 * HOUR, tokens: 1, isCounted: true },
          })),
        ])
      }))

    it('the history of a user has a run that is over, long before the next one starts', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        await settle([charge('alice', 5)], 0)
        await settle([charge('bob', 1)], 300 * DAY)
        expect((await read('alice')).map(({ tokens, isCounted }) => [tokens, isCounted])).toEqual([
          [5, true],
          [5, true],
          [5, true],
        ])
      }))

    it('the history of a user is changed by what is given back or charged in addition after the run is over', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        const order = charge('alice', 5)
        const [decision] = await settle([order], 0)
        const refund = (amount: number): Refund => ({ charge: order, decision: decision as Decision, amount })
        await settle([], 2 * HOUR, [refund(1)])
        expect(hoursOf(await read('alice'))).toEqual([[0, 4]])
        await settle([charge('alice', 9)], 3 * HOUR)
        await settle([], 4 * HOUR, [refund(3)])
        expect(hoursOf(await read('alice'))).toEqual([
          [0, 1],
          [3 * HOUR, 9],
        ])
        await settle([charge('alice', 1)], 30 * HOUR, [refund(-40)])
        expect((await read('alice')).filter(({ startedAt }) => startedAt === BEGIN)).toEqual([
          expect.objectContaining({ seconds: 3600, tokens: 41 }),
          expect.objectContaining({ seconds: 18_000, tokens: 50 }),
          expect.objectContaining({ seconds: 86_400, tokens: 50 }),
        ])
      }))

    it('the history of a user has a run once that began by a clock which was ahead', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        await settle([charge('alice', 5)], 2 * HOUR)
        await settle([charge('alice', 3)], HOUR)
        await settle([charge('alice', 1)], 3 * HOUR)
        expect(hoursOf(await read('alice'))).toEqual([
          [HOUR, 8],
          [3 * HOUR, 1],
        ])
      }))

    it('the history of a user is changed once by a refund, where a clock that was set back gave another run the same start', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        const order = charge('alice', 5)
        const [decision] = await settle([order], 0)
        await settle([charge('alice', 9)], 2 * HOUR)
        await settle([charge('alice', 1)], 0)
        await settle([], 1, [{ charge: order, decision: decision as Decision, amount: 4 }])
        const tokens = hoursOf(await read('alice')).map(([, used = 0]) => used)
        expect(tokens.reduce((sum, used) => sum + used)).toBe(5 + 9 + 1 - 4)
      }))

    it('the history of a user never has less than nothing in a run', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        const order = charge('alice', 5)
        const [decision] = await settle([order], 0)
        await settle([charge('alice', 2)], 2 * HOUR)
        const back = { charge: order, decision: decision as Decision, amount: 4 }
        await settle([], 1, [back])
        await settle([], 1, [back])
        expect(hoursOf(await read('alice'))).toEqual([[2 * HOUR, 2]])
        await settle([], 1, [{ ...back, amount: -3 }])
        expect(hoursOf(await read('alice'))).toEqual([
          [0, 3],
          [2 * HOUR, 2],
        ])
      }))

    it('the history of a user has two runs of one start as one, when a clock that was set back has made them', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        await settle([charge('alice', 5)], 0)
        await settle([charge('alice', 9)], 2 * HOUR)
        await settle([charge('alice', 1)], 0)
        await settle([charge('alice', 2)], 4 * HOUR)
        expect(hoursOf(await read('alice'))).toEqual([
          [0, 5 + 9 + 1],
          [4 * HOUR, 2],
        ])
      }))

    it('the history of a user keeps what was charged before a reset', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, change, read }) => {
        const order = charge('alice', 5)
        const [decision] = await settle([order], 0)
        await change({ kind: 'reset', user: 'alice' }, BEGIN)
        await settle([charge('alice', 3)], 0)
        await settle([], 1, [{ charge: order, decision: decision as Decision, amount: 2 }])
        await change({ kind: 'reset', user: 'alice' }, BEGIN + HOUR)
        const found = await read('alice')
        expect(found.every(({ isCounted }) => !isCounted)).toBe(true)
        for (const seconds of [3600, 18_000, 86_400]) {
          expect(found.filter((run) => run.seconds === seconds).reduce((sum, { tokens }) => sum + tokens, 0)).toBe(6)
        }
      }))

    it('the history of a user is that of an organisation as well, and never of everybody', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, change, read }) => {
        const limits = { personal: windows(100), organisation: windows(100, ['1h']), global: windows(100) }
        await settle([charge('alice', 5, limits, 'acme'), charge('bob', 2, limits, 'acme')], 0)
        await settle([charge('alice', 1, limits, 'acme')], 2 * HOUR)
        const emptied = { kind: 'quota_reset', category: 'read', all: true, windows: [] } as const
        await change({ ...emptied, organisation: 'acme' }, BEGIN + 2 * HOUR + 1)
        await change(emptied, BEGIN + 2 * HOUR + 1)
        await settle([charge('bob', 4, limits, 'acme')], 2 * HOUR + 2)
        expect(hoursOf(await read('acme', 'organisation'))).toEqual([
          [0, 7],
          [2 * HOUR, 1],
          [2 * HOUR + 2, 4],
        ])
        expect([await read('acme'), await read('', 'organisation')]).toEqual([[], []])
      }))

    it('the history of a user has the runs of a time', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, history }) => {
        for (const at of [0, HOUR, 2 * HOUR, 3 * HOUR]) await settle([charge('alice', 1)], at)
        const { history: found } = await history.readHistory('personal', 'alice')
        expect(hoursOf(allRuns(found, BEGIN + HOUR, BEGIN + 3 * HOUR))).toEqual([
          [HOUR, 1],
          [2 * HOUR, 1],
        ])
      }))

    it('the history of a user has the runs of one window, ended and running, to whoever asks for that one', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, history }) => {
        for (const at of [0, HOUR, 2 * HOUR]) await settle([charge('alice', 1)], at)
        const { history: found } = await history.readHistory('personal', 'alice')
        const all = allRuns(found)
        for (const only of new Set(all.map(({ seconds }) => seconds))) {
          const seen: number[] = []
          found.eachRun(0, 2 ** 48, (_category, seconds, startedAt) => seen.push(seconds, startedAt), only)
          const expected = all.filter(({ seconds }) => seconds === only)
          expect(seen).toEqual(expected.flatMap(({ seconds, startedAt }) => [seconds, startedAt]))
        }
        expect(new Set(all.map(({ seconds }) => seconds)).size).toBeGreaterThan(1)
      }))
  })

  it('the windows that are counted have the moment of the first note of each, and one that was away begins anew', () =>
    withStore(KEPT_FOR_EVER, async ({ history }) => {
      expect([...(await history.readCounted()).since]).toEqual([])
      await history.noteCounted(['3600', '118800 Europe/Berlin'])
      const { at, since: first } = await history.readCounted()
      expect([...first.keys()].sort()).toEqual(['118800 Europe/Berlin', '3600'])
      for (const moment of first.values()) expect(moment).toBeLessThanOrEqual(at)
      await history.noteCounted(['3600', '86400'])
      await history.noteCounted(['3600', '86400', '118800 Europe/Berlin'])
      const { since } = await history.readCounted()
      expect(since.get('3600')).toBe(first.get('3600'))
      expect([...since.keys()].sort()).toEqual(['118800 Europe/Berlin', '3600', '86400'])
    }))

  it('the window that is the longest has the moment from which on no run of a longer one is there that was taken out', () =>
    withStore(KEPT_FOR_EVER, async ({ history }) => {
      const notedOf = async (name: string) => {
        await history.noteCounted([`longest ${name}`])
        const { at, since } = await history.readCounted()
        const noted = since.get(`longest ${name}`) ?? 0
        expect([since.size, noted]).toEqual([1, expect.any(Number)])
        return noted - at
      }
      // The store's time may go on between the note and the reading.
      expect(await notedOf('86400')).toBeLessThanOrEqual(0)
      const left = await notedOf('18000')
      expect(left).toBeGreaterThan(80_000_000)
      expect(left).toBeLessThanOrEqual(86_400_000)
      expect(await notedOf('18000')).toBeGreaterThan(80_000_000)
      expect(await notedOf('115201 Europe/Berlin')).toBeLessThanOrEqual(0)
    }))

  describe('how long it is kept', () => {
    const DAYS: Retention = { ...KEPT_FOR_EVER, longestSeconds: 5 * 86_400, shorterSeconds: 2 * 86_400 }

    it('how long it is kept is not at all of callers by a key that nobody checked', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, change, read }) => {
        await settle([charge('key:a', 5)], 0)
        await settle([charge('key:a', 3)], 2 * HOUR)
        await change({ kind: 'reset', user: 'key:a' }, BEGIN + 3 * HOUR)
        await settle([charge('key:a', 1)], 4 * HOUR)
        expect((await read('key:a')).map(({ tokens }) => tokens)).toEqual([1, 1, 1])
      }))

    it('how long it is kept is as long after their ends as the retention says, of the longest window and of the others', () =>
      withStore(DAYS, async ({ settle, read }) => {
        for (let at = 0; at <= 10 * DAY; at += HOUR) await settle([charge('alice', 1)], at)
        const found = (seconds: number) => read('alice').then((all) => all.filter((run) => run.seconds === seconds))
        expect((await found(86_400)).map(({ startedAt }) => (startedAt - BEGIN) / DAY)).toEqual([5, 6, 7, 8, 9, 10])
        const hours = await found(3600)
        expect(hours).toHaveLength(49)
        expect(hours[0]?.startedAt).toBe(BEGIN + 10 * DAY - 48 * HOUR)
      }))
  })

  describe('the books', () => {
    const BERLIN = { ...ROOMY, books: bookWindow('Europe/Berlin') }
    const daysOf = (all: readonly Read[]) =>
      all.filter(({ seconds }) => seconds === BOOK_SECONDS).map(({ startedAt, tokens }) => [startedAt - BEGIN, tokens])
    /** The first midnight of Berlin behind the beginning. */
    const MIDNIGHT = 23 * HOUR

    it('the books have the days of a user and of an organisation, whatever windows limit them', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        const tenSeconds = [{ window: { name: '10s', seconds: 10 }, limit: 99 }]
        await settle([charge('alice', 5, BERLIN, 'acme'), charge('bob', 2, BERLIN, 'acme')], MIDNIGHT - 1)
        await settle([charge('alice', 3, { ...BERLIN, personal: tenSeconds }, 'acme')], MIDNIGHT)
        await settle([charge('alice', 4, { ...BERLIN, organisation: tenSeconds }, 'acme')], MIDNIGHT + 5 * HOUR)
        await settle([charge('alice', 9, BERLIN)], MIDNIGHT + 24 * HOUR)
        expect(daysOf(await read('alice'))).toEqual([
          [MIDNIGHT - 1, 5],
          [MIDNIGHT, 7],
          [MIDNIGHT + 24 * HOUR, 9],
        ])
        expect(daysOf(await read('acme', 'organisation'))).toEqual([
          [MIDNIGHT - 1, 7],
          [MIDNIGHT, 7],
        ])
      }))

    it('limit nobody, and have no day of a charge without them', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        const roomy = { ...BERLIN, personal: windows(10 ** 12) }
        const [decision] = await settle([charge('alice', 10 ** 11, roomy), charge('alice', 1)], 0)
        expect(decision?.accepted).toBe(true)
        expect(daysOf(await read('alice'))).toEqual([[0, 10 ** 11]])
      }))

    it('the books are given back to and added to on the day of the charge, long after it', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, read }) => {
        const order = charge('alice', 5, BERLIN, 'acme')
        const [decision] = await settle([order], 0)
        await settle([charge('alice', 1, BERLIN, 'acme')], 3 * DAY)
        await settle([], 3 * DAY, [{ charge: order, decision: decision as Decision, amount: 2 }])
        expect(daysOf(await read('alice'))).toEqual([
          [0, 3],
          [3 * DAY, 1],
        ])
        expect(daysOf(await read('acme', 'organisation'))).toEqual([
          [0, 3],
          [3 * DAY, 1],
        ])
      }))

    it('the books go on through each reset, and no reset names them', () =>
      withStore(KEPT_FOR_EVER, async ({ settle, change, read }) => {
        const limits = { ...BERLIN, organisation: windows(100) }
        await settle([charge('alice', 5, limits, 'acme')], 0)
        await change({ kind: 'reset', user: 'alice' }, BEGIN + HOUR)
        const all = { kind: 'quota_reset', category: 'read', all: true, windows: [], organisation: 'acme' } as const
        await change(all, BEGIN + HOUR)
        await settle([charge('alice', 1, limits, 'acme')], 2 * HOUR)
        expect(daysOf(await read('alice'))).toEqual([[0, 6]])
        expect(daysOf(await read('acme', 'organisation'))).toEqual([[0, 6]])
        expect(hoursOf(await read('alice'))).toEqual([
          [0, 5],
          [2 * HOUR, 1],
        ])
      }))

    it('the books are kept as long as the longest window, which they are not', () =>
      withStore({ ...KEPT_FOR_EVER, longestSeconds: 5 * 86_400, shorterSeconds: 86_400 }, async ({ settle, read }) => {
        for (let at = 0; at <= 10 * DAY; at += 6 * HOUR) await settle([charge('alice', 1, BERLIN)], at)
        const all = await read('alice')
        const countOf = (seconds: number) => all.filter((run) => run.seconds === seconds).length
        expect([BOOK_SECONDS, 86_400, 18_000].map(countOf)).toEqual([7, 6, 5])
      }))

    it('the books leave what was kept of a window that is the longest no more', () =>
      withStore({ ...KEPT_FOR_EVER, longestSeconds: 9 * 86_400, shorterSeconds: 86_400 }, async ({ settle, read }) => {
        for (let day = 0; day < 5; day++) await settle([charge('alice', 1)], day * DAY)
        const longer = [...windows(99), { window: { name: '7d', seconds: 7 * 86_400 }, limit: 99 }]
        for (let day = 5; day < 8; day++) await settle([charge('alice', 1, { ...ROOMY, personal: longer })], day * DAY)
        expect((await read('alice')).filter(({ seconds }) => seconds === 86_400)).toHaveLength(8)
      }))
  })

  describe('looking through all histories', () => {
    it(
      'looking through all histories gives each once, whatever characters the id holds, by users and by organisations',
      () =>
        withStore(KEPT_FOR_EVER, async ({ settle, history }) => {
          const limits = { personal: windows(9), organisation: windows(9000), global: null }
          const users = [...STRANGE_IDS, ...Array.from({ length: 1200 }, (_, i) => `user-${i}`)]
          for (const at of [0, 2 * HOUR]) {
            for (let i = 0; i < users.length; i += 200) {
              const some = users.slice(i, i + 200)
              await settle(
                some.map((user) => charge(user, 2, limits, STRANGE_IDS[i % 7] ?? null)),
                at,
              )
            }
          }
          const everyone = async (scope: HistoryScope, found: Map<string, Read[]>) => {
            for await (const { owners } of everyStep((from: string | null) => history.scanHistory(scope, from))) {
              for (const owner of owners) found.set(owner.id, allRuns(owner))
            }
            return found
          }
          const found = await everyone('personal', new Map())
          expect([...found.keys()].sort()).toEqual([...users].sort())
          for (const all of found.values())
            expect(hoursOf(all)).toEqual([
              [0, 2],
              [2 * HOUR, 2],
            ])
          const theirs = await everyone('organisation', new Map())
          const sum = [...theirs.values()].flatMap(hoursOf).reduce((total, [, tokens = 0]) => total + tokens, 0)
          expect([theirs.size, sum]).toEqual([
            new Set(users.map((_, i) => i - (i % 200)).map((i) => i % 7)).size,
            users.length * 4,
          ])
          const { scanned, rows } = await lookBack({
            // Not on the clock of the readings, which is that of a Redis itself.
            desk: {
              store: {
                scanHistory: async (scope, cursor) => ({
                  ...(await history.scanHistory(scope, cursor)),
                  at: BEGIN + 2 * HOUR,
                }),
              },
              payersOf: async (some) => some.map((user) => payerOf(user)),
            },
            next: () => createPolicy(hourly(1)),
            exempt: new Set(['user-0']),
            spanMs: DAY,
          })
          const [some, twice] = [users.length - 1, 2 * (users.length - 1)]
          expect([scanned, rows]).toEqual([
            some,
            [
              {
                category: 'read',
                window: '1h',
                of: { users: some, runs: twice, tokens: 2 * twice },
                above: { users: some, runs: twice, tokens: twice },
              },
            ],
          ])
        }),
      60_000,
    )
  })

  it('a history is, with what runs, all that was charged, whatever else happens', () => agreesWithTheBooks(open))
}

type Step =
  | {
      readonly kind: 'batch'
      readonly charges: readonly Charge[]
      readonly refunds: readonly (readonly [which: number, amount: number | null])[]
      readonly replyLost: boolean
    }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'change'; readonly change: UserReset | QuotaReset }

const USERS = ['alice', 'bob', 'key:carol'] as const
const ORGANISATIONS = ['acme', 'alice'] as const

function stepOf(): fc.Arbitrary<Step> {
  const sets = [windows(20), windows(40, ['1h', '1d']), windows(9, ['5h']), windows(60, ['1d']), windows(0, ['1h'])]
  const limits = fc.record({
    personal: fc.constantFrom(...sets),
    organisation: fc.option(fc.constantFrom(...sets), { nil: null }),
    global: fc.option(fc.constant(windows(200)), { nil: null }),
  })
  const order = fc.record({
    user: fc.constantFrom(...USERS),
    organisation: fc.constantFrom(null, ...ORGANISATIONS),
    category: fc.constantFrom('read', 'write', 'x'),
    cost: fc.integer({ min: 1, max: 6 }),
    limits,
  })
  const charges = fc.array(
    fc.oneof(
      { weight: 9, arbitrary: order },
      order.map((one) => ({ ...one, forced: true as const })),
    ),
    { maxLength: 5 },
  )
  const reset = fc.oneof(
    fc.constantFrom(...USERS).map((user) => ({ kind: 'reset' as const, user })),
    fc
      .record({
        organisation: fc.constantFrom(undefined, ...ORGANISATIONS),
        category: fc.constantFrom('read', 'write'),
        all: fc.boolean(),
        some: fc.subarray(Object.entries(WINDOWS)),
      })
      .map(({ organisation, category, all, some }) => ({
        ...{ kind: 'quota_reset' as const, category, all },
        windows: some.map(([name, seconds]) => ({ name, seconds })),
        ...(organisation !== undefined && { organisation }),
      })),
  )
  return fc.oneof(
    {
      weight: 7,
      arbitrary: fc.record({
        kind: fc.constant('batch' as const),
        charges,
        refunds: fc.array(fc.tuple(fc.nat(1000), fc.constantFrom(null, 1, -3, -50)), { maxLength: 3 }),
        replyLost: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(1, HOUR / 2, HOUR - 1, HOUR, HOUR + 1, 5 * HOUR, DAY, 40 * DAY),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('change' as const), change: reset }) },
  )
}

/** The runs of all owners as the decisions name them, which is all that anybody knows who is charged. */
async function agreesWithTheBooks(open: OpenHistory): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(stepOf(), { maxLength: 30 }), async (steps) => {
      const store = await open(KEPT_FOR_EVER)
      try {
        await play(steps, store)
      } finally {
        await store.close()
      }
    }),
    { numRuns: runs(1000) },
  )
}

async function play(steps: readonly Step[], store: HistoryStoreUnderTest): Promise<void> {
  const books = new Map<string, number>()
  const accepted: Refund[] = []
  let [now, sequence] = [BEGIN, 0]
  const book = ({ charge: order, decision }: Refund, tokens: number): void => {
    const { user, organisation, category, limits } = order
    const of = (scope: HistoryScope, id: string | null): void =>
      limits[scope]?.forEach(({ window: { seconds } }, i) => {
        const key = JSON.stringify([scope, id, category, seconds, decision[scope]?.[i]?.startedAt])
        books.set(key, (books.get(key) ?? 0) + tokens)
      })
    of('personal', user)
    if (organisation !== null) of('organisation', organisation)
  }
  for (const step of steps) {
    if (step.kind === 'pass') now += step.ms
    else if (step.kind === 'change') await store.change(step.change, now)
    else {
      const refunds = step.refunds.flatMap(([which, amount]) => {
        const [refund] = accepted.length === 0 ? [] : accepted.splice(which % accepted.length, 1)
        return refund === undefined
          ? []
          : [amount === null ? refund : { ...refund, amount: Math.min(amount, refund.charge.cost) }]
      })
      const batch = { instance: 'books', sequence: ++sequence, charges: step.charges, refunds }
      let decisions = await store.settle(batch, now)
      if (step.replyLost) decisions = await store.settle(batch, now + 5000)
      for (const refund of refunds) book(refund, -(refund.amount ?? refund.charge.cost))
      decisions.forEach((decision, i) => {
        const refund = { charge: step.charges[i] as Charge, decision }
        if (!decision.accepted) return
        book(refund, refund.charge.cost)
        accepted.push(refund)
      })
    }
  }
  const found = new Map<string, number>()
  const owners = [
    ...USERS.map((id) => ['personal', id] as const),
    ...ORGANISATIONS.map((id) => ['organisation', id] as const),
  ]
  for (const [scope, id] of owners) {
    const { history } = await store.history.readHistory(scope, id)
    for (const { category, seconds, startedAt, tokens } of allRuns(history)) {
      const key = JSON.stringify([scope, id, category, seconds, startedAt])
      found.set(key, (found.get(key) ?? 0) + tokens)
    }
  }
  // Of whom nothing is kept only the runs of now are there.
  const isKept = ([key, tokens]: readonly [string, number]): boolean => tokens > 0 && !key.includes('"key:')
  expect([...found].filter(isKept).sort()).toEqual([...books].filter(isKept).sort())
}
