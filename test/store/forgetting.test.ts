import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { revocationsOf } from '../../src/control/access-key-changes.ts'
import { mintToken } from '../../src/control/access-key-record.ts'
import type { AuditEntry, Change } from '../../src/control/control-store.ts'
import { forgettingOf } from '../../src/control/forgetting.ts'
import type { UserOverride } from '../../src/control/state.ts'
import { bucketStart } from '../../src/failures/histogram.ts'
import type { Charge, Decision, Refund } from '../../src/quota/charge.ts'
import { grantOf } from '../../src/quota/grant.ts'
import { NO_RETENTION, type Retention } from '../../src/quota/history.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { eventOf, reachedBy } from '../alerts/happenings.ts'
import { keepAccessKey } from '../control/keep-access-key.ts'
import { limits } from '../quota/quota-store.suite.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { startRedis } from '../setup/redis.ts'
import { entry, episode } from '../usage/usage-log.suite.ts'
import { whenReady } from './redis/ready.ts'
import { newFile } from './sqlite/new-file.ts'

const JANE = 'jane.doe@example.org'
const ANN = { who: 'ann', why: `asked for by ${JANE}` }
const RETENTION = (): Retention => ({
  longestSeconds: 3_000_000,
  shorterSeconds: 100_000,
  anonymousSeconds: 0,
  isAnonymous: () => false,
})

interface Under {
  readonly store: Store
  /** All that the store holds, with the names of keys, and what is on the disk. */
  raw(): Promise<string>
  /** The places of it: kinds of keys, or tables with a row. */
  places(): Promise<readonly string[]>
  close(): Promise<void>
}

const server = await startRedis()

