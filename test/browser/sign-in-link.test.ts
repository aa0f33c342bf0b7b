import { expect, test } from 'vitest'
import { accessibilityFindings, type View } from '../setup/browser.ts'
import { ADMIN, forgive, lookAt, open, page, SOON, signIn, signOut, stage, stageDashboard, VIEWER } from './stage.ts'

stageDashboard()

const hashOfLink = () => `#/sign-in?code=${stage.app.app.signInCode()}`
async function visit(hash: string, view?: View): Promise<void> {
  lookAt(await stage.browser.open(view))
  await page.goto(`${stage.app.admin}/${hash}`)
}
async function enter(hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
}

const overview = () => page.getByRole('heading', { level: 1, name: 'Overview' })
const noMore = () => page.getByRole('alert').filter({ hasText: 'This sign-in link is no longer valid: it was used' })
const who = () => page.locator('.who').innerText()

test('a sign-in link opens the overview at once, and its code is nowhere in the page afterwards', async () => {
  const link = hashOfLink()
  const code = link.split('=')[1] as string
  await visit(link)
  await overview().waitFor()
  expect(await page.evaluate('location.href')).toBe(`${stage.app.admin}/#/overview`)
  expect(await page.content()).not.toContain(code)
  expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).toBe('[{},{}]')
  await expect.poll(who, SOON).toBe('admin (admin)')
  await page.reload()
  await overview().waitFor()
})

test('a link that was used says so at the sign-in, where the token lets in', async () => {
  const link = hashOfLink()
  await visit(link)
  await overview().waitFor()
  await signOut(page)
  await page.getByLabel('Admin token').waitFor()
  await enter(link)
  await noMore().waitFor()
  expect(await page.evaluate('location.hash')).toBe('#/overview')
  expect(await accessibilityFindings(page)).toEqual([])
  await signIn(open, 'wrong')
  await page.getByRole('alert').filter({ hasText: 'This is none of the admin tokens' }).waitFor()
  expect(await noMore().count()).toBe(0)
  await signIn(open, ADMIN)
  await overview().waitFor()
  forgive(401)
})

test('a page that is opened by a used link says so in Chinese, too', async () => {
  await visit('#/sign-in?code=of-another-start', { language: 'zh-CN' })
  await page.getByRole('alert').filter({ hasText: '此登录链接已失效' }).waitFor()
  await page.getByLabel('管理口令').waitFor()
  forgive(401)
})

test('a link signs in as admin.token also where a viewer is signed in', async () => {
  await visit('#/users')
  await signIn(open, VIEWER)
  await expect.poll(who, SOON).toBe('desk (viewer)')
  await enter(hashOfLink())
  await expect.poll(who, SOON).toBe('admin (admin)')
  await overview().waitFor()
})

test('a used link leaves who is signed in, and is not spoken of to whoever signs in next', async () => {
  await visit('#/users')
  await signIn(open, VIEWER)
  await expect.poll(who, SOON).toBe('desk (viewer)')
  const refused = page.waitForResponse((response) => response.request().method() === 'POST')
  await enter('#/sign-in?code=of-another-start')
  expect((await refused).status()).toBe(401)
  await overview().waitFor()
  expect(await who()).toBe('desk (viewer)')
  await signOut(page)
  await page.getByLabel('Admin token').waitFor()
  expect(await noMore().count()).toBe(0)
  forgive(401)
})

test('a link that nobody answers says so, and signs in when it is entered again', async () => {
  const link = hashOfLink()
  lookAt(await stage.browser.open())
  let isAway = true
  await page.route('**/api/session', (route) =>
    isAway && route.request().method() === 'POST' ? route.abort('connectionreset') : route.continue(),
  )
  await page.goto(`${stage.app.admin}/${link}`)
  await page.getByRole('alert').filter({ hasText: 'The gateway does not respond.' }).waitFor()
  isAway = false
  await enter(link)
  await overview().waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.textContent'), SOON).toBe('Overview')
  forgive('/api/session')
})
