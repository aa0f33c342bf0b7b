import { beforeAll, expect, test } from 'vitest'
import type { AuditResponse } from '../../src/contract/api.ts'
import {
  ADMIN,
  forgive,
  hold,
  lookAt,
  open,
  page,
  SOON,
  signIn,
  signOut,
  stage,
  stageDashboard,
  turnTo,
  VIEWER,
} from './stage.ts'

stageDashboard()
beforeAll(async () => {
  await stage.api('POST', '/api/tokens', { user: 'alice', name: 'phone' })
})

async function visit(hash = ''): Promise<void> {
  lookAt(await stage.browser.open())
  await page.goto(`${stage.app.admin}/${hash}`)
  await page.getByLabel('Admin token').waitFor()
}

const focused = () => page.evaluate('document.activeElement.textContent')
const kept = () => page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')

test('a first visit asks for a token, and nothing is wrong with that', async () => {
  await visit('#/users')
  expect(await page.locator('nav').count()).toBe(0)
  expect(await page.title()).toBe('Sign in · Tollgate')
})

test('one who signs in gets a cookie that no script reads, and nothing else is kept', async () => {
  await visit('#/audit')
  await signIn(open, ADMIN)
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()
  const cookies = await open.context.cookies()
  expect(cookies).toMatchObject([{ name: 'tollgate_session', httpOnly: true, sameSite: 'Strict', path: '/' }])
  expect(cookies[0]?.value).not.toContain(ADMIN)
  expect(await kept()).toBe('[{},{},""]')
  expect(await page.content()).not.toContain(ADMIN)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()
  expect([...open.origins]).toEqual([stage.app.admin])
})

test('a wrong token is told at the field, and the right one then lets in', async () => {
  await visit()
  const field = page.getByLabel('Admin token')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Enter the token.').waitFor()
  await signIn(open, 'wrong')
  const problem = page
    .getByRole('alert')
    .filter({ hasText: 'This is none of the admin tokens of the gateway. Copy it' })
  await problem.waitFor()
  // The button was pressed, and the field is where one goes on.
  await expect.poll(() => page.evaluate('document.activeElement.tagName'), SOON).toBe('INPUT')
  expect(await field.inputValue()).toBe('wrong')
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  expect((await field.getAttribute('aria-describedby'))?.split(/\s+/)).toContain(await problem.getAttribute('id'))
  expect(await open.context.cookies()).toEqual([])
  await signIn(open, ADMIN)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  forgive(401)
})

test('one who signs out is out, also after a reload and with the old cookie gone', async () => {
  await visit()
  await signIn(open, ADMIN)
  await signOut(page)
  await page.getByLabel('Admin token').waitFor()
  expect(await open.context.cookies()).toEqual([])
  expect(await page.locator('nav').count()).toBe(0)
  await page.reload()
  await page.getByLabel('Admin token').waitFor()
})

test('while one signs out nothing is read: what is under way is given up, and what is due waits', async () => {
  await visit()
  await signIn(open, ADMIN)
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const reading = await hold(page, 'GET', '**/api/now')
  await reading.asked
  const givenUp = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/now'))
  const leaving = await hold(page, 'DELETE', '**/api/session')
  await signOut(page)
  await leaving.asked
  await givenUp
  const read: string[] = []
  page.on('request', (request) => read.push(new URL(request.url()).pathname))
  // At both everything that is shown would be read again.
  await page.evaluate(`window.dispatchEvent(new Event('online')); window.dispatchEvent(new Event('visibilitychange'))`)
  leaving.release()
  await page.getByLabel('Admin token').waitFor()
  await page.evaluate(`window.dispatchEvent(new Event('online')); window.dispatchEvent(new Event('visibilitychange'))`)
  await page.getByLabel('Admin token').waitFor()
  expect(read.filter((path) => path.startsWith('/api/') && path !== '/api/session')).toEqual([])
  await signIn(open, ADMIN)
  await expect.poll(() => read.includes('/api/now'), SOON).toBe(true)
})

test('nothing of one who signs out is shown to whoever signs in next', async () => {
  await visit('#/keys')
  await signIn(open, ADMIN)
  await page.getByRole('row', { name: 'alice' }).waitFor()
  await signOut(page)
  await page.getByLabel('Admin token').waitFor()
  const held = await hold(page, 'GET', '**/api/tokens')
  await signIn(open, VIEWER)
  await held.asked
  await page.getByRole('heading', { level: 1, name: 'Access keys' }).waitFor()
  expect(await page.getByRole('row', { name: 'alice' }).count()).toBe(0)
  held.release()
  await page.getByRole('row', { name: 'alice' }).waitFor()
})

