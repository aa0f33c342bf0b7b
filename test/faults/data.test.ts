import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, beforeEach, describe, expect } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { createWallClock, type WallClock } from '../setup/wall-clock.ts'
import { fault } from './catalogue.ts'
import { type Asked, Client, readJson } from './client.ts'
import { ADMIN_TOKEN, type Gateway, startGateway, untilReady } from './gateway.ts'
import { expectUnharmed } from './matrix.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/** Counters that somebody else has written to, a Redis that forgets them, and clocks that are wrong. */

/** Long enough for all that a test does within one, on a machine with much to do; it is waited for in the end. */
const SHORT = '{ 10s: 10s }'
const SHORT_SECONDS = 10
const COST = 3
const LIMIT = 31
const FITTING = Math.floor(LIMIT / COST)

let clock: WallClock
let folder: string
let redis: RedisServer
let admin: Redis
let upstream: LoggingUpstream
let client: Client
let gateways: Gateway[]
let started = 0
beforeAll(() => {
  clock = createWallClock()
})
beforeEach(async () => {
  folder = tempFolder()
  redis = await startRedis({ clock })
  admin = new Redis(redis.url).on('error', () => {})
  upstream = await startLoggingUpstream()
  client = new Client()
  gateways = []
})
afterEach(async () => {
  client.close()
  for (const gateway of gateways) expectUnharmed(gateway)
  admin.disconnect()
})

/** @param warning which it is ready with; `null` for any */
async function start(
  windows = '{ 1d: 1d }',
  env: Record<string, string> = {},
  warning: string | null = '',
): Promise<Gateway> {
  const [name] = /\w+(?=:)/.exec(windows) ?? []
  const gateway = await startGateway({
    file: join(folder, `${++started}.yaml`),
    env,
    config: `
upstream: { url: "http://127.0.0.1:${upstream.port}" }
store: ${redis.url}
store_options: { deadline: 5s }
quota:
  windows: ${windows}
  baselines: { personal: { c: { ${name}: ${LIMIT} } }, global: { c: { ${name}: 100000 } } }
edge: { max_lag: 1m }
routes: [{ match: "POST /*", category: c, cost: ${COST} }]
log: { requests: none }
`,
  })
  gateways.push(gateway)
  const readiness = async (): Promise<string> => {
    const shown = await gateway.readiness()
    return warning === null ? shown.slice(0, 3) : shown.replace(` ${warning}`, '')
  }
  await untilReady({ readiness })
  return gateway
}

const ask = (gateway: Gateway, user: string): Promise<Asked> => client.ask(gateway.url, 'c', user)
const askAll = (gateway: Gateway, user: string, count = 3 * FITTING): Promise<Asked[]> =>
  Promise.all(Array.from({ length: count }, () => ask(gateway, user)))
const seenOf = (user: string): number => upstream.seen.filter((seen) => seen.user === user).length
async function used(gateway: Gateway, user: string): Promise<number | undefined> {
  type Status = { windows: { c: { used: number }[] } }
  const { windows } = await readJson<Status>(`${gateway.url}/me/quota`, user)
  return windows.c[0]?.used
}
/** The key of a user's counter, learnt from that of one who has asked before. */
async function keyOf(user: string, known = 'somebody'): Promise<string> {
  const [key = ''] = await admin.keys(`*${known}`)
  return key.replace(known, user)
}

