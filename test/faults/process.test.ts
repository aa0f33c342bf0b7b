import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { freePort, type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { type Asked, Client, readJson } from './client.ts'
import { commonConfig, type Gateway, startGateway, untilReady } from './gateway.ts'
import { expectUnharmed, seriesOf } from './matrix.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/** What happens to the process of a gateway, with charges under way. */

const COST = 3
/** Requests that a gateway admits without the store: a tenth of 100 tokens. */
const SHARE_FITS = 3

let folder: string
let redis: RedisServer
let upstream: LoggingUpstream
let toUpstream: FaultProxy
let client: Client
let started = 0
beforeEach(async () => {
  folder = tempFolder()
  redis = await startRedis()
  upstream = await startLoggingUpstream((_seen, req, res) => {
    req.resume()
    setTimeout(() => res.end('ok'), Math.random() * 40)
  })
  toUpstream = await startFaultProxy(upstream.port)
  client = new Client()
})
afterEach(async () => {
  client.close()
})

function config(store: string, more = ''): string {
  return `
upstream: { url: "http://127.0.0.1:${toUpstream.port}", connect_timeout: 60s }
store: "${store}"
store_options: { deadline: 2s }
quota:
  windows: { 1d: 1d }
  baselines:
    personal: { c: { 1d: 100000 }, tight: { 1d: 100 }, share: { 1d: 100 } }
    global: { c: { 1d: 1000000 }, tight: { 1d: 1000 }, share: { 1d: 1000 } }
  store_outage: { share: { allow: 10% } }
edge: { max_lag: 1m }
routes:
  - { match: POST /c/:id, category: c, cost: ${COST} }
  - { match: POST /tight/:id, category: tight, cost: ${COST} }
  - { match: POST /share/:id, category: share, cost: ${COST} }
${more}
`
}

async function start(store: string, more = '', as?: Gateway): Promise<Gateway> {
  const gateway = await startGateway({
    file: as?.file ?? join(folder, `${++started}.yaml`),
    config: config(store, more),
    ...(as && { url: as.url, admin: as.admin }),
  })
  await untilReady(gateway)
  return gateway
}

async function used(gateway: Gateway, user: string, category = 'c'): Promise<number> {
  const { windows } = await readJson<{ windows: Record<string, { used: number }[]> }>(`${gateway.url}/me/quota`, user)
  return windows[category]?.[0]?.used ?? -1
}

/** Asks several at a time, without a pause while it is let through, until it is told to stop or `until` says so. */
function startAsking(gateway: () => Gateway, category: string, user: string, until = (_: Asked) => false) {
  const asked: Asked[] = []
  let stopped = false
  const askers = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      const response = await client.ask(gateway().url, category, user)
      asked.push(response)
      if (until(response)) return
      if (response.status !== 200) await sleep(20)
    }
  })
  return {
    asked,
    stop: async (): Promise<Asked[]> => {
      stopped = true
      await Promise.all(askers)
      return asked
    },
  }
}

