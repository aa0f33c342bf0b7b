import type { RequestListener } from 'node:http'
import { expect, test, vi } from 'vitest'
import { createDataPlane } from '../../src/app/data-plane.ts'
import { createEventLoopDelay } from '../../src/lib/event-loop-delay.ts'
import type { Observation, Observer } from '../../src/observe/observation.ts'
import { fanOut } from '../../src/observe/tee.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { ecKey, serve, serveJson } from '../auth/support.ts'
import { understood } from '../e2e/harness.ts'
import { request } from '../observe/request.ts'
import { atEnd, closedAtEnd } from '../setup/at-end.ts'
import { freePort } from '../setup/redis.ts'

test('a store that connects while the parts are still made, as a reference that is read, is no internal error', async () => {
  const seen: Observation[] = []
  const { observe, making } = make('reference: { path: /reference }', (observation) => seen.push(observation))
  observe({ type: 'store_connected' })
  const serving = await making
  expect(seen).toEqual([{ type: 'store_connected' }])
  await serving.stop()
})

test('a gateway is ready from its start until it drains, and says which of the two it waits for', async () => {
  const { making } = make('listen: 127.0.0.1:0')
  const serving = await making
  expect(serving.ready(true)).toMatchObject({ ready: false, reasons: expect.arrayContaining(['starting']) })
  await serving.start()
  expect(serving.ready()).toEqual({ ready: true, reasons: [] })
  serving.drain.turn(true)
  expect(serving.ready()).toEqual({ ready: false, reasons: ['draining'] })
  serving.drain.turn(false)
  expect(serving.ready()).toEqual({ ready: true, reasons: [] })
  const stopped = serving.stop()
  serving.drain.turn(false)
  expect(serving.ready()).toEqual({ ready: false, reasons: ['draining'] })
  await stopped
})

test('a gateway that starts without the keys of an issuer is not ready for readiness.credentials, then ready, and names it until the keys come', async () => {
  const { jwk } = ecKey('one')
  const server = await serve(serveJson({ jwks_uri: 'https://id.test/keys' }))
  const jwt = `{ issuer: "https://id.test", audience: t, jwks: "${server.url}", algorithms: [ES256] }`
  const serving = await started(`listen: 127.0.0.1:0\nauth: { jwt: [${jwt}] }\nreadiness: { credentials: 1s }`)
  const reasons = [
    'https://id.test: no signing key of this issuer is known, so none of its tokens is accepted (the log says why)',
  ]
  const waiting = 'waiting for what credentials are checked with, for readiness.credentials after the start at most'
  expect(serving.ready()).toEqual({ ready: false, reasons: [waiting, ...reasons] })
  expect(serving.ready(true)).toEqual({ ready: true, reasons })
  await expect.poll(() => serving.ready(), { timeout: 10_000 }).toEqual({ ready: true, reasons })
  server.answer = serveJson({ keys: [jwk] })
  const other = `listen: 127.0.0.1:0\nauth: { jwt: [${jwt.replace('/jwks', '/others')}] }`
  const { config, hash } = understood(`upstream: { url: "https://127.0.0.1:1" }\n${other}`)
  await serving.reload(config, hash)
  await expect.poll(() => serving.ready()).toEqual({ ready: true, reasons: [] })
})

test('a gateway that starts is ready as soon as keys and providers are there, however long it might wait', async () => {
  const { jwk } = ecKey('one')
  const out: RequestListener = (_, res) => res.writeHead(500).end()
  const [keys, provider] = [await serve(out), await serve(out)]
  const jwt = `{ issuer: "https://id.test", audience: t, jwks: "${keys.url}", algorithms: [ES256] }`
  const asked = `{ url: "${provider.url}", client_id: gateway, client_secret: secret, audience: t }`
  const serving = await started(
    `listen: 127.0.0.1:0\nauth: { jwt: [${jwt}], introspection: [${asked}] }\nreadiness: { credentials: 10m }`,
  )
  const missing = () =>
    serving
      .ready()
      .reasons.slice(1)
      .map((reason) => reason.split(': ')[0])
  expect(missing()).toEqual(['https://id.test', provider.url])
  keys.answer = serveJson({ keys: [jwk] })
  await expect.poll(missing, { timeout: 10_000 }).toEqual([provider.url])
  expect(serving.ready()).toMatchObject({
    ready: false,
    // It responds, by 500.
    reasons: [expect.any(String), expect.stringContaining('has given no usable response yet')],
  })
  provider.answer = serveJson({ active: false })
  await expect.poll(() => serving.ready(), { timeout: 10_000 }).toEqual({ ready: true, reasons: [] })
  keys.answer = provider.answer = out
  await Promise.all([keys.close(), provider.close()])
})

test('a gateway whose event loop is lastingly late is ready, and says so', async () => {
  const serving = await started('listen: 127.0.0.1:0\nedge: { max_lag: 20ms }')
  const lateness = async (): Promise<readonly string[]> => {
    for (let i = 0; i < 8; i++) {
      for (const until = performance.now() + 120; performance.now() < until; );
      await new Promise((resolve) => setTimeout(resolve))
    }
    return serving.ready().reasons
  }
  await expect.poll(lateness).toEqual(['the event loop is lastingly late (edge.max_lag): requests are refused'])
  expect(serving.ready().ready).toBe(true)
  await expect.poll(() => serving.ready(), { timeout: 10_000 }).toEqual({ ready: true, reasons: [] })
})

