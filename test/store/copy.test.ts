import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, it } from 'vitest'
import { mintToken } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord } from '../../src/control/access-key-store.ts'
import type { AuditBounds, ControlStore } from '../../src/control/control-store.ts'
import type { OrganisationOverride, UserOverride } from '../../src/control/state.ts'
import { BUCKET_MS, BUCKETS, type Bucket, bucketStart, NOTHING } from '../../src/failures/histogram.ts'
import { everyStep } from '../../src/lib/steps.ts'
import type { Charge, Limits } from '../../src/quota/charge.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { NO_RETENTION } from '../../src/quota/history.ts'
import type { Replica } from '../../src/replicas/presence.ts'
import { type Copyable, copyStore, type Portion } from '../../src/store/copy.ts'
import { timesOf } from '../../src/store/endings.ts'
import { createRecords } from '../../src/store/records.ts'
import { connect } from '../../src/store/redis/client.ts'
import { redisControl } from '../../src/store/redis/control.ts'
import { openRedisCopyable } from '../../src/store/redis/copy.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { sqliteControl } from '../../src/store/sqlite/control.ts'
import { openSqliteCopyable } from '../../src/store/sqlite/copy.ts'
import { openDatabase, SqliteFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { SERIES_KINDS } from '../../src/usage/series.ts'
import { eventOf, reachedBy } from '../alerts/happenings.ts'
import { keepAccessKey } from '../control/keep-access-key.ts'
import { chargeOf } from '../quota/charge-of.ts'
import { STRANGE_IDS } from '../quota/usage.suite.ts'
import { sharedRedis } from '../setup/redis.ts'
import { runs } from '../setup/runs.ts'
import { entry, episode } from '../usage/usage-log.suite.ts'
import { whenReady } from './redis/ready.ts'
import { newFile } from './sqlite/new-file.ts'

/** A place for a store, as it is copied and as a gateway uses it. */
interface Place {
  readonly name: string
  copyable(): Promise<Copyable>
  store(): Promise<Store>
  /** For changes, with an audit that keeps so many of them. */
  control(bounds: AuditBounds): Promise<Pick<ControlStore, 'change'>>
}

const redis = await sharedRedis()

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

async function kept<T extends Pick<Store, 'ping' | 'close'>>(one: T): Promise<T> {
  open.push(one)
  await whenReady(one)
  return one
}

const KEPT = { ...NO_RETENTION, longestSeconds: 35 * 86_400 }

let places = 0
/** Makes an empty store of a kind. */
const PLACES = {
  sqlite(): Place {
    const file = newFile()
    return {
      name: file,
      copyable: () => kept(openSqliteCopyable(file)),
      store: () => kept(openSqliteStore({ file, retention: () => KEPT })),
      async control(bounds) {
        const database = openDatabase(file)
        open.push({ close: async () => database.close() })
        return sqliteControl(
          new SqliteFile(database),
          createRecords(() => {}),
          { clock: Date.now, bounds },
        )
      },
    }
  },
  redis(): Place {
    const options = { url: redis.url, prefix: `${redis.prefix}-[${++places}]?*` }
    return {
      name: options.prefix,
      copyable: () => kept(openRedisCopyable(options)),
      store: () => kept(openRedisStore({ ...options, deadlineMs: 2000, retention: () => KEPT, observe: () => {} })),
      async control(bounds) {
        const client = connect({ url: options.url, deadlineMs: 2000 })
        open.push({ close: async () => client.disconnect() })
        await client.connect()
        return redisControl(
          client,
          createKeys(options.prefix),
          createRecords(() => {}),
          bounds,
        )
      },
    }
  },
}
type Kind = keyof typeof PLACES
const KINDS: readonly Kind[] = ['sqlite', 'redis']

async function copy(from: Place, to: Place, force = false) {
  return copyStore({ from: await from.copyable(), to: await to.copyable(), force, progress: () => {} })
}

/** All that a store gives to read, in an order of its own. */
async function readings(place: Place) {
  const store = await place.store()
  const users = await countersOf(store.scanUsers)
  const organisations = await countersOf(store.scanOrganisations)
  const { global } = await store.readUsage('nobody', CATEGORIES)
  const control = await store.readControl()
  return {
    users,
    organisations,
    known: await knownUsers(place),
    global: global.map(sorted),
    tokens: await store.listTokens(),
    control,
    audit: await store.readAudit(null, 100_000),
    forgotten: await store.forgottenChanges(),
    failures: (await store.readTallies()).buckets,
    silences: (await store.readSilences()).map(({ to, from }) => [from, to]),
    series: await Promise.all(SERIES_KINDS.map(async (by) => (await store.readSeries({ by, from: 0, to: 1e15 })).rows)),
    days: (await store.readSeries({ by: 'plan', from: 0, to: 1e15, days: { unit: 'day', zone: 'UTC' } })).rows,
    refusals: (await store.readRefusals({}, { cursor: null, limit: 1000 })).episodes,
  }
}

async function knownUsers(place: Place): Promise<Map<string, string>> {
  const known = new Map<string, string>()
  for await (const portion of (await place.copyable()).portions()) {
    if (portion.kind === 'known') for (const one of portion.entries) known.set(one.id, one.text)
  }
  return known
}

async function countersOf(scan: Store['scanUsers']): Promise<Map<string, Record<string, Counter>>> {
  const found = new Map<string, Record<string, Counter>>()
  for await (const { owners } of everyStep(scan)) {
    for (const { id, counters } of owners) {
      found.set(id, Object.fromEntries([...counters].map(([name, counter]) => [name, sorted(counter)])))
    }
  }
  return found
}

function sorted(counter: Counter): Counter {
  return counter.toSorted((a, b) => a.seconds - b.seconds)
}

const CATEGORIES = ['read', 'write', 'x'.repeat(32)]
const DAY: Limits['personal'] = [
  { window: { name: '1h', seconds: 3600 }, limit: 10 },
  { window: { name: '90m', seconds: 5400 }, limit: 10 },
  { window: { name: '1d', seconds: 86_400 }, limit: 10 },
]
const charge = (user: string, cost = 7, category = 'read'): Charge =>
  chargeOf({
    user,
    category,
    cost,
    limits: { personal: DAY, organisation: null, global: DAY.map((one) => ({ ...one, limit: 10 ** 9 })) },
  })

/** A little of everything, put there as a gateway and its administrators do. */
async function live(place: Place): Promise<void> {
  const store = await place.store()
  const author = { who: 'ada', why: 'a "why" of 用户' }
  const theirs = { personal: [], organisation: DAY, global: null }
  const charges: Charge[] = [
    ...STRANGE_IDS.map((user) => charge(user)),
    charge('alice', 3, 'write'),
    { ...charge('alice', 4), organisation: 'alice', limits: theirs, forced: true },
  ]
  await store.settle({ instance: 'live', sequence: 1, refunds: [], charges })
  await store.noteUsers(STRANGE_IDS, 30 * 86_400_000)
  await store.change({ kind: 'settings', to: { mode: 'loose', global: { multiplier: 0.5 } } }, author, null)
  for (const user of STRANGE_IDS) await store.change({ kind: 'override', user, to: override(5) }, author, null)
  await store.change({ kind: 'override', user: 'a', to: null }, author, null)
  await store.change({ kind: 'organisation_override', organisation: 'acme', to: ofOrganisation(7) }, author, null)
  const grant = { category: 'read', tokens: 9, givenAt: 1000, until: 2000, reason: 'an audit', endedAt: null }
  await store.change({ kind: 'grant', id: 'a1', to: { ...grant, user: 'a' }, most: 10 }, author, null)
  for (let i = 0; i < 3; i++) {
    await keepAccessKey(
      store,
      mintToken(
        { user: `owner ${i}`, name: 'laptop', plan: `plan ${i}`, organisation: 'acme', expiresAt: i || null },
        1000 + i,
      ).record,
    )
  }
  await store.addTally({ ...NOTHING, total: 5, status0: 2, aside: 1 })
  const start = bucketStart(Date.now())
  const flush = {
    instance: 'live',
    sequence: 1,
    series: [
      entry({ start }),
      entry({ by: 'route', start, name: 'GET /用户' }),
      entry({ by: 'plan', start: start - (start % 86_400_000) - 20 * 86_400_000, zone: 'UTC', name: 'pro' }),
    ],
  }
  const times = { startedAt: start, first: start, last: start }
  await store.addUsage({ ...flush, episodes: STRANGE_IDS.map((user) => episode({ user, ...times })) })
}

/** A charge that is remembered by its key. */
const ONCE: Charge = { ...charge('once'), once: { key: 'key', body: 'body', forMs: 600_000, replays: 3 } }
/** A claim whose run lasts longer than the test. */
const EVENT = eventOf(reachedBy('alice'))

/** What a gateway puts there and a copy does not contain. */
async function liveBriefly(place: Place): Promise<void> {
  const store = await place.store()
  await store.settle({ instance: 'brief', sequence: 1, refunds: [], charges: [ONCE] })
  await store.raiseAlerts([EVENT])
  await store.countForGuard('guard', 'brief', { requests: 9, refused: 1 })
  await store.endSession('session', 600_000)
  await store.putHandover('handover', 'sealed', 600_000)
  await store.keepKeySet('issuer', '{}', 0)
}

/** What is read of these entries, and what becomes of a charge and an event that repeat one of them. */
async function briefReadings(place: Place) {
  const store = await place.store()
  const [decision] = await store.settle({ instance: 'again', sequence: 1, refunds: [], charges: [ONCE] })
  return {
    alerts: await store.listAlerts(),
    events: (await store.readAlerts([EVENT.happening.alert], 10)).flatMap(({ events }) => events),
    guard: await store.readGuard('guard'),
    isSessionEnded: await store.isSessionEnded('session'),
    handover: await store.takeHandover('handover'),
    keySet: await store.readKeySet('issuer'),
    charge: decision?.once?.kind,
    raised: await store.raiseAlerts([{ ...EVENT, id: 'again' }]),
  }
}

function override(limit: number): UserOverride {
  return {
    limits: { read: { '1h': limit } },
    bypassGlobal: false,
    shadow: true,
    reason: 'a "reason"\n用户',
    expiresAt: null,
  }
}

function ofOrganisation(limit: number): OrganisationOverride {
  return { limits: { write: { '1d': limit } }, reason: 'a "reason"\n用户', expiresAt: 9 }
}

/** Of an age, in seconds. */
const LONGEST = 40 * 86_400

/** What can be in a store, beyond what can be put there in a moment. */
const content = fc.record({
  owners: fc.array(
    fc.record({
      scope: fc.constantFrom('personal' as const, 'organisation' as const, 'global' as const),
      name: fc.oneof(fc.constantFrom(...STRANGE_IDS), fc.string({ minLength: 1, unit: 'grapheme' })),
      counters: fc.dictionary(
        fc.constantFrom(...CATEGORIES),
        fc.uniqueArray(
          fc.record({
            seconds: fc.oneof(
              fc.integer({ min: 600, max: 2 ** 32 - 1 }),
              fc.integer({ min: 1, max: 300 }).map((h) => 3600 * h),
              // The longest that a byte of hours holds, and the next one.
              fc.constantFrom(255 * 3600, 256 * 3600),
            ),
            age: fc.double({ min: 0, max: 0.5, noNaN: true }),
            used: fc.integer({ min: 0, max: 10 ** 12 }),
          }),
          { selector: ({ seconds }) => seconds, minLength: 1, maxLength: 20 },
        ),
        { minKeys: 1 },
      ),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  known: fc.dictionary(fc.string({ minLength: 1, unit: 'grapheme' }), fc.tuple(fc.nat(), fc.integer({ min: 600_000 }))),
  tokens: fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.option(fc.integer({ min: 1 }))), { maxLength: 5 }),
  overrides: fc.dictionary(fc.string({ minLength: 1 }), fc.tuple(fc.integer({ min: 1 }), fc.nat())),
  audit: fc.array(fc.jsonValue(), { maxLength: 5 }),
  buckets: fc.array(fc.tuple(fc.nat(300), fc.maxSafeNat(), fc.nat()), { maxLength: 5 }),
})

function portionsOf(of: typeof content extends fc.Arbitrary<infer T> ? T : never): Portion[] {
  const now = Date.now()
  const owners = of.owners.map(({ scope, name, counters }) => {
    const windows = Object.entries(counters).map(([category, list]): [string, Counter] => [
      category,
      list.map(({ seconds, age, used }) => ({
        seconds,
        startedAt: now - Math.floor(age * Math.min(seconds, LONGEST) * 1000),
        used,
      })),
    ])
    return { scope, id: scope === 'global' ? '' : name, counters: new Map(windows) }
  })
  const records = of.tokens.map(
    ([user, expiresAt], i): AccessKeyRecord => ({
      ...mintToken({ user, name: 'n', expiresAt }, i).record,
      ...(i % 2 === 0 && { usedAt: now - i }),
    }),
  )
  const overrides = Object.entries(of.overrides).map(
    ([user, [version, limit]]) => [user, { version, value: override(limit) }] as const,
  )
  const theirs = Object.entries(of.overrides).map(
    ([id, [version, limit]]) => [id, { version, value: ofOrganisation(limit) }] as const,
  )
  const entries = of.audit.map((to, i) => {
    const what = 'token_created' as const
    return {
      version: 7 + i,
      at: now + i,
      who: 'ada',
      what,
      subject: null,
      from: null,
      to,
      why: null,
      ...(i % 2 === 1 && { vain: { unfollowed: [], movesNobody: true } }),
    }
  })
  const buckets = of.buckets.map(([ago, total, status0]): Bucket => {
    return { ...NOTHING, start: bucketStart(now) - ago * BUCKET_MS, total, status0 }
  })
  return [
    { kind: 'counters', entries: owners },
    {
      kind: 'known',
      entries: Object.entries(of.known).map(([id, [ago, left]]) => ({
        ...{ id, text: timesOf(now - ago, now + left), ends: now + left },
      })),
    },
    { kind: 'tokens', entries: records },
    { kind: 'settings', entries: [{ version: 3, value: { mode: 'custom' } }] },
    { kind: 'overrides', entries: overrides },
    { kind: 'organisationOverrides', entries: theirs },
    { kind: 'audit', entries },
    { kind: 'failures', entries: buckets },
  ]
}

describe.each(KINDS.flatMap((from) => KINDS.map((to) => ({ from, to }))))(
  'a copy from $from to $to',
  ({ from, to }) => {
    it('a copy gives the same readings there, and back again', async () => {
      await fc.assert(
        fc.asyncProperty(content, async (of) => {
          const [one, other, back] = [PLACES[from](), PLACES[to](), PLACES[from]()]
          const refill = await (await one.copyable()).refill()
          await refill.clear()
          for (const portion of portionsOf(of)) await refill.put(portion)
          await refill.done()
          await copy(one, other)
          await copy(other, back)
          const expected = await readings(one)
          expect(await readings(other)).toEqual(expected)
          expect(await readings(back)).toEqual(expected)
          for (const each of open.splice(0)) await each.close()
        }),
        { numRuns: runs(24, 3), endOnFailure: true },
      )
    })

    it('a copy has as many changes as the audit has forgotten, and the count goes on from there', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      const bounds = { newest: 5, olderOfKind: 2 }
      const author = { who: 'ada', why: null }
      const first = await one.control(bounds)
      await first.change({ kind: 'settings', to: { mode: 'loose' } }, author, null)
      for (let i = 0; i < 20; i++) await first.change({ kind: 'override', user: 'bob', to: override(i) }, author, null)
      await copy(one, other)
      const expected = await readings(one)
      expect(expected.forgotten).toBe(13)
      expect(expected.audit).toHaveLength(8)
      expect(await readings(other)).toEqual(expected)
      const changed = await (await other.control(bounds)).change({ kind: 'reset', user: 'bob' }, author, null)
      expect(changed).toMatchObject({ done: true, forgotten: 1 })
      expect((await readings(other)).forgotten).toBe(14)
    })

    it('a copy has all that a gateway and administrators put there, and the next charge is decided as in the first', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      await live(one)
      const copied = await copy(one, other)
      const n = STRANGE_IDS.length
      expect(copied).toMatchObject({
        users: n + 1,
        organisations: 1,
        everybody: 2,
        known: n,
        windows: 3 * n + 3 + 3 + 6,
        tokens: 3,
        settings: 1,
        overrides: n - 1,
        organisationOverrides: 1,
        grants: 1,
        audit: n + 7,
        failures: 1,
        series: 3,
        refusals: n,
      })
      const expected = await readings(one)
      expect(expected.users.size).toBe(n + 1)
      expect([...expected.organisations.keys()]).toEqual(['alice'])
      expect(expected.known.size).toBe(n)
      expect(await readings(other)).toEqual(expected)
      const next = {
        instance: 'next',
        sequence: 1,
        refunds: [],
        charges: [charge('a', 4), charge('a', 3), charge('new')],
      }
      const decisions = async (place: Place) =>
        (await (await place.store()).settle(next)).map(({ accepted, personal, global }) => ({
          accepted,
          used: [...personal, ...(global ?? [])].map(({ used }) => used),
          started: personal[0]?.startedAt === expected.users.get('a')?.read?.[0]?.startedAt,
        }))
      expect((await decisions(one)).map(({ accepted }) => accepted)).toEqual([false, true, true])
      const { settings, version } = (await readings(other)).control
      expect(await (await other.store()).change({ kind: 'settings', to: {} }, { who: 'b', why: null }, 0)).toEqual({
        done: false,
        version: settings.version,
      })
      const reset = await (await other.store()).change({ kind: 'reset', user: '用户' }, { who: 'b', why: null }, null)
      expect(reset).toMatchObject({ done: true, entry: { version: version + 1 } })
    })

    it('a copy has which organisation, plan and billing day users have, and since when usage is counted', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      const store = await one.store()
      const payers = [
        { user: 'a b', plan: 'pro', organisation: 'acme', periodDay: 17 },
        { user: '用户', plan: null, organisation: 'acme {x}' },
      ]
      await store.settle({ instance: 'i', sequence: 1, refunds: [], charges: [charge('a b', 4)] })
      await store.noteMemberships(payers, 60_000)
      await store.noteCounted(['3600', '118800 Europe/Berlin'])
      expect(await copy(one, other)).toMatchObject({ users: 1, member: 2 })
      const there = await other.store()
      expect(await there.readMemberships(['a b', '用户', 'nobody'])).toEqual([
        { plan: 'pro', organisation: 'acme', periodDay: 17 },
        { plan: null, organisation: 'acme {x}' },
        null,
      ])
      expect(await there.readNamed(['acme'])).toEqual([{ plan: 'pro', periodDay: 17 }])
      const { since } = await there.readCounted()
      expect(since).toEqual((await store.readCounted()).since)
      expect([...since.keys()].sort()).toEqual(['118800 Europe/Berlin', '3600'])
    })

    it('a copy has the times of which series may lack something', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      const start = bucketStart(Date.now())
      const silences = [
        { from: start - 9, to: start },
        { from: start, to: start + 1 },
      ]
      const refill = await (await one.copyable()).refill()
      await refill.put({ kind: 'series', entries: [entry({ start })] })
      await refill.put({ kind: 'silences', entries: silences })
      await refill.done()
      await copy(one, other)
      const there = await (await other.store()).readSilences()
      expect(there.toSorted((a, b) => a.from - b.from)).toEqual(silences)
    })

    it('a copy leaves out windows that have ended', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      const now = Date.now()
      const ended = { seconds: 60, startedAt: now - 60_000, used: 5 }
      const refill = await (await one.copyable()).refill()
      const counters = new Map([['read', [ended, { seconds: 3600, startedAt: now - 60_000, used: 9 }]]])
      counters.set('write', [ended])
      await refill.put({ kind: 'counters', entries: [{ scope: 'personal', id: 'alice', counters }] })
      await refill.put({
        kind: 'counters',
        entries: [{ scope: 'personal', id: 'bob', counters: new Map([['read', [ended]]]) }],
      })
      await refill.done()
      const portions: Portion[] = []
      for await (const portion of (await one.copyable()).portions()) portions.push(portion)
      const lasting = new Map([['read', counters.get('read')?.slice(1)]])
      expect(portions).toEqual([
        {
          kind: 'counters',
          entries: [{ scope: 'personal', id: 'alice', counters: lasting, ends: expect.any(Number) }],
        },
      ])
      expect(await copy(one, other)).toMatchObject({ users: 1, windows: 1 })
      expect([...(await readings(other)).users]).toEqual([
        ['alice', { read: [{ seconds: 3600, startedAt: now - 60_000, used: 9 }] }],
      ])
    })

    it('a copy has all of what takes several portions', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      const versions = Array.from({ length: 600 }, (_, i) => i + 1)
      const rest = { at: 1, who: 'a', what: 'override', subject: 'u', from: null, to: null, why: null } as const
      const refill = await (await one.copyable()).refill()
      await refill.put({ kind: 'audit', entries: versions.map((version) => ({ version, ...rest })) })
      await refill.put({
        kind: 'overrides',
        entries: versions.map((version) => [`u${version}`, { version, value: override(1) }]),
      })
      await refill.done()
      expect(await copy(one, other)).toMatchObject({ audit: 600, overrides: 600 })
      const entries = await (await other.store()).readAudit(null, 1000)
      expect(entries.map(({ version }) => version)).toEqual(versions.toReversed())
    })

    it('a copy is refused if the target holds anything, and with force takes its place', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      await live(one)
      const target = await other.store()
      await target.settle({ instance: 'x', sequence: 1, refunds: [], charges: [charge('stays')] })
      await keepAccessKey(target, mintToken({ user: 'stays', name: 'x', expiresAt: null }, 5).record)
      const before = await readings(other)
      await expect(copy(one, other)).rejects.toThrow('--to is not empty')
      expect(await readings(other)).toEqual(before)
      await copy(one, other, true)
      expect(await readings(other)).toEqual(await readings(one))
    })

    it('a copy has once what the source lists twice, as a scan of Redis may', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      await live(one)
      const refill = await (await other.copyable()).refill()
      await refill.clear()
      for await (const portion of (await one.copyable()).portions()) {
        await refill.put(portion)
        await refill.put(portion)
      }
      await refill.done()
      expect(await readings(other)).toEqual(await readings(one))
    })

    it('a copy with force leaves nothing of the target, of whatever kind', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      const source = await one.store()
      await source.settle({ instance: 'x', sequence: 1, refunds: [], charges: [charge('alone')] })
      await live(other)
      await copy(one, other, true)
      expect(await readings(other)).toEqual(await readings(one))
    })

    it('a copy with force leaves nothing of the target that a copy does not contain, such as charges that are remembered by a key', async () => {
      const [one, other, used] = [PLACES[from](), PLACES[to](), PLACES[to]()]
      await live(one)
      for (const place of [other, used]) await liveBriefly(place)
      expect(await briefReadings(used)).toMatchObject({
        ...{ isSessionEnded: true, handover: 'sealed', charge: 'replayed', raised: ['known'] },
        ...{ alerts: [{ pending: 1 }], events: [{}], guard: { requests: 9, refused: 1 }, keySet: { text: '{}' } },
      })
      await copy(one, other, true)
      expect(await briefReadings(other)).toEqual({
        ...{ isSessionEnded: false, handover: null, charge: 'charged', raised: ['stored'] },
        ...{ alerts: [], events: [], guard: { requests: 0, refused: 0 }, keySet: null },
      })
    })

    it('a copy with force leaves in the target what gateways that are alive report of themselves, and the number of their last flush', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      await live(one)
      const target = await other.store()
      await target.beat(REPLICA)
      const flush = { instance: REPLICA.instance, sequence: 1, series: [entry({ start: bucketStart(Date.now()) })] }
      await target.addUsage({ ...flush, episodes: [] })
      await copy(one, other, true)
      expect(await target.listReplicas()).toMatchObject([{ instance: REPLICA.instance, pid: 42 }])
      await target.addUsage({ ...flush, episodes: [] })
      expect(await readings(other)).toEqual(await readings(one))
    })

    it('a copy is refused while a gateway uses either store, and made with force', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      await live(one)
      for (const [place, option] of [
        [one, '--from'],
        [other, '--to'],
      ] as const) {
        const store = await place.store()
        await store.beat(REPLICA)
        await expect(copy(one, other)).rejects.toThrow(`a gateway uses ${option} (host-1 pid 42, 0 s ago)`)
        await store.leave(REPLICA.instance)
      }
      await (await one.store()).beat(REPLICA)
      await copy(one, other, true)
      expect(await readings(other)).toEqual(await readings(one))
      expect(await (await other.store()).listReplicas()).toEqual([])
    })

    it('a copy of a store that holds nothing is refused, also with force', async () => {
      const [one, other] = [PLACES[from](), PLACES[to]()]
      await live(other)
      const before = await readings(other)
      await expect(copy(one, other, true)).rejects.toThrow('--from holds nothing')
      expect(await readings(other)).toEqual(before)
    })
  },
)

