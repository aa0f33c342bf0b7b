import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { creationOf, revocationOf } from '../../src/control/access-key-changes.ts'
import { mintToken } from '../../src/control/access-key-record.ts'
import type { AccessKeyRecord } from '../../src/control/access-key-store.ts'
import type { Change } from '../../src/control/control-store.ts'
import type { Changes, LastChange, UserOverride } from '../../src/control/state.ts'
import { NOTHING } from '../../src/failures/histogram.ts'
import { everyStep } from '../../src/lib/steps.ts'
import type { Charge, Decision, Refund } from '../../src/quota/charge.ts'
import { chargedScopes } from '../../src/quota/charged-scopes.ts'
import type { Counter } from '../../src/quota/counter.ts'
import { type Limit, resetAt, type Usage } from '../../src/quota/window.ts'
import { encodeBatch } from '../../src/store/redis/charge-batch.ts'
import { decodeReply } from '../../src/store/redis/charge-reply.ts'
import { CHARGE_LUA } from '../../src/store/redis/client.ts'
import { createKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { startRedis } from '../setup/redis.ts'
import { runs } from '../setup/runs.ts'
import { whenReady } from './redis/ready.ts'

/**
 * Whoever moves from one store to the other sees no difference: any history of calls is answered alike by both, but for the
 * times, which are those of two clocks. (Where windows end is for the first test and the model suites, whose clocks the test
 * holds.)
 */

const server = await startRedis()

/** What one store has told so far that later calls refer to. */
interface Side {
  readonly store: Store
  sequence: number
  readonly refunds: Refund[]
  readonly seen: LastChange[]
}

/** A call of one store, and what it answered, without times. */
type Step = (side: Side) => Promise<unknown>

/** Few, so that they meet what was done to them before. */
const USERS = ['alice', 'read:alice', '__proto__', '{a}*', '配额 \'\\"']
const CATEGORIES = ['read', 'write', 'constructor']
const user = fc.constantFrom(...USERS)
const category = fc.constantFrom(...CATEGORIES)
const tokens = fc.constantFrom(0, 1, 7, 1e12)
const table = fc.dictionary(category, fc.dictionary(fc.constantFrom('1h', '1d'), tokens), { noNullPrototype: true })
const reason = fc.constantFrom('why', 'two  blanks', '"quoted" \\ 配额 😀', '1 {}', 'null')
const expected = fc.constantFrom<'any' | 'none' | 'right' | 'wrong'>('any', 'none', 'right', 'wrong')

const settings: fc.Arbitrary<Changes> = fc.record(
  {
    mode: fc.constantFrom('loose', 'custom'),
    global: fc.record({ multiplier: fc.constantFrom(0.25, 1.1, 4) }),
    baselines: fc.record({ personal: table }, { requiredKeys: [] }),
    shadow: fc.boolean(),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const override: fc.Arbitrary<UserOverride> = fc.record({
  limits: table,
  bypassGlobal: fc.boolean(),
  shadow: fc.boolean(),
  reason,
  expiresAt: fc.constantFrom(null, 1, 4_102_444_800_000),
})
const WINDOWS = [
  [{ name: '1d', seconds: 86_400 }],
  [
    { name: '1h', seconds: 3600 },
    { name: '1d', seconds: 86_400 },
  ],
  [
    { name: 'odd', seconds: 5000 },
    { name: '1d', seconds: 86_400 },
    { name: 'year', seconds: 31_536_000 },
  ],
].map((windows) => windows.map((window) => ({ window, limit: 40 })))
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('settings' as const), to: settings }),
  fc.record({ kind: fc.constant('override' as const), user, to: fc.option(override) }),
  fc.record({
    kind: fc.constant('organisation_override' as const),
    organisation: user,
    to: fc.option(override.map(({ limits, reason, expiresAt }) => ({ limits, reason, expiresAt }))),
  }),
  fc.record({ kind: fc.constant('reset' as const), user }),
  fc.record({
    kind: fc.constant('quota_reset' as const),
    category,
    windows: fc.constantFrom(...WINDOWS.map((set) => set.map(({ window }) => window))),
    all: fc.boolean(),
  }),
)

const charge: fc.Arbitrary<Charge> = fc.record({
  user,
  organisation: fc.option(user),
  category,
  cost: fc.integer({ min: 1, max: 15 }),
  limits: fc.record({
    personal: fc.constantFrom(...WINDOWS),
    organisation: fc.option(fc.constantFrom(...WINDOWS)),
    global: fc.option(fc.constantFrom(...WINDOWS)),
  }),
})

const TOKENS: readonly AccessKeyRecord[] = USERS.slice(0, 3).map((user, i) => {
  const facts = i === 0 ? {} : { plan: `plan ${i}`, ...(i === 1 && { organisation: 'acme' }) }
  return mintToken({ user, name: `token ${i}`, ...facts, expiresAt: i % 2 === 0 ? null : 5000 }, 1000 + (i % 3)).record
})
const token = fc.constantFrom(...TOKENS)