test('a configuration that is still being made into parts when the gateway stops does not come into force', async () => {
  const seen: Observation['type'][] = []
  const { making } = make('listen: 127.0.0.1:0', ({ type }) => seen.push(type))
  const serving = await making
  await serving.start()
  const before = serving.configuration()
  const { config, hash } = understood('upstream: { url: "http://127.0.0.1:2" }')
  await Promise.all([serving.reload(config, hash), serving.stop()])
  expect(serving.configuration()).toBe(before)
  expect(seen.filter((type) => type === 'config_loaded')).toHaveLength(1)
})

test('the store follows a configuration once its parts are made, and a configuration that the store refuses does not come into force', async () => {
  const serving = await started('listen: 127.0.0.1:0', () => {})
  const taken: string[] = []
  const [good, bad] = ['url: "http://127.0.0.1:2"', 'url: "https://127.0.0.1:2", tls: { ca: /nowhere/ca.pem }'].map(
    (it) => understood(`upstream: { ${it} }`),
  ) as [ReturnType<typeof understood>, ReturnType<typeof understood>]
  const take = (name: string) => async () => void taken.push(name)
  await expect(serving.reload(bad.config, bad.hash, take('bad'))).rejects.toThrow('/nowhere/ca.pem')
  const before = serving.configuration()
  const refused = () => Promise.reject(new Error('wrong login'))
  await expect(serving.reload(good.config, good.hash, refused)).rejects.toThrow('wrong login')
  expect(serving.configuration()).toBe(before)
  await serving.reload(good.config, good.hash, take('good'))
  expect(taken).toEqual(['good'])
})

test('a gateway that is ready without its store, as it may admit alone, stays so when a reload takes that away', async () => {
  const redis = closedAtEnd(openRedisStore({ url: `redis://127.0.0.1:${await freePort()}`, observe: () => {} }))
  const shares = (share: string) => `quota: { store_outage: { read: ${share}, write: refuse } }`
  const serving = await started(`listen: 127.0.0.1:0\n${shares('{ allow: 10% }')}`, () => {}, '', redis)
  expect(serving.ready()).toEqual({ ready: true, reasons: ['the quota store does not answer'] })
  const { config, hash } = understood(`upstream: { url: "http://127.0.0.1:2" }\n${shares('refuse')}`)
  await serving.reload(config, hash)
  expect(serving.ready().ready).toBe(true)
})

test('bounds of the adaptive factor that a reload changes are those of the factor at once', async () => {
  const factors: number[] = []
  const { store, making } = make('listen: 127.0.0.1:0\nquota: { adaptive: { min: 0.5 } }', (observation) => {
    if (observation.type === 'adaptive_factor') factors.push(observation.factor)
  })
  await store.addTally({ total: 1000, status0: 0, status5xx: 1000, status4xx: 0, aside: 0, asideFailed: 0 })
  const serving = await making
  await serving.start()
  const { config, hash } = understood('upstream: { url: "http://127.0.0.1:1" }\nquota: { adaptive: { min: 0.25 } }')
  expect(serving.adaptive().factor).toBe(0.5)
  await serving.reload(config, hash)
  expect(factors).toEqual([1, 0.5, 0.25])
  expect(serving.adaptive().factor).toBe(0.25)
  await serving.stop()
})

test('a gateway that has stopped, or whose parts cannot be made, does nothing at intervals any more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] })
  try {
    const failing = make('routes: [{ match: GET /, category: read, cost: 1 }]', () => {}, 'tls: { ca: nowhere.pem }')
    await expect(failing.making).rejects.toThrow('nowhere.pem')
    expect(callsWithin(60_000, failing.store)).toBe(0)
    const { store, making } = make('listen: 127.0.0.1:0')
    const serving = await making
    await serving.start()
    expect(callsWithin(60_000, store)).toBeGreaterThan(60)
    await serving.stop()
    expect(callsWithin(60_000, store)).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

/** How often a store is asked for anything within so many milliseconds of a clock that is turned by hand. */
function callsWithin(ms: number, store: Store): number {
  const spies = Object.keys(store).map((name) => vi.spyOn(store, name as 'ping'))
  vi.advanceTimersByTime(ms)
  const calls = spies.map((spy) => spy.mock.calls.length)
  for (const spy of spies) spy.mockRestore()
  return calls.reduce((sum, count) => sum + count, 0)
}

test('a gateway stops, however long its store keeps silent about what was kept of usage, failures and members', async () => {
  const whole = closedAtEnd(openSqliteStore({ file: ':memory:' }))
  const silent = () => new Promise<never>(() => {})
  const store = { ...whole, addUsage: silent, addTally: silent, noteMembers: silent }
  const { observe, making } = make('listen: 127.0.0.1:0', () => {}, '', store)
  const serving = await making
  await serving.start()
  observe(request())
  await serving.stop()
})

/** A gateway that has started, and stops behind its test. */
async function started(...what: Parameters<typeof make>) {
  const serving = await make(...what).making
  atEnd(() => serving.stop())
  await serving.start()
  return serving
}

function make(
  text: string,
  reader: Observer = () => {},
  upstream = '',
  store: Store = closedAtEnd(openSqliteStore({ file: ':memory:' })),
) {
  const { config, hash } = understood(`upstream: { url: "https://127.0.0.1:1", ${upstream} }\n${text}`)
  const readers = [reader]
  const observe = fanOut(readers)
  const delay = createEventLoopDelay()
  const telemetry = { observe, delay, follow: (more: Observer) => void readers.push(more) }
  return { observe, store, making: createDataPlane({ config, hash, version: 'test', store, telemetry }) }
}