test('one whose way out failed reads on and is told to be signed in still, and no more once it is tried again', async () => {
  await visit()
  await signIn(open, ADMIN)
  let fails = true
  await page.route('**/api/session', (route) =>
    fails && route.request().method() === 'DELETE' ? route.abort('connectionreset') : route.fallback(),
  )
  await signOut(page)
  const told = page.getByRole('alert').filter({ hasText: 'You are not signed out: try again.' })
  await told.waitFor()
  await page.waitForResponse((response) => response.url().endsWith('/api/now') && response.ok())
  fails = false
  const held = await hold(page, 'DELETE', '**/api/session')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await held.asked
  await expect.poll(() => told.count(), SOON).toBe(0)
  held.release()
  await page.getByLabel('Admin token').waitFor()
  forgive('/api/session')
})

/**
 * What the page asks for by itself would find out first, on a slow machine, and the form be gone before the click.
 * @returns lets it go on
 */
async function holdReads(): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route('**/api/**', async (route) => {
    if (route.request().method() === 'GET') await promise
    await route.continue().catch(() => {})
  })
  return resolve
}

test('a session that ends keeps what was being typed, and goes on where it was', async () => {
  await visit('#/keys')
  await signIn(open, ADMIN)
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('bob')
  await page.getByRole('textbox', { name: 'Name' }).fill('robot')
  // It can be pressed when it is known what bob has.
  await expect.poll(() => page.getByRole('button', { name: 'Create key' }).isEnabled(), SOON).toBe(true)
  const clicked = await holdReads()
  await open.context.clearCookies()
  await page.getByRole('button', { name: 'Create key' }).click()
  clicked()
  await page.getByText('The session is over. Sign in again: what you were doing is kept.').waitFor()
  await signIn(open, ADMIN)
  await expect.poll(focused, SOON).toBe('Create key')
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('robot')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Copy the key now: it is not shown again').waitFor()
  await expect.poll(() => page.getByRole('row', { name: 'bob' }).count(), SOON).toBe(1)
  forgive(401)
})

test('a session that ends under a dialog asks for the token in front of it, and then the dialog goes on', async () => {
  await visit('#/users/alice?part=data')
  await signIn(open, ADMIN)
  await page.getByRole('button', { name: 'Reset windows' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  const clicked = await holdReads()
  await open.context.clearCookies()
  await page.getByRole('dialog').getByRole('button', { name: 'Empty the windows' }).click()
  clicked()
  await page.getByText('The session is over. Sign in again: what you were doing is kept.').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.getByLabel('Admin token').click()
  await signIn(open, ADMIN)
  await expect.poll(focused, SOON).toBe('Empty the windows')
  expect(await page.getByRole('dialog').getByLabel('Reason').inputValue()).toBe('our fault')
  const { entries } = await stage.api<AuditResponse>('GET', '/api/audit')
  expect(entries.filter(({ what }) => what === 'reset')).toEqual([])
  const held = await hold(page, 'POST', '**/reset')
  await page.getByRole('dialog').getByRole('button', { name: 'Empty the windows' }).click()
  await held.asked
  const over = page.getByText('The token is not right, or the session is over.')
  expect(await over.count()).toBe(0)
  held.release()
  await page.getByText('The windows were emptied.').waitFor()

  await page.getByRole('button', { name: 'Reset windows' }).click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await open.context.clearCookies()
  await page.getByRole('dialog').getByRole('button', { name: 'Empty the windows' }).click()
  await page.getByText('The session is over. Sign in again: what you were doing is kept.').waitFor()
  await signIn(open, ADMIN)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  expect(await over.count()).toBe(0)
  forgive(401)
})

test('one who signs in is at the heading of the page, also where somebody else had the page before', async () => {
  await visit('#/users')
  await signIn(open, ADMIN)
  await expect.poll(focused, SOON).toBe('Users')
  await page.getByRole('searchbox').focus()
  await open.context.clearCookies()
  await page.getByText('The session is over. Sign in again: what you were doing is kept.').waitFor()
  await signIn(open, VIEWER)
  await expect.poll(focused, SOON).toBe('Users')
  forgive(401)
})

test('a viewer sees everything, and every control that changes something disabled with the reason', async () => {
  await visit('#/keys')
  await signIn(open, VIEWER)
  await expect.poll(() => page.locator('.who').innerText(), SOON).toBe('desk (viewer)')
  await page.getByRole('row', { name: 'alice' }).waitFor()
  const reason = 'You are signed in as a viewer: you can look at everything and change nothing.'
  const disabled = async (name: string, role: 'button' | 'textbox' = 'button') =>
    expect(await page.getByRole(role, { name }).first().isDisabled(), name).toBe(true)
  await disabled('Create key')
  await disabled('Revoke phone of alice')
  expect(await page.getByText(reason).count()).toBe(1)
  await page.getByRole('link', { name: 'alice' }).click()
  await page.getByRole('heading', { level: 1, name: 'alice' }).waitFor()
  await page.getByText(reason).first().waitFor()
  await turnTo(page, 'Override')
  for (const name of ['Review', 'Remove override']) await disabled(name)
  await disabled('Reason', 'textbox')
  await turnTo(page, 'Reset and data')
  await disabled('Reset windows')
  await turnTo(page, 'Test a request')
  expect(await page.getByRole('button', { name: 'Test' }).isDisabled()).toBe(false)
})