const REPLICA: Replica = {
  instance: 'one',
  host: 'host-1',
  pid: 42,
  version: '1',
  hash: 'h',
  controlVersion: 0,
  startedAt: 0,
  ready: true,
  reasons: [],
  configProblems: [],
  counts: { requests: 0, refused: 0, shadowed: 0, tokens: 0, forwarded: 0, failed: 0, inFlight: 0 },
  hits: {},
  unmatched: [],
}

describe('a Redis that is filled', () => {
  it('a Redis that is filled has byte for byte what the gateway wrote into the other, and its keys end at the same moment, but for what Redis took to write', async () => {
    const [one, other] = [PLACES.redis(), PLACES.redis()]
    await live(one)
    await copy(one, other)
    const client = new Redis(redis.url)
    const dump = async ({ name }: Place) => {
      const { all, instance, flush, refusals } = createKeys(name)
      const [found, ends]: [Record<string, unknown>, Record<string, number>] = [{}, {}]
      for (const key of await client.keys(`${all.replaceAll(/[[\]?*]/g, '\\$&')}*`)) {
        // The memory of the process that charged stays behind.
        if (key.startsWith(instance('')) || key.startsWith(flush(''))) continue
        const [type, name] = [await client.type(key), key.slice(all.length)]
        if (type === 'string') ends[name] = await client.pexpiretime(key)
        found[name] = [
          type === 'string' && (await client.getBuffer(key))?.toString('hex'),
          type === 'hash' && members(await client.hgetall(key), key === refusals),
          type === 'zset' && (await client.zrange(key, '0', '-1', 'WITHSCORES')),
          // The failures last from the writing on.
          type === 'hash' && (await client.pttl(key)) > BUCKETS * BUCKET_MS,
        ]
      }
      return { found, ends }
    }
    const [from, to] = [await dump(one), await dump(other)]
    expect(Object.keys(from.found).length).toBeGreaterThan(STRANGE_IDS.length)
    expect(to.found).toEqual(from.found)
    // A charge says for how long its key is good. Redis counts that from when it writes, which may be later than the clock that it told.
    for (const [name, end] of Object.entries(from.ends)) {
      expect.soft(Math.abs((to.ends[name] ?? Number.NaN) - end), name).toBeLessThan(1000)
    }
    client.disconnect()
  })

  /** Lua writes the members of an object in an order of its own. */
  function members(hash: Record<string, string>, isJson: boolean): unknown {
    return isJson ? Object.fromEntries(Object.entries(hash).map(([id, text]) => [id, JSON.parse(text)])) : hash
  }

  it('a Redis that is filled is without what lies under keys of the other and is no counter of anybody', async () => {
    const [one, other] = [PLACES.redis(), PLACES.redis()]
    await live(one)
    const client = new Redis(redis.url)
    const { user } = createKeys(one.name)
    await client.set(user('text'), 'what somebody else keeps here')
    await client.rpush(user('list'), 'a', 'b')
    await client.copy(user('alice'), user(''))
    client.disconnect()
    expect(await copy(one, other)).toMatchObject({ users: STRANGE_IDS.length + 1 })
    const { users } = await readings(other)
    expect([...users.keys()].sort()).toEqual(['alice', ...STRANGE_IDS].sort())
    expect(users).toEqual((await readings(one)).users)
  })

  it('a Redis that is filled is marked until it is whole; the next copy begins anew without being forced, and none is made from it', async () => {
    const [one, other] = [PLACES.sqlite(), PLACES.redis()]
    await live(one)
    const half = await (await other.copyable()).refill()
    const counters = new Map([['read', [{ seconds: 3600, startedAt: Date.now(), used: 1 }]]])
    await half.put({ kind: 'counters', entries: [{ scope: 'personal', id: 'left over', counters }] })
    await expect(copy(other, PLACES.sqlite())).rejects.toThrow('--from is half a copy itself')
    const second = await (await other.copyable()).refill()
    await expect(half.done()).rejects.toThrow('another copy')
    await second.abandon()
    await copy(one, other)
    expect(await readings(other)).toEqual(await readings(one))
    expect(await (await other.copyable()).unfinished()).toBeNull()
    // The first one goes on after all.
    await expect(half.done()).rejects.toThrow('another copy')
  })

  it('a Redis that is filled is left alone if it is the source by another name', async () => {
    const one = PLACES.redis()
    await live(one)
    const before = await readings(one)
    await expect(copy(one, one, true)).rejects.toThrow('--from and --to are the same store')
    expect(await readings(one)).toEqual(before)
    expect(await (await one.copyable()).unfinished()).toBeNull()
    const { mark } = await (await one.copyable()).refill()
    await expect(copy(one, one, true)).rejects.toThrow('--from and --to are the same store')
    expect(await (await one.copyable()).unfinished()).toBe(mark)
  })

  it('a Redis that is filled keeps what gateways remember of their last batch, so that none that is alive charges it twice', async () => {
    const [one, other] = [PLACES.sqlite(), PLACES.redis()]
    await live(one)
    await (await other.store()).settle({ instance: 'alive', sequence: 1, refunds: [], charges: [charge('u')] })
    await copy(one, other, true)
    const client = new Redis(redis.url)
    expect(await client.exists(createKeys(other.name).instance('alive'))).toBe(1)
    client.disconnect()
  })

  it('a Redis that is filled keeps what lies beside the prefix', async () => {
    const [one, beside, other] = [PLACES.sqlite(), PLACES.redis(), PLACES.redis()]
    await live(one)
    await live(beside)
    await live(other)
    const before = await readings(beside)
    await copy(one, other, true)
    expect(await readings(beside)).toEqual(before)
  })
})