describe.each([
  ['Redis', openRedis],
  ['SQLite', openSqlite],
])('%s: a user who is forgotten', (_, open) => {
  it('a user who is forgotten is named nowhere in the store, whatever of the user was there, and all others stay as they are', async () => {
    const under = closedAtEnd(await open())
    const { store } = under
    await fill(store, JANE)
    await fill(store, 'bob')
    const before = await under.raw()
    for (const place of EVERYWHERE) expect(await under.places(), place).toContain(place)
    expect(count(before, JANE)).toBeGreaterThan(10)
    const forgetting = forgettingOf(JANE)
    const changed = await store.change(forgetting, ANN, null)
    const after = await under.raw()
    expect(count(after, JANE)).toBe(0)
    expect(count(after, 'Jane Doe')).toBe(0)
    const { alias } = forgetting
    expect(changed).toMatchObject({
      done: true,
      entry: { what: 'user_forgotten', subject: alias, from: null, to: null, why: `asked for by ${alias}` },
    })
    await expectOnlyBob(store, alias)
  }, 60_000)

  it('a user who is forgotten has the same windows with the next charge, so that nobody gets new tokens by it', async () => {
    const under = closedAtEnd(await open())
    const { store } = under
    const settle = settling(store)
    const [first] = await settle([charge(JANE, 7)])
    await store.change(forgettingOf(JANE), ANN, null)
    await store.change(forgettingOf(JANE), ANN, null)
    expect(await used(store, JANE)).toEqual([])
    const [refused] = await settle([charge(JANE, 4)])
    expect(refused).toMatchObject({ accepted: false, personal: first?.personal })
    await store.change(forgettingOf(JANE), ANN, null)
    const [accepted] = await settle([charge(JANE, 3)])
    expect(accepted?.accepted).toBe(true)
    expect(accepted?.personal.map(({ startedAt }) => startedAt)).toEqual(first?.personal.map((one) => one.startedAt))
    expect(await used(store, JANE)).toEqual([10, 10])
  })

  it('a user who is forgotten leaves nothing of what was taken of grants, which end with the user', async () => {
    const under = closedAtEnd(await open())
    const settle = settling(under.store)
    const { at } = await under.store.controlVersion()
    const given = grantOf('abcdef012345', at, at + 30 * 86_400_000, 100)
    const granted = { limits: { ...limits([10, 10]), grants: { personal: [given], organisation: [] } } }
    const [, paid] = await settle([charge(JANE, 7), charge(JANE, 20, granted)])
    expect(paid?.paidBy?.personal?.used).toBe(20)
    expect(count(await under.raw(), given.id)).toBeGreaterThan(0)
    await under.store.change(forgettingOf(JANE), ANN, null)
    expect(count(await under.raw(), given.id.slice(1))).toBe(0)
    await settle([charge(JANE, 1)])
    expect(await used(under.store, JANE)).toEqual([8, 8])
  })

  it('a user who is forgotten has them once: they do not come again when they were emptied since', async () => {
    const under = closedAtEnd(await open(() => NO_RETENTION))
    const settle = settling(under.store)
    await settle([charge(JANE, 9)])
    await under.store.change(forgettingOf(JANE), ANN, null)
    expect((await settle([charge(JANE, 1)]))[0]?.accepted).toBe(true)
    await under.store.change({ kind: 'reset', user: JANE }, ANN, null)
    expect((await settle([charge(JANE, 10)]))[0]?.accepted).toBe(true)
  })

  it('a user who is forgotten gets back what a request that was under way gives back, without the name', async () => {
    const under = closedAtEnd(await open())
    const settle = settling(under.store)
    const one = charge(JANE, 7)
    const [decision] = await settle([one])
    await under.store.change(forgettingOf(JANE), ANN, null)
    await settle([], [{ charge: one, decision: decision as Decision, amount: 5 }])
    expect(count(await under.raw(), JANE)).toBe(0)
    await settle([charge(JANE, 1)])
    expect(await used(under.store, JANE)).toEqual([3, 3])
  })

  it('a user who is forgotten is not brought back by a process that sends the refusals that it had counted before', async () => {
    const under = closedAtEnd(await open())
    const { store } = under
    const { at } = await store.controlVersion()
    const start = bucketStart(at)
    const counted = episode({ user: JANE, first: at, last: at })
    await store.change(forgettingOf(JANE), ANN, null)
    const series = [entry({ start })]
    await store.addUsage({
      instance: 'p',
      sequence: 1,
      series,
      episodes: [counted, episode({ user: 'bob', first: at, last: at })],
    })
    expect(count(await under.raw(), JANE)).toBe(0)
    const later = episode({ user: JANE, first: at + 60_000, last: at + 60_000 })
    await store.addUsage({ instance: 'p', sequence: 2, series, episodes: [later] })
    const { episodes } = await store.readRefusals({}, { cursor: null, limit: 5 })
    expect(episodes.map(({ user }) => user).sort()).toEqual(['bob', JANE])
  })

  it('a user who is forgotten whose name is a usual word stays in what others wrote, and one of four letters goes from it', async () => {
    const under = closedAtEnd(await open())
    const { store } = under
    const why = (text: string) => ({ who: 'ann', why: text })
    await store.change({ kind: 'settings', to: { mode: 'loose' } }, why('for all of us, all week'), null)
    await store.change({ kind: 'settings', to: {} }, why('anna, annabel and +anna+'), null)
    await store.change(forgettingOf('all'), why('left'), null)
    const forgetting = forgettingOf('anna')
    await store.change(forgetting, why('left'), null)
    const entries = await store.readAudit(null, 9)
    expect(entries.map((one) => one.why)).toEqual([
      'left',
      'left',
      `${forgetting.alias}, annabel and +${forgetting.alias}+`,
      'for all of us, all week',
    ])
  })
})

/** As `places` names them. */
const EVERYWHERE = [
  'counters',
  'history',
  'known',
  'member',
  'once',
  'claim',
  'refusals',
  'tokens',
  'overrides',
  'audit',
  'alert',
  'settings',
  'organisation-overrides',
  'series',
]

