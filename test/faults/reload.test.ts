import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { type Asked, Client, readJson } from './client.ts'
import { commonConfig, type Gateway, startGateway, untilReady } from './gateway.ts'
import { expectUnharmed } from './matrix.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/** Configurations that differ in everything that a request meets: the limit, the cost, and what the upstream is told. */
const CONFIGS = [
  { name: 'one', limit: 100_001, cost: 1 },
  { name: 'two', limit: 100_002, cost: 2 },
  { name: 'three', limit: 100_005, cost: 5 },
] as const
type Variant = (typeof CONFIGS)[number]

const folder = tempFolder()
let redis: RedisServer
let upstream: LoggingUpstream
let gateway: Gateway
let client: Client
beforeAll(async () => {
  redis = await startRedis()
  upstream = await startLoggingUpstream(({ headers }, req, res) => {
    req.resume()
    setTimeout(() => res.writeHead(200, { 'x-seen-config': String(headers['x-config']) }).end('ok'), Math.random() * 20)
  })
  gateway = await startGateway({ file: join(folder, 'tollgate.yaml'), config: config(CONFIGS[0]) })
  await untilReady(gateway)
  client = new Client()
})
afterAll(async () => {
  client?.close()
})

function config({ name, limit, cost }: Variant): string {
  return `
upstream: { url: "http://127.0.0.1:${upstream.port}", headers: { X-Config: ${name} } }
store: ${redis.url}
store_options: { deadline: 5s }
quota:
  windows: { 1d: 1d }
  baselines: { personal: { c: { 1d: ${limit} } }, global: { c: { 1d: 1000000 } } }
edge: { max_lag: 1m }
routes: [{ match: "POST /*", category: c, cost: ${cost} }]
log: { requests: none }
`
}

/** Swaps the file and tells the gateway at once, as its own watch would a moment later. */
function reload(text: string): void {
  writeFileSync(`${gateway.file}.new`, text)
  renameSync(`${gateway.file}.new`, gateway.file)
  gateway.process.child.kill('SIGHUP')
}
const whole = (variant: Variant): string =>
  commonConfig(gateway.url.slice('http://'.length), gateway.admin.slice('http://'.length)) + config(variant)

const RELOADS = 80
/** How often at least a reload must have been done, and a request have met each configuration. */
const OFTEN = 20
const USERS = ['alice', 'bob', 'carol', 'dave', 'eve', 'frank']

describe('the configuration, changed every 50 ms under traffic,', () => {
  fault('reload_under_load', async () => {
    const asked: Asked[] = []
    let stopped = false
    const askers = USERS.flatMap((user) =>
      [0, 1].map(async () => {
        while (!stopped) asked.push(await client.ask(gateway.url, 'c', user))
      }),
    )
    const told = (start: string): number =>
      gateway.process.lines().filter(({ msg }) => String(msg).startsWith(start)).length
    const met = (name: string): number => asked.filter(({ headers }) => headers['x-seen-config'] === name).length
    const isEnough = (): boolean =>
      told('configuration loaded') > OFTEN &&
      told('configuration refused') > 0 &&
      CONFIGS.every(({ name }) => met(name) > OFTEN)
    // A gateway with little time leaves files out. Then there are more of them, and each waits until the gateway has looked at a file.
    for (let i = 0; i < RELOADS || (i < 2 * RELOADS && !isEnough()); i++) {
      const before = told('configuration ')
      const variant = CONFIGS[i % CONFIGS.length] as Variant
      // Some files have a problem: the configuration before stays.
      reload(i % 10 === 7 ? whole(variant).replace('category: c', 'category: unknown') : whole(variant))
      await sleep(50)
      if (i >= RELOADS) await expect.poll(() => told('configuration ')).toBeGreaterThan(before)
    }
    stopped = true
    await Promise.all(askers)

    expect(asked.filter(({ status }) => status !== 200)).toEqual([])
    expect(asked).toHaveLength(upstream.seen.length)
    const used = new Map(USERS.map((user) => [user, 0]))
    for (const { headers, user } of asked) {
      const variant = CONFIGS.find(({ name }) => name === headers['x-seen-config']) as Variant
      // What the upstream was told and what the client was told come from one configuration.
      expect([variant.name, headers['ratelimit-policy']]).toEqual([
        variant.name,
        expect.stringContaining(`;q=${variant.limit};`),
      ])
      used.set(user, (used.get(user) ?? 0) + variant.cost)
    }
    for (const { name } of CONFIGS) expect(met(name), name).toBeGreaterThan(OFTEN)
    type Status = { windows: { c: { scope: string; used: number }[] } }
    for (const [user, tokens] of used) {
      const { windows } = await readJson<Status>(`${gateway.url}/me/quota`, user)
      expect(windows.c[0]).toMatchObject({ scope: 'Personal', used: tokens })
    }
    const { windows } = await readJson<Status>(`${gateway.url}/me/quota`, 'alice')
    expect(windows.c[1]).toMatchObject({ scope: 'Global', used: [...used.values()].reduce((a, b) => a + b, 0) })
    expect(told('configuration loaded')).toBeGreaterThan(OFTEN)
    expect(told('configuration refused')).toBeGreaterThan(0)
    expectUnharmed(gateway)
  })
})
