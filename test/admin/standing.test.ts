import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLimitsInForce } from '../../src/app/limits-in-force.ts'
import { booksOf } from '../../src/app/retention.ts'
import type { Caller } from '../../src/auth/verdict.ts'
import { createChangeFollower } from '../../src/control/change-follower.ts'
import { type Order, settle } from '../../src/gateway/settlement.ts'
import type { Rules } from '../../src/gateway/snapshot.ts'
import type { Charge, Decision, Refund } from '../../src/quota/charge.ts'
import { KnownUsers } from '../../src/quota/known-users.ts'
import type { Asker } from '../../src/quota/ledger/ledger-contract.ts'
import type { Payer } from '../../src/quota/policy.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { sharedRedis } from '../setup/redis.ts'
import { runs } from '../setup/runs.ts'
import { whenReady } from '../store/redis/ready.ts'
import { configOf, type Running, startAdmin, TOKEN } from './running.ts'

/** What administrators are told of who is refused is held against what the gateway then decides, over a real store. */

const PLACES: [string, () => Promise<{ store: Store; clean(): Promise<void> }>][] = [
  [
    'SQLite',
    async () => {
      const store = openSqliteStore({ file: ':memory:' })
      return { store, clean: () => store.close() }
    },
  ],
  [
    'Redis',
    async () => {
      const { url, prefix, stop } = await sharedRedis()
      const store = openRedisStore({ url, prefix, deadlineMs: 5000, observe: () => {} })
      await whenReady(store)
      return { store, clean: () => store.close().then(stop) }
    },
  ],
]

const CATEGORIES = ['read', 'write'] as const
const limit = fc.constantFrom(0, 2, 5, 8, 20)
const windows = fc.record({ '1h': limit, '1d': limit })
const some = fc.record({ '1h': limit, '1d': limit }, { requiredKeys: [] })
const table = fc.record({ read: some, write: some }, { requiredKeys: [] })
const everywhere = fc.record({ read: windows, write: windows })
const amount = fc.constantFrom(0, 0, 1, 2, 4, 5, 8, 19)
const plenty = fc.constantFrom(0, 5, 8, 20, 40, 1000, 1000, 1000)
const ofAll = fc.record({ '1h': plenty, '1d': plenty })

