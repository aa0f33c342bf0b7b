import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Backend, type RunningApp, startApp, startBackend } from '../e2e/harness.ts'
import { type Browser, startBrowser } from '../setup/browser.ts'
import { freePort } from '../setup/redis.ts'
import { ask, configOf, openSignedIn, SOON } from './stage.ts'

let folder: string
let backend: Backend
let browser: Browser
let app: RunningApp
let config: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-lost-'))
  backend = await startBackend()
  const admin = `127.0.0.1:${await freePort()}`
  config = configOf(backend.url, { store: `sqlite:${join(folder, 'quota.db')}`, admin })
  ;[app, browser] = await Promise.all([startApp(config), startBrowser()])
})
afterAll(async () => {
  await browser.close()
  await app.stop()
  await backend.close()
  await rm(folder, { recursive: true })
})

test('a connection that is lost is told, and mended without a reload or another sign-in', async () => {
  const { page, errors } = await openSignedIn(browser, app.admin, '#/users/alice')
  await page.evaluate('window.sameDocument = true')
  await page.getByRole('textbox', { name: 'Reason' }).fill('half a sen')
  await page.getByRole('textbox', { name: '1h' }).fill('20')
  const banner = page.getByRole('alert').filter({ hasText: 'The connection to the gateway is lost' })
  expect(await banner.count()).toBe(0)

  await app.stop()
  await banner.waitFor()
  expect(await page.getByRole('heading', { level: 1, name: 'alice' }).count()).toBe(1)
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Set the override' }).click()
  await page.getByRole('alert').filter({ hasText: 'The gateway does not answer.' }).waitFor()

  app = await startApp(config)
  expect((await ask(app.url, 'alice')).status).toBe(200)
  await expect.poll(() => banner.count(), SOON).toBe(0)
  const row = page.getByRole('row', { name: 'Personal read 1h' })
  await expect.poll(() => row.getByRole('cell').first().innerText(), SOON).toMatch(/^4/)
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('half a sen')
  await page.getByRole('button', { name: 'Set the override' }).click()
  await page.getByText('The override is set.').waitFor()
  expect(await page.evaluate('window.sameDocument')).toBe(true)
  expect(errors.filter((error) => !/ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE/.test(error))).toEqual([])
})

test.each([
  [401, 'text/html', '<h1>Sign in at the proxy</h1>'],
  [403, 'application/json', '{"message":"Forbidden"}'],
  [404, 'application/json', '{"error":{"code":404}}'],
  [200, 'application/json', '{"status":"ok"}'],
])(
  'an answer %i of somebody in between (%s, %s) is a lost connection, and nobody is signed out by it',
  async (...answer) => {
    const [status, contentType, body] = answer
    const { page, context } = await openSignedIn(browser, app.admin, '#/users/alice')
    await page.getByRole('textbox', { name: 'Reason' }).fill('half a sen')
    const banner = page.getByRole('alert').filter({ hasText: 'The connection to the gateway is lost' })
    await page.route('**/api/**', (route) => route.fulfill({ status, contentType, body }))
    await banner.waitFor()
    expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('half a sen')
    expect(await page.getByText(/^This page has failed/).count()).toBe(0)
    await page.reload()
    await banner.waitFor()
    expect(await page.getByLabel('Admin token').count()).toBe(0)
    await page.unroute('**/api/**')
    await page.getByRole('heading', { level: 1, name: 'alice' }).waitFor()
    expect(await banner.count()).toBe(0)
    await context.close()
  },
)
