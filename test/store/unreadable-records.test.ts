import { DatabaseSync } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { revocationOf } from '../../src/control/access-key-changes.ts'
import { mintToken } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord, FoundAccessKey } from '../../src/control/access-key-store.ts'
import { forgettingOf } from '../../src/control/forgetting.ts'
import { bucketStart, NOTHING } from '../../src/failures/histogram.ts'
import type { RecordKind, UnreadableRecord } from '../../src/observe/observation.ts'
import { copyStore } from '../../src/store/copy.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteCopyable } from '../../src/store/sqlite/copy.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { eventOf, reachedBy } from '../alerts/happenings.ts'
import { keepAccessKey } from '../control/keep-access-key.ts'
import { replica } from '../replicas/replica.suite.ts'
import { startRedis } from '../setup/redis.ts'
import { entry, episode } from '../usage/usage-log.suite.ts'
import { whenReady } from './redis/ready.ts'
import { newFile } from './sqlite/new-file.ts'

const ANN = { who: 'ann', why: null }
const OVERRIDE = { limits: {}, bypassGlobal: true, shadow: false, reason: 'r', expiresAt: null }
const GARBAGE = ['{bad', '', 'null', '7', '[]', '{}', '"text"', 'x'.repeat(1_000_000), '9'.repeat(400)]

/** A store and what lies in it. */
interface Place {
  readonly store: Store
  /** Opens it once more, as after a restart. */
  again(): Promise<Store>
  /** Puts a value into each list, beside the records or in the place of one. */
  spoil(value: string): Promise<void>
  /** Puts a value in the place of a record of an access key. */
  spoilKey(record: AccessKeyRecord, value: string): Promise<void>
  close(): Promise<void>
}

let seen: UnreadableRecord[]
beforeEach(() => {
  seen = []
})
const observe = (one: { readonly type: string }): void => {
  if (one.type === 'unreadable_record') seen.push(one as unknown as UnreadableRecord)
}

const server = await startRedis()
let opened = 0
const start = bucketStart(Date.now())

async function inRedis(): Promise<Place> {
  const prefix = `records-${++opened}`
  const admin = new Redis(server.url)
  const open = async (): Promise<Store> => {
    const store = openRedisStore({ url: server.url, prefix, deadlineMs: 5000, observe })
    await whenReady(store)
    return store
  }
  const key = (name: string): string => `{${prefix}}:${name}`
  return {
    store: await open(),
    again: open,
    async spoil(value) {
      await admin.hset(key('tokens'), 'zz', value)
      await admin.hset(key('token-ids'), 'zz', 'zz')
      for (const score of [1, 2, 1e12]) await admin.zadd(key('audit'), score, `${value}${score}`)
      await admin.zadd(key('audit:of:settings'), 1, value)
      await admin.set(key('settings'), value === '{}' ? '7 {"mode":7}' : `7 ${value}`)
      await admin.set(key('version'), value)
      await admin.set(key('audit:forgotten'), value)
      await admin.hset(key('overrides'), 'zz', `7 ${value}`)
      await admin.hset(key('organisation-overrides'), 'zz', value)
      await admin.hset(key('refusals'), 'zz', value)
      await admin.zadd(key('refusals:times'), start + 1, 'zz')
      await admin.hset(key(`series:route:${start}`), 'zz', `${value}!`)
      await admin.hset(key('failures'), 'zz', value)
      await admin.hset(key('alert:events:near'), 'h:zz', value, 's:zz', value)
      for (const set of ['alert:due:near', 'alert:all:near']) await admin.zadd(key(set), 1, 'zz')
      await admin.set(key('member:zz'), value)
      await admin.set(key('known:zz'), value)
      await admin.hset(key('guard:g'), 'zz', `${value}!`)
    },
    spoilKey: async ({ hash }, value) => void (await admin.hset(key('tokens'), hash, value)),
    close: async () => admin.disconnect(),
  }
}

