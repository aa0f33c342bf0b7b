import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Counter, usageOf } from '../../src/quota/counter.ts'
import type { Length } from '../../src/quota/window.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { atEnd, tempFolder } from '../setup/at-end.ts'
import type { FaultProxy } from '../setup/fault-proxy.ts'
import { type Asked, Client } from './client.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { monthFarFromItsEnd } from './month.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/**
 * Two gateways over one store, of which one has the fault. In every row of the matrix clients ask both for more than the
 * limit, before, within and after the fault. What then must hold is arithmetic: the upstream saw exactly as many requests
 * as the limit allows, each of them once, and the counters say the same.
 */

/** What `quota.store_outage` says of a category. Each row runs with all of them. */
const POLICIES = ['refuse', 'allow'] as const
export const SCOPES = ['personal', 'organisation', 'global'] as const
type Policy = (typeof POLICIES)[number]
type Scope = (typeof SCOPES)[number]

/** One category of a row: which limit binds in it, and what it does without the store. */
interface Column {
  readonly category: string
  readonly policy: Policy
  readonly scope: Scope
}

export const COST = 3
/** Not a multiple of the cost, so that what is used up and what is allowed are two numbers. */
const LIMIT = 301
/** The window of users and of everybody. */
const DAY: Length = { seconds: 86_400 }
/** The window of organisations. */
const MONTH = monthFarFromItsEnd()
export const FITTING = Math.floor(LIMIT / COST)
const PLENTY = 1_000_000
/** Of the limits, for each gateway that is cut off. */
const SHARE = 0.1
const SHARE_FITS = Math.floor((LIMIT * SHARE) / COST)

function columnsOf(row: string): Column[] {
  return POLICIES.flatMap((policy) =>
    SCOPES.map((scope) => ({ category: `${row}_${policy.slice(0, 1)}${scope.slice(0, 1)}`, policy, scope })),
  )
}

/** How many ask each gateway at once. */
const ASKERS = { personal: 1, organisation: 2, global: 3 } as const satisfies Record<Scope, number>

let users = 0
/**
 * Of a personal column always the same. Of the others another for each request, so that its counter tells what became of
 * that very request: a charge that counts twice cannot hide behind one that was forgotten. All users of a column belong to an
 * organisation with the name of its category.
 */
function nextUser({ category, scope }: Column): string {
  return `${category}-${scope === 'personal' ? 'u' : ++users}`
}

export interface WorldOptions {
  readonly rows: readonly string[]
  /** URLs of the store: as the two gateways see it, and past all faults. */
  readonly stores: readonly [string, string]
  readonly store: string
  /** How long each of the gateways waits for the store. Default 250ms. */
  readonly deadlines?: readonly [string, string]
}

export interface World {
  readonly upstream: LoggingUpstream
  readonly gateways: readonly [Gateway, Gateway]
  readonly client: Client
  /** Reads the counters past all faults, as they are stored. */
  readonly witness: Store
}

/** What a scope may use in a category. */
function limitOf({ category, scope: binding }: Column, scope: Scope): string {
  const limit = scope === binding ? LIMIT : PLENTY
  const [day, month] = scope === 'organisation' ? [PLENTY, limit] : [limit, PLENTY]
  return `${category}: { 1d: ${day}, month: ${month} }`
}

function quotaConfig(columns: readonly Column[], upstream: string, store: string, deadline: string): string {
  const limits = (scope: Scope): string => `{ ${columns.map((column) => limitOf(column, scope)).join(', ')} }`
  const outage = columns.filter((c) => c.policy === 'allow').map((c) => `${c.category}: { allow: ${SHARE * 100}% }`)
  return `
upstream: { url: "${upstream}", connect_timeout: 1s, response_timeout: 10s }
store: "${store}"
store_options: { deadline: ${deadline} }
quota:
  windows: { 1d: 1d, month: { calendar: month, zone: ${MONTH.calendar.zone} } }
  baselines:
    personal: ${limits('personal')}
    global: ${limits('global')}
  plans: { team: { organisation: ${limits('organisation')} } }
  default_plan: team
  store_outage: { ${outage.join(', ')} }
routes:
${columns.map((c) => `  - { match: "GET|POST /${c.category}/:id", category: ${c.category}, cost: ${COST} }`).join('\n')}
# A machine with a lot to do is not what these rows are about.
edge: { max_lag: 1m }
log: { requests: none }
`
}

