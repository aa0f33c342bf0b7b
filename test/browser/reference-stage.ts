import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FrameLocator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import type { Browser, OpenPage, View } from '../setup/browser.ts'
import { sharedBrowser } from './stage.ts'

export type Handler = (req: http.IncomingMessage, res: http.ServerResponse) => void

/** A service beside the gateway, which can be replaced by whatever else may be at its address. */
interface Service {
  readonly url: string
  handle: Handler
  /** Requests but those for its document. */
  readonly calls: http.IncomingMessage[]
  listen(): Promise<void>
  close(): Promise<void>
}

export let upstream: Upstream
export let app: RunningApp
let browser: Browser
export let net: Service
export let chart: Service
export let open: OpenPage
export let page: Page
export let frame: FrameLocator

/** For each file: the gateway with its page, two services beside it, and a browser; `visit` opens a page of its own for each test. */
export function stageReference(): void {
  beforeAll(async () => {
    upstream = await startUpstream((_seen, res) => {
      res.setHeader('content-type', 'application/json')
      res.setHeader('x-of-the-backend', 'seen').end('{"item":1}')
    })
    ;[net, chart, browser] = await Promise.all([
      startService(netDocument),
      startService(chartDocument),
      sharedBrowser(),
    ])
    app = await startApp(
      yaml(
        upstream.url,
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
    await browser.closePages()
    await app.stop()
    await Promise.all([upstream.close(), net.close(), chart.close()])
  })
  afterEach(async () => {
    await open.close()
    for (const service of [net, chart]) service.calls.length = 0
    expect(app.observations.filter(({ type }) => type === 'internal_error')).toEqual([])
  })
}

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

/** A picture that would ask for another one, and run a script, if it were part of the page. */
export const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="document.title='run'"><image href="https://evil.test/x.png"/></svg>`

let chartDescription = ''

/** Markup in the description of the second service. */
export function describeCharts(text: string): void {
  chartDescription = text
}

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
      '/preview.svg': {
        get: {
          responses: {
            200: { description: 'ok', content: { 'image/svg+xml': { schema: { type: 'string' }, example: PICTURE } } },
          },
        },
      },
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

export async function visit(view: View = {}, query = ''): Promise<void> {
  open = await browser.open(view)
  page = open.page
  frame = page.frameLocator('iframe')
  await page.goto(`${app.url}/reference${query}`)
  await operation('/items/').waitFor()
}

export const operation = (path: string) => frame.locator('.opblock', { hasText: path })

export async function choose(name: string, path: string): Promise<void> {
  await page.getByLabel('Service').selectOption(name)
  await operation(path).waitFor()
}

/** By the keyboard, as somebody would: no script of the test ever holds what is typed. */
export async function typeCredential(text: string): Promise<void> {
  await frame.getByRole('button', { name: 'Authorize' }).first().click()
  await frame.locator('.auth-container input').focus()
  await page.keyboard.insertText(text)
}

export async function authorize(text: string): Promise<void> {
  await typeCredential(text)
  await page.keyboard.press('Enter')
  await frame.locator('.auth-container button', { hasText: 'Logout' }).waitFor()
  await frame.locator('.btn-done').click()
}

/** @returns what is shown of the answer */
export async function send(path: string, id?: string): Promise<{ status: string; text: string }> {
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

export const but = (...expected: string[]) =>
  open.errors.filter((error) => !expected.some((part) => error.includes(part)))
