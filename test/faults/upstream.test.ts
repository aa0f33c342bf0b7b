import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { type Asked, Client, readJson } from './client.ts'
import { type Gateway, startGateway, untilReady } from './gateway.ts'
import { expectUnharmed } from './matrix.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/**
 * What goes wrong between a gateway and its upstream. A charge is given back only when certainly nothing was sent, so:
 * charges = requests that the upstream saw + requests that were sent and that it may have seen.
 */

const COST = 7
const BODY = 'x'.repeat(5000)

let folder: string
let redis: RedisServer
let toRedis: FaultProxy
let upstream: LoggingUpstream
let toUpstream: FaultProxy
/** Two replicas that differ in `quota.refund`. */
let unreached: Gateway
let never: Gateway
let client: Client

beforeAll(async () => {
  folder = tempFolder()
  redis = await startRedis()
  toRedis = await startFaultProxy(redis.port)
  upstream = await startLoggingUpstream(async ({ category }, req, res) => {
    req.resume()
    if (category === 'settled') res.setHeader('X-Cost', await cost)
    res.writeHead(200, { 'content-length': BODY.length }).end(BODY)
  })
  toUpstream = await startFaultProxy(upstream.port)
  const config = (refund: string, redisPort: number): string => `
upstream: { url: "http://127.0.0.1:${toUpstream.port}", connect_timeout: 700ms, response_timeout: 1500ms, idle_timeout: 1500ms }
store: redis://127.0.0.1:${redisPort}
store_options: { deadline: 2s }
quota:
  windows: { 1d: 1d }
  baselines: { personal: { c: { 1d: 1000 } }, global: { c: { 1d: 100000 } } }
  refund: ${refund}
edge: { max_lag: 1m }
routes:
  - { match: "GET|POST /*", category: c, cost: ${COST} }
  - { match: "POST /settled/*", category: c, cost: ${COST}, settle: { header: X-Cost, max: 100 } }
  - { match: "POST /once/*", category: c, cost: ${COST}, idempotency: {} }
log: { requests: errors }
`
  const start = (refund: string, port: number): Promise<Gateway> =>
    startGateway({ file: join(folder, `${refund}.yaml`), config: config(refund, port) })
  ;[unreached, never] = await Promise.all([start('unreached', toRedis.port), start('never', redis.port)])
  await Promise.all([unreached, never].map(untilReady))
})

/** What the upstream says that a request cost; it does not respond before it knows. */
let cost: Promise<number> | number = COST
let users = 0
let user: string
let mark: number
beforeAll(() => {
  client = new Client()
})
afterEach(async () => {
  await toUpstream.heal()
  await toRedis.heal()
  for (const gateway of [unreached, never]) expectUnharmed(gateway)
})

/** A user with nothing used, and no connection to the upstream kept. */
function begin(): void {
  user = `user-${++users}`
  mark = upstream.seen.length
  toUpstream.reset()
}
const ask = (gateway: Gateway, method: 'GET' | 'POST' = 'POST'): Promise<Asked> =>
  client.ask(gateway.url, 'c', user, { method })
const askSettled = (gateway: Gateway): Promise<Asked> => client.ask(gateway.url, 'settled', user)
/** The one request of this user, once more. */
const repeat = (gateway: Gateway): Promise<Asked> => client.ask(gateway.url, 'once', user, { key: user })
const seen = (): number => upstream.seen.length - mark
async function used(gateway: Gateway = never): Promise<number> {
  type Status = { windows: { c: { used: number }[] } }
  const { windows } = await readJson<Status>(`${gateway.url}/me/quota`, user)
  return windows.c[0]?.used ?? -1
}
async function expectUsed(tokens: number): Promise<void> {
  await expect.poll(() => used(), { timeout: 30_000 }).toBe(tokens)
}
/** After the fault a request passes, is charged once, and seen once. */
async function expectHealed(gateway: Gateway): Promise<void> {
  await toUpstream.heal()
  const [before, charged] = [seen(), await used()]
  expect(await ask(gateway)).toMatchObject({ status: 200 })
  expect([seen(), await used()]).toEqual([before + 1, charged + COST])
}
function expectLogged(gateway: Gateway, { error }: Asked): void {
  const last = gateway.process.lines().findLast((line) => line.msg === 'request')
  expect(last).toMatchObject({ outcome: 'failed', httpStatus: 0, error, reason: expect.any(String) })
}

