import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FrameLocator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Backend, type RunningApp, startApp, startBackend, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { accessibilityFindings, type Browser, type OpenPage, startBrowser, type View } from '../setup/browser.ts'

type Handler = (req: http.IncomingMessage, res: http.ServerResponse) => void

/** A service beside the gateway, which can be replaced by whatever else may be at its address. */
interface Service {
  readonly url: string
  handle: Handler
  /** Requests but those for its document. */
  readonly calls: http.IncomingMessage[]
  listen(): Promise<void>
  close(): Promise<void>
}

// A snapshot of the memory takes seconds on a machine with a lot to do.
vi.setConfig({ testTimeout: 180_000 })

let backend: Backend
let app: RunningApp
let browser: Browser
let net: Service
let chart: Service
let open: OpenPage
let page: Page
let frame: FrameLocator

beforeAll(async () => {
  backend = await startBackend((_seen, res) => {
    res.setHeader('content-type', 'application/json')
    res.setHeader('x-of-the-backend', 'seen').end('{"item":1}')
  })
  ;[net, chart, browser] = await Promise.all([startService(netDocument), startService(chartDocument), startBrowser()])
  app = await startApp(
    yaml(
      backend.url,
      `quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: GET /items/:id, category: read, cost: 4 }, { match: GET /free, public: true }]
reference:
  path: /reference
  title: Our API
  services: [{ name: Network, url: "${net.url}" }, { name: Charts, url: "${chart.url}" }]`,
    ),
  )
})
afterAll(async () => {
  await browser.close()
  await app.stop()
  await Promise.all([backend.close(), net.close(), chart.close()])
})
afterEach(async () => {
  await open.context.close()
  for (const service of [net, chart]) service.calls.length = 0
  expect(app.observations.filter(({ type }) => type === 'internal_error')).toEqual([])
})

async function startService(document: () => object): Promise<Service> {
  const server = http.createServer((req, res) => {
    if (req.url !== '/openapi.json' && req.method !== 'OPTIONS') service.calls.push(req)
    service.handle(req, res)
  })
  const at = { host: '127.0.0.1', port: 0 }
  const service = {
    url: '',
    calls: [] as http.IncomingMessage[],
    handle: described(document),
    async listen() {
      server.listen(at)
      await once(server, 'listening')
      at.port = (server.address() as AddressInfo).port
    },
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  await service.listen()
  return Object.assign(service, { url: `http://127.0.0.1:${at.port}` })
}

/** Lets any page ask for anything: what keeps credentials apart must be the page. */
function described(document: () => object): Handler {
  return (req, res) => {
    res.setHeader('access-control-allow-origin', '*')
    res.setHeader('access-control-allow-headers', 'authorization, bot-token, x-key')
    res.setHeader('content-type', 'application/json')
    res.end(req.url === '/openapi.json' ? JSON.stringify(document()) : '{"called":true}')
  }
}

const OK = { responses: { 200: { description: 'ok' } } }
const key = (name: string) => ({ key: { type: 'apiKey', in: 'header', name } })

function netDocument() {
  return {
    openapi: '3.1.0',
    info: { title: 'Network score-sync', version: '1' },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    paths: { '/api/sync': { get: { summary: 'Synchronise', ...OK } } },
    components: { securitySchemes: key('Bot-Token') },
  }
}

let chartDescription = ''

/** Would send what is typed for it to the others, if it were let. */
function chartDocument() {
  return {
    openapi: '3.1.0',
    info: { title: 'Chart preview', version: '1', description: chartDescription },
    servers: [
      { url: `${net.url}/` },
      { url: 'http://evil.test' },
      { url: '{any}', variables: { any: { default: net.url } } },
    ],
    security: [{ key: [] }],
    paths: {
      '/charts': { servers: [{ url: net.url }], get: { ...OK, servers: [{ url: app.url }] } },
      '/schema': {
        get: {
          responses: {
            200: { description: 'ok', content: { 'application/json': { schema: { $ref: `${net.url}/stolen.json` } } } },
          },
        },
      },
    },
    components: { securitySchemes: key('X-Key') },
  }
}

async function visit(view: View = {}, query = ''): Promise<void> {
  open = await browser.open(view)
  page = open.page
  frame = page.frameLocator('iframe')
  await page.goto(`${app.url}/reference${query}`)
  await operation('/items/').waitFor()
}

const operation = (path: string) => frame.locator('.opblock', { hasText: path })

async function choose(name: string, path: string): Promise<void> {
  await page.getByLabel('Service').selectOption(name)
  await operation(path).waitFor()
}

/** By the keyboard, as somebody would: no script of the test ever holds what is typed. */
async function typeCredential(text: string): Promise<void> {
  await frame.getByRole('button', { name: 'Authorize' }).first().click()
  await frame.locator('.auth-container input').focus()
  await page.keyboard.insertText(text)
}

async function authorize(text: string): Promise<void> {
  await typeCredential(text)
  await page.keyboard.press('Enter')
  await frame.locator('.auth-container button', { hasText: 'Logout' }).waitFor()
  await frame.locator('.btn-done').click()
}

/** @returns what is shown of the answer */
async function send(path: string, id?: string): Promise<{ status: string; text: string }> {
  const block = operation(path)
  const tryOut = block.locator('.try-out__btn')
  if ((await tryOut.count()) === 0) await block.locator('.opblock-summary-control').click()
  await tryOut.waitFor()
  if ((await tryOut.innerText()) === 'Try it out') await tryOut.click()
  if (id !== undefined) await block.locator('input[placeholder="id"]').fill(id)
  const clear = block.getByRole('button', { name: 'Clear' })
  if ((await clear.count()) > 0) await clear.click()
  await block.getByRole('button', { name: 'Execute' }).click()
  const shown = block.locator('.live-responses-table .response')
  await shown.waitFor()
  return { status: await shown.locator('.response-col_status').innerText(), text: await shown.innerText() }
}

/** Everything that scripts of the page and its frames can still reach. */
async function heap(): Promise<string> {
  const session = await open.context.newCDPSession(page)
  const chunks: string[] = []
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk))
  await session.send('HeapProfiler.collectGarbage')
  await session.send('HeapProfiler.takeHeapSnapshot', { captureNumericValue: false })
  await session.detach()
  return chunks.join('')
}