describe('a counter', () => {
  fault('wrong_type', async () => {
    const gateway = await start()
    await ask(gateway, 'somebody')
    await admin.rpush(await keyOf('alice'), 'not', 'a', 'counter')
    await admin.set(await keyOf('bob'), 'nor is this')
    for (const user of ['alice', 'bob']) {
      // Whether it is repaired or an error, nothing passes uncharged, and others are not affected.
      const [mine, others] = await Promise.all([askAll(gateway, user), askAll(gateway, `beside-${user}`)])
      expect(others.filter(({ status }) => status === 200)).toHaveLength(FITTING)
      for (const { status } of mine) expect([200, 429, 503]).toContain(status)
      expect(seenOf(user)).toBeLessThanOrEqual(FITTING)
      expect(mine.filter(({ status }) => status === 200)).toHaveLength(seenOf(user))
      if (seenOf(user) > 0) expect(await used(gateway, user)).toBe(seenOf(user) * COST)
      expect(await used(gateway, `beside-${user}`)).toBe(FITTING * COST)
    }
    await expect.poll(() => gateway.readiness(), { timeout: 30_000 }).toBe('200')
  })

  fault('no_expiry', async () => {
    const gateway = await start(SHORT)
    await ask(gateway, 'alice')
    for (const key of await admin.keys('*')) await admin.persist(key)
    await askAll(gateway, 'alice')
    expect(seenOf('alice')).toBe(FITTING)
    // The window ends all the same, and whoever starts the next one sets the expiry again.
    await expect.poll(() => used(gateway, 'alice'), { timeout: 30_000 }).toBe(0)
    expect(await ask(gateway, 'alice')).toMatchObject({ status: 200 })
    expect(await used(gateway, 'alice')).toBe(COST)
    const left = await Promise.all((await admin.keys('*alice')).map((name) => admin.pttl(name)))
    // Her counters, and what she used in the run that is over.
    expect(left).toHaveLength(2)
    expect(Math.min(...left)).toBeGreaterThan(0)
  })

  fault('evicted', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await admin.config('SET', 'maxmemory', '8mb')
    const gateway = await start(
      undefined,
      undefined,
      'Redis may evict counters: its maxmemory-policy is not noeviction',
    )
    const told = (): string => JSON.stringify(gateway.events())
    await expect.poll(told, { timeout: 30_000 }).toContain('maxmemory-policy is allkeys-lru')
    await askAll(gateway, 'alice')
    expect(seenOf('alice')).toBe(FITTING)
    const key = await keyOf('alice', 'alice')
    for (let i = 0; (await admin.exists(key)) === 1; i++) {
      const pipeline = admin.pipeline()
      for (let n = 0; n < 200; n++) pipeline.set(`filler-${i}-${n}`, 'x'.repeat(5000))
      await pipeline.exec()
    }
    // What the warning is about: a counter that is gone has counted nothing. A refusal is repeated for 250 ms.
    await sleep(300)
    await askAll(gateway, 'alice')
    expect(seenOf('alice')).toBe(2 * FITTING)
  })
})