describe('a file that is copied while a gateway uses it', () => {
  it('a file that is copied while a gateway uses it is copied as it was at one moment', async () => {
    const [one, other] = [PLACES.sqlite(), PLACES.sqlite()]
    const store = await one.store()
    const users = Array.from({ length: 2000 }, (_, i) => `user ${i}`)
    let sequence = 0
    const all = async (): Promise<void> => {
      for (let i = 0; i < users.length; i += 250) {
        const charges = users.slice(i, i + 250).map((user) => charge(user, 1))
        await store.settle({ instance: 'x', sequence: ++sequence, refunds: [], charges })
      }
    }
    await all()
    await keepAccessKey(store, mintToken({ user: 'u', name: 'n', expiresAt: null }, 1).record)
    const late = mintToken({ user: 'late', name: 'n', expiresAt: null }, 2).record
    let again: Promise<void> | null = null
    const copied = await copyStore({
      from: await one.copyable(),
      to: await other.copyable(),
      force: true,
      progress: () => {
        again ??= keepAccessKey(store, late).then(all)
      },
    })
    await again
    expect(copied).toMatchObject({ users: 2000, tokens: 1 })
    const uses = [...(await readings(other)).users.values()].map(({ read }) => read?.[0]?.used)
    expect(new Set(uses)).toEqual(new Set([1]))
    expect((await readings(other)).global[0]?.[0]?.used).toBe(2000)
    expect((await readings(one)).global[0]?.[0]?.used).toBe(4000)
  })

  it('a file that is copied while a gateway uses it is as it was if the copy breaks off', async () => {
    const [one, other] = [PLACES.sqlite(), PLACES.sqlite()]
    await live(one)
    await live(other)
    const before = await readings(other)
    const [from, to] = [await one.copyable(), await other.copyable()]
    const broken = copyStore({
      from,
      to,
      force: true,
      progress: () => {
        throw new Error('the disk is full')
      },
    })
    await expect(broken).rejects.toThrow('the copy broke off (the disk is full): run the command again')
    await to.close()
    open.splice(open.indexOf(to), 1)
    expect(await readings(other)).toEqual(before)
  })
})
