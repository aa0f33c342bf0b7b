import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import type { createClient } from '../../docs/examples/client.mjs'
import { jwtOf } from '../e2e/jwt.ts'
import { forgive, page, show, stage, stageDashboard } from './stage.ts'

/** docs/examples/client.mjs in a page of another origin than the gateway. */
type CreateClient = typeof createClient

const PAGE = `<!doctype html><title>a page</title><script type="module">
import { createClient } from '/client.mjs'
globalThis.createClient = createClient
</script>`

let pages: http.Server
let origin: string
afterAll(() => void pages.close())
stageDashboard(async () => {
  pages = http.createServer((request, response) => {
    const isClient = request.url === '/client.mjs'
    response.setHeader('Content-Type', isClient ? 'text/javascript' : 'text/html')
    response.end(isClient ? readFileSync('docs/examples/client.mjs') : PAGE)
  })
  pages.listen(0, '127.0.0.1')
  await once(pages, 'listening')
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
  return {
    // The service allows its own responses to be read, as it must without a gateway, but for that of one path.
    respond: ({ method, url }, response) => {
      if (method !== 'GET' || url !== '/hidden') {
        response
          .setHeader('Access-Control-Allow-Origin', origin)
          .setHeader('Access-Control-Allow-Headers', 'authorization')
      }
      response.end('ok')
    },
    rest: `cors: { origins: ["${origin}"] }
quota: { windows: { 2s: 2s }, baselines: { personal: { read: { 2s: 1 } } } }
routes: [{ match: GET /items, category: read }, { match: GET /hidden, public: true }]`,
  }
})

test('the client of the documents waits in a browser as the gateway says', async () => {
  await show('#/overview')
  await page.goto(origin)
  await page.waitForFunction(() => 'createClient' in globalThis)
  const statuses = await page.evaluate(
    async ({ url, token }) => {
      const { createClient } = globalThis as unknown as { createClient: CreateClient }
      const call = createClient({ url, token })
      const impatient = createClient({ url, token, patience: 0 })
      const first = await call({ path: '/items' })
      const refused = await impatient({ path: '/items' })
      const waited = await call({ path: '/items' })
      return [first.status, refused.status, refused.headers.get('retry-after') !== null, waited.status]
    },
    { url: stage.app.url, token: jwtOf('alice', {}) },
  )
  expect(statuses).toEqual([200, 429, true, 200])
  forgive(429)
})

test('the client of the documents sends a request once whose response the browser hides', async () => {
  await show('#/overview')
  await page.goto(origin)
  await page.waitForFunction(() => 'createClient' in globalThis)
  const before = stage.upstream.seen.length
  const failure = await page.evaluate(
    async ({ url, token }) => {
      const { createClient } = globalThis as unknown as { createClient: CreateClient }
      return createClient({ url, token })({ path: '/hidden' }).catch((error: unknown) => String(error))
    },
    { url: stage.app.url, token: jwtOf('alice', {}) },
  )
  expect(failure).toContain('Failed to fetch')
  const sent = stage.upstream.seen.slice(before).filter(({ method }) => method === 'GET')
  expect(sent.map(({ url }) => url)).toEqual(['/hidden'])
  forgive('/hidden')
})