describe('a record', () => {
  interface Api {
    readonly status: number
    // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent
    readonly json: any
  }
  async function api(gateway: Gateway, method: string, path: string, body?: unknown): Promise<Api> {
    const response = await fetch(`${gateway.admin}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: text === '' ? null : JSON.parse(text) }
  }
  const make = async (gateway: Gateway, user: string) =>
    (await api(gateway, 'POST', '/api/tokens', { user, name: 'n' })).json as { id: string; token: string }
  async function statusOf(gateway: Gateway, { token }: { readonly token: string }): Promise<number> {
    return (await fetch(`${gateway.url}/`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })).status
  }

  fault('unreadable_record', async () => {
    const first = await start()
    const before = await make(first, 'alice')
    await admin.hset('{tollgate}:tokens', 'zz', '{bad')
    await admin.zadd('{tollgate}:audit', 1, '{bad', 1e9, '7')
    await admin.hset('{tollgate}:refusals', 'zz', '')
    await admin.zadd('{tollgate}:refusals:times', Date.now(), 'zz')
    await admin.set('{tollgate}:failures', 'no hash')
    const records = ['{tollgate}:tokens zz', '{tollgate}:audit 1', '{tollgate}:refusals zz', '{tollgate}:failures ']
    // A second process is as the first one after a restart.
    for (const gateway of [first, await start(undefined, undefined, null)]) {
      const late = await make(gateway, 'bob')
      for (const key of [before, late]) expect(await statusOf(gateway, key)).toBe(200)
      expect((await api(gateway, 'GET', '/api/tokens')).json.tokens.length).toBeGreaterThanOrEqual(2)
      expect((await api(gateway, 'GET', '/api/audit')).json.entries[0]).toMatchObject({ what: 'token_created' })
      expect(await api(gateway, 'GET', '/api/refusals')).toMatchObject({ status: 200, json: { refusals: [] } })
      expect((await api(gateway, 'GET', '/api/failures')).status).toBe(200)
      expect((await api(gateway, 'DELETE', `/api/tokens/${late.id}`)).status).toBe(204)
      await expect.poll(() => statusOf(gateway, late), { timeout: 30_000 }).toBe(401)
      expect(await statusOf(gateway, before)).toBe(200)
    }
    const [, second] = gateways as [Gateway, Gateway]
    const readiness = await second.readiness()
    expect(readiness).toMatch(/^200 /)
    for (const record of records) expect(readiness).toContain(`records of ${record.split(' ')[0]} in the store cannot`)
    expect(readiness).not.toContain('zz')
    const named = () => second.events().map(({ list, id }) => `${list} ${id}`)
    await expect.poll(named, { timeout: 30_000 }).toEqual(expect.arrayContaining(records))
    for (const kind of ['access_key', 'audit_entry', 'refusal', 'failures']) {
      expect(await second.metric(`tollgate_unreadable_records_total{kind="${kind}"}`)).toBeGreaterThan(0)
    }
  })
})

/** The wall clock of a process moved by so many seconds, as NTP does not. Timers go on as ever. */
function clockOff(seconds: number): Record<string, string> {
  const program = `const R=Date,o=${seconds * 1000},n=()=>R.now()+o;
globalThis.Date=class extends R{constructor(...a){a.length?super(...a):super(n())}static now(){return n()}}`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` }
}

describe('the clocks of the gateways', () => {
  fault('clock_skew', async () => {
    const [fast, slow, right] = await Promise.all([
      start(SHORT, clockOff(3600)),
      start(SHORT, clockOff(-3600)),
      start(SHORT),
    ])
    // The first request of a process takes its time, which is none of the window's.
    for (const gateway of [fast, slow, right]) expect(await ask(gateway, 'somebody')).toMatchObject({ status: 200 })
    const first = (await Promise.all([fast, slow, right].map((gateway) => askAll(gateway, 'alice')))).flat()
    expect(seenOf('alice')).toBe(FITTING)
    const refused = first.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(first.length - FITTING)
    const resets = new Set(refused.map(({ headers }) => headers['x-quota-reset']))
    expect(resets.size).toBe(1)
    for (const { headers } of refused) {
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(SHORT_SECONDS)
    }
    const [seconds, micros] = (await admin.time()) as unknown as [string, string]
    const left = Date.parse(String([...resets][0])) - (Number(seconds) * 1000 + Number(micros) / 1000)
    expect(left).toBeLessThanOrEqual(SHORT_SECONDS * 1000)
    await sleep(Math.max(0, left) + 10)
    for (const gateway of [fast, slow, right]) expect(await ask(gateway, 'alice')).toMatchObject({ status: 200 })
    expect(seenOf('alice')).toBe(FITTING + 3)
  })
})

describe('the clock of Redis', () => {
  fault('clock_jump', async () => {
    const gateway = await start(SHORT)
    expect(await ask(gateway, 'somebody')).toMatchObject({ status: 200 })
    clock.set(30 * 86_400_000)
    await askAll(gateway, 'alice')
    expect(seenOf('alice')).toBe(FITTING)
    clock.set(0)
    // A refusal is repeated for 250 ms.
    await sleep(300)
    const refused = await ask(gateway, 'alice')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(SHORT_SECONDS)
    expect(Math.abs(Date.parse(String(refused.headers['x-quota-reset'])) - Date.now())).toBeLessThan(3_600_000)
    expect(await ask(gateway, 'bob')).toMatchObject({ status: 200 })
    // Two windows of alice and everybody, and the day in the books of alice.
    expect(await gateway.metric('tollgate_window_starts_corrected_total')).toBe(3)
    const told = () => gateway.events().filter(({ msg }) => String(msg).startsWith('the clock of the store was ahead'))
    await expect.poll(told).toMatchObject([{ level: 40 }])
    // Whoever goes on asking does not put the end off.
    await expect.poll(async () => (await ask(gateway, 'alice')).status, { timeout: 60_000 }).toBe(200)
    expect(seenOf('alice')).toBe(FITTING + 1)
  })
})