async function inFile(): Promise<Place & { readonly file: string }> {
  const file = newFile()
  const open = async (): Promise<Store> => openSqliteStore({ file, observe })
  const store = await open()
  const admin = new DatabaseSync(file)
  const run = (sql: string, ...values: (string | number | bigint)[]): void => {
    const statement = admin.prepare(sql)
    statement.setReadBigInts(true)
    statement.run(...values)
  }
  const huge = 2n ** 62n
  return {
    file,
    store,
    again: open,
    async spoil(value) {
      run(`INSERT OR REPLACE INTO tokens VALUES ('zz', 'zz', 'u', 'n', ?, NULL, NULL, NULL, NULL, NULL)`, `${value}!`)
      run(`INSERT OR REPLACE INTO tokens VALUES ('zy', 'zy', 'u', 'n', ?, NULL, NULL, NULL, NULL, NULL)`, huge)
      for (const version of [0n, -1n, huge]) {
        run(
          `INSERT OR REPLACE INTO audit VALUES (?, ?, 'x', 'settings', NULL, ?, ?, NULL, ?)`,
          version,
          huge,
          value,
          value,
          value,
        )
      }
      run('INSERT OR REPLACE INTO settings VALUES (1, 7, ?)', `${value}!`)
      run(`INSERT OR REPLACE INTO overrides VALUES (1, 'zz', 7, ?)`, value)
      run(`INSERT OR REPLACE INTO organisation_overrides VALUES (1, 'zz', 7, ?)`, value)
      run(`INSERT OR REPLACE INTO refusals VALUES ('zz', ?, ?)`, start + 1, value)
      run(`INSERT OR REPLACE INTO series VALUES ('route', '', ?, 'zz', ?)`, start, `${value}!`)
      run(`INSERT OR REPLACE INTO failures VALUES (?, ?, 0, 0, 0, 0, 0)`, start - 1, `${value}!`)
      run(
        `INSERT OR REPLACE INTO alert_events VALUES ('zz', 'near', ?, 'pending', 1, ?, 1, NULL, NULL)`,
        value,
        `${value}!`,
      )
      run(`INSERT OR REPLACE INTO endings VALUES ('member', 'zz', x'00', ?)`, start * 2)
      run(`INSERT OR REPLACE INTO endings VALUES ('known', 'zz', ?, ?)`, `${value}!`, start * 2)
      // Also with ends that are no times.
      run(`INSERT OR REPLACE INTO endings VALUES ('member', 'zy', ?, ?)`, value, huge)
      run(`INSERT OR REPLACE INTO endings VALUES ('known', 'zy', '1 2', 'soon')`)
      run(`UPDATE endings SET text = x'00' WHERE list = 'claim'`)
    },
    spoilKey: async ({ hash }, value) => run('UPDATE tokens SET created_at = ? WHERE hash = ?', `${value}!`, hash),
    close: async () => admin.close(),
  }
}

const key = mintToken({ user: 'alice', name: 'phone', expiresAt: null }, 1000).record

async function fill(store: Store): Promise<void> {
  await store.change({ kind: 'override', user: 'alice', to: OVERRIDE }, ANN, null)
  const theirs = { limits: {}, reason: 'r', expiresAt: null }
  await store.change({ kind: 'organisation_override', organisation: 'acme', to: theirs }, ANN, null)
  await keepAccessKey(store, key)
  await store.addTally({ ...NOTHING, total: 3 })
  await use(store, 1)
  await store.raiseAlerts([eventOf(reachedBy('alice'))])
  await store.noteMemberships([{ user: 'alice', plan: 'pro', organisation: null }], 60_000)
  await store.noteUsers(['alice'], 60_000)
  await store.countForGuard('g', 'one', { requests: 5, refused: 1 })
}

function use(store: Store, sequence: number): Promise<void> {
  const episodes = [episode({ first: start, last: start })]
  return store.addUsage({ instance: 'i', sequence, series: [entry({ by: 'route', start })], episodes })
}