interface Broken {
  readonly mishap: () => void | Promise<void>
  /** Whether a request was served before, on a connection that is kept. */
  readonly warm?: boolean
  readonly status: number
  readonly error: string
  /** Whether the charge stays. With `refund: never` it stays always. */
  readonly charged: boolean
  readonly seen: number
}

async function expectBroken({ mishap, warm, status, error, charged, seen: expected }: Broken): Promise<void> {
  for (const gateway of [unreached, never]) {
    begin()
    if (warm) expect(await ask(gateway)).toMatchObject({ status: 200 })
    const [before, free] = [seen(), await used()]
    await mishap()
    const response = await ask(gateway)
    expect(response).toMatchObject({ status, error })
    await expectUsed(free + (charged || gateway === never ? COST : 0))
    expect(seen() - before).toBe(expected)
    if (status > 0) await expect.poll(() => expectLogged(gateway, response), { timeout: 30_000 }).toBeUndefined()
    toUpstream.reset() // what is still on its way is lost
    await expectHealed(gateway)
  }
}

describe('between the gateway and its upstream', () => {
  const unreachable = { status: 502, error: 'upstream_unreachable', charged: false, seen: 0 }
  const bad = { status: 502, error: 'bad_upstream_answer', charged: true }
  const late = { status: 504, error: 'upstream_timeout', charged: true }

  fault('upstream_refuses', () => expectBroken({ mishap: () => toUpstream.refuseConnects(), ...unreachable }))
  fault('upstream_connect_hangs', () => expectBroken({ mishap: () => toUpstream.hangConnects(), ...unreachable }))
  fault('upstream_request_lost', () => expectBroken({ mishap: () => toUpstream.dropRequest(), ...bad, seen: 0 }))
  fault('upstream_reply_lost', () => expectBroken({ mishap: () => toUpstream.dropReply(), ...bad, seen: 1 }))
  fault('upstream_reply_lost_kept', () =>
    expectBroken({ mishap: () => toUpstream.dropReply(), warm: true, ...bad, seen: 1 }),
  )
  fault('upstream_head_cut', async () => {
    await expectBroken({ mishap: () => toUpstream.cutReply(12), ...bad, seen: 1 })
    await expectBroken({ mishap: () => toUpstream.cutReply(12, { by: 'fin' }), ...bad, seen: 1 })
  })
  fault('upstream_body_cut', async () => {
    const broken = { status: 0, charged: true, seen: 1 }
    await expectBroken({ mishap: () => toUpstream.cutReply(1000), ...broken, error: 'ECONNRESET' })
    await expectBroken({ mishap: () => toUpstream.cutReply(1000, { by: 'fin' }), ...broken, error: 'ECONNRESET' })
  })
  fault('upstream_late', () => expectBroken({ mishap: () => toUpstream.delay(1000), ...late, seen: 1 }))
  fault('upstream_half_open', () => expectBroken({ mishap: () => toUpstream.halfOpen(), warm: true, ...late, seen: 0 }))
  fault('upstream_trickle', () => expectBroken({ mishap: () => toUpstream.throttle(1), ...late, seen: 0 }))

  fault('upstream_blackhole', async () => {
    begin()
    toUpstream.blackhole()
    expect(await ask(unreached)).toMatchObject({ status: 504 })
    expect([seen(), await used()]).toEqual([0, COST])
    // What was on its way arrives after all: it had been charged.
    await toUpstream.heal()
    await expect.poll(seen).toBe(1)
    await expectHealed(unreached)
    expect([seen(), await used()]).toEqual([2, 2 * COST])
  })

  fault('upstream_reply_lost_repeated', async () => {
    begin()
    toUpstream.dropReply()
    expect(await repeat(unreached)).toMatchObject({ status: 502, error: 'bad_upstream_answer' })
    const [again, once] = [await repeat(never), await repeat(unreached)]
    expect([again, once].map(({ status, headers }) => [status, headers['x-tollgate-replay']])).toEqual([
      [200, '1'],
      [200, '1'],
    ])
    expect([seen(), await used()]).toEqual([3, COST])
  })

  fault('upstream_refuses_repeated', async () => {
    begin()
    await toUpstream.hangConnects()
    const all = await Promise.all([repeat(unreached), repeat(unreached), repeat(unreached)])
    for (const { status } of all) expect(status).toBe(502)
    await expectUsed(0)
    await toUpstream.heal()
    expect(await repeat(unreached)).toMatchObject({ status: 200 })
    expect([seen(), await used()]).toEqual([1, COST])
  })

  fault('upstream_get_again', async () => {
    for (const gateway of [unreached, never]) {
      begin()
      expect(await ask(gateway, 'GET')).toMatchObject({ status: 200 })
      toUpstream.dropReply()
      const again = await ask(gateway, 'GET')
      expect(again).toMatchObject({ status: 200 })
      expect(upstream.seen.filter(({ id }) => id === again.id)).toHaveLength(2)
      expect(await used()).toBe(2 * COST)
    }
  })

  fault('upstream_and_store', async () => {
    begin()
    await toUpstream.hangConnects()
    const waiting = ask(unreached)
    await expectUsed(COST)
    toRedis.blackhole()
    expect(await waiting).toMatchObject({ status: 502, error: 'upstream_unreachable' })
    toRedis.reset()
    expect(await used()).toBe(COST)
    await toRedis.heal()
    await expectUsed(0)
    await toUpstream.heal()
    await expect.poll(() => unreached.readiness(), { timeout: 30_000 }).toBe('200')
    await expectHealed(unreached)
    expect(await used()).toBe(COST)
  })

  /** A request under way that costs so much in the end, when `respond` is called. */
  async function unsettled(final: number) {
    begin()
    const known = Promise.withResolvers<number>()
    cost = known.promise
    const response = askSettled(unreached)
    await expectUsed(COST)
    return { response, respond: () => known.resolve(final) }
  }

  async function expectSettled(final: number): Promise<void> {
    await expectUsed(final)
    await expect.poll(() => unreached.readiness(), { timeout: 30_000 }).toBe('200')
    await expectHealed(unreached)
    expect(await used()).toBe(final + COST)
  }

  const failures = (): Promise<number> => unreached.metric('tollgate_store_errors_total{operation="settle"')
  const FINAL_COSTS = [0, 2, 50]

  fault('settled_and_store', async () => {
    for (const final of FINAL_COSTS) {
      const { response, respond } = await unsettled(final)
      toRedis.blackhole()
      respond()
      expect(await response).toMatchObject({ status: 200, headers: { 'x-tollgate-charged': String(final) } })
      toRedis.reset()
      expect(await used()).toBe(COST)
      await toRedis.heal()
      await expectSettled(final)
    }
  })

  fault('settled_reply_lost', async () => {
    for (const final of FINAL_COSTS) {
      const { response, respond } = await unsettled(final)
      const failed = await failures()
      // Of the batch that has a refund.
      toRedis.dropReply({ containing: '"refunds":[[' })
      respond()
      expect(await response).toMatchObject({ status: 200 })
      await expect.poll(failures, { timeout: 30_000 }).toBeGreaterThan(failed)
      await expectSettled(final)
    }
  })

  fault('settled_cut', async () => {
    for (const gateway of [unreached, never]) {
      begin()
      cost = 2
      toUpstream.cutReply(1000)
      expect(await askSettled(gateway)).toMatchObject({ status: 0 })
      await expectUsed(2)
      await expect
        .poll(() => gateway.process.lines().findLast((line) => line.msg === 'request'))
        .toMatchObject({ outcome: 'failed', cost: COST, charged: 2 })
      await expectHealed(gateway)
    }
  })
})
