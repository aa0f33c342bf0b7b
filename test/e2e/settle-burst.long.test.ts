import type http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, fetch } from 'undici'
import { beforeAll, expect, it, vi } from 'vitest'
import { bookWindow } from '../../src/quota/books.ts'
import { usageOf } from '../../src/quota/counter.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { startRedis } from '../setup/redis.ts'
import { createRandom } from '../simulate/random.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/**
 * What is counted in all three scopes, in the history and in the series is what the upstream said, by its own log, whatever is lost on the
 * way to the store.
 */

const RESERVE = 10
const MAX = 40
const USERS = Array.from({ length: 12 }, (_, i) => ({ user: `user-${i}`, org: `org-${i % 3}` }))
const REQUESTS = 900
const HOUR = { name: '1h', seconds: 3600 }
/** So short that its runs end meanwhile, and go into the history. */
const SHORT = { name: '1s', seconds: 1 }
/** Of the books, as a history names it. */
const DAY = bookWindow('UTC').seconds

let redis: Awaited<ReturnType<typeof startRedis>>
let proxies: FaultProxy[]
let store: Store
let upstream: Upstream
/** What each request costs by the upstream's log, by its path. */
let said: Map<string, number>
beforeAll(async () => {
  redis = await startRedis()
  proxies = await Promise.all([1, 2, 3].map(() => startFaultProxy(redis.port)))
  store = closedAtEnd(openRedisStore({ url: redis.url, prefix: 'settle', deadlineMs: 5000, observe: () => {} }))
  await vi.waitFor(() => store.ping(), { timeout: 30_000 })
  said = new Map()
  const random = createRandom(33)
  upstream = await startUpstream(({ url }, res) => {
    if (said.has(url)) throw new Error(`${url} came twice`)
    said.set(url, respond(res, random.integer(0, 5), random.integer(0, MAX + 10)))
  })
})

/** @returns what the request costs by it */
function respond(res: http.ServerResponse, kind: number, tokens: number): number {
  const body = JSON.stringify({ usage: { tokens } })
  switch (kind) {
    case 0:
      res.writeHead(500).end(body)
      return 0
    case 1:
      res.writeHead(404).end(body)
      return 1
    case 2:
      res.socket?.destroy()
      // The client gets 502, and the reserve stands.
      return RESERVE
    case 3:
      res.end('no JSON')
      return RESERVE
    default:
      res.write(body.slice(0, 5))
      res.end(body.slice(5))
      return Math.min(tokens, MAX)
  }
}

function start(proxy: FaultProxy): Promise<RunningApp> {
  const limits = '{ c: { 1s: 100000, 1h: 700 } }'
  const text = yaml(
    upstream.url,
    `
store_options: { prefix: settle, deadline: 5s }
quota:
  windows: { 1s: 1s, 1h: 1h }
  baselines: { personal: ${limits}, global: { c: { 1s: 1000000, 1h: 100000 } } }
  plans: { team: { personal: ${limits}, organisation: { c: { 1s: 100000, 1h: 2500 } } } }
  default_plan: team
edge: { max_in_flight: 5000, max_lag: 1m }
routes: [{ match: POST /*, category: c, cost: ${RESERVE}, settle: { status: { 4xx: 1, 5xx: 0 }, json: usage.tokens, max: ${MAX} } }]`,
    `redis://127.0.0.1:${proxy.port}`,
  ).replace(`secret: ${SECRET},`, `secret: ${SECRET}, organisation_claim: org,`)
  return startApp(text)
}

