import { chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import type { NowResponse } from '../../src/contract/api.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { type Browser, browserOf, type OpenPage, type View } from '../setup/browser.ts'

/** What the stories of the page share: a gateway with traffic, administrators, and a browser at its admin listener. */

export const ADMIN = 'test-admin-token-0001'
/** Of another administrator, named `ops`. */
export const OPS = 'test-admin-token-0002'
/** Of somebody named `desk` who may only look. */
export const VIEWER = 'test-admin-token-0003'

/** Of somebody named `carol` who leads the organisation of the option `lead`. */
export const LEAD = 'test-admin-token-0004'

/** A field of each response of the API, by which the page knows it. */
export const OWN = { 'x-tollgate-listener': 'admin' }

/** Longer than anything takes, also on a machine with a lot to do. */
export const SOON = { timeout: 30_000, interval: 25 }

export const QUOTA = `quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`

export interface ConfigOptions {
  readonly rest?: string
  readonly store?: string
  /** The organisation that carol leads. Default none. */
  readonly lead?: string
  /** Addresses of the listeners. */
  readonly gateway?: string
  readonly admin?: string
}

export function configOf(upstream: string, options: ConfigOptions = {}): string {
  const { rest = QUOTA, store, gateway = '127.0.0.1:0', admin = '127.0.0.1:0' } = options
  const lead = options.lead === undefined ? '' : `, { name: carol, role: "lead:${options.lead}", token: ${LEAD} }`
  const tokens = `[{ name: ops, role: admin, token: ${OPS} }, { name: desk, role: viewer, token: ${VIEWER} }${lead}]`
  return yaml(upstream, rest, store)
    .replace(/^listen: .*$/m, `listen: ${gateway}`)
    .replace(/^admin: .*$/m, `admin: { listen: "${admin}", token: ${ADMIN}, tokens: ${tokens} }`)
}

export interface Stage {
  readonly upstream: Upstream
  readonly app: RunningApp
  readonly browser: Browser
  /** A page that somebody is signed in at. */
  open(hash: string, options?: View & { readonly token?: string }): Promise<OpenPage>
  /** A call of the admin API by a script of `ops`. */
  api<T>(method: string, path: string, body?: unknown): Promise<T>
  stop(): Promise<void>
}

/** Another part of the page of a user or an organisation. */
export function turnTo(page: Page, name: string): Promise<void> {
  return page.locator('main').getByText(name, { exact: true }).first().click()
}

let shared: Promise<Browser> | undefined

/** One for all files that a process runs, so that its pages are used again; its end is that of the run. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= chromium.connect(inject('browser')).then(browserOf)
  return shared
}

export interface StageOptions extends ConfigOptions {
  readonly respond?: Parameters<typeof startUpstream>[0]
}

async function startStage(options: StageOptions): Promise<Stage> {
  const upstream = await startUpstream(options.respond)
  const [app, browser] = await Promise.all([startApp(configOf(upstream.url, options)), sharedBrowser()])
  return {
    upstream,
    app,
    browser,
    open: (hash, { token = ADMIN, ...view } = {}) => openSignedIn(browser, app.admin, hash, token, view),
    api: (method, path, body) => callApi(app.admin, method, path, body),
    stop: async () => {
      await browser.closePages()
      await app.stop()
      await upstream.close()
      expect(app.observations.filter(({ type }) => type === 'internal_error')).toEqual([])
    },
  }
}

/** The stage of the present file, and the page that the present test looks at. */
export let stage: Stage
export let open: OpenPage
export let page: Page

/** What the present test has opened. */
const opened: OpenPage[] = []

/** For each file: a stage for all its tests. What a test opens by `show` is closed behind it, and nothing may have gone wrong there. */
export function stageDashboard(options: StageOptions | (() => Promise<StageOptions>) = {}): void {
  beforeAll(async () => {
    stage = await startStage(typeof options === 'function' ? await options() : options)
  })
  afterAll(() => stage.stop())
  afterEach(async () => {
    const all = opened.splice(0)
    await Promise.all(all.map((each) => each.close()))
    expect(all.flatMap(({ errors }) => errors)).toEqual([])
  })
}

/** Opens what the test looks at from now on. */
export async function show(hash: string, options: Parameters<Stage['open']>[1] = {}): Promise<void> {
  lookAt(await stage.open(hash, options))
}

export function lookAt(next: OpenPage): void {
  opened.push(next)
  open = next
  page = next.page
}

/** Lets the page be open still when the test is over. */
export function keepOpen(): OpenPage {
  return opened.pop() ?? open
}

/** What the browser itself writes where a response has this status, or this in its address, is no fault. */
export function forgive(part: number | string): void {
  // The port in an address may have the digits of a status.
  const [text, address] = typeof part === 'number' ? [`status of ${part} `, ''] : ['', part]
  const isForgiven = (error: string) => error.includes(text) && error.includes(address)
  open.errors.splice(0, open.errors.length, ...open.errors.filter((error) => !isForgiven(error)))
}

export const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })

export async function openSignedIn(
  browser: Browser,
  admin: string,
  hash: string,
  token = ADMIN,
  view: View = {},
): Promise<OpenPage> {
  const open = await browser.open(view)
  // Its cookie is that of the page, which need not be drawn twice for it. How one signs in there is a story of its own.
  const response = await open.context.request.post(`${admin}/api/session`, { data: { token } })
  if (!response.ok()) throw new Error(`signing in answered ${response.status()}: ${await response.text()}`)
  await open.page.goto(`${admin}/${hash}`)
  await open.page.locator('main h1').waitFor()
  return open
}

export async function signIn({ page }: OpenPage, token: string): Promise<void> {
  await page.locator('.sign-in input').fill(token)
  await page.locator('.sign-in button[type="submit"]').click()
}

/** What is behind the name in the header: language, colours, the way out. */
export async function openAccount(page: Page): Promise<void> {
  await page.locator('.top-end .dropdown-button').click()
}

export async function signOut(page: Page): Promise<void> {
  await openAccount(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
}

async function callApi<T>(admin: string, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(admin + path, {
    method,
    headers: { authorization: `Bearer ${OPS}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
  return (response.status === 204 ? null : await response.json()) as T
}

/** Changes what the page sees of the moment. */
export async function withNow(change: (now: NowResponse) => NowResponse): Promise<void> {
  await page.route('**/api/now', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: change((await response.json()) as NowResponse) })
  })
}

export interface Held {
  /** The page has sent such a request. */
  readonly asked: Promise<void>
  /** Lets it through, and those that come later. */
  release(): void
}

/** Keeps requests of the page from the gateway, so that what happens before their answer has its time. */
export async function hold(page: Page, method: string, url: string): Promise<Held> {
  const asked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  await page.route(url, async (route) => {
    if (route.request().method() === method) {
      asked.resolve()
      await released.promise
    }
    // The page may have given it up.
    await route.continue().catch(() => {})
  })
  return { asked: asked.promise, release: released.resolve }
}

/** What a client gets for a request of 4 tokens: its status, and the limit of a refusal. */
export async function ask(url: string, user: string, path = '/items/1'): Promise<{ status: number; limit?: number }> {
  const response = await fetch(url + path, { headers: bearer(user) })
  const text = await response.text()
  if (response.status !== 429) return { status: response.status }
  return { status: 429, limit: (JSON.parse(text) as { quota: { limit: number } }).quota.limit }
}