describe('kill -9 of a gateway', () => {
  const stores = {
    kill_before_forward_redis: () => redis.url,
    kill_before_forward_sqlite: () => `sqlite:${join(folder, 'quota.db')}`,
  }
  for (const [id, storeOf] of Object.entries(stores)) {
    fault(id, async () => {
      const store = storeOf()
      const gateway = await start(store)
      await toUpstream.hangConnects()
      const waiting = Array.from({ length: 5 }, () => client.ask(gateway.url, 'c', 'alice'))
      await expect.poll(() => used(gateway, 'alice')).toBe(5 * COST)
      await gateway.process.end('SIGKILL')
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([0, 0, 0, 0, 0])

      await toUpstream.heal()
      const again = await start(store, '', gateway)
      expect(await used(again, 'alice')).toBe(5 * COST)
      expect(await client.ask(again.url, 'c', 'alice')).toMatchObject({ status: 200 })
      expect([upstream.seen.length, await used(again, 'alice')]).toEqual([1, 6 * COST])
      expectUnharmed(again)
    })
  }

  fault('kill_owing', async () => {
    const gateway = await start(redis.url)
    const other = await start(redis.url)
    process.kill(redis.pid, 'SIGSTOP')
    const asked: Asked[] = []
    const admitted = (): number => asked.filter(({ status }) => status === 200).length
    for (let i = 0; i < 60 && admitted() < SHARE_FITS; i++) {
      asked.push(await client.ask(gateway.url, 'share', 'alice'))
      await sleep(20)
    }
    await gateway.process.end('SIGKILL')
    process.kill(redis.pid, 'SIGCONT')
    await untilReady(other)
    // What it admitted alone was in its memory only: at most its share of the limit, and nothing of it is half there.
    expect(admitted()).toBe(SHARE_FITS)
    expect(upstream.of('share')).toHaveLength(SHARE_FITS)
    const charged = await used(other, 'alice', 'share')
    expect(charged % COST).toBe(0)
    expect(charged).toBeLessThanOrEqual(SHARE_FITS * COST)
    expectUnharmed(other)
  })

  fault('kill_while_flushing', async () => {
    const toStore = await startFaultProxy(redis.port)
    const witness = closedAtEnd(openRedisStore({ url: redis.url, deadlineMs: 5000, observe: () => {} }))
    const store = `redis://127.0.0.1:${toStore.port}`
    const tokens = async (): Promise<number> => (await seriesOf(witness)).c ?? 0
    const asks = async (url: string, times: number): Promise<void> => {
      for (let i = 0; i < times; i++) expect(await client.ask(url, 'c', 'alice')).toMatchObject({ status: 200 })
    }
    const first = await start(store)
    toStore.dropReply({ containing: ':series:' })
    await asks(first.url, 5)
    // Redis has added the flush; the gateway does not know it, and is killed before or after it sends it again.
    await expect.poll(tokens).toBe(5 * COST)
    await first.process.end('SIGKILL')

    const second = await start(store, '', first)
    await asks(second.url, 4)
    await second.process.end('SIGKILL')
    const third = await start(store, '', second)
    // What it had not flushed is in no series; all of it is charged, and in the history.
    const before = await tokens()
    expect([5, 6, 7, 8, 9].map((n) => n * COST)).toContain(before)
    await asks(third.url, 2)
    await expect.poll(tokens).toBe(before + 2 * COST)
    expect(await used(third, 'alice')).toBe(11 * COST)
    // In the hours of the limit, and in the days of the books.
    const kept = new Map<number, number>()
    const { history } = await witness.readHistory('personal', 'alice')
    history.eachRun(0, Number.MAX_SAFE_INTEGER, (_category, seconds, _startedAt, n) => {
      kept.set(seconds, (kept.get(seconds) ?? 0) + n)
    })
    expect([...kept.values(), upstream.seen.length]).toEqual([11 * COST, 11 * COST, 11])
    expectUnharmed(third)
  })

  fault('kill_under_load', async () => {
    const [other, first] = await Promise.all([start(redis.url), start(redis.url)])
    let gateway = first
    const wide = startAsking(() => gateway, 'c', 'alice')
    const tight = startAsking(() => gateway, 'tight', 'bob')
    const beside = startAsking(() => other, 'tight', 'bob')
    for (let i = 0; i < 3; i++) {
      await sleep(300)
      await gateway.process.end('SIGKILL')
      gateway = await start(redis.url, '', gateway)
    }
    await sleep(200)
    const asked = await wide.stop()
    const ofBob = [...(await tight.stop()), ...(await beside.stop())]

    const seen = new Set(upstream.of('c').map(({ id }) => id))
    expect(upstream.of('c')).toHaveLength(seen.size)
    const broken = asked.filter(({ status }) => status === 0)
    // Charged and not seen: only requests whose client saw the gateway die.
    const charged = (await used(other, 'alice')) / COST
    expect(charged).toBeGreaterThanOrEqual(seen.size)
    expect(charged).toBeLessThanOrEqual(seen.size + broken.filter(({ id }) => !seen.has(id)).length)
    expect(asked.filter(({ status }) => status === 200).every(({ id }) => seen.has(id))).toBe(true)

    const bobs = new Set(upstream.of('tight').map(({ id }) => id))
    const lost = ofBob.filter(({ id, status }) => status === 0 && !bobs.has(id)).length
    expect(await used(other, 'bob', 'tight')).toBe(Math.floor(100 / COST) * COST)
    expect(bobs.size).toBeLessThanOrEqual(Math.floor(100 / COST))
    expect(bobs.size).toBeGreaterThanOrEqual(Math.floor(100 / COST) - lost)
    expectUnharmed(other)
  })
})

