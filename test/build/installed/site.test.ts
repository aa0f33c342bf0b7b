import { existsSync, globSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildSite } from '../../../build/site/build.ts'
import { accessibilityFindings, type Browser, browserOf, LAUNCH } from '../../setup/browser.ts'

/** The site of the documents as it is built, in a browser that reaches nothing but the loopback. */

const SITE = 'build/site/dist'
const BASE = '/tollgate/'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
}

let server: Server
let url: string
let browser: Browser
const missing: string[] = []

/** The file of a path, as any server of plain files has it; `null` if there is none. */
function fileOf(path: string): string | null {
  const below = path.startsWith(BASE) ? decodeURIComponent(path.slice(BASE.length)) : 'none'
  const file = join(SITE, below.endsWith('/') || below === '' ? `${below}index.html` : below)
  return existsSync(file) ? file : null
}

beforeAll(async () => {
  buildSite(BASE)
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://any')
    const file = fileOf(pathname)
    if (file === null) missing.push(pathname)
    response.writeHead(file === null ? 404 : 200, { 'Content-Type': TYPES[extname(file ?? '.html')] ?? 'text/plain' })
    response.end(file === null ? '' : readFileSync(file))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`
  // Any name but an address of the loopback is unknown to it.
  browser = browserOf(
    await chromium.launch({
      ...LAUNCH,
      args: [...(LAUNCH.args ?? []), '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
    }),
  )
}, 600_000)
afterAll(async () => {
  await browser?.close()
  server?.close()
})

test('the site asks nothing of any other host, in its pages, pictures and search', async () => {
  const { page, origins, errors, close } = await browser.open()
  for (const path of [
    '',
    'docs/',
    'docs/dashboard.html',
    'docs/reference/configuration.html',
    'helm/',
    'docs/edge.html',
  ]) {
    await page.goto(url + path, { waitUntil: 'networkidle' })
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)')
  }
  await page.keyboard.press('Control+k')
  await page.locator('#localsearch-input').fill('connect_timeout')
  const found = page.locator('.VPLocalSearchBox .result').first()
  await expect.poll(() => found.textContent()).toContain('upstream.connect_timeout')
  await found.click()
  await expect.poll(() => page.url()).toContain('docs/reference/configuration.html#upstreamconnect_timeout')
  await expect.poll(() => page.locator('#upstreamconnect_timeout').isVisible()).toBe(true)
  expect([...origins]).toEqual([new URL(url).origin])
  expect(errors).toEqual([])
  expect(missing).toEqual([])
  await close()
})

test('the sidebar of the site leads a reader from part to part', async () => {
  const { page, errors, close } = await browser.open({ dark: true })
  await page.goto(`${url}docs/getting-started.html`)
  const sidebar = page.locator('.VPSidebar')
  await expect
    .poll(() => sidebar.locator('h2').allTextContents())
    .toEqual([...['Start', 'Set up', 'Operate', 'Administer', 'Clients', 'References', 'Contributors']])
  await sidebar.getByText('Error codes').click()
  await expect.poll(() => page.locator('h1').textContent()).toContain('Error codes')
  expect(errors).toEqual([])
  await close()
})

test.each([false, true])('a page of the site can be read by everybody, dark: %s', async (dark) => {
  const { page, close } = await browser.open({ dark, width: 400 })
  await page.goto(`${url}docs/clients.html`, { waitUntil: 'networkidle' })
  expect(await accessibilityFindings(page)).toEqual([])
  await close()
})

/** Of a page of the built site: where its links and pictures lead on the site. */
function targetsIn(file: string): string[] {
  const html = readFileSync(file, 'utf8')
  const [, content = ''] = html.split('<main')
  return [...content.matchAll(/ (?:href|src)="([^"#?]+)[^"]*"/g)].map(([, target = '']) => target)
}

test('every link and picture of every page of the site is there', () => {
  const pages = globSync('**/*.html', { cwd: SITE })
  expect(pages.length).toBeGreaterThan(60)
  const broken = pages.flatMap((page) =>
    targetsIn(join(SITE, page))
      .filter((target) => !/^(?:[a-z]+:|\/\/)/.test(target))
      .map((target) => new URL(target, `http://any${BASE}${page}`).pathname)
      .filter((path) => fileOf(path) === null)
      .map((path) => `${page}: ${path}`),
  )
  expect(broken).toEqual([])
})
