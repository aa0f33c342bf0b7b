import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream } from '../e2e/harness.ts'
import type { Browser } from '../setup/browser.ts'
import { freePort } from '../setup/redis.ts'
import { ask, configOf, openSignedIn, SOON, sharedBrowser, turnTo } from './stage.ts'

let folder: string
let upstream: Upstream
let browser: Browser
let app: RunningApp
let config: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-lost-'))
  upstream = await startUpstream()
  const admin = `127.0.0.1:${await freePort()}`
  config = configOf(upstream.url, { store: `sqlite:${join(folder, 'quota.db')}`, admin })
  ;[app, browser] = await Promise.all([startApp(config), sharedBrowser()])
})
afterAll(async () => {
  await browser.closePages()
  await app.stop()
  await upstream.close()
  await rm(folder, { recursive: true })
})

const LOST_CHANGE =
  'The response to this change was lost: the change may be in force or not. Look at what is in force before you repeat it.'

const NOT_SET = 'Edits that are not set yet.'

/** The gateway makes the change, once, and its answer never comes. */
async function loseResponse(page: Page, method: string, url: string, meanwhile = async () => {}): Promise<void> {
  let lost = false
  await page.route(url, async (route) => {
    if (lost || route.request().method() !== method) return route.fallback()
    lost = true
    await route.fetch()
    await meanwhile()
    await route.abort('connectionreset')
  })
}

test('a proxy that drops unknown fields from a 304 does not make the connection seem lost', async () => {
  // Short responses are always whole.
  for (const user of ['xenia', 'yusuf', 'zoe']) for (let i = 0; i < 3; i++) await ask(app.url, user)
  const { page, close } = await openSignedIn(browser, app.admin, '#/refusals')
  let dropped = 0
  await page.route('**/api/**', async (route) => {
    const response = await route.fetch()
    if (response.status() === 304) dropped++
    const { 'x-tollgate-listener': _, ...headers } = response.headers()
    await route.fulfill(response.status() === 304 ? { status: 304, headers } : { response })
  })
  await expect.poll(() => dropped, { timeout: 60_000 }).toBeGreaterThan(1)
  expect(await page.getByText('The connection to the gateway is lost').count()).toBe(0)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await close()
})

test.each([
  [401, 'text/html', '<h1>Sign in at the proxy</h1>'],
  [403, 'application/json', '{"message":"Forbidden"}'],
  [404, 'application/json', '{"error":{"code":404}}'],
  [200, 'application/json', '{"status":"ok"}'],
])(
  'an answer %i of somebody in between (%s, %s) is a lost connection, and nobody is signed out by it',
  async (...response) => {
    const [status, contentType, body] = response
    const { page, close } = await openSignedIn(browser, app.admin, '#/users/alice?part=override')
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
    await close()
  },
)

test.each([
  [
    'en-US',
    403,
    'The response with status 403 is not from the gateway, but from something before it, such as a proxy. The change is most l',
  ],
  ['zh-CN', 405, '响应不是来自网关，而是来自它前面的某个环节（例如代理），状态码 405：更改很可能没有生效。'],
  ['en-US', 504, LOST_CHANGE],
] as const)('a change that somebody in between answers (%s, %i) is told as that', async (language, status, told) => {
  const { page, close } = await openSignedIn(browser, app.admin, '#/users/mia?part=override', undefined, { language })
  await page.locator('fieldset.limits input').first().fill('20')
  await page
    .locator('form', { has: page.locator('fieldset.limits') })
    .locator('input[maxlength="500"]')
    .fill('a trial')
  await page
    .locator('form', { has: page.locator('fieldset.limits') })
    .locator('[type="submit"]')
    .click()
  await page.route('**/override', (route) => route.fulfill({ status, contentType: 'text/html', body: '<h1>No</h1>' }))
  await page.locator('.preview button').first().click()
  await page.getByRole('alert').filter({ hasText: told }).waitFor()
  await close()
})

