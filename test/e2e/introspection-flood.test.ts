import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, yaml } from './harness.ts'

/** Wrong credentials as fast as three addresses can bring them, what their provider is asked, and what others notice of it. */

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface Provider {
  readonly url: string
  /** The credentials that it was asked about, in that order. */
  readonly asked: string[]
}

/** Knows what begins with `good`, and takes so long to say so. */
async function startProvider(takesMs: number): Promise<Provider> {
  const asked: string[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const token = new URLSearchParams(body).get('token') ?? ''
    asked.push(token)
    await sleep(takesMs)
    response.end(JSON.stringify(token.startsWith('good') ? { active: true, sub: token } : { active: false }))
  })
  return { url: await listen(server), asked }
}

async function listen(server: http.Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function start(provider: Provider, upstream: string, cache: string): Promise<RunningApp> {
  const auth = `gateway_tokens: true
  credential_cache: { ${cache} }
  introspection: [{ url: "${provider.url}", client_id: gateway, client_secret: secret }]`
  const file = yaml(upstream, 'routes: [{ match: GET /x, category: read, cost: 0 }]')
  const app = await startApp(file.replace('gateway_tokens: true', auth))
  cleanups.push(() => app.stop())
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

it.each([800, 50])(
  'a provider that takes %d ms is asked for each of three addresses at the rate that is meant, and others are served',
  async (takesMs) => {
    const [provider, upstream] = [await startProvider(takesMs), await startUpstream()]
    cleanups.push(() => upstream.close())
    const app = await start(provider, upstream.url, 'ttl: 1s')
    expect(await ask(app, 'good-lately', '127.0.3.9')).toBe(200)
    const addresses = ['127.0.3.1', '127.0.3.2', '127.0.3.3']
    const startedAt = performance.now()
    const floods = addresses.map((address) => flood(app, address, 100))
    const statuses: number[] = []
    for (let i = 0; i < 4; i++) {
      await sleep(300)
      statuses.push(...(await Promise.all([ask(app, 'good-lately', '127.0.3.9'), ask(app, `good-${i}`, '127.0.3.8')])))
    }
    await Promise.all(floods.map((end) => end()))
    const most = 40 + (10 * (performance.now() - startedAt)) / 1000 + 1
    for (const address of addresses) {
      const asked = provider.asked.filter((token) => token.startsWith(`wrong-${address}-`)).length
      expect(asked).toBeLessThanOrEqual(most)
      expect(asked).toBeGreaterThanOrEqual(40)
    }
    expect(statuses).toEqual(Array(8).fill(200))
    expect(provider.asked.filter((token) => token === 'good-lately').length).toBeGreaterThan(1)
  },
  30_000,
)