async function openRedis(retention = RETENTION): Promise<Under> {
  const raw = new Redis(server.url)
  await raw.flushall()
  const store = openRedisStore({ url: server.url, deadlineMs: 5000, retention, observe: () => {} })
  await whenReady(store)
  async function dump(): Promise<Map<string, string>> {
    const keys = await raw.keys('*')
    const values = await Promise.all(keys.map((key) => storedUnder(raw, key)))
    return new Map(keys.map((key, i) => [key, values[i] ?? '']))
  }
  const names: Record<string, string> = { c: 'counters', h: 'history' }
  return {
    store,
    raw: async () => JSON.stringify([...(await dump())]),
    places: async () =>
      [...(await dump()).keys()]
        .map((key) => key.replace('{tollgate}:', '').split(':')[0] ?? '')
        .map((one) => names[one] ?? one),
    async close() {
      await store.close()
      raw.disconnect()
    },
  }
}

async function storedUnder(raw: Redis, key: string): Promise<string> {
  const type = await raw.type(key)
  if (type === 'hash') return JSON.stringify(await raw.hgetall(key))
  if (type === 'zset') return JSON.stringify(await raw.zrange(key, '0', '-1'))
  return (await raw.getBuffer(key))?.toString('latin1') ?? ''
}

async function openSqlite(retention = RETENTION): Promise<Under> {
  const file = newFile()
  const store = openSqliteStore({ file, retention })
  const names: Record<string, string> = {
    alert_events: 'alert',
    organisation_overrides: 'organisation-overrides',
  }
  return {
    store,
    raw: async () => [file, `${file}-wal`].map((one) => (existsSync(one) ? readFileSync(one, 'latin1') : '')).join(''),
    async places() {
      const database = new DatabaseSync(file, { readOnly: true })
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]
      const filled = tables.filter(({ name }) => database.prepare(`SELECT 1 FROM ${name}`).get() !== undefined)
      const lists = database.prepare('SELECT DISTINCT list FROM endings').all() as { list: string }[]
      database.close()
      return [...filled.map(({ name }) => names[name] ?? name), ...lists.map(({ list }) => list)]
    },
    async close() {
      await store.close()
    },
  }
}

function charge(user: string, cost: number, more: Partial<Charge> = {}): Charge {
  return { user, organisation: 'acme', category: 'read', cost, limits: limits([10, 10]), ...more }
}

function settling(store: Store, instance = 'i') {
  let sequence = 0
  return (charges: readonly Charge[], refunds: readonly Refund[] = []) =>
    store.settle({ instance, sequence: ++sequence, charges, refunds })
}

async function used(store: Store, user: string): Promise<readonly number[]> {
  const { personal } = await store.readUsage(user, ['read'])
  return (personal[0] ?? []).map((window) => window.used)
}

/** One user in all places that a store has. */
async function fill(store: Store, user: string): Promise<void> {
  const settle = settling(store, `i-${user.length}`)
  const once = { key: `hash-of-${user.length}`, body: 'body', forMs: 60_000, replays: 3 }
  const short = { window: { name: '1s', seconds: 1 }, limit: 100 }
  const brief = { personal: [short], organisation: null, global: null }
  await settle([charge(user, 3, { once }), charge(user, 1, { category: 'write', limits: brief })])
  await expect
    .poll(async () => (await settle([charge(user, 1, { category: 'write', limits: brief })]))[0]?.personal[0]?.used, {
      timeout: 30_000,
      interval: 300,
    })
    .toBe(1)
  await store.noteUsers([user], 60_000)
  await store.noteMemberships([{ user, plan: 'pro', organisation: 'acme' }], 60_000)
  const { at } = await store.controlVersion()
  const start = bucketStart(at)
  const refused = [
    episode({ user, first: at, last: at }),
    episode({ user, window: '1d', shadow: true, first: at, last: at }),
  ]
  // So many that SQLite has whole pages of them.
  const windows = Array.from({ length: user === JANE ? 300 : 0 }, (_, i) => `${i}h`)
  refused.push(...windows.map((window) => episode({ user, window, first: at, last: at })))
  await store.addUsage({ instance: `i-${user.length}`, sequence: 1, series: [entry({ start })], episodes: refused })
  const events = [1, 2, 3].map((i) => eventOf(reachedBy(user, { threshold: i / 4, startedAt: at })))
  await store.raiseAlerts(events)
  const [taken] = await store.takeAlerts([{ alert: 'near', most: 1 }], 60_000)
  if (taken !== undefined) await store.finishAlert(taken, { state: 'delivered' })
  const { record } = mintToken({ user, name: `${realName(user)}, laptop`, expiresAt: null }, at)
  await keepAccessKey(store, record)
  await store.noteUses(new Map([[record.hash, at]]))
  await administer(store, user, at)
}

