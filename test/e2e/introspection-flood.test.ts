import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { listening } from '../setup/listening.ts'
import { type RunningApp, startApp, startUpstream, yaml } from './harness.ts'

/** Wrong credentials as fast as some addresses can bring them, what their provider is asked, and what others notice of it. */

interface Provider {
  readonly url: string
  /** The credentials that it was asked about, in that order. */
  readonly asked: string[]
}

/**
 * Knows what begins with `good`, and says so at once.
 * @param pause before it says that it does not know another one
 * @param status of what it says of such a one
 */
async function startProvider(pause: () => Promise<unknown>, status = 200): Promise<Provider> {
  const asked: string[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const token = new URLSearchParams(body).get('token') ?? ''
    // Of its own a gateway asks at its start, about a credential that is made up.
    if (token !== 'tollgate') asked.push(token)
    if (token.startsWith('good')) response.end(JSON.stringify({ active: true, sub: token }))
    else void pause().then(() => response.writeHead(status).end('{"active":false}'))
  })
  return { url: await listen(server), asked }
}

async function listen(server: http.Server): Promise<string> {
  await listening(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function start(provider: Provider, cache = 'ttl: 0s', edge = ''): Promise<RunningApp> {
  const upstream = await startUpstream()
  const auth = `gateway_tokens: true
  credential_cache: { ${cache} }
  introspection: [{ url: "${provider.url}", client_id: gateway, client_secret: secret }]`
  const file = yaml(upstream.url, `edge: { max_lag: 10s${edge} }\nroutes: [{ match: GET /x, category: read, cost: 0 }]`)
  const app = await startApp(file.replace('gateway_tokens: true', auth))
  return app
}

/** A request from an address of this machine. @returns its status */
function ask(app: RunningApp, credential: string, localAddress: string, agent?: http.Agent): Promise<number> {
  const headers = { authorization: `Bearer ${credential}` }
  return new Promise((resolve, reject) => {
    http
      .get(`${app.url}/x`, { headers, localAddress, ...(agent !== undefined && { agent }) }, (response) => {
        response.resume().on('close', () => resolve(response.statusCode ?? 0))
      })
      .on('error', reject)
  })
}

/** So many wrong credentials at a time, each a new one. @returns ends it */
function flood(app: RunningApp, address: string, atOnce: number): () => Promise<void> {
  const agent = new http.Agent({ keepAlive: true })
  let [isOver, sent] = [false, 0]
  const keepSending = async (): Promise<void> => {
    while (!isOver && sent < 20_000) {
      sent++
      const status = await ask(app, `wrong-${address}-${sent}`, address, agent)
      if (status !== 401) await sleep(100)
    }
  }
  const all = Promise.all(Array.from({ length: atOnce }, keepSending))
  return async () => {
    isOver = true
    await all
    agent.destroy()
  }
}

const askedOf = ({ asked }: Provider, address: string): number =>
  asked.filter((token) => token.startsWith(`wrong-${address}-`)).length

it.each([
  [800, 1],
  [50, 3],
])(
  'a provider that takes %d ms is asked about wrong credentials at the rate that is meant for an address (addresses: %d)',
  async (takesMs, many) => {
    const provider = await startProvider(() => sleep(takesMs))
    const app = await start(provider)
    const addresses = ['127.0.3.1', '127.0.3.2', '127.0.3.3'].slice(0, many)
    const startedAt = performance.now()
    const floods = addresses.map((address) => flood(app, address, 50))
    const fewest = () => Math.min(...addresses.map((address) => askedOf(provider, address)))
    await expect.poll(fewest, { timeout: 20_000 }).toBeGreaterThanOrEqual(60)
    await Promise.all(floods.map((end) => end()))
    const most = 40 + (10 * (performance.now() - startedAt)) / 1000 + 1
    for (const address of addresses) expect(askedOf(provider, address)).toBeLessThanOrEqual(most)
  },
  30_000,
)

it('wrong credentials of twelve addresses keep out neither a new one of another address nor one of their own that was good lately', async () => {
  const held: (() => void)[] = []
  let isOver = false
  const provider = await startProvider(async () => isOver || new Promise<void>((resolve) => held.push(resolve)))
  const app = await start(provider)
  const isChecked = (many: number) =>
    expect
      .poll(() => app.observations.filter(({ type }) => type === 'credential_checked').length, { timeout: 10_000 })
      .toBe(many)
  expect(await ask(app, 'good-lately', '127.0.3.1')).toBe(200)
  const addresses = [...new Array<number>(40).fill(1), ...Array.from({ length: 22 }, (_, i) => 2 + (i % 11))]
  const flooding = addresses.map((address, i) => ask(app, `wrong-${i}`, `127.0.3.${address}`))
  await isChecked(1 + 62)
  expect(await ask(app, 'wrong', '127.0.3.1')).toBe(429)
  expect(await ask(app, 'good-lately', '127.0.3.1')).toBe(200)
  const good = ask(app, 'good-new', '127.0.3.99')
  await isChecked(1 + 62 + 3)
  // One turn of each of the twelve, and its own; in the order of arrival it would need 31.
  await expect.poll(() => held.length, { timeout: 10_000 }).toBe(32)
  for (const answer of held.splice(0, 13)) answer()
  expect(await good).toBe(200)
  isOver = true
  for (const answer of held.splice(0)) answer()
  await Promise.all(flooding)
}, 30_000)

it('one wrong credential in as many requests as there may be under way, from two addresses, keeps no user out', async () => {
  const held: (() => void)[] = []
  const provider = await startProvider(() => new Promise<void>((resolve) => held.push(resolve)))
  const app = await start(provider, 'ttl: 1h', ', max_in_flight: 10')
  expect(await ask(app, 'good', '127.0.3.9')).toBe(200)
  const wrong = Array.from({ length: 10 }, (_, i) => ask(app, 'wrong', `127.0.3.${1 + (i % 2)}`))
  const underWay = async () =>
    /^tollgate_inflight_requests (\d+)$/m.exec(await (await fetch(`${app.admin}/metrics`)).text())?.[1]
  await expect.poll(underWay, { timeout: 10_000 }).toBe('10')
  expect(await ask(app, 'good', '127.0.3.9')).toBe(200)
  expect(provider.asked).toEqual(['good', 'wrong'])
  for (const answer of held) answer()
  expect(await Promise.all(wrong)).toEqual(new Array(10).fill(401))
}, 30_000)

it('credentials of one address on which the provider fails keep out no new one of another address', async () => {
  const provider = await startProvider(async () => {}, 500)
  const app = await start(provider)
  const isOut = () => app.observations.some(({ type }) => type === 'introspection_out')
  for (let i = 0; i < 10 && !isOut(); i++) expect(await ask(app, `wrong-${i}`, '127.0.3.1')).toBe(503)
  expect(isOut()).toBe(true)
  expect(await ask(app, 'good-new', '127.0.3.2')).toBe(200)
}, 30_000)
