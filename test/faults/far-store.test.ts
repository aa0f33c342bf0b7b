import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { type RedisServer, startRedis } from '../setup/redis.ts'
import { fault } from './catalogue.ts'
import { type Asked, Client, readJson } from './client.ts'
import { type Gateway, startGateway, untilReady } from './gateway.ts'
import { type LoggingUpstream, startLoggingUpstream } from './upstream.ts'

/** So long that a machine with much to do holds nobody up for it. By default it is 250 ms. */
const DEADLINE_MS = 1000

let folder: string
let redis: RedisServer
let proxy: FaultProxy
let upstream: LoggingUpstream
let gateway: Gateway
let client: Client
beforeAll(async () => {
  folder = tempFolder()
  redis = await startRedis()
  proxy = await startFaultProxy(redis.port)
  upstream = await startLoggingUpstream()
  const config = `
upstream: { url: "http://127.0.0.1:${upstream.port}" }
store: redis://127.0.0.1:${proxy.port}
store_options: { deadline: ${DEADLINE_MS}ms }
quota: { windows: { 1d: 1d }, baselines: { personal: { c: { 1d: 100000 } } } }
edge: { max_lag: 1m }
routes: [{ match: "POST /*", category: c, cost: 1 }]
log: { requests: none }
`
  gateway = await startGateway({ file: join(folder, 'tollgate.yaml'), config })
  await untilReady(gateway)
  client = new Client()
})
afterAll(async () => {
  client?.close()
})

const USERS = ['alice', 'bob', 'carol', 'dave', 'eve']

interface Status {
  readonly windows: { readonly c: readonly { readonly used: number }[] }
}

/** 25 requests a second, whatever becomes of them. */
async function ask(seconds: number): Promise<(Asked & { readonly ms: number })[]> {
  const all: Promise<Asked & { readonly ms: number }>[] = []
  for (let i = 0; i < 25 * seconds; i++) {
    const begin = performance.now()
    all.push(client.ask(gateway.url, 'c', USERS[i % 5] as string).then((asked) => ({ ...asked, ms: asked.at - begin })))
    await sleep(40)
  }
  return Promise.all(all)
}

describe('a Redis that is far away', () => {
  fault('far', async () => {
    let served = 0
    for (const roundTrip of [0.4, 1.2, 2, 3].map((deadlines) => deadlines * DEADLINE_MS)) {
      proxy.delay(roundTrip / 2)
      // The first charges of a store that was near show how far it is now.
      served += (await ask(1)).filter(({ status }) => status === 200).length
      const asked = await ask(4)
      served += asked.filter(({ status }) => status === 200).length
      const sorted = asked.map(({ ms }) => Math.round(ms)).toSorted((a, b) => a - b)
      const [median, last] = [sorted[sorted.length >> 1], sorted.at(-1)]
      const refused = asked.filter(({ status }) => status !== 200)
      expect(
        refused.map(({ id, ms, status, error }) => [id, Math.round(ms), status, error]),
        `${roundTrip} ms: median ${median}, longest ${last}`,
      ).toEqual([])
    }
    proxy.delay(0)
    expect((await ask(1)).filter(({ status }) => status !== 200)).toEqual([])
    const usedBy = async (user: string): Promise<number> => {
      const { windows } = await readJson<Status>(`${gateway.url}/me/quota`, user)
      return windows.c[0]?.used ?? 0
    }
    const used = await Promise.all(USERS.map(usedBy))
    expect(used.reduce((sum, each) => sum + each, 0)).toBe(served + 25)
  })
})