describe('SIGTERM', () => {
  fault('sigterm_under_load', async () => {
    const [leaving, staying] = await Promise.all([
      start(redis.url, 'drain: { delay: 8s, timeout: 20s }'),
      start(redis.url),
    ])
    // As a load balancer does that looks at /readyz several times within the delay.
    let ready = true
    const load = startAsking(
      () => leaving,
      'c',
      'alice',
      () => !ready,
    )
    await expect.poll(() => load.asked.length).toBeGreaterThan(100)
    leaving.process.child.kill('SIGTERM')
    await expect.poll(() => leaving.readiness(), { timeout: 7500, interval: 20 }).toMatch(/^503 /)
    const before = load.asked.length
    await expect.poll(() => load.asked.length).toBeGreaterThan(before + 20)
    ready = false
    expect(await leaving.process.ended).toBe(0)
    const asked = await load.stop()
    expect(asked.filter(({ status }) => status !== 200)).toEqual([])
    expect(asked).toHaveLength(upstream.seen.length)
    expect(await used(staying, 'alice')).toBe(upstream.seen.length * COST)
    expect(leaving.process.output()).not.toMatch(/"outcome":"(failed|aborted)"|internal error/)
  })

  fault('sigterm_no_delay', async () => {
    const [leaving, staying] = await Promise.all([start(redis.url, 'drain: { timeout: 20s }'), start(redis.url)])
    const load = startAsking(
      () => leaving,
      'c',
      'alice',
      ({ error }) => error === 'ECONNREFUSED',
    )
    await expect.poll(() => load.asked.length).toBeGreaterThan(100)
    expect(await leaving.process.end('SIGTERM')).toBe(0)
    const asked = await load.stop()
    const answered = asked.filter(({ status }) => status !== 0)
    expect(answered.filter(({ status }) => status !== 200)).toEqual([])
    // Who got no answer was not let in: neither charged nor forwarded, so any client may ask again elsewhere.
    expect(answered.map(({ id }) => id).sort()).toEqual(upstream.seen.map(({ id }) => id).sort())
    expect(await used(staying, 'alice')).toBe(answered.length * COST)
    expect(leaving.process.output()).not.toMatch(/"outcome":"(failed|aborted)"|internal error/)
  })

  fault('sigterm_store_down', async () => {
    const gateway = await start(redis.url)
    const charged = client.ask(gateway.url, 'c', 'alice')
    expect(await charged).toMatchObject({ status: 200 })
    process.kill(redis.pid, 'SIGSTOP')
    const waiting = Array.from({ length: 5 }, () => client.ask(gateway.url, 'c', 'alice'))
    await sleep(50)
    expect(await gateway.process.end('SIGTERM')).toBe(0)
    for (const { status, error } of await Promise.all(waiting)) {
      expect([503, 0]).toContain(status)
      expect(error).not.toBe('HANGS')
    }
    expect(upstream.seen).toHaveLength(1)
    const open = gateway.process
      .lines()
      .filter(({ msg }) => msg === 'charges with an unknown outcome')
      .reduce((sum, line) => sum + Number(line.charges), 0)
    process.kill(redis.pid, 'SIGCONT')
    // Nobody is left to give back what the store was sent and takes only now: it is what was told, and nothing else.
    const other = await start(redis.url)
    const late = (await used(other, 'alice')) / COST - 1
    expect(Number.isInteger(late)).toBe(true)
    expect(late).toBeGreaterThanOrEqual(0)
    expect(late).toBeLessThanOrEqual(open)
    expect(open).toBeLessThanOrEqual(waiting.length)
    await sleep(500)
    expect(await used(other, 'alice')).toBe((1 + late) * COST)
    expect(await client.ask(other.url, 'c', 'alice')).toMatchObject({ status: 200 })
    expect(await used(other, 'alice')).toBe((2 + late) * COST)
  })

  fault('sigterm_during_start', async () => {
    // Nothing listens there: the start waits a moment for its store.
    const store = `redis://127.0.0.1:${await freePort()}`
    const moments = [100, 300, 500, 700, 900]
    const ends = await Promise.all(
      moments.map(async (ms) => {
        const file = join(folder, `after-${ms}.yaml`)
        const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
        writeFileSync(file, commonConfig(listen, admin) + config(store))
        const child = spawn(process.execPath, ['src/main.ts', 'serve', '-c', file], { stdio: 'ignore' })
        const exited = once(child, 'exit')
        await sleep(ms)
        child.kill('SIGTERM')
        const [code, signal] = (await exited) as [number | null, string | null]
        return signal ?? code
      }),
    )
    // None hangs, and none ends as if by a fault of its own: before it listens to signals by this one, afterwards well.
    for (const end of ends) expect([0, 'SIGTERM']).toContain(end)
  })
})

describe('a gateway whose store is not there when it starts', () => {
  fault('down_at_start', async () => {
    await redis.kill('SIGKILL')
    const gateway = await startGateway({ file: join(folder, 'early.yaml'), config: config(redis.url) })
    expect(await gateway.readiness()).toMatch(/ the quota store does not answer$/)
    const refused = await Promise.all(Array.from({ length: 50 }, () => client.ask(gateway.url, 'c', 'alice')))
    for (const response of refused) expect(response).toMatchObject({ status: 503, error: 'store_unavailable' })
    expect(upstream.seen).toHaveLength(0)
    expect(gateway.events().length).toBeLessThan(15)

    await redis.restart()
    await untilReady(gateway)
    expect(await client.ask(gateway.url, 'c', 'alice')).toMatchObject({ status: 200 })
    await expect.poll(() => used(gateway, 'alice')).toBe(COST)
    expect(upstream.seen).toHaveLength(1)
    expectUnharmed(gateway)
  })
})