test('settings whose answer was lost are told as made where what is in force shows it, and are no edit any more', async () => {
  const { page, close } = await openSignedIn(browser, app.admin, '#/limits')
  const told = page.getByRole('alert').filter({ hasText: LOST_CHANGE })
  await page.getByRole('textbox', { name: 'Global multiplier' }).fill('2')
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  // Where it never got there, it may still be made for all that the page knows.
  let asked = 0
  await page.route('**/api/quota', async (route) => {
    if (route.request().method() !== 'PATCH' || asked++ > 0) return route.fallback()
    await route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Apply' }).click()
  await told.waitFor()
  await page.getByText('Edits, not applied: 1').waitFor()

  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  await loseResponse(page, 'PATCH', '**/api/quota')
  await page.getByRole('button', { name: 'Apply' }).click()
  await page.getByText(/^The response to this change was lost, but the change is in force as version \d+\./).waitFor()
  await page.getByText('changed at run time (file: 1)').waitFor()
  expect(await told.count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Apply' }).count()).toBe(0)
  await expect.poll(() => page.getByText(/^Edits, not applied/).count(), SOON).toBe(0)
  await close()
})

test('an override, its end, a reset and a token whose answers were lost are not told as failed, and read again', async () => {
  const { page, close } = await openSignedIn(browser, app.admin, '#/users/lena?part=override')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const told = page.getByRole('alert').filter({ hasText: LOST_CHANGE })
  await page.getByRole('textbox', { name: '1h' }).fill('20')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await button('Review').click()
  await loseResponse(page, 'PUT', '**/override')
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  await page.getByText('In force: a trial').waitFor()
  expect(await button('Set the override').count()).toBe(0)
  expect(await told.count()).toBe(0)
  expect(await page.getByText(NOT_SET).count()).toBe(0)
  expect(await page.getByRole('textbox', { name: '1h' }).inputValue()).toBe('20')

  // What was typed while it was on its way is left, and no review takes what is set for somebody else's.
  await page.getByRole('combobox', { name: 'Ends' }).selectOption('168')
  await button('Review').click()
  await loseResponse(page, 'PUT', '**/override', () =>
    page.getByRole('textbox', { name: 'Reason' }).fill('a longer trial'),
  )
  await button('Set the override').click()
  await page.getByText(/^In force: a trial \(Ends/).waitFor()
  await page.getByText('The override is set.').waitFor()
  await page.getByText(NOT_SET).waitFor()
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('a longer trial')
  await button('Review').click()
  await page.locator('.preview').getByText('a longer trial').waitFor()
  expect(await page.locator('.differences li').count()).toBe(1)
  await button('Set the override').click()
  await page.getByText('In force: a longer trial').waitFor()

  await loseResponse(page, 'DELETE', '**/override')
  await button('Remove override').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove override' }).click()
  await page.getByText('No override: this user follows the defaults.').waitFor()
  await page.getByText('The override is removed.').waitFor()
  expect(await told.count()).toBe(0)

  await loseResponse(page, 'POST', '**/reset')
  await turnTo(page, 'Reset and data')
  await button('Reset windows').click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await page.getByRole('dialog').getByRole('button', { name: 'Empty the windows' }).click()
  await told.waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)

  await page.getByRole('link', { name: 'Access keys' }).click()
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('lena')
  await page.getByRole('textbox', { name: 'Name' }).fill('robot')
  await loseResponse(page, 'POST', '**/api/tokens')
  await button('Create key').click()
  await told.filter({ hasText: 'If the list has a new access key that you do not hold, revoke it' }).waitFor()
  await loseResponse(page, 'DELETE', '**/api/tokens/*')
  await button('Revoke robot of lena').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('row', { name: 'lena' }).getByText('revoked', { exact: true }).waitFor()
  // Of the token that was made.
  expect(await told.count()).toBe(1)
  expect(await page.getByRole('dialog').count()).toBe(0)
  await close()
})

// The gateway that it starts anew ends with it, so it is the last one.
test('a connection that is lost is told, and mended without a reload or another sign-in', async () => {
  const { page, errors } = await openSignedIn(browser, app.admin, '#/users/alice?part=override')
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
  await page.getByRole('alert').filter({ hasText: LOST_CHANGE }).waitFor()

  app = await startApp(config)
  expect((await ask(app.url, 'alice')).status).toBe(200)
  await expect.poll(() => banner.count(), SOON).toBe(0)
  const row = page.getByRole('row', { name: 'Personal read 1h' })
  await expect.poll(() => row.getByRole('cell').first().innerText(), SOON).toMatch(/^4/)
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('half a sen')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Set the override' }).click()
  await page.getByText('The override is set.').waitFor()
  expect(await page.evaluate('window.sameDocument')).toBe(true)
  expect(errors.filter((error) => !/ERR_CONNECTION_(REFUSED|RESET)|ERR_EMPTY_RESPONSE/.test(error))).toEqual([])
})
