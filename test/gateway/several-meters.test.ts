import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isDenial } from '../../src/errors.ts'
import {
  type Charging,
  correct,
  giveBack,
  isPaid,
  type Order,
  type Paid,
  type Settlement,
  settle,
} from '../../src/gateway/settlement.ts'
import type { Route, Rules } from '../../src/gateway/snapshot.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'
import type { Observation, Settled } from '../../src/observe/observation.ts'
import { NOTHING_AHEAD } from '../../src/quota/ahead.ts'
import type { Limits } from '../../src/quota/charge.ts'
import { createLedger } from '../../src/quota/ledger/ledger.ts'
import type { Ledger } from '../../src/quota/ledger/ledger-contract.ts'
import type { Policy } from '../../src/quota/policy.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createHalfHours, type HalfHours } from '../../src/usage/half-hours.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { whenReady } from '../store/redis/ready.ts'

/** A charge of several meters from the order of a request to its store, and what is reported of it on the way. */

let redis: RedisServer
const folder = tempFolder()
beforeAll(async () => {
  redis = await startRedis()
})

const HOUR = { name: '1h', seconds: 3600 }
const DAY = { name: '1d', seconds: 86_400 }
const limitsOf = (hour: number): Limits => ({
  personal: [
    { window: HOUR, limit: hour },
    { window: DAY, limit: 1000 },
  ],
  organisation: null,
  global: [{ window: HOUR, limit: 10_000 }],
})
const LIMITS: Readonly<Record<string, Limits>> = { requests: limitsOf(3), tokens: limitsOf(100) }

const policy: Pick<Policy, 'limitsFor' | 'sourceOf' | 'isShadowed'> = {
  limitsFor: (category) => LIMITS[category] as Limits,
  sourceOf: (category) => `baseline of ${category}`,
  isShadowed: () => false,
}
const RULES = {
  policy: () => policy,
  shadow: () => false,
  timeZone: 'UTC',
  retryAfterMax: Number.POSITIVE_INFINITY,
  ahead: () => NOTHING_AHEAD,
} as unknown as Rules

const order = (tokens: number, user = 'alice'): Order => ({
  rules: RULES,
  route: { match: 'POST /v1/chat', shadow: false, repetition: null } as Route,
  caller: { user, organisation: null, plan: null, kind: 'jwt' },
  plan: null,
  category: 'requests',
  cost: 1,
  others: [{ category: 'tokens', cost: tokens }],
  once: null,
  accept: undefined,
})

describe.each<[string, () => Promise<Store>]>([
  ['the embedded store', async () => openSqliteStore({ file: join(folder, `${crypto.randomUUID()}.db`) })],
  [
    'Redis',
    async () => {
      const store = closedAtEnd(openRedisStore({ url: redis.url, prefix: crypto.randomUUID(), observe() {} }))
      await whenReady(store)
      return store
    },
  ],
])('a charge of several meters, with %s', (_name, open) => {
  let store: Store
  let ledger: Ledger
  let metrics: Metrics
  let halfHours: HalfHours
  let seen: Settled[]
  beforeEach(async () => {
    store = closedAtEnd(await open())
    ledger = createLedger({ store, instance: crypto.randomUUID(), deadlineMs: 5000, observe() {} })
    metrics = createMetrics({ version: '1.2.3', gauges: [] })
    halfHours = createHalfHours(() => Date.now())
    seen = []
  })
  afterEach(async () => {
    await ledger.close(1000)
  })

  const charging = (): Charging => ({
    ledger,
    knownUsers: { lookUp: async () => false },
    observe(what: Observation) {
      if (what.type === 'settled') seen.push(what)
      metrics.observer(what)
      halfHours.count(what)
    },
  })
  async function asked(of: Order): Promise<Settlement> {
    const settlement = await settle(charging(), of)
    if (isDenial(settlement)) throw new Error(settlement.code)
    return settlement
  }
  async function paid(of: Order): Promise<Paid> {
    const settlement = await asked(of)
    if (!isPaid(settlement)) throw new Error(settlement.kind)
    return settlement
  }
  async function used(): Promise<number[]> {
    const { personal } = await store.readUsage('alice', ['requests', 'tokens'])
    return personal.map((counter) => counter.find(({ seconds }) => seconds === HOUR.seconds)?.used ?? 0)
  }
  const reports = () =>
    seen.map(({ kind, charge, tokens, isFurther }) => [kind, charge.category, tokens, isFurther === true])

  it('a charge of several meters is reported once for each meter, and as one request', async () => {
    await paid(order(40))
    expect(await used()).toEqual([1, 40])
    expect(reports()).toEqual([
      ['charged', 'requests', 1, false],
      ['charged', 'tokens', 40, true],
    ])
    const all = parseMetrics(await metrics.render())
    expect(all.value('tollgate_tokens_charged_total{category="tokens"}')).toBe(40)
    const series = halfHours.take()
    const sums = (by: string, name: string) => series.find((entry) => entry.by === by && entry.name === name)?.counts
    expect(sums('category', 'tokens')).toMatchObject({ tokens: 40 })
    expect(sums('route', 'POST /v1/chat')).toMatchObject({ tokens: 41, accepted: 1 })
  })

  it('a charge of several meters names the meter that refuses it, with the limit of that and where it comes from', async () => {
    await paid(order(90))
    const refused = await asked(order(11))
    expect(refused).toMatchObject({
      kind: 'refused',
      refusedBy: {
        ...{ category: 'tokens', scope: 'personal', window: '1h', limit: 100 },
        ...{ used: 90, requested: 11, source: 'baseline of tokens' },
      },
    })
    expect(reports().slice(2)).toEqual([['refused', 'tokens', 0, false]])
    expect(await used()).toEqual([1, 90])
    await paid(order(1))
    await paid(order(1))
    expect(await asked(order(1))).toMatchObject({ kind: 'refused', refusedBy: { category: 'requests' } })
    expect(await used()).toEqual([3, 92])
  })

  it('a charge of several meters is corrected meter by meter, and given back whole if it reached nobody', async () => {
    const first = await paid(order(40))
    void correct(charging(), first, { tokens: 12, source: 'response' }, 1)
    const second = await paid(order(20))
    void giveBack(charging(), second)
    await ledger.close(5000)
    expect(await used()).toEqual([1, 12])
    expect(reports().filter(([kind]) => kind !== 'charged')).toEqual([
      ['corrected', 'tokens', -28, true],
      ['given_back', 'requests', -1, false],
      ['given_back', 'tokens', -20, true],
    ])
  })
})