it('requests over 3 gateways that lose replies of one Redis are counted, kept and added up with what the upstream said', async () => {
  const apps = await Promise.all(proxies.map(start))
  const dispatcher = new Agent({ connections: 60 })
  const credentials = USERS.map(({ user, org }) => ({ authorization: `Bearer ${jwtOf(user, { org })}` }))
  const paid = new Map<string, (typeof USERS)[number]>()
  const statuses = new Map<number, number>()
  let next = 0
  /** @param end the first request that is none of it */
  async function burst(end: number): Promise<void> {
    await Promise.all(Array.from({ length: 30 }, () => client(end)))
  }
  async function client(end: number): Promise<void> {
    for (; next < end; ) {
      const i = next++
      const path = `/r${i}`
      paid.set(path, USERS[i % USERS.length] as (typeof USERS)[number])
      const headers = credentials[i % USERS.length] ?? {}
      const response = await fetch(`${apps[i % 3]?.url}${path}`, { method: 'POST', headers, dispatcher })
      await response.text()
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      if (i % 40 === 0) proxies[i % 3]?.dropReply({ containing: '"plans":' })
      if (i % 250 === 0) proxies[i % 3]?.dropReply({ containing: ':series:' })
    }
  }
  await burst(REQUESTS / 2)
  await sleep(SHORT.seconds * 1000 + 100)
  await burst(REQUESTS)
  await dispatcher.close()
  await Promise.all(apps.map((app) => app.stop()))

  // There is something to see: refusals, failures, and replies that were lost.
  for (const status of [200, 404, 429, 500, 502]) expect(statuses.get(status), `${status}`).toBeGreaterThan(0)
  expect(apps.flatMap(({ observations }) => observations).some(({ type }) => type === 'outcome_unknown')).toBe(true)
  const sum = (of: (each: (typeof USERS)[number]) => boolean): number =>
    [...said].reduce((all, [path, tokens]) => (of(paid.get(path) ?? { user: '', org: '' }) ? all + tokens : all), 0)
  for (const { user, org } of USERS) {
    const { at, personal, organisation, global } = await store.readUsage(user, ['c'], org)
    const used = [personal, organisation, global].map((of) => usageOf(of?.[0] ?? [], HOUR, at).used)
    const [ofUser, ofOrganisation] = [sum((each) => each.user === user), sum((each) => each.org === org)]
    expect(used, user).toEqual([ofUser, ofOrganisation, sum(() => true)])
    expect(await kept('personal', user), user).toEqual({ 1: ofUser, 3600: ofUser, [DAY]: ofUser })
    expect(await kept('organisation', org), org).toEqual({
      1: ofOrganisation,
      3600: ofOrganisation,
      [DAY]: ofOrganisation,
    })
  }
  const { personal } = await store.readUsage('user-0', ['c'])
  const [history] = [(await store.readHistory('personal', 'user-0')).history]
  let runs = 0
  history.eachRun(0, Number.MAX_SAFE_INTEGER, (_category, seconds) => {
    if (seconds === SHORT.seconds) runs++
  })
  // Two windows and the day of the books.
  expect(personal[0]).toHaveLength(3)
  expect(runs).toBeGreaterThan(1)

  for (const by of ['all', 'category', 'plan', 'route'] as const) {
    const { rows } = await store.readSeries({ by, from: Date.now() - 3_600_000, to: Date.now() + 3_600_000 })
    const total = (of: (counts: (typeof rows)[number]['counts']) => number): number =>
      rows.reduce((all, { counts }) => all + of(counts), 0)
    expect(
      {
        requests: total(({ requests }) => requests),
        tokens: total(({ tokens }) => tokens),
        refused: total((each) => each.refusedPersonal + each.refusedOrganisation + each.refusedGlobal),
        status4xx: total(({ status4xx }) => status4xx),
        status5xx: total(({ status5xx }) => status5xx),
        status0: total(({ status0 }) => status0),
      },
      by,
    ).toEqual({
      requests: REQUESTS,
      tokens: sum(() => true),
      refused: statuses.get(429),
      status4xx: statuses.get(404),
      status5xx: statuses.get(500),
      status0: statuses.get(502),
    })
  }
})

/** The tokens of all runs of a user or an organisation, by the length of the window. */
async function kept(scope: 'personal' | 'organisation', id: string): Promise<Record<number, number>> {
  const { history } = await store.readHistory(scope, id)
  const sums: Record<number, number> = {}
  history.eachRun(0, Number.MAX_SAFE_INTEGER, (_category, seconds, _startedAt, tokens) => {
    sums[seconds] = (sums[seconds] ?? 0) + tokens
  })
  return sums
}