/** Everything that is read of lists, without what lies there unread. */
async function readings(store: Store) {
  const { overrides, organisationOverrides } = await store.readControl()
  const { buckets } = await store.readTallies()
  return {
    tokens: await store.listTokens(),
    steps: (await store.readTokens(null)).records,
    audit: (await store.readAudit(null, 9)).map(({ what, subject }) => [what, subject]),
    overrides: [...overrides.keys()],
    organisationOverrides: [...organisationOverrides.keys()],
    totals: buckets.map(({ total }) => total),
    series: (await store.readSeries({ by: 'route', from: start, to: start + 1 })).rows,
    named: (await store.readSeries({ by: 'route', from: start, to: start + 1, name: 'zz' })).rows,
    refusals: (await store.readRefusals({}, { cursor: null, limit: 9 })).episodes,
    alerts: (await store.readAlerts(['near'], 9))[0]?.events.map(({ id }) => id),
    former: (await store.listAlerts()).map(({ alert, target }) => [alert, target]),
    memberships: await store.readMemberships(['zz', 'zy', 'alice']),
    known: [await store.knownFor('zz'), await store.knownFor('zy'), typeof (await store.knownFor('alice'))],
    guard: await store.readGuard('g'),
  }
}

const KINDS: readonly RecordKind[] = [
  'access_key',
  'alert_event',
  'audit_entry',
  'failures',
  'known_user',
  'membership',
  'organisation_override',
  'override',
  'refusal',
  'series',
  'settings',
]

describe.each([
  ['Redis', inRedis, [...KINDS, 'guard']],
  ['SQLite', inFile, KINDS],
] as const)('a record in %s that somebody else wrote', (_name, open, kinds) => {
  let place: Place
  let stores: Store[]
  beforeEach(async () => {
    place = await open()
    stores = [place.store]
    await fill(place.store)
  })
  afterEach(async () => {
    await place.close()
    for (const store of stores) await store.close()
  })
  async function again(): Promise<Store> {
    const store = await place.again()
    stores.push(store)
    return store
  }

  it.each(GARBAGE)(
    'a record that somebody else wrote spoils nothing else and is reported with its place, also after a restart (%$)',
    async (value) => {
      const before = await readings(place.store)
      await place.spoil(value)
      for (const store of [place.store, await again()]) {
        seen = []
        expect(await readings(store)).toEqual(before)
        expect([...new Set(seen.map(({ kind }) => kind))].sort()).toEqual([...kinds].sort())
        for (const { list, id } of seen.slice(0, 20)) expect(await store.isUnreadable(list, id)).toBe(true)
      }
    },
  )

  it.each(GARBAGE)(
    'a record that somebody else wrote stands in the way of nothing that is written (%$)',
    async (value) => {
      await place.spoil(value)
      const store = await again()
      await store.change({ kind: 'settings', to: { mode: 'loose' } }, ANN, null)
      await store.change({ kind: 'override', user: 'zz', to: OVERRIDE }, ANN, null)
      await store.change({ kind: 'organisation_override', organisation: 'zz', to: null }, ANN, null)
      await keepAccessKey(store, mintToken({ user: 'bob', name: 'n', expiresAt: null }, 2000).record)
      await store.change(revocationOf((await store.findTokens([key.id]))[0] as FoundAccessKey, 3000), ANN, null)
      const { settings, overrides } = await store.readControl()
      expect([settings.value, [...overrides.keys()].sort()]).toEqual([{ mode: 'loose' }, ['alice', 'zz']])
      expect((await store.readAudit(null, 5)).map(({ what, from }) => [what, from])).toEqual([
        ['token_revoked', null],
        ['token_created', null],
        ['organisation_override', null],
        ['override', null],
        ['settings', null],
      ])
      expect((await store.listTokens()).map(({ user, revokedAt }) => [user, revokedAt])).toEqual([
        ['bob', null],
        ['alice', 3000],
      ])
      await use(store, 2)
      expect((await store.readRefusals({}, { cursor: null, limit: 9 })).episodes).toMatchObject([{ count: 2 }])
      await store.addTally({ ...NOTHING, total: 4 })
      expect(await store.noteUsers(['alice', 'zz', 'zy'], 60_000)).toEqual([expect.any(Number), 0, 0])
      const wanted = [{ alert: 'near', most: 9 }]
      expect((await store.takeAlerts(wanted, 60_000)).map(({ happening }) => happening.alert)).toEqual(['near'])
      expect(await store.takeAlerts(wanted, 60_000)).toEqual([])
      const raised = await store.raiseAlerts([eventOf(reachedBy('alice')), eventOf(reachedBy('dora'))])
      expect(raised[1]).toBe('stored')
    },
  )

  it.each(GARBAGE)(
    'a record that somebody else wrote of an access key lets nobody in, and can be revoked, by its id and by itself (%$)',
    async (value) => {
      const other = mintToken({ user: 'bob', name: 'n', expiresAt: null }, 2000).record
      await keepAccessKey(place.store, other)
      for (const record of [key, other]) await place.spoilKey(record, value)
      const store = await again()
      expect((await store.readTokens(null)).records).toEqual([])
      const found = [(await store.findTokens([key.id]))[0], await store.findTokenByHash(other.hash)]
      for (const one of found) {
        expect(one).toMatchObject({ record: null })
        await store.change(revocationOf(one as FoundAccessKey, 3000), ANN, null)
      }
      const hashes = (await store.listTokens()).map(({ hash, revokedAt }) => [hash, revokedAt])
      expect(hashes.sort()).toEqual(
        [
          [key.hash, 3000],
          [other.hash, 3000],
        ].sort(),
      )
      expect(await store.isUnreadable(seen[0]?.list ?? '', key.hash)).toBe(false)
    },
  )
})

