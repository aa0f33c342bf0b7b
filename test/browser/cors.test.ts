import type http from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import type { OpenPage } from '../setup/browser.ts'
import { sharedBrowser } from './stage.ts'

/** Pages of other origins in a real browser: one that may read what the gateway says, and one that may not. */

let listed: Upstream
let foreign: Upstream
let upstream: Upstream
let app: RunningApp
let open: OpenPage

/** An upstream that allows each origin, as one with CORS of its own does. */
function withCors({ method, headers }: Seen, res: http.ServerResponse): void {
  const allow = { 'Access-Control-Allow-Origin': headers.origin ?? '*', Vary: 'Origin' }
  if (method === 'OPTIONS') {
    res
      .writeHead(204, {
        ...allow,
        'Access-Control-Allow-Headers': 'authorization',
        'Access-Control-Allow-Methods': '*',
      })
      .end()
  } else res.writeHead(200, allow).end('ok')
}

function config(preflight: string): string {
  return yaml(
    upstream.url,
    `quota: { baselines: { personal: { read: { 1h: 2 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: "* /api/*", category: read }]
cors: { origins: ["${listed.url}"], preflight: ${preflight} }`,
  )
}

beforeAll(async () => {
  const page = (_seen: Seen, res: http.ServerResponse) =>
    res.setHeader('Content-Type', 'text/html').end('<title>a page</title>')
  ;[listed, foreign, upstream] = await Promise.all([startUpstream(page), startUpstream(page), startUpstream(withCors)])
  app = await startApp(config('forward'))
  open = await (await sharedBrowser()).open()
})
afterAll(async () => {
  await open.close()
  await app.stop()
  await Promise.all([listed, foreign, upstream].map((each) => each.close()))
})

interface Got {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly body: string
}

/** What a script of the page gets; `null` if the browser lets it read nothing. */
function get(path: string, headers: Record<string, string>): Promise<Got | null> {
  return open.page.evaluate(
    async ({ url, headers }) => {
      try {
        const response = await fetch(url, { headers, cache: 'no-store' })
        return { status: response.status, fields: Object.fromEntries(response.headers), body: await response.text() }
      } catch {
        return null
      }
    },
    { url: app.url + path, headers },
  )
}

describe.each(['forward', 'answer'])('with preflights that it is said to %s', (preflight) => {
  test('a page of an origin that is listed reads its responses: accepted, 429, 401, and what is left', async () => {
    await app.reload(config(preflight))
    await open.page.goto(listed.url)
    const user = bearer(`dora-${preflight}`)
    const accepted = await get('/api/a', user)
    expect(accepted).toMatchObject({ status: 200, body: 'ok' })
    expect(accepted?.fields.ratelimit).toMatch(/;r=1;/)
    expect((await get('/api/a', user))?.status).toBe(200)
    const refused = await get('/api/a', user)
    expect(refused?.status).toBe(429)
    expect(JSON.parse(refused?.body ?? '')).toMatchObject({ error: 'quota_exceeded', quota: { limit: 2, used: 2 } })
    expect(Object.keys(refused?.fields ?? {})).toEqual(
      expect.arrayContaining(['ratelimit', 'ratelimit-policy', 'retry-after', 'x-quota-reset', 'x-request-id']),
    )
    expect(await get('/api/a', { authorization: 'Bearer none' })).toMatchObject({ status: 401 })
    const left = await get('/me/quota', user)
    expect(JSON.parse(left?.body ?? '')).toMatchObject({ windows: { read: [{ used: 2, remaining: 0 }, {}] } })
    // Nothing of what the browser asked beforehand was charged.
    expect(upstream.seen.filter(({ method }) => method === 'OPTIONS').length > 0).toBe(preflight === 'forward')
    upstream.seen.length = 0
  })

  test('a page of another origin reads nothing of what the gateway says itself', async () => {
    await open.page.goto(foreign.url)
    const user = bearer(`eve-${preflight}`)
    for (let i = 0; i < 3; i++) await fetch(`${app.url}/api/a`, { headers: user })
    expect(await get('/api/a', user)).toBeNull()
    expect(await get('/me/quota', user)).toBeNull()
    expect(await get('/nothing', {})).toBeNull()
    upstream.seen.length = 0
  })
})
