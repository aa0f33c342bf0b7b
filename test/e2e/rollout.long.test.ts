import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ecKey, jwt, keySet, serve, serveJson, type TestServer } from '../auth/support.ts'
import { tempFolder } from '../setup/at-end.ts'
import { freePort, sharedRedis } from '../setup/redis.ts'
import { startUpstream, type Upstream } from './harness.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

/** A rolling update: a process starts beside another one, takes its place, and both have one store. */

const WAIT = { timeout: 60_000 }
const key = ecKey('one')

let folder: string
let provider: TestServer
let upstream: Upstream
const processes: GatewayProcess[] = []
beforeEach(async () => {
  folder = tempFolder()
  provider = await serve(serveJson(keySet(key)))
  upstream = await startUpstream()
})
afterEach(async () => {
  await Promise.all(processes.splice(0).map(({ end }) => end('SIGKILL')))
})

async function start(store: string, more = '') {
  const [port, adminPort] = [await freePort(), await freePort()]
  const file = join(folder, `${port}.yaml`)
  writeFileSync(
    file,
    `listen: 127.0.0.1:${port}
admin: { listen: "127.0.0.1:${adminPort}" }
upstream: { url: "${upstream.url}" }
store: "${store}"
auth: { jwt: [{ issuer: "https://id.test", audience: t, jwks: "${provider.url}", algorithms: [ES256] }] }
quota: { baselines: { personal: { read: { 1h: 1000 } } } }
routes: [{ match: GET /, category: read, cost: 1 }]
${more}`,
  )
  const admin = `http://127.0.0.1:${adminPort}`
  const gateway = await spawnGateway(file, `${admin}/livez`)
  processes.push(gateway)
  const exp = Math.floor(Date.now() / 1000) + 3600
  const token = jwt({ key, payload: { iss: 'https://id.test', aud: 't', sub: 'alice', exp } })
  return {
    end: gateway.end,
    readiness: async () => {
      const response = await fetch(`${admin}/readyz`)
      return [response.status, await response.json()]
    },
    ask: async () =>
      (await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: `Bearer ${token}` } })).status,
    messages: () => gateway.lines().map(({ msg }) => msg),
  }
}

it.each(['Redis', 'an SQLite file'])(
  'while the identity provider is away is noticed by nobody whose gateways share %s',
  async (kind) => {
    const redis = kind === 'Redis' ? await sharedRedis() : null
    const store = redis?.url ?? `sqlite:${join(folder, 'tollgate.db')}`
    const options = redis === null ? '' : `store_options: { prefix: ${redis.prefix} }`
    const old = await start(store, options)
    await expect.poll(old.readiness, WAIT).toEqual([200, { ready: true }])
    expect(await old.ask()).toBe(200)
    await provider.close()
    const next = await start(store, options)
    await expect.poll(next.readiness, WAIT).toEqual([200, { ready: true }])
    expect(await next.ask()).toBe(200)
    await expect.poll(next.messages).toContain('signing keys that another gateway has fetched are used')
    expect(await old.end('SIGTERM')).toBe(0)
    expect(await next.ask()).toBe(200)
    expect(await next.end('SIGTERM')).toBe(0)
    await redis?.stop()
  },
)

it('to an issuer that nobody ever had keys of stops at the first new process, for as long as it waits', async () => {
  await provider.close()
  const store = `sqlite:${join(folder, 'tollgate.db')}`
  const missing =
    'https://id.test: no signing key of this issuer is known, so none of its tokens is accepted (the log says why)'
  const patient = await start(store, 'readiness: { credentials: 10m }')
  const waiting = 'waiting for what credentials are checked with, for readiness.credentials after the start at most'
  await expect.poll(patient.readiness, WAIT).toEqual([503, { ready: false, reasons: [waiting, missing] }])
  const hasty = await start(store, 'readiness: { credentials: 0s }')
  await expect.poll(hasty.readiness, WAIT).toEqual([200, { ready: true, degraded: [missing] }])
})