interface Key {
  readonly name: string
  /** What is reported: the kind, and where the key is one of several the beginning of their names and the rest of this one. */
  readonly kind: RecordKind
  readonly list?: string
  readonly id?: string
  /** What of `everything` is empty then. */
  readonly empty: readonly string[]
}

const KEYS: readonly Key[] = [
  { name: 'tokens', kind: 'access_key', empty: ['tokens', 'steps', 'found'] },
  { name: 'token-ids', kind: 'access_key', empty: ['found'] },
  { name: 'settings', kind: 'settings', empty: ['settings'] },
  { name: 'overrides', kind: 'override', empty: ['overrides'] },
  { name: 'organisation-overrides', kind: 'organisation_override', empty: ['organisationOverrides'] },
  { name: 'audit', kind: 'audit_entry', empty: ['audit'] },
  { name: 'audit:of:override', kind: 'audit_entry', empty: [] },
  { name: 'refusals', kind: 'refusal', empty: ['refusals'] },
  { name: 'refusals:times', kind: 'refusal', empty: ['refusals'] },
  { name: `series:route:${start}`, kind: 'series', list: 'series:', id: `route ${start} `, empty: ['series'] },
  { name: 'failures', kind: 'failures', empty: ['totals'] },
  { name: 'alert:due:near', kind: 'alert_event', list: 'alert:due:', id: 'near', empty: [] },
  { name: 'alert:all:near', kind: 'alert_event', list: 'alert:all:', id: 'near', empty: ['alerts'] },
  { name: 'alert:events:near', kind: 'alert_event', list: 'alert:events:', id: 'near ', empty: ['alerts'] },
  { name: 'alert:targets', kind: 'alert_event', id: '', empty: ['former'] },
  { name: 'guard:g', kind: 'guard', list: 'guard:', id: 'g ', empty: ['guard'] },
  { name: 'replicas', kind: 'replica', empty: ['replicas'] },
  { name: 'beats', kind: 'replica', empty: ['replicas'] },
  { name: 'silences', kind: 'replica', empty: [] },
]

/** Keys whose own type is a string. */
const STRINGS = ['settings', 'known:alice']

