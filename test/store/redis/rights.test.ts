import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, it, vi } from 'vitest'
import { revocationOf } from '../../../src/control/access-key-changes.ts'
import { mintToken } from '../../../src/control/access-key-record.ts'
import type { Change } from '../../../src/control/control-store.ts'
import { forgettingOf } from '../../../src/control/forgetting.ts'
import { UNCHANGED } from '../../../src/control/state.ts'
import { bucketStart } from '../../../src/failures/histogram.ts'
import type { Observation, Observer } from '../../../src/observe/observation.ts'
import type { UsageSnapshot } from '../../../src/quota/quota-store.ts'
import { openRedisStore } from '../../../src/store/redis/redis-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { eventOf, reachedBy } from '../../alerts/happenings.ts'
import { keepAccessKey } from '../../control/keep-access-key.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { limits } from '../../quota/quota-store.suite.ts'
import { atEnd, closedAtEnd } from '../../setup/at-end.ts'
import { startRedis } from '../../setup/redis.ts'
import { entry, episode } from '../../usage/usage-log.suite.ts'
import { whenReady } from './ready.ts'

/** With a deadline longer than a busy machine holds Redis up. */
const open = (url: string, observe: Observer = () => {}): Store =>
  closedAtEnd(openRedisStore({ url, deadlineMs: 5000, observe }))

const ALL = ['~*', '&*', '+@all']

/** A Redis whose user of the URL has these rights, and a connection that has all. */
async function redisWith(...rights: string[]) {
  const { url, port } = await startRedis()
  const admin = new Redis(url, { disableClientInfo: true })
  atEnd(() => admin.disconnect())
  await admin.acl('SETUSER', 'tollgate', 'on', '>secret', ...rights)
  return { admin, url: `redis://tollgate:secret@127.0.0.1:${port}` }
}