const used = (counter: Counter): unknown => counter.map(({ seconds, used }) => [seconds, used]).sort()
const sorted = (entries: Iterable<readonly [string, unknown]>): unknown =>
  [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
const timeless = ({ at: _, ...rest }: { readonly at: number }): unknown => rest
const isOf = (at: number): boolean => Math.abs(at - Date.now()) < 60_000

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(change, expected, reason).map(([change, version, why]) => changing(change, version, why)),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.array(charge, { maxLength: 5 }), fc.nat(9)).map(([charges, at]) => settling(charges, at)),
  },
  { weight: 1, arbitrary: fc.constant(reading) },
  { weight: 1, arbitrary: fc.nat(9).map((at) => following(at)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.option(fc.nat(9)), fc.integer({ min: 1, max: 4 })).map(
      ([before, limit]): Step =>
        async ({ store }) =>
          (await store.readAudit(before, limit)).map(timeless),
    ),
  },
  {
    weight: 1,
    arbitrary: user.map(
      (user): Step =>
        ({ store }) =>
          usage(store, user),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>(({ store }) => scan(store)) },
  { weight: 3, arbitrary: token.map((record) => changing(creationOf(record), 'any', 'why')) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(token, fc.integer({ min: 1, max: 9 }))
      .map(([record, at]) => changing(revocationOf({ ...record, record }, at), 'any', 'why')),
  },
  {
    weight: 1,
    arbitrary: token.map(
      ({ id, hash }): Step =>
        async ({ store }) => [await store.findTokens([id]), await store.findTokenByHash(hash)],
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>(({ store }) => store.listTokens()) },
  {
    weight: 1,
    arbitrary: fc.nat(1_000_000).map(
      (total): Step =>
        ({ store }) =>
          tally(store, total),
    ),
  },
)

function changing(change: Change, version: 'any' | 'none' | 'right' | 'wrong', why: string): Step {
  return async ({ store, seen }) => {
    const { settings, overrides, organisationOverrides, ...last } = await store.readControl()
    seen.push(last)
    const override = change.kind === 'override' ? overrides.get(change.user) : undefined
    const theirs = change.kind === 'organisation_override' ? organisationOverrides.get(change.organisation) : undefined
    const held = change.kind === 'settings' ? settings.version : ((override ?? theirs)?.version ?? 0)
    const wanted = { any: null, none: 0, right: held, wrong: held + 1 }[version]
    // A window that is emptied in the very millisecond of its start goes on, and only one of the stores may be so fast.
    if (change.kind === 'reset' || change.kind === 'quota_reset') await sleep(2)
    const changed = await store.change(change, { who: 'ann', why }, wanted)
    if (changed.done) expect(isOf(changed.entry.at)).toBe(true)
    return changed.done ? timeless(changed.entry) : changed
  }
}

function settling(charges: readonly Charge[], at: number): Step {
  return async (side) => {
    const refunds = side.refunds.length === 0 ? [] : side.refunds.splice(at % side.refunds.length, 1)
    const decisions = await side.store.settle({ instance: 'alike', sequence: ++side.sequence, refunds, charges })
    decisions.forEach((decision, i) => {
      if (decision.accepted) side.refunds.push({ charge: charges[i] as Charge, decision })
    })
    const numbers = (usages: readonly { used: number; startedAt: number }[] | null) =>
      usages?.map(({ used, startedAt }) => [used, startedAt === 0 || isOf(startedAt)])
    return decisions.map(({ accepted, personal, global }) => [accepted, numbers(personal), numbers(global)])
  }
}

async function reading({ store, seen }: Side): Promise<unknown> {
  const { version, changedAt, settings, overrides, organisationOverrides } = await store.readControl()
  seen.push({ version, changedAt })
  const { at, ...last } = await store.controlVersion()
  expect([last, isOf(at)]).toEqual([{ version, changedAt }, true])
  return { version, settings, overrides: sorted(overrides), organisationOverrides: sorted(organisationOverrides) }
}

/** From something that was true once, and from what never was. */
function following(at: number): Step {
  return async ({ store, seen }) => {
    const from = seen[at % Math.max(1, seen.length)] ?? { version: 0, changedAt: 0 }
    const never = { version: from.version, changedAt: from.changedAt + 1 }
    const [since, none] = [await store.changesSince(from), await store.changesSince(never)]
    return [since?.map(timeless) ?? null, from.version === 0 ? null : none]
  }
}

async function usage(store: Store, user: string): Promise<unknown> {
  const { personal, global } = await store.readUsage(user, CATEGORIES)
  return [personal.map(used), global.map(used)]
}

async function scan(store: Store): Promise<unknown> {
  const found = new Map<string, unknown>()
  for await (const { owners } of everyStep((from: string | null) => store.scanUsers(from))) {
    for (const { id, counters } of owners) {
      found.set(id, sorted([...counters].map(([category, counter]) => [category, used(counter)] as const)))
    }
  }
  return sorted(found)
}

/** The sum of all buckets: the two clocks may stand in different ones. */
async function tally(store: Store, total: number): Promise<unknown> {
  await store.addTally({ ...NOTHING, total, status0: 1, status4xx: 3, asideFailed: 2 })
  const { buckets } = await store.readTallies()
  const sum = (of: 'total' | 'status0' | 'status5xx' | 'status4xx' | 'aside' | 'asideFailed') =>
    buckets.reduce((n, b) => n + b[of], 0)
  return [sum('total'), sum('status0'), sum('status5xx'), sum('status4xx'), sum('aside'), sum('asideFailed')]
}

const limit = (...limits: number[]): Charge['limits']['personal'] =>
  limits.map((limit, i) => ({
    window: { name: `${i}`, seconds: [1, 5, 60, 90, 120, 180, 240, 300][i] as number },
    limit,
  }))
const MOST = limit(9, 19, 29, 39, 49, 59, 69, 79)
const clocked = fc.oneof(
  fc.record({
    charges: fc.array(
      fc.record({
        user: fc.constantFrom('alice', 'bob'),
        organisation: fc.constantFrom(null, 'alice', 'acme'),
        category: fc.constant('read'),
        cost: fc.integer({ min: 1, max: 6 }),
        limits: fc.record({
          personal: fc.constantFrom(limit(4, 9, 20), limit(12, 30, 31), limit(5, 10), limit(100), MOST),
          organisation: fc.option(fc.constantFrom(limit(4, 9, 20), limit(100), MOST), { nil: null }),
          global: fc.option(fc.constantFrom(limit(4, 9, 20), limit(100), MOST), { nil: null }),
        }),
      }),
      { maxLength: 3 },
    ),
    refund: fc.option(fc.nat(9)),
  }),
  fc.record({ ms: fc.constantFrom(1, 999, 1000, 5000, 60_000, -1, -500, -1000, -5000, -60_000) }),
)

/** When the windows that a decision speaks of end. */
const endsOf = (charge: Charge, decision: Decision): number[] =>
  chargedScopes(charge, decision).flatMap(({ limits, usages }) => limits.map(endIn(usages)))
const endIn =
  (usages: readonly Usage[]) =>
  ({ window }: Limit, i: number) =>
    resetAt(usages[i] as Usage, window)

/** Each store forgets what has ended in its own time: a clock set back behind such an end may find it in one of the two. */
it('both stores decide alike while their clock is set forth, and back within what runs', async () => {
  const shipped = CHARGE_LUA
  const redis = new Redis(server.url)
  redis.defineCommand('settle', { lua: shipped.replace("redis.call('TIME')", '{ ARGV[6], ARGV[7] }') })
  const { settleBuffer } = redis as unknown as { settleBuffer(...args: (string | number)[]): Promise<unknown> }
  let tries = 0
  const property = fc.asyncProperty(fc.array(clocked, { maxLength: 20 }), async (steps) => {
    // Far ahead, so that Redis keeps every key.
    let now = Date.UTC(2150, 0, 1)
    const keys = createKeys(`clock-${++tries}`)
    const embedded = openSqliteStore({ file: ':memory:', clock: () => now })
    const given: Refund[] = []
    const ends: number[] = []
    let latest = now
    for (const [i, step] of steps.entries()) {
      if ('ms' in step) {
        const next = now + step.ms
        if (!ends.some((end) => next < end && end <= latest)) now = next
        latest = Math.max(latest, now)
        continue
      }
      const refunds = step.refund === null || given.length === 0 ? [] : given.splice(step.refund % given.length, 1)
      const batch = { instance: 'clock', sequence: i + 1, refunds, charges: step.charges }
      const decisions = await embedded.settle(batch)
      const sent = encodeBatch(batch, keys)
      const time = [Math.floor(now / 1000), (now % 1000) * 1000]
      const args = [batch.sequence, 60_000, sent.json, sent.charges, 0, ...time]
      const reply = await settleBuffer.call(redis, sent.keys.length, ...sent.keys, ...args)
      expect(decodeReply(reply, batch, sent)).toEqual(decisions)
      decisions.forEach((decision, n) => {
        const charge = step.charges[n] as Charge
        ends.push(...endsOf(charge, decision))
        if (decision.accepted) given.push({ charge, decision })
      })
    }
    await embedded.close()
  })
  await fc.assert(property, { numRuns: runs(300) }).finally(() => redis.disconnect())
})

it('both stores respond alike to any history of calls', async () => {
  let tries = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
      const redis = openRedisStore({ url: server.url, prefix: `alike-${++tries}`, deadlineMs: 5000, observe: () => {} })
      const sides = [openSqliteStore({ file: ':memory:' }), redis].map(
        (store): Side => ({ store, sequence: 0, refunds: [], seen: [] }),
      )
      await whenReady(redis)
      try {
        for (const step of [...steps, reading]) {
          const [embedded, shared] = await Promise.all(sides.map(step))
          expect(shared).toEqual(embedded)
        }
      } finally {
        for (const { store } of sides) await store.close()
      }
    }),
    { numRuns: runs(100) },
  )
})