async function gone(text: string): Promise<void> {
  await expect.poll(async () => (await heap()).includes(text), { timeout: 60_000, interval: 500 }).toBe(false)
}

/** What browsers keep for a page, beside its memory. */
const kept = () =>
  page.evaluate(`(async () => JSON.stringify({
    local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, state: history.state, name,
    databases: await indexedDB.databases(), caches: await caches?.keys() ?? [], url: location.href,
  }))()`)
const NOTHING_KEPT = () =>
  JSON.stringify({
    local: {},
    session: {},
    cookie: '',
    state: null,
    name: '',
    databases: [],
    caches: [],
    url: `${app.url}/reference`,
  })

const but = (...expected: string[]) => open.errors.filter((error) => !expected.some((part) => error.includes(part)))

describe('what is typed for one service', () => {
  const secret = bearer('alice').authorization.slice('Bearer '.length)

  test('is gone from memory, storage and the next request as soon as another one is chosen', async () => {
    await visit()
    await authorize(secret)
    expect((await send('/items/', '1')).status).toBe('200')
    expect(backend.seen.at(-1)?.url).toBe('/items/1')
    // The search finds it where it is, so that not to find it means something.
    expect(await heap()).toContain(secret)
    expect(await kept()).toBe(NOTHING_KEPT())

    await choose('Network', '/api/sync')
    await gone(secret)
    expect((await send('/api/sync')).status).toBe('200')
    expect(net.calls.map(({ headers }) => [headers.authorization, headers['bot-token'], headers.cookie])).toEqual([
      [undefined, undefined, undefined],
    ])
    expect(JSON.stringify([net.calls[0]?.rawHeaders, net.calls[0]?.url])).not.toContain(secret)
    expect(await kept()).toBe(NOTHING_KEPT())
    expect(await open.context.cookies()).toEqual([])

    await choose('Gateway', '/items/')
    expect((await send('/items/', '1')).status).toBe('401')
    expect(await heap()).not.toContain(secret)
    expect(but('401')).toEqual([])
  })

  test('is gone as well where it was typed and not yet taken', async () => {
    await visit()
    await choose('Network', '/api/sync')
    await typeCredential('bot-token-canary')
    expect(await heap()).toContain('bot-token-canary')
    await choose('Charts', '/charts')
    await gone('bot-token-canary')
    await frame.getByRole('button', { name: 'Authorize' }).first().click()
    expect(await frame.locator('.auth-container input').inputValue()).toBe('')
    expect(await frame.locator('.auth-container input').getAttribute('autocomplete')).toBe('off')
    expect(open.errors).toEqual([])
  })

  test('is gone where the page is left, and not there when somebody comes back', async () => {
    await visit()
    await authorize(secret)
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }))')
    expect(await page.locator('iframe').count()).toBe(0)
    await gone(secret)
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))')
    await operation('/items/').waitFor()
    await authorize(secret)
    await page.goto('about:blank')
    await page.goBack()
    await operation('/items/').waitFor()
    expect((await send('/items/', '1')).status).toBe('401')
    expect(await heap()).not.toContain(secret)
    expect(but('401')).toEqual([])
  })

  test('goes to no other service, whatever the document says of servers and references', async () => {
    chartDescription = '<img src="http://evil.test/x.png"><script>fetch("http://evil.test/")</script>'
    await visit()
    await choose('Charts', '/charts')
    chartDescription = ''
    expect(await frame.locator('.servers option').allInnerTexts()).toEqual([chart.url])
    await authorize('chart-key-canary')
    expect((await send('/charts')).status).toBe('200')
    expect(chart.calls.map(({ url, headers }) => [url, headers['x-key']])).toEqual([['/charts', 'chart-key-canary']])
    await operation('/schema').locator('.opblock-summary-control').click()
    await operation('/schema').locator('.responses-table').waitFor()
    expect(net.calls).toEqual([])
    // The picture is asked for by the renderer and stopped by the policy.
    expect(open.errors).toEqual([
      expect.stringMatching(/http:\/\/evil\.test\/x\.png.*Content Security Policy.*blocked/),
    ])
    open.origins.delete('http://evil.test')
    expect([...open.origins].sort()).toEqual([app.url, chart.url].sort())
    expect(backend.seen.some(({ url }) => url === '/charts')).toBe(false)
  })

  test('does not follow a redirect to another service', async () => {
    const handle = chart.handle
    chart.handle = (req, res) => {
      if (req.url === '/charts' && req.method === 'GET')
        res.writeHead(307, { 'access-control-allow-origin': '*', location: `${net.url}/api/sync` }).end()
      else handle(req, res)
    }
    await visit()
    await choose('Charts', '/charts')
    await authorize('chart-key-canary')
    expect((await send('/charts')).text).toContain('Failed to fetch')
    expect([chart.calls.length, net.calls.length]).toEqual([1, 0])
    chart.handle = handle
  })
})