export async function startWorld({
  rows,
  stores,
  store,
  deadlines = ['250ms', '250ms'],
}: WorldOptions): Promise<World> {
  const folder = tempFolder()
  const upstream = await startLoggingUpstream()
  const columns = rows.flatMap(columnsOf)
  const config = (url: string, deadline: string): string =>
    quotaConfig(columns, `http://127.0.0.1:${upstream.port}`, url, deadline)
  const start = (name: string, which: 0 | 1): Promise<Gateway> =>
    startGateway({ file: join(folder, `${name}.yaml`), config: config(stores[which], deadlines[which]) })
  const gateways = await Promise.all([start('one', 0), start('two', 1)])
  const witness = openRedisStore({ url: store, deadlineMs: 5000, observe: () => {} })
  atEnd(() => witness.close())
  const client = new Client()
  atEnd(() => client.close())
  return {
    upstream,
    gateways,
    client,
    witness,
  }
}

export interface Fault {
  /** Brings the fault about; clients ask all the time from before until after. */
  inject(): Promise<void> | void
  /** How long it lasts at least, in milliseconds. Default 1000. */
  readonly lastsMs?: number
  /** What it leaves to do besides healing the proxies. */
  cure?(): Promise<void> | void
  /** `reason` of the failures in the metrics of the first gateway; none is expected where it is left out. */
  readonly reason?: string
  /** What the log of the first gateway says of it. */
  readonly told?: RegExp
  /** How often it cuts the connection, if that is more than once. */
  readonly reconnects?: number
  /** Whether every request is decided all the same: accepted, or refused by the limit. */
  readonly harmless?: boolean
  /** How many charges the store may forget by it. Default 0. */
  readonly forgets?: number
  /** Whether both gateways have the fault. Default: the first only, and the other goes on as ever. */
  readonly both?: boolean
  /** Whether `/readyz` of the gateways that have it is to tell it until it is over: they were ready, and stay so. */
  readonly degraded?: boolean
}

/** A gateway reports an outage once for each kind of call of the store, whatever the number of requests. */
const LINES_IN_AN_OUTAGE = 35
/** And each time that a connection is lost and made anew, which comes and goes with the network. */
const LINES_OF_A_RECONNECT = 5