async function administer(store: Store, user: string, at: number): Promise<void> {
  const reason = `told us by ${user}, who is ${realName(user)}`
  const override: UserOverride = {
    limits: { read: { '1h': 50 } },
    bypassGlobal: false,
    shadow: false,
    reason,
    expiresAt: null,
  }
  const likeIt = { ...override, reason: `as ${user} has it` }
  const layer = { id: 's', from: at + 3_600_000, value: { mode: 'loose' }, until: null, who: 'ann', why: `for ${user}` }
  const changes: Change[] = [
    { kind: 'override', user, to: override },
    { kind: 'override', user: 'carol', to: likeIt },
    { kind: 'organisation_override', organisation: 'acme', to: { limits: {}, reason: `by ${user}`, expiresAt: null } },
    { kind: 'settings', to: { layers: [layer] } },
    { kind: 'reset', user: 'carol' },
    ...(user === JANE
      ? revocationsOf(user, [mintToken({ user, name: `of ${user}`, expiresAt: null }, at).record], at)
      : []),
  ]
  const author = { who: 'ann', why: `since ${user} asked` }
  for (const change of changes) await store.change(change, author, null)
  const { version: base } = await store.controlVersion()
  const overrides = (await store.readControl()).overrides
  await store.stageOverrides(`set-${base}`, [...overrides])
  const sample = { total: 3, overrides: { [user]: override, carol: likeIt } }
  await store.change(
    { kind: 'overrides', base, staged: `set-${base}`, count: overrides.size, organisations: 0, from: null, to: sample },
    author,
    null,
  )
}

async function expectOnlyBob(store: Store, alias: string): Promise<void> {
  expect(await used(store, 'bob')).toEqual([3, 3])
  const page = { cursor: null, limit: 20 }
  expect((await store.listTokens()).map(({ user }) => user)).toEqual(['bob'])
  expect([...(await store.readControl()).overrides.keys()].sort()).toEqual(['bob', 'carol'])
  for (const shadow of [false, true]) {
    expect((await store.readRefusals({ shadow }, page)).episodes.map(({ user }) => user)).toEqual(['bob'])
  }
  const [near] = await store.readAlerts(['near'], 20)
  expect(new Set(near?.events.map(({ happening }) => 'subject' in happening && happening.subject))).toEqual(
    new Set(['bob']),
  )
  expect(await store.readMemberships([JANE, 'bob'])).toEqual([null, { plan: 'pro', organisation: 'acme' }])
  expect(await store.knownFor(JANE)).toBeNull()
  const entries: readonly AuditEntry[] = await store.readAudit(null, 100)
  expect(entries.map(({ version }) => version)).toEqual(entries.map((_, i) => entries.length - i))
  const sets = entries.filter(({ what }) => what === 'overrides')
  expect(sets.map(({ to }) => Object.keys((to as { overrides: object }).overrides))).toEqual([
    ['bob', 'carol'],
    [alias, 'carol'],
  ])
  const override = entries.find(({ what, subject }) => what === 'override' && subject === alias)
  expect(override).toMatchObject({ why: alias, to: { reason: alias, limits: { read: { '1h': 50 } } } })
  expect(entries.filter(({ to }) => (to as { user?: string } | null)?.user === alias)).toHaveLength(2)
}

/** Whom administrators know by another name. */
function realName(user: string): string {
  return user === JANE ? 'Jane Doe' : 'Robert Roe'
}

function count(text: string, word: string): number {
  return text.split(word).length - 1
}