const person = fc.record({
  plan: fc.constantFrom(null, 'small', 'large', 'gone'),
  organisation: fc.constantFrom(null, 'acme', 'globex'),
  spent: fc.record({ read: amount, write: amount }),
  isKnown: fc.boolean(),
  isExempt: fc.constantFrom(false, false, false, true),
  override: fc.option(
    fc.record(
      {
        read: some,
        write: some,
        plan: fc.constantFrom('small', 'large'),
        bypassGlobal: fc.boolean(),
        shadow: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  ),
})

const patch = fc.record(
  {
    mode: fc.constantFrom('conservative', 'normal', 'loose', 'custom', null),
    baselines: fc.record({ personal: table, global: table }, { requiredKeys: [] }),
    custom: fc.record({ personal: table }, { requiredKeys: [] }),
    global: fc.record({ enabled: fc.boolean(), multiplier: fc.constantFrom(0.25, 0.5, 1, 4) }, { requiredKeys: [] }),
    shadow: fc.constantFrom(false, false, true),
  },
  { requiredKeys: [] },
)

const world = fc.record({
  persons: fc.array(person, { minLength: 1, maxLength: 8 }),
  organisations: fc.record({ acme: table, globex: table }, { requiredKeys: [] }),
  plans: fc.record({
    small: fc.record({ personal: table, organisation: table }),
    large: fc.record({ personal: table, organisation: table }),
  }),
  defaultPlan: fc.constantFrom(undefined, 'small'),
  baselines: fc.record({ personal: everywhere, global: fc.record({ read: ofAll, write: ofAll }) }),
  reserve: fc.constantFrom(undefined, undefined, '50%'),
  shadowRoute: fc.boolean(),
  cost: fc.constantFrom(1, 3),
  patches: fc.array(patch, { minLength: 1, maxLength: 3 }),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

function yamlOf({ persons, plans, defaultPlan, baselines, reserve, shadowRoute, cost }: World): string {
  const exempt = persons.flatMap(({ isExempt }, i) => (isExempt ? [`user ${i}`] : []))
  const quota = {
    baselines,
    plans,
    ...(defaultPlan !== undefined && { default_plan: defaultPlan }),
    ...(exempt.length > 0 && { exempt: { users: exempt } }),
    ...(reserve !== undefined && { reserve: { share: reserve, known_after: '1s' } }),
  }
  return JSON.stringify({
    upstream: { url: 'http://127.0.0.1:9000' },
    store: 'sqlite::memory:',
    admin: { token: TOKEN },
    auth: { gateway_tokens: true },
    quota,
    routes: [
      { match: 'GET /dear', category: 'read', cost: 7 },
      { match: 'GET /r', category: 'read', cost },
      { match: 'POST /w', category: 'write', cost: 1, shadow: shadowRoute },
    ],
  })
}

/** A gateway's decisions, over the store that the administrators look at. Whatever it accepts is given back at once. */
function createGateway(store: Store, yaml: string, knownUsers: KnownUsers) {
  const { config } = configOf(yaml)
  const limits = createLimitsInForce(config.quota, booksOf(config), knownUsers.isKnown)
  const control = createChangeFollower({ store, observe: () => {} })
  let sequence = 0
  const batch = (charges: readonly Charge[], refunds: readonly Refund[]) =>
    store.settle({ instance: 'gateway', sequence: ++sequence, charges, refunds })
  const rules = {
    policy: limits.policy,
    shadow: limits.shadow,
    ahead: limits.ahead,
    timeZone: config.timeZone,
    retryAfterMax: 1e9,
  } as unknown as Rules
  const ledger = {
    decide: (charge: Charge, asker: Asker) =>
      void charged(charge).then(
        (decision) => asker.decided(decision),
        (error) => asker.undecided(error),
      ),
    refund() {},
  }

  async function charged(charge: Charge): Promise<Decision> {
    const [decision] = await batch([charge], [])
    if (decision === undefined) throw new Error('no decision')
    if (decision.accepted) await batch([], [{ charge, decision }])
    return decision
  }

  async function spend(payer: Payer, category: string, cost: number): Promise<void> {
    const policy = limits.policy()
    const { organisation, ...others } = policy.limitsFor(category, payer)
    const charge = { user: payer.user, organisation: organisation === null ? null : payer.organisation, category, cost }
    await batch([{ ...charge, limits: { ...others, organisation }, forced: true }], [])
  }

  /** Whether any request is refused that a caller could send. */
  async function refuses(payer: Payer): Promise<boolean> {
    if (config.quota.exempt?.users.includes(payer.user)) return false
    const settled = await Promise.all(
      config.routes.map((route) => {
        if (route.public || route.cost.kind !== 'fixed' || route.match === 'GET /dear') return null
        const { category, cost } = route
        const order = {
          ...{ rules, route, caller: { ...payer, kind: 'jwt' } as Caller, plan: null, category },
          cost: cost.cost,
          once: null,
        }
        return settle({ ledger, knownUsers, observe: () => {} }, order as unknown as Order)
      }),
    )
    return settled.some((each) => each !== null && 'kind' in each && each.kind === 'refused')
  }

  const follow = async () => limits.enforce(await control.fresh(), 1)
  return { spend, refuses, follow, close: () => control.close() }
}

describe.each(PLACES)('over %s', (_, open) => {
  test('a preview, the list and the page of a user say of everybody what the gateway then does', {
    timeout: 300_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(world, async (of) => {
        const { store, clean } = await open()
        const yaml = yamlOf(of)
        const { config } = configOf(yaml)
        const reserve = () => config.quota.reserve
        const knownUsers = new KnownUsers({ store, reserve })
        const gateway = createGateway(store, yaml, knownUsers)
        const running = await startAdmin({ yaml, store, now: Date.now, knownUsers: new KnownUsers({ store, reserve }) })
        try {
          await holds(of, { store, running, gateway })
        } finally {
          gateway.close()
          await knownUsers.close()
          await clean()
        }
      }),
      { numRuns: runs(80, 6) },
    )
  })
})

interface Stage {
  readonly store: Store
  readonly running: Running
  readonly gateway: ReturnType<typeof createGateway>
}

async function holds(of: World, { store, running, gateway }: Stage): Promise<void> {
  const payers = of.persons.map(({ plan, organisation }, i): Payer => ({ user: `user ${i}`, plan, organisation }))
  const known = payers.filter((_, i) => of.persons[i]?.isKnown).map(({ user }) => user)
  if (of.reserve !== undefined && known.length > 0) {
    await store.noteUsers(known, 86_400_000)
    await sleep(1100)
  }
  await store.noteMemberships(payers, 86_400_000)
  const put = async (path: string, body: object) => {
    const { status, text } = await running.call('PUT', path, { body: { ...body, reason: 'a test' } })
    expect([200, 400], text).toContain(status)
  }
  for (const [i, { override }] of of.persons.entries()) {
    if (override !== null) await put(`/api/users/user%20${i}/override`, override)
  }
  for (const [id, limits] of Object.entries(of.organisations)) await put(`/api/organisations/${id}/override`, limits)
  await gateway.follow()
  for (const [i, { spent }] of of.persons.entries()) {
    for (const category of CATEGORIES) {
      if (spent[category] > 0) await gateway.spend(payers[i] as Payer, category, spent[category])
    }
  }
  let before = await refusedNow(payers, gateway)
  for (const body of [{}, ...of.patches]) {
    const seen = await seenNow(running)
    const { json: preview } = await running.call('POST', '/api/quota/preview', { body })
    if (Object.keys(body).length > 0) await running.call('PATCH', '/api/quota', { body })
    await gateway.follow()
    const after = await refusedNow(payers, gateway)
    const then = after.filter((user) => seen.has(user))
    const wasRefused = before.filter((user) => seen.has(user))
    expect(ofBlocked(preview.blocked)).toEqual(then)
    expect(preview).toMatchObject({
      blockedCount: then.length,
      newlyBlockedCount: then.filter((user) => !before.includes(user)).length,
      freedCount: wasRefused.filter((user) => !after.includes(user)).length,
    })
    await isTold(running, payers, after)
    before = after
  }
}

async function refusedNow(payers: readonly Payer[], gateway: Stage['gateway']): Promise<string[]> {
  const refused: string[] = []
  for (const payer of payers) if (await gateway.refuses(payer)) refused.push(payer.user)
  return refused
}

/** Who has used something, or has an override: nobody else is in any list. */
async function seenNow(running: Running): Promise<Set<string>> {
  const { json } = await running.call('GET', '/api/users?limit=200')
  return new Set(json.users.map(({ user }: { user: string }) => user))
}

async function isTold(running: Running, payers: readonly Payer[], refused: readonly string[]): Promise<void> {
  const [all, blocked, byUse] = await Promise.all(
    ['', '&blocked=true', '&blocked=true&order=tokens'].map((query) =>
      running.call('GET', `/api/users?limit=200${query}`),
    ),
  )
  const seen = new Set<string>(all?.json.users.map(({ user }: { user: string }) => user))
  const seenRefused = refused.filter((user) => seen.has(user))
  expect(ofBlocked(all?.json.users.filter((line: { blocked: boolean }) => line.blocked))).toEqual(seenRefused)
  expect(ofBlocked(blocked?.json.users)).toEqual(seenRefused)
  // Whoever has an override and has used nothing is nowhere in an order by use.
  expect(seenRefused).toEqual(expect.arrayContaining(ofBlocked(byUse?.json.users)))
  for (const { user } of payers) {
    const { json } = await running.call('GET', `/api/users/${encodeURIComponent(user)}`)
    expect([user, json.standing.state === 'refused']).toEqual([user, refused.includes(user)])
  }
}

function ofBlocked(users: readonly { readonly user: string }[]): string[] {
  return users.map(({ user }) => user).sort()
}

const SMALL = `upstream: { url: "http://127.0.0.1:9000" }
store: "sqlite::memory:"
admin: { token: ${TOKEN} }
quota:
  exempt: { users: [monitor] }
  plans:
    small: { organisation: { read: { 1h: 40 } } }
    large: { organisation: { read: { 1h: 400 } } }
routes:
  - { match: GET /r, category: read, cost: 1 }
`

test('an exempt user is marked as such wherever limits of the user are shown, and is never blocked', async () => {
  const running = await startAdmin({ yaml: SMALL })
  await running.spend('monitor', 'read', 1_000_000)
  const exempt = { state: 'exempt', by: null }
  expect((await running.call('GET', '/api/users/monitor')).json.standing).toEqual(exempt)
  expect((await running.call('GET', '/api/users?order=use')).json.users).toMatchObject([
    { user: 'monitor', blocked: false, standing: exempt },
  ])
  expect((await running.call('GET', '/api/in-force/users/monitor')).json.exempt).toBe(true)
  expect((await running.call('GET', '/api/in-force/users/alice')).json.exempt).toBe(false)
  const block = { body: { read: { '1h': 0 }, reason: 'an attack' } }
  const { json: blocked } = await running.call('PUT', '/api/users/monitor/override', block)
  expect(blocked).toMatchObject({ exempt: true, warnings: [] })
  const { json: other } = await running.call('PUT', '/api/users/alice/override', block)
  expect(other).toMatchObject({ exempt: false, warnings: [{ limit: 0 }] })
})

test('a preview judges an organisation by each plan that its users have, whoever spoke last', async () => {
  const running = await startAdmin({ yaml: SMALL })
  const { store } = running
  const member = (user: string, plan: string): Payer => ({ user, plan, organisation: 'acme' })
  const { config } = configOf(SMALL)
  const policy = createLimitsInForce(config.quota).policy()
  const charge = (payer: Payer, cost: number): Charge => {
    const limits = policy.limitsFor('read', payer)
    return { user: payer.user, organisation: 'acme', category: 'read', cost, limits, forced: true }
  }
  const [small, large] = [member('m2', 'small'), member('m1', 'large')]
  await store.settle({ instance: 'test', sequence: 1, refunds: [], charges: [charge(small, 30), charge(large, 7)] })
  for (const order of [
    [small, large],
    [large, small],
  ]) {
    for (const payer of order) await store.noteMemberships([payer], 60_000)
    const { json } = await running.call('POST', '/api/quota/preview', { body: { mode: 'conservative' } })
    expect(json.organisations).toMatchObject({ blockedCount: 1, newlyBlockedCount: 1 })
    expect(json.organisations.blocked).toMatchObject([{ organisation: 'acme', plan: 'small', limit: 30, used: 37 }])
    expect(json.blocked).toMatchObject([{ user: 'm2', scope: 'Organisation', blockedNow: false }])
  }
})
