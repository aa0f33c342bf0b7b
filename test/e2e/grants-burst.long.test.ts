import { join } from 'node:path'
import { Agent, fetch } from 'undici'
import { beforeEach, expect, it } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts'
import { startRedis } from '../setup/redis.ts'
import { type RunningApp, SECRET, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'

/** Many requests at once over several gateways: what the upstream sees is what windows and grants hold, to the token. */

const SOON = { timeout: 60_000, interval: 50 }
const COST = 3
const WINDOW = 40
const GRANT = 100
/** What fits whole into the windows, and into the grant. */
const PASS = Math.floor(WINDOW / COST) + Math.floor(GRANT / COST)
const USERS = ['ann', 'bob', 'cid']
const REQUESTS = 100

let upstream: Upstream
let apps: RunningApp[]
beforeEach(async () => {
  upstream = await startUpstream()
  apps = []
})

async function start(stores: readonly string[]): Promise<void> {
  const limits = `{ read: { 1h: ${WINDOW} } }`
  const text = (store: string) =>
    yaml(
      upstream.url,
      `
${store.startsWith('redis') ? 'store_options: { prefix: grants, deadline: 5s }' : ''}
quota: { baselines: { personal: ${limits} } }
edge: { max_in_flight: 5000, max_lag: 1m }
routes: [{ match: POST /spend, category: read, cost: ${COST} }]`,
      store,
    ).replace(`secret: ${SECRET},`, `secret: ${SECRET}, organisation_claim: org,`)
  for (const store of stores) apps.push(await startApp(text(store)))
}

async function admin(method: string, path: string, body?: unknown) {
  const headers = { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
  return (await (await fetch(`${apps[0]?.admin}${path}`, init)).json()) as any
}

/** @param upset called now and then */
async function burst(upset: (i: number) => void): Promise<void> {
  const until = new Date(Date.now() + 86_400_000).toISOString()
  for (const user of USERS)
    await admin('POST', '/api/grants', { user, category: 'read', tokens: GRANT, until, reason: 'a burst' })
  for (const { url } of apps) {
    const headers = { authorization: `Bearer ${jwtOf('cid', {})}` }
    await expect
      .poll(
        async () => ((await (await fetch(`${url}/me/quota`, { headers })).json()) as { grants?: unknown }).grants,
        SOON,
      )
      .toBeDefined()
  }
  const dispatcher = new Agent({ connections: 60 })
  const statuses = await Promise.all(
    Array.from({ length: REQUESTS * USERS.length }, async (_, i) => {
      if (i % 25 === 0) upset(i)
      const headers = { authorization: `Bearer ${jwtOf(USERS[i % USERS.length] ?? '', {})}` }
      const response = await fetch(`${apps[i % apps.length]?.url}/spend`, { method: 'POST', headers, dispatcher })
      await response.text()
      return response.status
    }),
  )
  await dispatcher.close()
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  const seen = Map.groupBy(upstream.seen, ({ headers }) => String(headers['x-tollgate-user']))
  for (const user of USERS) {
    expect(seen.get(user)?.length).toBe(PASS)
    const { grants } = await admin('GET', `/api/grants?user=${user}`)
    expect(grants).toMatchObject([{ tokens: GRANT, taken: GRANT - (GRANT % COST), left: GRANT % COST }])
    const { rows } = await admin('GET', `/api/usage?user=${user}&from=1d`)
    expect(rows.reduce((sum: number, row: { tokens: number }) => sum + row.tokens, 0)).toBe(PASS * COST)
  }
}

it('grants over 3 gateways that lose replies of one Redis are taken from to the last whole request, and not beyond', async () => {
  const redis = await startRedis()
  const proxies: FaultProxy[] = await Promise.all([1, 2, 3].map(() => startFaultProxy(redis.port)))
  await start(proxies.map(({ port }) => `redis://127.0.0.1:${port}`))
  await burst((i) => proxies[(i / 25) % 3]?.dropReply({ containing: '"grants":' }))
})

it('grants over 3 gateways on one file of the embedded store are taken from to the last whole request, and not beyond', async () => {
  const folder = tempFolder()
  await start([1, 2, 3].map(() => `sqlite:${join(folder, 'tollgate.db')}`))
  await burst(() => {})
})