export async function runRow(world: World, proxies: readonly FaultProxy[], row: string, fault: Fault): Promise<void> {
  const { gateways } = world
  const [first] = gateways
  const columns = columnsOf(row)
  await healthy(world)
  const failures = await first.metric(settleFailures(fault.reason ?? 'none'))
  const lines = first.events().length
  const traffic = startTraffic(world, columns)
  await sleep(100)

  try {
    await fault.inject()
    const over = sleep(fault.lastsMs ?? 1000)
    await expectTold(world, fault, failures, lines)
    await over
    if (fault.degraded) await expectPolicy(world, fault, columns)
  } catch (error) {
    await traffic.stop()
    throw error
  } finally {
    await fault.cure?.()
    for (const proxy of proxies) await proxy.heal()
  }

  await healthy(world)
  await sleep(100)
  const asked = await traffic.stop()
  expect(asked.filter(({ error }) => error === 'HANGS')).toEqual([])
  expectKnownResponses(asked, fault.harmless ? [] : fault.both ? gateways : [first])
  for (const column of columns) asked.push(...(await expectExact(world, column, fault)))
  expect(
    asked
      .filter(({ status }) => status === 200)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(idsSeen(world, columns))
  expect(first.events().length - lines).toBeLessThan(
    LINES_IN_AN_OUTAGE + LINES_OF_A_RECONNECT * (fault.reconnects ?? 0),
  )
  for (const gateway of gateways) expectUnharmed(gateway)
}

/** Metrics, log and readiness say what is wrong, while it is. */
async function expectTold({ gateways }: World, fault: Fault, failures: number, lines: number): Promise<void> {
  const [first] = gateways
  const { reason, told } = fault
  const count = (): Promise<number> => first.metric(settleFailures(reason ?? 'none'))
  const since = (): string => JSON.stringify(first.events().slice(lines))
  // All at the same time: a fault may be over before they are told one after the other.
  await Promise.all([
    reason !== undefined && expect.poll(count, { timeout: 30_000 }).toBeGreaterThan(failures),
    told !== undefined && expect.poll(since, { timeout: 30_000 }).toMatch(told),
    fault.degraded && readiness(fault.both ? gateways : [first], readinessOf(reason)),
  ])
}

/** Without the store a gateway admits its share of the limits where that is allowed, and nothing elsewhere. */
async function expectPolicy({ gateways }: World, fault: Fault, columns: readonly Column[]): Promise<void> {
  for (const gateway of fault.both ? gateways : [gateways[0]]) {
    // A moment after it is told: a charge waits for its deadline first.
    await expect.poll(() => gateway.metric('tollgate_store_circuit_open'), { timeout: 30_000 }).toBe(1)
    for (const { category, policy } of columns) {
      const accepted = (): Promise<number> =>
        gateway.metric(`tollgate_outage_charges_total{category="${category}",verdict="accepted"`)
      if (policy === 'refuse') expect(await accepted()).toBe(0)
      else await expect.poll(accepted, { timeout: 30_000 }).toBeGreaterThan(0)
      expect(await accepted()).toBeLessThanOrEqual(SHARE_FITS)
    }
  }
}

/** A store that answers is not said to be silent. */
function readinessOf(reason: string | undefined): RegExp {
  const isSilent = reason === undefined || reason === 'connection' || reason === 'timeout'
  return new RegExp(`^200 the quota store ${isSilent ? 'does not answer' : `takes no charges: ${reason}`}$`)
}

function settleFailures(reason: string): string {
  return `tollgate_store_errors_total{operation="settle",reason="${reason}"`
}

/** Every gateway is ready again, by itself. */
async function healthy({ gateways, witness }: World): Promise<void> {
  await readiness(gateways, /^200$/)
  await expect.poll(() => witness.ping().then(() => 'there'), { timeout: 30_000 }).toBe('there')
}

async function readiness(gateways: readonly Gateway[], expected: RegExp): Promise<void> {
  await Promise.all(
    gateways.map((gateway) => expect.poll(() => gateway.readiness(), { timeout: 30_000 }).toMatch(expected)),
  )
}

/** Asks both gateways again and again, in every column. */
function startTraffic({ gateways, client }: World, columns: readonly Column[]): { stop(): Promise<Asked[]> } {
  const asked: Asked[] = []
  let stopped = false
  const askers = gateways.flatMap(({ url }) =>
    columns.flatMap((column) =>
      Array.from({ length: ASKERS[column.scope] }, async () => {
        while (!stopped) {
          asked.push(await client.ask(url, column.category, nextUser(column)))
          await sleep(column.scope === 'personal' ? 20 : 60)
        }
      }),
    ),
  )
  return {
    stop: async () => {
      stopped = true
      await Promise.all(askers)
      return asked
    },
  }
}

/** Accepted, refused by the limit, or refused since the store is out: this only by a gateway that has the fault. */
function expectKnownResponses(asked: readonly Asked[], faulty: readonly Gateway[]): void {
  const urls = new Set(faulty.map(({ url }) => url))
  const strange = asked.filter(
    ({ status, error, gateway }) =>
      !(status === 200 || status === 429 || (error === 'store_unavailable' && urls.has(gateway))),
  )
  expect(strange).toEqual([])
}

/** Asks on until nothing more fits, and holds the counters against what the upstream saw. */
async function expectExact(world: World, column: Column, fault: Fault): Promise<Asked[]> {
  const { client, gateways } = world
  const asked: Asked[] = []
  const { forgets = 0, both = false } = fault
  const alone = column.policy === 'refuse' ? 0 : both ? 2 : 1
  async function standing() {
    const urls = [...Array<undefined>(8)].map((_, i) => gateways[i % 2]?.url ?? '')
    const responses = await Promise.all(urls.map((url) => client.ask(url, column.category, nextUser(column))))
    asked.push(...responses)
    // The counters of every user are a lot to read, and worth it only if nothing more fits.
    if (responses.some(({ status }) => status !== 429)) return { rest: false, exact: false, books: null }
    const books = await booksOf(world, column)
    const { seen, all, theirs, sum, wrong } = books
    const exact =
      all === sum && theirs === sum && wrong.every(({ used, seen }) => used < seen) && seen - sum <= forgets * COST
    return { rest: true, exact, books }
  }
  const last = await untilSettled(standing)
  expect({ column, ...last }).toMatchObject({ rest: true, exact: true })
  const { length } = world.upstream.of(column.category)
  expect(length).toBeGreaterThanOrEqual(FITTING)
  // What gateways that are cut off admit on their own may come on top, and no more.
  expect(length).toBeLessThanOrEqual(FITTING + forgets + alone * SHARE_FITS)
  return asked
}

/** What was charged for callers that were told of a failure is given back a little later. */
async function untilSettled<T extends { rest: boolean; exact: boolean }>(standing: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    const now = await standing()
    if ((now.rest && now.exact) || tries > 400) return now
    await sleep(now.rest ? 50 : 10)
  }
}