describe('a key in Redis that holds another type', () => {
  let place: Place
  let admin: Redis
  beforeEach(async () => {
    place = await inRedis()
    admin = new Redis(server.url)
    await fill(place.store)
    await place.store.beat(replica('one'))
  })
  afterEach(async () => {
    admin.disconnect()
    await place.close()
    await place.store.close()
  })
  const nameOf = (name: string): string => `{records-${opened}}:${name}`
  const put = async (name: string): Promise<void> => {
    await admin.del(nameOf(name))
    if (STRINGS.includes(name)) await admin.hset(nameOf(name), 'a', 'b')
    else await admin.set(nameOf(name), 'somebody else')
  }

  async function everything(): Promise<Record<string, unknown>> {
    const { store } = place
    return {
      ...(await readings(store)),
      settings: (await store.readControl()).settings.value,
      found: await store.findTokens([key.id]),
      version: (await store.controlVersion()).version,
      forgotten: await store.forgottenChanges(),
      replicas: (await store.listReplicas()).map(({ instance }) => instance),
    }
  }

  it.each(KEYS)(
    'a key in Redis that holds another type empties its own list alone, and is reported until it is gone: $name',
    async (one) => {
      const { name, kind, list = name, id = '', empty } = one
      await place.store.change({ kind: 'settings', to: { mode: 'loose' } }, ANN, null)
      const before = await everything()
      await put(name)
      const after = await everything()
      const changed = Object.keys(before).filter((each) => !isDeepStrictEqual(before[each], after[each]))
      expect(changed).toEqual(empty)
      expect([...new Set(seen.map((each) => JSON.stringify([each.kind, each.list, each.id])))]).toEqual([
        JSON.stringify([kind, nameOf(list), id]),
      ])
      expect(await place.store.isUnreadable(nameOf(list), id)).toBe(true)
      await admin.del(nameOf(name))
      expect(await place.store.isUnreadable(nameOf(list), id)).toBe(false)
    },
  )

  it('a key in Redis that holds another type spoils nothing else that is written', async () => {
    const others = ['settings', 'known:alice', 'ended-session:s1']
    for (const name of ['refusals', `series:route:${start}`, 'alert:due:near', ...others]) {
      await put(name)
    }
    const { store } = place
    await store.change({ kind: 'override', user: 'bob', to: OVERRIDE }, ANN, null)
    expect((await store.readControl()).overrides.has('bob')).toBe(true)
    const series = [entry({ by: 'plan', start, name: 'pro' }), entry({ by: 'route', start })]
    await store.addUsage({ instance: 'i', sequence: 2, series, episodes: [episode({ first: start, last: start })] })
    expect((await store.readSeries({ by: 'plan', from: start, to: start + 1 })).rows).toHaveLength(1)
    const far = { ...eventOf(reachedBy('bob')) }
    const other = { ...far, happening: { ...far.happening, alert: 'far' } }
    expect(await store.raiseAlerts([eventOf(reachedBy('carol')), other])).toEqual(['full', 'stored'])
    const wanted = ['near', 'far'].map((alert) => ({ alert, most: 9 }))
    expect((await store.takeAlerts(wanted, 60_000)).map(({ alert }) => alert)).toEqual(['far'])
    expect(await store.noteUsers(['alice', 'bob'], 60_000)).toEqual([0, 0])
    // Rather one session too many has ended.
    expect([await store.isSessionEnded('s1'), await store.isSessionEnded('s2')]).toEqual([true, false])
  })
})

it('a user who is forgotten takes no record of others along that cannot be read', async () => {
  const place = await inRedis()
  const admin = new Redis(server.url)
  const overrides = `{records-${opened}}:overrides`
  await admin.hset(overrides, 'zz', '5 ')
  await place.store.change(forgettingOf('alice'), ANN, null)
  expect(await admin.hget(overrides, 'zz')).toBe('5 ')
  admin.disconnect()
  await place.close()
  await place.store.close()
})

it('a copy leaves out what cannot be read, and reports it', async () => {
  const [one, other] = [await inFile(), await inFile()]
  await fill(one.store)
  const before = await readings(one.store)
  await one.spoil('{bad')
  seen = []
  const from = openSqliteCopyable(one.file, Date.now, observe)
  const to = openSqliteCopyable(other.file)
  await copyStore({ from, to, force: true, progress: () => {} })
  const { tokens, audit, overrides, refusals } = await readings(other.store)
  expect({ tokens, audit, overrides, refusals }).toEqual({
    tokens: before.tokens,
    audit: before.audit,
    overrides: before.overrides,
    refusals: before.refusals,
  })
  expect(new Set(seen.map(({ list }) => list))).toContain('tokens')
  for (const each of [from, to, one, other, one.store, other.store]) await each.close()
})