describe('the page', () => {
  test('tries a request at the gateway: the answer with its headers, and a refusal with its body', async () => {
    await visit()
    await authorize(bearer('dora').authorization.slice(7))
    const accepted = await send('/items/', '7')
    expect(accepted.status).toBe('200')
    for (const part of ['"item": 1', 'x-of-the-backend: seen', 'ratelimit:', 'x-request-id:'])
      expect(accepted.text).toContain(part)
    await send('/items/', '7')
    const refused = await send('/items/', '7')
    expect(refused.status).toContain('429')
    for (const part of ['"error": "quota_exceeded"', '"requested": 4', 'retry-after:', 'x-quota-reset:'])
      expect(refused.text).toContain(part)
    expect((await send('/free')).status).toBe('200')
    expect(but('429')).toEqual([])
  })

  test('shows the parameters, schemas and cost of an operation, and sends nothing before it is told to', async () => {
    await visit()
    const before = backend.seen.length
    const block = operation('/items/')
    await block.locator('.opblock-summary-control').click()
    await block.getByText('costs 4 tokens').waitFor()
    await block.locator('.parameters', { hasText: 'id' }).first().waitFor()
    expect(await block.locator('.responses-table .response-col_status').allInnerTexts()).toEqual(
      expect.arrayContaining(['401', '429', '503']),
    )
    expect(await block.getByRole('button', { name: 'Execute' }).count()).toBe(0)
    expect(backend.seen.length).toBe(before)
    expect(await page.title()).toBe('Our API')
    expect(open.errors).toEqual([])
  })

  test('asks nobody for what its address names', async () => {
    await visit({}, '?url=http://evil.test/a.json&configUrl=http://evil.test/b.json&urls.primaryName=x')
    expect([...open.origins]).toEqual([app.url])
    expect(await frame.getByText('evil.test').count()).toBe(0)
    expect(open.errors).toEqual([])
  })

  test('tells why a service cannot be shown and what cures it, goes on, and shows it when it can', async () => {
    const usual = net.handle
    const answering =
      (status: number, type: string, body: string): Handler =>
      (_req, res) =>
        res.writeHead(status, { 'access-control-allow-origin': '*', 'content-type': type }).end(body)
    const wrong: readonly (readonly [Handler, string, string])[] = [
      [answering(500, 'text/plain', ''), 'answered with status 500', 'look at its log'],
      [answering(200, 'text/html', '<h1>'), 'text/html that is no OpenAPI 3', 'check it in the configuration'],
      [answering(404, 'text/plain', ''), 'answered with status 404', 'reference.services'],
      [
        (_req, res) => res.end('{}'),
        'does not allow pages of http://127.0.0.1',
        'Let the service allow the origin http://127.0.0.1',
      ],
    ]
    await visit()
    const alert = page.getByRole('alert')
    const told = async (why: string, cure: string): Promise<void> => {
      await alert.getByText(why).waitFor()
      const text = await alert.innerText()
      for (const part of ['Network cannot be shown.', why, cure, net.url]) expect(text).toContain(part)
      expect(await page.locator('iframe').count()).toBe(0)
    }
    await net.close()
    await page.getByLabel('Service').selectOption('Network')
    await told('cannot be reached from this browser', 'start it, and try again')
    await net.listen()
    for (const [handle, why, cure] of wrong) {
      net.handle = handle
      await page.getByRole('button', { name: 'Try again' }).click()
      await told(why, cure)
    }

    await choose('Charts', '/charts')
    expect(await alert.count()).toBe(0)
    await page.getByLabel('Service').selectOption('Network')
    await alert.waitFor()
    net.handle = usual
    await page.getByRole('button', { name: 'Try again' }).click()
    await operation('/api/sync').waitFor()
    expect(but('Failed to load resource', 'CORS policy')).toEqual([])
  })

  test('shows the service that was chosen last, however slow the one before it is', async () => {
    const usual = net.handle
    const waiting: (() => void)[] = []
    net.handle = (req, res) => void waiting.push(() => usual(req, res))
    await visit()
    await page.getByLabel('Service').selectOption('Network')
    await page.getByText('Reading the description of Network').waitFor()
    // What was typed is gone at once, not when the next service has answered.
    expect(await page.locator('iframe').count()).toBe(0)
    await choose('Charts', '/charts')
    for (const answer of waiting) answer()
    net.handle = usual
    await choose('Gateway', '/items/')
    expect(await page.locator('iframe').count()).toBe(1)
    expect(await frame.getByText('Network score-sync').count()).toBe(0)
    expect(open.errors).toEqual([])
  })

  test.each<[string, View]>([
    ['wide and light', {}],
    ['wide and dark', { dark: true }],
    ['360 pixels wide', { width: 360, height: 700 }],
  ])('has nothing that keeps somebody out, %s', async (_how, view) => {
    await visit(view)
    await operation('/items/').locator('.opblock-summary-control').click()
    await operation('/items/').locator('.responses-table').waitFor()
    const inner = page.frames().find((each) => each.url().endsWith('/frame.html'))
    expect(await accessibilityFindings(page)).toEqual([])
    expect(await accessibilityFindings(inner as unknown as Page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await inner?.evaluate('document.documentElement.classList.contains("dark-mode")')).toBe(view.dark === true)
    expect(await inner?.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(open.errors).toEqual([])
  })

  test('is used by the keyboard alone', async () => {
    await visit()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.id')).toBe('service')
    await page.keyboard.press('ArrowDown')
    await operation('/api/sync').waitFor()
    await page.keyboard.press('Tab')
    const inner = () => page.frames().find((each) => each.url().endsWith('/frame.html'))
    for (let i = 0; i < 12; i++) {
      if ((await inner()?.evaluate('document.activeElement.className')) === 'btn authorize unlocked') break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await frame.locator('.auth-container input').waitFor()
    expect(await inner()?.evaluate('document.activeElement.tagName')).toBe('INPUT')
    expect(open.errors).toEqual([])
  })
})