/** The counters of a column, against what the upstream saw. */
interface Books {
  /** Tokens that the upstream saw. */
  readonly seen: number
  /** Tokens of everybody, of the organisation, and of those together whose requests the upstream saw: the same, since all scopes are charged at once. */
  readonly all: number
  readonly theirs: number
  readonly sum: number
  /** Users who have used something else than the upstream saw of them. */
  readonly wrong: readonly { readonly user: string; readonly used: number; readonly seen: number }[]
}

async function booksOf({ witness, upstream }: World, { category }: Column): Promise<Books> {
  const requests = Map.groupBy(upstream.of(category), ({ user }) => user)
  const each = await Promise.all(
    [...requests].map(async ([user, { length }]) => {
      const { at, personal, organisation, global } = await witness.readUsage(user, [category], category)
      const used = ([counter = []]: readonly Counter[], window = DAY): number => usageOf(counter, window, at).used
      const [all, theirs] = [used(global), used(organisation ?? [], MONTH)]
      return { user, used: used(personal), seen: length * COST, all, theirs }
    }),
  )
  const total = (tokens: 'used' | 'seen'): number => each.reduce((sum, one) => sum + one[tokens], 0)
  const wrong = each.filter(({ used, seen }) => used !== seen).map(({ user, used, seen }) => ({ user, used, seen }))
  const { all = 0, theirs = 0 } = each.at(-1) ?? {}
  return { seen: total('seen'), all, theirs, sum: total('used'), wrong }
}

function idsSeen({ upstream }: World, columns: readonly Column[]): string[] {
  return columns.flatMap(({ category }) => upstream.of(category).map(({ id }) => id)).sort()
}

/** It runs, and nothing was written but lines of the log, and of these none that tells of a fault of its own. */
export function expectUnharmed({ process }: Gateway): void {
  expect([process.child.exitCode, process.child.signalCode]).toEqual([null, null])
  expect(process.output()).not.toMatch(/internal error|Unhandled|Exception|^\s+at /m)
}

/** Tokens of the series, by category. */
export async function seriesOf(store: Store): Promise<Record<string, number>> {
  const { rows } = await store.readSeries({ by: 'category', from: 0, to: Number.MAX_SAFE_INTEGER })
  const sums: Record<string, number> = {}
  for (const { name, counts } of rows) sums[name] = (sums[name] ?? 0) + counts.tokens
  return sums
}

/** Tokens of all runs that the organisation of a category has in its month. */
async function keptOf(store: Store, category: string): Promise<number> {
  const { history } = await store.readHistory('organisation', category)
  let sum = 0
  history.eachRun(0, Number.MAX_SAFE_INTEGER, (_category, seconds, _startedAt, tokens) => {
    if (seconds === MONTH.seconds) sum += tokens
  })
  return sum
}

/** Nothing arrives later: long after the last fault every counter, history and series is what the upstream saw. */
export async function expectNothingCameLater(world: World, rows: readonly string[]): Promise<void> {
  const seenOf = (category: string): number => world.upstream.of(category).length * COST
  const categories = rows.flatMap(columnsOf).map(({ category }) => category)
  const seen = Object.fromEntries(categories.map((category) => [category, seenOf(category)]))
  // A flush that failed is sent again.
  await expect.poll(() => seriesOf(world.witness), { timeout: 30_000 }).toEqual(seen)
  for (const category of categories) expect(await keptOf(world.witness, category), category).toBe(seen[category])
  for (const column of rows.flatMap(columnsOf)) {
    const seen = world.upstream.of(column.category).length * COST
    expect([column.category, await booksOf(world, column)]).toEqual([
      column.category,
      { seen, all: seen, theirs: seen, sum: seen, wrong: [] },
    ])
  }
}