const WRITTEN = /^ACL SETUSER tollgate on >PASSWORD ([^`]*)^```/m

it('the rights that docs/stores.md names suffice for everything, and another user of Redis is not needed', async () => {
  const rights = WRITTEN.exec(readFileSync('docs/stores.md', 'utf8'))?.[1]?.trim().split(/\s+/) ?? []
  const { admin, url } = await redisWith(...rights)
  const store = open(url)
  await whenReady(store)
  let heard = 0
  store.onChange(() => heard++)
  await expect.poll(() => heard, { timeout: 30_000 }).toBe(1)
  const charges = [chargeOf({ limits: limits([10, 10], [10, 10]) })]
  const [decision] = await store.settle({ instance: 'i', sequence: 1, refunds: [], charges })
  expect(decision?.accepted).toBe(true)
  await store.settle({ instance: 'i', sequence: 2, refunds: [], charges })
  await store.readUsage('alice', ['read'])
  expect((await store.scanUsers(null)).owners).toHaveLength(1)
  expect(await store.noteUsers(['alice'], 60_000)).toEqual([0])
  const facts = { plan: 'pro', organisation: null }
  await store.noteMemberships(
    [
      { user: 'alice', ...facts },
      { user: 'bob', plan: null, organisation: null },
    ],
    60_000,
  )
  expect(await store.readMemberships(['alice', 'bob'])).toEqual([facts, null])
  expect(await store.readNamed(['acme'])).toEqual([null])
  expect(await store.knownFor('alice')).toBeGreaterThanOrEqual(0)
  await store.addTally({ total: 1, status0: 0, status5xx: 0, status4xx: 0, aside: 0, asideFailed: 0 })
  await store.readTallies()
  const start = bucketStart(Date.now())
  const episodes = [episode({ first: start, last: start })]
  await store.addUsage({ instance: 'i', sequence: 1, series: [entry({ by: 'route', start })], episodes })
  expect((await store.readSeries({ by: 'route', from: start, to: start + 1 })).rows).toHaveLength(1)
  expect((await store.readRefusals({}, { cursor: null, limit: 5 })).episodes).toHaveLength(1)
  const near = [{ alert: 'near', most: 1 }]
  expect(await store.raiseAlerts([eventOf(reachedBy('alice'))])).toEqual(['stored'])
  for (const event of await store.takeAlerts(near, 1000)) await store.finishAlert(event, { state: 'delivered' })
  expect(await store.readAlerts(['near'], 1)).toMatchObject([{ pending: 0, events: [{ attempts: 1 }] }])
  expect(await store.listAlerts()).toMatchObject([{ alert: 'near', pending: 0 }])
  expect(await store.giveUpAlerts('near', 0, 'nobody has it')).toBe(0)
  const { record } = mintToken({ user: 'alice', name: 'n', expiresAt: null }, 1)
  await keepAccessKey(store, record)
  await store.findTokens([record.id])
  await store.readTokens(null)
  expect(await store.listTokens()).toHaveLength(1)
  await store.findTokenByHash(record.hash)
  const key = { ...record, record }
  const override = { limits: {}, bypassGlobal: true, shadow: false, reason: 'r', expiresAt: null }
  const changes: Change[] = [
    revocationOf(key, 2),
    { kind: 'settings', to: {} },
    { kind: 'override', user: 'alice', to: override },
    { kind: 'override', user: 'alice', to: null },
    { kind: 'organisation_override', organisation: 'acme', to: { limits: {}, reason: 'r', expiresAt: null } },
    { kind: 'reset', user: 'alice' },
  ]
  for (const change of changes) await store.change(change, { who: 'ann', why: null }, null)
  for (const base of [7, 8]) {
    await store.stageOverrides(`s-${base}`, [['alice', { version: base + 1, value: override }]])
    const all: Change = {
      kind: 'overrides',
      staged: `s-${base}`,
      count: 1,
      organisations: 0,
      base,
      from: null,
      to: null,
    }
    expect((await store.change(all, { who: 'ann', why: null }, null)).done).toBe(true)
  }
  await expect.poll(() => heard, { timeout: 30_000 }).toBe(10)
  expect((await store.readControl()).version).toBe(9)
  expect(await store.changesSince(UNCHANGED)).toHaveLength(9)
  expect(await store.readAudit(null, 10)).toHaveLength(9)
  const counts = { requests: 0, refused: 0, shadowed: 0, tokens: 0, forwarded: 0, failed: 0, inFlight: 0 }
  const own = { instance: 'i', host: 'h', pid: 1, version: 'v', hash: 'x', controlVersion: 0, startedAt: 1 }
  await store.beat({ ...own, ready: true, reasons: [], configProblems: [], counts, hits: {}, unmatched: [] })
  expect(await store.listReplicas()).toHaveLength(1)
  await store.leave('i')
  await store.removeTokens(Date.now() + 1)
  expect(await store.listTokens()).toEqual([])
  expect((await store.change(forgettingOf('alice'), { who: 'ann', why: null }, null)).done).toBe(true)
  expect((await store.scanUsers(null)).owners).toEqual([])
  expect(await admin.acl('LOG')).toEqual([])
  // Redis refuses a command that its version does not know before it looks at rights: one for a newer version shows here.
  expect(await admin.info('errorstats')).not.toMatch(/errorstat_(?!NOSCRIPT)/)
})

it('without the right to INFO the log says what cannot be looked at, and nothing is printed past it', async () => {
  const { url } = await redisWith(...ALL, '-info')
  const printed = vi.spyOn(console, 'warn')
  atEnd(() => printed.mockRestore())
  const seen: Observation[] = []
  const store = open(url, (observation) => seen.push(observation))
  await whenReady(store)
  let heard = 0
  store.onChange(() => heard++)
  await expect.poll(() => heard, { timeout: 30_000 }).toBe(1)
  const message = expect.stringMatching(/maxmemory-policy cannot be looked at: .*\+info/)
  await expect
    .poll(() => seen)
    .toEqual([{ type: 'store_connected' }, { type: 'store_warning', warning: 'no_rights', message }])
  expect(printed).not.toHaveBeenCalled()
})

it.each(['set', 'setrange'])(
  'a right that is missing leaves nothing half done, and no charge is taken for made: %s',
  async (right) => {
    const { admin, url } = await redisWith(...ALL)
    const store = open(url)
    const used = async (user: string): Promise<number> =>
      (await store.readUsage(user, ['read'])).personal[0]?.[0]?.used ?? 0
    const charge = (user: string) => chargeOf({ user, limits: limits([10, 10], [100, 100]) })
    await whenReady(store)
    await store.settle({ instance: 'i', sequence: 1, refunds: [], charges: [charge('alice')] })
    await admin.acl('SETUSER', 'tollgate', `-${right}`)
    const batch = { instance: 'i', sequence: 2, refunds: [], charges: [charge('bob'), charge('alice')] }
    // Whoever is told that a batch was certainly not applied may send it again under its number.
    for (let tries = 0; tries < 2; tries++) {
      await expect(store.settle(batch)).rejects.toMatchObject({ reason: 'auth', applied: 'no' })
    }
    expect([await used('alice'), await used('bob')]).toEqual([1, 0])
    await admin.acl('SETUSER', 'tollgate', `+${right}`)
    expect((await store.settle(batch)).map(({ accepted }) => accepted)).toEqual([true, true])
    expect([await used('alice'), await used('bob')]).toEqual([2, 1])
  },
)

it.each(['set', 'hset', 'hdel', 'del', 'zadd', 'zremrangebyrank'])(
  'a change that is refused for want of a right leaves nothing behind: %s',
  async (right) => {
    const { admin, url } = await redisWith(...ALL)
    const store = open(url)
    const ann = { who: 'ann', why: null }
    const override = { limits: {}, bypassGlobal: true, shadow: false, reason: 'r', expiresAt: null }
    const state = async () => [
      await store.readControl(),
      await store.readAudit(null, 10),
      await store.readUsage('alice', ['read']),
    ]
    await whenReady(store)
    const charges = [chargeOf({ limits: limits([10, 10], [10, 10]) })]
    await store.settle({ instance: 'i', sequence: 1, refunds: [], charges })
    await store.change({ kind: 'override', user: 'bob', to: override }, ann, null)
    await admin.acl('SETUSER', 'tollgate', `-${right}`)
    const changes: Change[] = [
      { kind: 'settings', to: { mode: 'loose' } },
      { kind: 'override', user: 'alice', to: override },
      { kind: 'override', user: 'bob', to: null },
      { kind: 'reset', user: 'alice' },
    ]
    const outcomes: boolean[] = []
    for (const change of changes) {
      const [control, audit, { personal, global }] = (await state()) as [unknown, unknown, UsageSnapshot]
      const made = await store.change(change, ann, null).then(
        () => true,
        () => false,
      )
      outcomes.push(made)
      if (!made) expect(await state()).toMatchObject([control, audit, { personal, global }])
    }
    expect(outcomes).toContain(false)
  },
)

it('a right to INFO that is taken away while a gateway runs is asked for once, and leaves one entry in the log of Redis', async () => {
  const { admin, url } = await redisWith(...ALL)
  const warned: string[] = []
  const observe = (seen: Observation) => void (seen.type === 'store_warning' && warned.push(seen.warning))
  let looks = 0
  closedAtEnd(openRedisStore({ url, deadlineMs: 5000, observe, onChecked: () => looks++, checkMs: 10 }))
  await expect.poll(() => looks).toBeGreaterThan(2)
  await admin.acl('SETUSER', 'tollgate', '-info')
  await expect.poll(() => warned).toContain('no_rights')
  const then = looks
  await sleep(200)
  expect(looks).toBe(then)
  expect(await admin.acl('LOG')).toHaveLength(1)
})
