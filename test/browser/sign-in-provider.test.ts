import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { CLIENT_SECRET, type PeopleProvider, startPeopleProvider } from '../admin/people-provider.ts'
import { type RunningApp, startApp } from '../e2e/harness.ts'
import { accessibilityFindings, type Browser, type OpenPage, type View } from '../setup/browser.ts'
import { ADMIN, configOf, SOON, sharedBrowser, signIn, signOut } from './stage.ts'

let provider: PeopleProvider
let app: RunningApp
let browser: Browser
let open: OpenPage
let page: Page
beforeAll(async () => {
  provider = await startPeopleProvider()
  ;[app, browser] = await Promise.all([startApp(textWith(provider.issuer)), sharedBrowser()])
  provider.serveFor(app.admin)
})
afterAll(async () => {
  await browser.closePages()
  await app.stop()
  await provider.close()
})

function textWith(issuer: string): string {
  const oidc = `{ issuer: "${issuer}", client_id: tollgate, client_secret: ${CLIENT_SECRET}, scope: openid email groups, roles: { values: { sre: admin, support: viewer } } }`
  return configOf('http://127.0.0.1:1').replace('admin: { ', `admin: { oidc: ${oidc}, `)
}

beforeEach(() => {
  provider.who = { sub: 'ann', email: 'ann@example.org', email_verified: true, groups: ['sre'] }
})
afterEach(() => open.close())

async function visit(hash = '', view?: View): Promise<void> {
  open = await browser.open(view)
  page = open.page
  await page.goto(`${app.admin}/${hash}`)
}

const button = () => page.getByRole('button', { name: `Sign in with ${new URL(provider.issuer).host}` })
const who = () => page.locator('.who').innerText()
const heading = (name: string) => page.getByRole('heading', { level: 1, name })

test('one who signs in by the provider is back at the page that was opened, under the own name, until signing out', async () => {
  await visit('#/audit')
  await button().waitFor()
  expect(await accessibilityFindings(page)).toEqual([])
  await button().click()
  await heading('Audit').waitFor()
  await expect.poll(who, SOON).toBe('ann@example.org (admin)')
  expect(await page.evaluate('location.href')).toBe(`${app.admin}/#/audit`)
  const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'
  expect(await page.evaluate(kept)).toBe('[{},{},""]')
  expect(await open.context.cookies(app.admin)).toMatchObject([
    { name: 'tollgate_session', httpOnly: true, sameSite: 'Strict' },
  ])
  await page.reload()
  await heading('Audit').waitFor()
  const copy = await open.context.cookies(app.admin)
  await signOut(page)
  await button().waitFor()
  await open.context.addCookies(copy)
  await page.reload()
  await button().waitFor()
  expect(open.errors).toEqual([])
})

test('one without a role is told which claim has what, in both languages, and a token lets in all the same', async () => {
  provider.who = { ...provider.who, groups: ['dev'] }
  await visit()
  await button().click()
  const told = page
    .getByRole('alert')
    .filter({ hasText: 'the claim "groups" has "dev", and admin.oidc.roles names none' })
  await told.waitFor()
  expect(await page.evaluate('location.href')).toBe(`${app.admin}/#/overview`)
  await signIn(open, ADMIN)
  await heading('Overview').waitFor()
  await open.close()
  await visit('', { language: 'zh-CN' })
  await page.getByRole('button', { name: `使用 ${new URL(provider.issuer).host} 登录` }).click()
  await page.getByRole('alert').filter({ hasText: '您已在身份提供方登录，但无权查看本页面' }).waitFor()
})

test('while the provider is away the page says so and stays, and a token lets in', async () => {
  const lost = await startApp(textWith('http://localhost:1'))
  open = await browser.open()
  page = open.page
  await page.goto(`${lost.admin}/#/users`)
  await page.getByRole('button', { name: 'Sign in with localhost:1' }).click()
  await page.getByRole('alert').filter({ hasText: 'The provider localhost:1 does not sign anybody in now' }).waitFor()
  expect(await page.evaluate('location.href')).toBe(`${lost.admin}/#/users`)
  await signIn(open, ADMIN)
  await heading('Users').waitFor()
  await lost.stop()
})
