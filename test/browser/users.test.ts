import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ExplainAnswer, TokenAnswer, TokensAnswer, UserAnswer } from '../../src/admin/api.ts'
import type { OpenPage } from '../setup/browser.ts'
import { ask, configOf, hold, OPS, QUOTA, SOON, type Stage, startStage } from './stage.ts'

let stage: Stage
let open: OpenPage
let page: Page
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())
afterEach(async () => {
  expect(open.errors).toEqual([])
  await open.context.close()
})

async function show(user: string): Promise<void> {
  open = await stage.open(`#/users/${user}`)
  page = open.page
  await page.getByRole('textbox', { name: 'Reason' }).waitFor()
}

const client = (user: string) => ask(stage.app.url, user)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const limitShown = () => page.getByRole('row', { name: 'Personal read 1h' }).getByRole('cell').nth(1).innerText()

/** As the field for a time wants it: in the time zone of the page, Shanghai. */
function local(at: number): string {
  return new Date(at + 8 * 3_600_000).toISOString().slice(0, 19)
}

test('an override changes the limit of its user, and ends by itself', async () => {
  expect([await client('alice'), await client('alice')]).toEqual([{ status: 200 }, { status: 200 }])
  expect(await client('alice')).toEqual({ status: 429, limit: 10 })
  await show('alice')
  await page.getByRole('textbox', { name: '1h' }).fill('13')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial of seconds')
  await page.getByLabel('Ends', { exact: true }).selectOption('at')
  // Longer than a slow machine takes to see it in force.
  const end = Date.now() + 25_000
  await page.getByLabel('Time (of this browser)').fill(local(end))
  await button('Review').click()
  const review = page.getByRole('region', { name: 'What this change does' })
  await expect.poll(() => review.innerText(), SOON).toMatch(/read\.1h default\s*→\s*13/)
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  await expect.poll(() => client('alice'), SOON).toEqual({ status: 200 })
  expect(await client('alice')).toEqual({ status: 429, limit: 13 })
  await expect.poll(limitShown, SOON).toBe('13')
  expect(await page.getByText('In force: a trial of seconds').count()).toBe(1)
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/alice')
  expect(override?.expiresAt).toBe(new Date(Math.floor(end / 1000) * 1000).toISOString())

  await expect.poll(() => client('alice'), SOON).toEqual({ status: 429, limit: 10 })
  expect(Date.now()).toBeGreaterThanOrEqual(Math.floor(end / 1000) * 1000)
  await expect.poll(limitShown, SOON).toBe('10')
  expect(await page.getByText('No override: this user follows the defaults.').count()).toBe(1)
  expect(await page.getByText('The override is set.').count()).toBe(0)
})

test('an override that is set while its user cannot be read is told as set all the same', async () => {
  await show('sam')
  const json = { error: 'store_unavailable', msg: 'The store does not answer.' }
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await page.route('**/api/users/sam', (route) => route.fulfill({ status: 503, json }))
  await button('Review').click()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  await page.unroute('**/api/users/sam')
  await page.getByText('In force: a trial').waitFor()
  expect(await page.getByText('The override is set.').count()).toBe(1)
  open.errors.splice(0, open.errors.length, ...open.errors.filter((error) => !error.includes('503')))
})

test('the question before an override is taken away names all that ends with it', async () => {
  await stage.api('PUT', '/api/users/petra/override', { read: { '1h': 30 }, bypassGlobal: true, reason: 'a big event' })
  await show('petra')
  await button('Take the override away').click()
  const lines = page.getByRole('dialog').locator('.differences li')
  await expect
    .poll(() => lines.allInnerTexts(), SOON)
    .toEqual([
      expect.stringMatching(/^bypassGlobal true\s*→\s*none$/),
      expect.stringMatching(/^read\.1h 30\s*→\s*default$/),
      expect.stringMatching(/^reason a big event\s*→\s*none$/),
    ])
})

test('the page of a user says which windows have no room for another request, and that they count tokens', async () => {
  for (let i = 0; i < 2; i++) expect(await client('quinn')).toEqual({ status: 200 })
  await show('quinn')
  const row = page.getByRole('row', { name: 'Personal read 1h' })
  await row.getByText('no room').waitFor()
  expect(await row.innerText()).toMatch(/8\s+10/)
  expect(await page.getByText('no room').count()).toBe(1)
  expect(await page.getByRole('heading', { name: 'Windows and limits' }).locator('+ p').innerText()).toContain('Tokens')
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  expect(await page.getByRole('heading', { name: 'Global windows' }).locator('+ p').innerText()).toContain('Tokens')
})

test('where nobody is known yet the list of users says so, and blames no search', async () => {
  open = await stage.open('#/routes')
  page = open.page
  await page.route('**/api/users?**', (route) => route.fulfill({ json: { users: [], next: null } }))
  await page.getByRole('link', { name: 'Users' }).click()
  await page.getByText('No user is known yet: each appears with the first request that is charged.').waitFor()
  expect(await page.getByText('No known user matches.').count()).toBe(0)
  await page.getByRole('searchbox').fill('x')
  await page.getByText('No known user matches.').waitFor()
})

test('an override that is told as set has its limits in the windows above it', async () => {
  await show('rita')
  await page.getByRole('textbox', { name: '1h' }).fill('20')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await button('Review').click()
  const held = await hold(page, 'GET', '**/api/users/rita')
  await button('Set the override').click()
  await expect.poll(async () => (await stage.api<UserAnswer>('GET', '/api/users/rita')).override).not.toBeNull()
  expect(await page.getByText('The override is set.').count()).toBe(0)
  held.release()
  await page.getByText('The override is set.').waitFor()
  expect(await limitShown()).toBe('20')
})

test('a review says which windows an override would block', async () => {
  expect(await client('bob')).toEqual({ status: 200 })
  await show('bob')
  await page.getByRole('textbox', { name: 'Reason' }).fill('why not')
  await button('Review').click()
  await page.getByText('This sets nothing: write a limit or switch something on.').waitFor()
  await page.getByRole('textbox', { name: 'Reason' }).fill('')
  await page.getByRole('textbox', { name: '1h' }).fill('4')
  await button('Review').click()
  await page.getByText('Say why, in 1 to 500 characters.').waitFor()
  await button('Discard edits').click()
  expect(await page.getByText('Say why, in 1 to 500 characters.').count()).toBe(0)
  await page.getByRole('textbox', { name: '1h' }).fill('4')
  await page.getByRole('textbox', { name: 'Reason' }).fill('too much')
  await button('Review').click()
  await page.getByText('read 1h: 4 used already, so the user is blocked until the window ends.').waitFor()
  expect(await client('bob')).toEqual({ status: 200 })
  await button('Set the override').click()
  await expect.poll(() => client('bob'), SOON).toEqual({ status: 429, limit: 4 })
})

test('a review, and the question before an override is taken away, say which windows the defaults would block', async () => {
  const set = { read: { '1h': 100 }, bypassGlobal: false, shadow: false, reason: 'a big event', expiresAt: null }
  await stage.api('PUT', '/api/users/erin/override', set)
  for (let i = 0; i < 3; i++) expect(await client('erin')).toEqual({ status: 200 })
  await show('erin')
  const blocked = 'read 1h: 12 used already, so the user is blocked until the window ends.'
  await page.getByRole('textbox', { name: '1h' }).fill('')
  await page.getByLabel('Bypass the global scope').check({ force: true })
  await button('Review').click()
  await page.getByText(blocked).waitFor()
  await button('Discard edits').click()
  await button('Take the override away').click()
  await page.getByRole('dialog').getByText(blocked).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()

  await page.getByRole('textbox', { name: '1h' }).fill('3')
  await button('Review').click()
  await page.getByText('read 1h: no request fits into a limit of 3, so the user is blocked.').waitFor()
  expect(await client('erin')).toEqual({ status: 200 })
})

test('a review, and the question before an override is taken away, say that the defaults are not known yet', async () => {
  const set = { read: { '1h': 100 }, bypassGlobal: false, shadow: false, reason: 'a big event', expiresAt: null }
  await stage.api('PUT', '/api/users/enid/override', set)
  for (let i = 0; i < 3; i++) expect(await client('enid')).toEqual({ status: 200 })
  open = await stage.open('#/routes')
  page = open.page
  const held = await hold(page, 'GET', '**/api/quota')
  await page.goto(`${stage.app.admin}/#/users/enid`)
  const unknown = page.getByText(/^The default limits have not been read yet/)
  const blocked = page.getByText('read 1h: 12 used already, so the user is blocked until the window ends.')
  await button('Take the override away').click()
  await page.getByRole('dialog').filter({ has: unknown }).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('textbox', { name: '1h' }).fill('')
  await page.getByLabel('Bypass the global scope').check({ force: true })
  await button('Review').click()
  await unknown.waitFor()
  expect(await blocked.count()).toBe(0)
  held.release()
  await blocked.waitFor()
  expect(await unknown.count()).toBe(0)
})

test('before a bypass of the global windows is taken away, those are told that would block the user', async () => {
  const set = { bypassGlobal: true, shadow: false, reason: 'a big event', expiresAt: null }
  await stage.api('PUT', '/api/users/gina/override', set)
  expect(await client('somebody')).toEqual({ status: 200 })
  await stage.api('PATCH', '/api/quota', { baselines: { global: { read: { '1h': 4 } } } })
  expect(await client('gina')).toEqual({ status: 200 })
  await show('gina')
  await button('Take the override away').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/Global read 1h: \d+ used already, so the user is blocked until the window ends/).waitFor()
  await dialog.getByRole('button', { name: 'Take the override away' }).click()
  await expect.poll(() => client('gina'), SOON).toEqual({ status: 429, limit: 4 })
  await stage.api('PATCH', '/api/quota', { baselines: null })
})

test('the list shows first who is nearest to a limit, where that is asked for', async () => {
  for (const [user, times] of [
    ['near-1', 1],
    ['near-2', 2],
  ] as const) {
    for (let i = 0; i < times; i++) expect(await client(user)).toEqual({ status: 200 })
  }
  const set = { read: { '1h': 1000 }, bypassGlobal: false, shadow: false, reason: 'a big event', expiresAt: null }
  await stage.api('PUT', '/api/users/near-0/override', set)
  expect(await client('near-0')).toEqual({ status: 200 })
  open = await stage.open('#/users')
  page = open.page
  const shown = () => page.locator('.users a').allInnerTexts()
  await page.getByRole('searchbox').fill('near-')
  await expect.poll(async () => (await shown())[0], SOON).toBe('near-0')
  await page.getByLabel('Order').selectOption('use')
  await expect.poll(shown, SOON).toEqual(['near-2', 'near-1', 'near-0'])
  // Of 10 tokens 2 are left, and the cheapest request costs 4.
  expect(await page.locator('.users li').filter({ hasText: 'no room' }).getByRole('link').allInnerTexts()).toEqual([
    'near-2',
  ])
})

test('the list shows which window has no room also where nothing was used of it yet', async () => {
  const none = (user: string, shadow: boolean) =>
    stage.api('PUT', `/api/users/${user}/override`, {
      read: { '1h': 0 },
      bypassGlobal: false,
      shadow,
      reason: 'abuse',
      expiresAt: null,
    })
  await none('void-1', false)
  await none('void-2', true)
  open = await stage.open('#/users')
  page = open.page
  await page.getByRole('searchbox').fill('void-')
  const line = (user: string) => page.locator('.users li').filter({ hasText: user })
  await line('void-2').waitFor()
  expect(await line('void-1').innerText()).toMatch(/no room[\s\S]*read 1h: 0 of 0/)
  expect(await line('void-1').getByText('no room').getAttribute('class')).toBe('tag bad')
  // In shadow mode nothing is refused.
  expect(await line('void-2').getByText('no room').getAttribute('class')).toBe('tag warn')
  await stage.api('PATCH', '/api/quota', { shadow: true })
  try {
    await page.reload()
    await page.getByRole('searchbox').fill('void-')
    await expect.poll(() => line('void-1').getByText('no room').getAttribute('class'), SOON).toBe('tag warn')
  } finally {
    await stage.api('PATCH', '/api/quota', { shadow: null })
  }
})

test('an override that somebody else changes during an edit is told before the review, and not taken back unseen', async () => {
  const set = { read: { '1h': 20 }, bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/frank/override', set)
  await show('frank')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a better reason')
  await stage.api('PUT', '/api/users/frank/override', { ...set, read: { '1h': 90 }, reason: 'they need more' })
  await page.getByText('In force: they need more').waitFor()
  await button('Review').click()
  const conflict = page.getByRole('alert').filter({ hasText: 'Changed by somebody else' })
  await expect.poll(() => conflict.innerText(), SOON).toMatch(/ops changed this at [\s\S]*read\.1h 20 → 90/)
  expect(await button('Set the override').count()).toBe(0)
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('a better reason')

  await page.getByRole('textbox', { name: '1h' }).fill('90')
  expect(await conflict.count()).toBe(0)
  await button('Review').click()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/frank')
  expect(override).toMatchObject({ limits: { read: { '1h': 90 } }, reason: 'a better reason' })
})

/** An override of somebody that ends by itself in seconds: longer than a slow machine takes to open the page. */
async function setBriefly(user: string): Promise<void> {
  const expiresAt = new Date(Date.now() + 8000).toISOString()
  await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 20 }, reason: 'a trial', expiresAt })
}

const over = () => page.getByRole('status').filter({ hasText: 'The override has ended' })
const conflict = () => page.getByText('Changed by somebody else')

test('an override that ends while it is edited is told, and neither revived nor lost with the edits', async () => {
  await setBriefly('theo')
  await show('theo')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a better reason')
  await over().waitFor()
  const ends = page.getByLabel('Ends', { exact: true })
  expect(await ends.locator('option:checked').innerText()).toMatch(/^As set: /)
  await button('Review').click()
  await page.getByText('Choose a time to come.').waitFor()
  expect(await conflict().count()).toBe(0)
  await ends.selectOption('24')
  await button('Review').click()
  await page.getByRole('region', { name: 'What this change does' }).waitFor()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  expect(await over().count()).toBe(0)
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/theo')
  expect(override).toMatchObject({ limits: { read: { '1h': 20 } }, reason: 'a better reason' })
})

test('an override that ends while its change is reviewed, or while it is to be taken away, is nobody else’s change', async () => {
  await setBriefly('uma')
  await show('uma')
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await page.getByLabel('Ends', { exact: true }).selectOption('24')
  await button('Review').click()
  await over().waitFor()
  await button('Set the override').click()
  await expect.poll(() => button('Set the override').count(), SOON).toBe(0)
  expect(await over().count()).toBe(1)
  expect(await conflict().count()).toBe(0)
  expect(await page.getByRole('textbox', { name: '1h' }).inputValue()).toBe('30')
  await button('Discard edits').click()

  await setBriefly('uma')
  await button('Take the override away').click()
  await page.getByText('No override: this user follows the defaults.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Take the override away' }).click()
  await page.getByText('The override had ended by itself.').waitFor()
  expect(await conflict().count()).toBe(0)
  open.errors.splice(0, open.errors.length, ...open.errors.filter((error) => !error.includes('412')))
})

test('an override that somebody else sets while one is asked is not taken away unseen', async () => {
  const set = { read: { '1h': 20 }, bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/olga/override', set)
  await show('olga')
  const takeAway = async (): Promise<void> => {
    await button('Take the override away').click()
    await page.getByRole('dialog').getByLabel('Reason').waitFor()
  }
  const confirm = () => page.getByRole('dialog').getByRole('button', { name: 'Take the override away' }).click()
  await takeAway()
  await stage.api('PUT', '/api/users/olga/override', { ...set, read: { '1h': 0 }, reason: 'abuse' })
  await page.getByText('In force: abuse').waitFor()
  await confirm()
  const conflict = page.getByRole('alert').filter({ hasText: 'Changed by somebody else' })
  await expect.poll(() => conflict.innerText(), SOON).toMatch(/ops changed this at [\s\S]*read\.1h 20 → 0/)
  const user = await stage.api<UserAnswer>('GET', '/api/users/olga')
  expect(user.override).toMatchObject({ reason: 'abuse' })

  await takeAway()
  await confirm()
  await page.getByText('The override is taken away.').waitFor()
  expect(await conflict.count()).toBe(0)
  open.errors.splice(0, open.errors.length, ...open.errors.filter((error) => !error.includes('412')))
})

test('an override can be changed also where the file has one of its windows no more', async () => {
  const rest = QUOTA.replace('1h: 10 }', '1h: 10, 1d: 50 }').replace('1h: 1000 }', '1h: 1000, 1d: 5000 }')
  await stage.app.reload(configOf(stage.backend.url, { rest }))
  const set = { bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/paula/override', { ...set, read: { '1h': 20, '1d': 90 } })
  await stage.app.reload(configOf(stage.backend.url))
  await show('paula')
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await button('Review').click()
  // What goes with it is told before.
  await page.getByRole('region', { name: 'What this change does' }).getByText('read.1d').waitFor()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/paula')
  expect(override?.limits).toEqual({ read: { '1h': 30 } })
})

test('a draft of an override waits while one looks elsewhere, also what came of it, and belongs to its user', async () => {
  await show('gina')
  await page.getByRole('textbox', { name: '1h' }).fill('77')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a draft')
  await page.getByRole('link', { name: 'All users' }).click()
  await page.getByRole('searchbox').fill('henry')
  await page.getByRole('link', { name: 'henry' }).click()
  await page.getByRole('heading', { name: 'henry' }).waitFor()
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('')
  expect(await page.getByText('Edits that are not set yet.').count()).toBe(0)
  await page.goBack()
  await page.goBack()
  await expect.poll(() => page.getByRole('textbox', { name: '1h' }).inputValue(), SOON).toBe('77')
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('a draft')
  expect(await page.getByText('Edits that are not set yet.').count()).toBe(1)

  const held = await hold(page, 'PUT', '**/override')
  await button('Review').click()
  await button('Set the override').click()
  await held.asked
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
  held.release()
  await expect
    .poll(async () => (await stage.api<UserAnswer>('GET', '/api/users/gina')).override?.reason)
    .toBe('a draft')
  await page.goBack()
  await page.getByText('In force: a draft').waitFor()
  await expect.poll(() => page.getByText('Edits that are not set yet.').count(), SOON).toBe(0)
  expect(await button('Discard edits').isDisabled()).toBe(true)
})

test('an edit of an override that is made while another one is being saved stays an edit, on top of what is set', async () => {
  await show('mia')
  await page.getByRole('textbox', { name: '1h' }).fill('77')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await page.getByLabel('Ends', { exact: true }).selectOption('24')
  const held = await hold(page, 'PUT', '**/override')
  await button('Review').click()
  await button('Set the override').click()
  await held.asked
  await page.getByRole('textbox', { name: 'Reason' }).fill('a better reason')
  expect(await button('Review').isDisabled()).toBe(true)
  held.release()
  await page.getByText('The override is set.').waitFor()
  await page.getByText('In force: a trial').waitFor()
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('a better reason')
  expect(await page.getByText('Edits that are not set yet.').count()).toBe(1)
  const { override: first } = await stage.api<UserAnswer>('GET', '/api/users/mia')

  await button('Review').click()
  const review = page.getByRole('region', { name: 'What this change does' })
  await expect
    .poll(() => review.locator('.differences').innerText(), SOON)
    .toMatch(/^reason a trial\s*→\s*a better reason$/)
  await button('Set the override').click()
  await page.getByText('In force: a better reason').waitFor()
  await expect.poll(() => page.getByText('Edits that are not set yet.').count(), SOON).toBe(0)
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/mia')
  expect(override).toEqual({ ...first, reason: 'a better reason', version: override?.version })
})

test('a limit that was sent, and given up before it was set, is not put among the edits that were begun since', async () => {
  await show('olga')
  await page.getByRole('textbox', { name: '1h' }).fill('77')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  const held = await hold(page, 'PUT', '**/override')
  await button('Review').click()
  await button('Set the override').click()
  await held.asked
  await page.getByRole('link', { name: 'All users' }).click()
  await page.getByRole('heading', { name: 'Users', exact: true }).waitFor()
  await page.goBack()
  await button('Discard edits').click()
  await page.getByLabel('Bypass the global scope').check({ force: true })
  await page.getByRole('textbox', { name: 'Reason' }).fill('nothing but the bypass')
  held.release()
  await page.getByText('In force: a trial').waitFor()
  expect(await page.getByRole('textbox', { name: '1h' }).inputValue()).toBe('')
  await button('Review').click()
  const review = page.getByRole('region', { name: 'What this change does' })
  await expect.poll(() => review.locator('.differences').innerText(), SOON).toMatch(/read\.1h 77\s*→\s*default/)
  await button('Set the override').click()
  await page.getByText('In force: nothing but the bypass').waitFor()
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/olga')
  expect(override).toMatchObject({ limits: {}, bypassGlobal: true })
})

test('edits that are made while an override is being saved outlive that somebody else was first', async () => {
  const set = { read: { '1h': 20 }, bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await show('noah')
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a draft')
  await button('Review').click()
  await page.route('**/override', async (route) => {
    await stage.api('PUT', '/api/users/noah/override', set)
    await page.getByRole('textbox', { name: 'Reason' }).fill('a better draft')
    await route.continue()
  })
  await button('Set the override').click()
  await page.getByRole('alert').filter({ hasText: 'Changed by somebody else' }).waitFor()
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('a better draft')
  open.errors.splice(0, open.errors.length, ...open.errors.filter((error) => !error.includes('412')))
})

test('what somebody else sets while one is away is told before the draft is reviewed', async () => {
  await show('ivan')
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a draft')
  await page.getByRole('link', { name: 'All users' }).click()
  await page.getByRole('heading', { name: 'Users', exact: true }).waitFor()
  const set = { read: { '1h': 90 }, bypassGlobal: false, shadow: false, reason: 'they need more', expiresAt: null }
  await stage.api('PUT', '/api/users/ivan/override', set)
  await page.goBack()
  await page.getByText('In force: they need more').waitFor()
  await button('Review').click()
  const told = page.getByRole('alert').filter({ hasText: 'Changed by somebody else' })
  await told.waitFor()
  // The fields have what was begun on, and not what is in force.
  expect(await page.getByRole('textbox', { name: '1h' }).inputValue()).toBe('30')
  expect(await told.innerText()).toContain('Your edits are kept but not in force:')
  expect(await button('Set the override').count()).toBe(0)
})

test('what is wrong in an override, a question or a new token has the focus, at each attempt', async () => {
  const field = () => page.evaluate('document.activeElement.labels?.[0]?.textContent')
  await show('nina')
  await page.getByRole('textbox', { name: '1h' }).fill('x')
  for (const _ of [1, 2]) {
    await button('Review').click()
    await expect.poll(field, SOON).toBe('1h')
  }
  await page.getByRole('textbox', { name: '1h' }).fill('5')
  await button('Review').click()
  await expect.poll(field, SOON).toMatch(/^Reason/)
  for (const _ of [1, 2]) {
    await button('Explain').click()
    await expect.poll(field, SOON).toBe('Path')
  }
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByLabel('User on whose quota it draws').fill('nina')
  await button('Make the token').click()
  await expect.poll(field, SOON).toMatch(/^Name/)
})

test('who gives up what was typed is at the heading of the panel', async () => {
  const focused = () => page.evaluate('document.activeElement.textContent')
  await show('olga')
  await page.getByRole('textbox', { name: '1h' }).fill('7')
  await button('Discard edits').press('Enter')
  await expect.poll(focused, SOON).toBe('Override')
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByLabel('User on whose quota it draws').fill('olga')
  await button('Discard edits').press('Enter')
  await expect.poll(focused, SOON).toBe('New token')
})

test('under the shadow mode of the gateway a review says that nobody is blocked', async () => {
  expect(await client('judy')).toEqual({ status: 200 })
  await stage.api('PATCH', '/api/quota', { shadow: true })
  try {
    await show('judy')
    await page.getByRole('textbox', { name: '1h' }).fill('4')
    await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
    await button('Review').click()
    await page
      .getByText('read 1h: 4 of 4 used. Shadow mode is on and refuses nothing; without it the user would be blocked.')
      .waitFor()
    expect(await page.getByText('so the user is blocked').count()).toBe(0)
    await button('Set the override').click()
    await page.getByText('The override is set.').waitFor()
    await button('Take the override away').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  } finally {
    await stage.api('PATCH', '/api/quota', { shadow: null })
  }
})

test('a reset asks why, empties the windows, and the user may go on', async () => {
  expect([await client('carol'), await client('carol')]).toEqual([{ status: 200 }, { status: 200 }])
  expect(await client('carol')).toEqual({ status: 429, limit: 10 })
  await show('carol')
  await button('Reset windows').dblclick()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Empty the windows' }).click()
  await dialog.getByText('Say why, in 1 to 500 characters.').waitFor()
  expect(await client('carol')).toEqual({ status: 429, limit: 10 })
  await dialog.getByLabel('Reason').fill('our fault')
  const held = await hold(page, 'POST', '**/reset')
  await dialog.getByRole('button', { name: 'Empty the windows' }).click()
  await held.asked
  // Whoever left now would not read what became of it.
  await page.keyboard.press('Escape')
  for (const name of ['Cancel', 'Close']) expect(await dialog.getByRole('button', { name }).isDisabled()).toBe(true)
  held.release()
  await page.getByText('The windows were emptied.').waitFor()
  expect(await dialog.count()).toBe(0)
  await expect.poll(() => client('carol'), SOON).toEqual({ status: 200 })
})

test('what became of a reset is told at its user, also where one looked at another one meanwhile', async () => {
  expect(await client('wanda')).toEqual({ status: 200 })
  await show('wanda')
  await button('Reset windows').click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  const held = await hold(page, 'POST', '**/reset')
  await page.getByRole('dialog').getByRole('button', { name: 'Empty the windows' }).click()
  await held.asked
  await page.evaluate(`location.hash = '#/users/xaver'`)
  await page.getByRole('heading', { level: 1, name: 'xaver' }).waitFor()
  held.release()
  const used = async () => (await stage.api<UserAnswer>('GET', '/api/users/wanda')).windows.read?.[0]?.used
  await expect.poll(used, SOON).toBe(0)
  expect(await page.getByText('The windows were emptied.').count()).toBe(0)
  await page.goBack()
  await page.getByText('The windows were emptied.').waitFor()
})

test('what a dialog or a review leaves behind has the focus: what opened it, or what is nearest where that is of no use', async () => {
  const focused = () => page.evaluate('document.activeElement.innerText')
  await show('yara')
  await button('Reset windows').press('Enter')
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await page.keyboard.press('Escape')
  await expect.poll(focused, SOON).toBe('Reset windows')
  await button('Reset windows').press('Enter')
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await page.keyboard.press('Enter')
  await page.getByText('The windows were emptied.').waitFor()
  await expect.poll(focused, SOON).toBe('Reset windows')

  await page.getByRole('textbox', { name: '1h' }).fill('20')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await button('Review').press('Enter')
  await button('Go on editing').press('Enter')
  await expect.poll(focused, SOON).toBe('Review')
  await button('Review').press('Enter')
  await button('Set the override').press('Enter')
  await page.getByText('The override is set.').waitFor()
  await expect.poll(focused, SOON).toBe('Override')
  await button('Take the override away').press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Take the override away' }).press('Enter')
  await page.getByText('The override is taken away.').waitFor()
  await expect.poll(focused, SOON).toBe('Override')

  await stage.api('POST', '/api/tokens', { user: 'yara', name: 'phone' })
  await page.getByRole('link', { name: 'Tokens' }).click()
  await button('Revoke phone of yara').press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).press('Enter')
  await page
    .getByRole('row', { name: 'yara' })
    .getByText(/^revoked/)
    .waitFor()
  await expect
    .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'), SOON)
    .toBe('Gateway tokens')
})

test('a button that was pressed by the keyboard has the focus again after what it waited for', async () => {
  const focused = () => page.evaluate('document.activeElement.textContent')
  /** Answers after the browser has noticed that the button cannot be pressed. */
  async function press(name: string, url: string, json?: unknown): Promise<void> {
    const answered = Promise.withResolvers<void>()
    await page.route(url, async (route) => {
      await expect.poll(() => page.evaluate('document.activeElement.tagName'), SOON).toBe('BODY')
      await (json === undefined ? route.continue() : route.fulfill({ status: 503, json }))
      answered.resolve()
    })
    await button(name).focus()
    await page.keyboard.press('Enter')
    await answered.promise
    await expect.poll(focused, SOON).toBe(name)
    await page.unroute(url)
  }
  const json = { error: 'store_unavailable', msg: 'The store does not answer.' }
  await show('rosa')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/1')
  await press('Explain', '**/api/explain?**')
  await press('Explain', '**/api/explain?**', json)
  await button('Reset windows').click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await press('Empty the windows', '**/reset', json)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByLabel('User on whose quota it draws').fill('rosa')
  await page.getByRole('textbox', { name: 'Name' }).fill('robot')
  await press('Make the token', '**/api/tokens', json)
  open.errors.splice(0, open.errors.length, ...open.errors.filter((error) => !error.includes('503')))
})

test('under shadow mode, of the user or of the gateway, no full window and no explanation is red', async () => {
  const set = { read: { '1h': 4 }, bypassGlobal: false, shadow: true, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/zora/override', set)
  expect(await client('zora')).toEqual({ status: 200 })
  await show('zora')
  await expect.poll(() => page.locator('.bar.warn').count(), SOON).toBeGreaterThan(0)
  expect(await page.locator('.bar.bad').count()).toBe(0)
  await page.getByLabel('Method').selectOption('GET')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/7')
  await button('Explain').click()
  await page.getByText('would refuse', { exact: true }).waitFor()
  expect(await page.locator('main .bad').count()).toBe(0)

  await page.getByRole('link', { name: 'Users' }).first().click()
  await page.getByRole('searchbox').fill('zora')
  const line = page.locator('.users li').filter({ hasText: 'zora' })
  await line.locator('.bar.warn').waitFor()
  expect(await line.locator('.bad').count()).toBe(0)
  // Without it the same window refuses.
  await stage.api('PUT', '/api/users/zora/override', { ...set, shadow: false })
  await line.locator('.bar.bad').waitFor()
  await stage.api('PATCH', '/api/quota', { shadow: true, baselines: { global: { read: { '1h': 4 } } } })
  try {
    await page.reload()
    await page.getByRole('searchbox').fill('zora')
    await line.locator('.bar.warn').waitFor()
    await page.getByRole('link', { name: 'Now', exact: true }).click()
    await expect
      .poll(() => page.locator('.gauge [stroke="var(--warn)"], .gauge [style*="var(--warn)"]').count(), SOON)
      .toBe(1)
    expect(await page.locator('.gauge [stroke="var(--bad)"], .gauge [style*="var(--bad)"]').count()).toBe(0)
  } finally {
    await stage.api('PATCH', '/api/quota', { shadow: null, baselines: null })
  }
})

test('an explanation says what would become of a request, and charges nothing', async () => {
  expect([await client('dan'), await client('dan')]).toEqual([{ status: 200 }, { status: 200 }])
  await show('dan')
  await page.getByLabel('Method').selectOption('GET')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/7')
  await button('Explain').click()
  const said = page.locator('[aria-live] .note')
  await expect.poll(() => said.innerText(), SOON).toMatch(/^Refused\s[\s\S]*Personal 1-hour read quota is used up/)
  expect(await page.getByRole('alert').count()).toBe(0)
  const facts = page.locator('dl').last()
  expect(await facts.innerText()).toMatch(/GET \/items\/\*[\s\S]*Cost\s+4/)
  expect(await page.getByText('refuses', { exact: true }).count()).toBe(1)
  const asOf = /^As of (.*);/.exec(await page.getByText('what is used or changed later is not in it').innerText())
  expect(Math.abs(Date.parse(`${asOf?.[1]} GMT+0800`) - Date.now())).toBeLessThan(60_000)
  const { windows } = await stage.api<UserAnswer>('GET', '/api/users/dan')
  expect(windows.read?.[0]?.used).toBe(8)

  await page.getByRole('textbox', { name: 'Path' }).fill('/other')
  expect(await said.count()).toBe(0)
})

test('on the Chinese page an explanation is in Chinese, and on the English one what the API says', async () => {
  for (let i = 0; i < 2; i++) expect(await client('mei')).toEqual({ status: 200 })
  open = await stage.open('#/users/mei', { language: 'zh-CN' })
  page = open.page
  await page.getByLabel('方法').selectOption('GET')
  await page.getByRole('textbox', { name: '路径' }).fill('/items/7')
  await button('解释').click()
  const said = page.locator('[aria-live] .note')
  await expect
    .poll(() => said.innerText(), SOON)
    .toMatch(/^拒绝\s+429：个人 read 1h 配额已用完。.*\d.* 之后可以继续请求。 此请求的价格为 4。$/)
  expect(await said.locator('[lang="en"]').count()).toBe(0)
  await page.getByLabel('语言').selectOption('en')
  const { why } = await stage.api<ExplainAnswer>('GET', '/api/explain?user=mei&method=GET&path=/items/7')
  await expect.poll(() => said.innerText(), SOON).toMatch(/^Refused\s/)
  expect(await said.innerText()).toContain(why)
})

test('users are found by a part of their id', async () => {
  for (const user of ['needle-1', 'needle-2', 'hay']) await client(user)
  open = await stage.open('#/users')
  page = open.page
  await page.getByRole('link', { name: 'hay' }).waitFor()
  // As many as a user id may have: more would be refused.
  await page.getByRole('searchbox').fill('x'.repeat(300))
  await expect.poll(() => page.getByRole('searchbox').inputValue(), SOON).toHaveLength(256)
  await page.getByRole('searchbox').fill('needle')
  const listed = page.locator('.users a')
  await expect.poll(() => listed.allInnerTexts(), SOON).toEqual(['needle-1', 'needle-2'])
  await page.getByRole('searchbox').fill('nobody/yet')
  await page.getByText('No known user matches.').waitFor()
  await page.getByRole('link', { name: 'nobody/yet' }).click()
  await expect.poll(() => page.locator('h1').innerText(), SOON).toBe('nobody/yet')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('nobody/yet')
})

test('who comes back from a user finds the search, its order and its page as they were', async () => {
  await Promise.all(Array.from({ length: 30 }, (_, i) => client(`straw-${i}`)))
  open = await stage.open('#/users')
  page = open.page
  const answered = page.waitForResponse((answer) => answer.url().includes('query=straw'))
  await page.getByRole('searchbox').fill('straw')
  await answered
  const listed = page.locator('.users a')
  await expect.poll(() => listed.count(), SOON).toBe(25)
  await button('Next page').click()
  await expect.poll(() => listed.count(), SOON).toBe(5)
  const seen = await listed.allInnerTexts()
  await listed.first().click()
  await expect.poll(() => page.locator('h1').innerText(), SOON).toBe(seen[0])
  await page.goBack()
  await expect.poll(() => page.getByRole('searchbox').inputValue(), SOON).toBe('straw')
  await expect.poll(() => listed.allInnerTexts(), SOON).toEqual(seen)
  await page.getByLabel('Order').selectOption('use')
  await listed.first().click()
  await page.getByRole('link', { name: 'All users' }).click()
  expect(await page.getByLabel('Order').inputValue()).toBe('use')
})

test.each(['.', '..'])(
  'a user called %s, for whom no browser can ask, is not told as unknown but how to be reached',
  async (user) => {
    await client(user)
    open = await stage.open('#/users')
    page = open.page
    await page.getByRole('link', { name: user, exact: true }).click()
    await page.getByText('No browser can ask for a user of this name.').waitFor()
    const command = await page.locator('.copyable pre').innerText()
    const env = { ...process.env, TOLLGATE_ADMIN_TOKEN: OPS }
    const run = async (more = '') => (await promisify(execFile)('sh', ['-c', command + more], { env })).stdout
    const used = async () => (JSON.parse(await run()) as UserAnswer).windows.read?.[0]?.used
    expect(JSON.parse(await run())).toMatchObject({ user })
    expect(await used()).toBe(4)
    expect(await run(`/reset -H 'Content-Type: application/json' -d '{"reason":"our fault"}'`)).toBe('')
    expect(await used()).toBe(0)
  },
)

test('a token is copied, or at least selected, also where the browser has no clipboard for the page', async () => {
  open = await stage.open('#/tokens')
  page = open.page
  // As at http:// and an address that is not this machine's.
  await page.addInitScript(`Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`)
  await page.reload()
  await page.getByLabel('User on whose quota it draws').fill('clara')
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill('robot')
  await button('Make the token').click()
  const secret = await page.locator('.copyable pre').innerText()
  await button('Copy').click()
  await button('Copied').waitFor()
  await name.focus()
  await page.keyboard.press('Control+V')
  expect(await name.inputValue()).toBe(secret)

  await page.evaluate('document.execCommand = () => false')
  await button('Copy').click()
  await button('Selected: press Ctrl+C or ⌘C').waitFor()
  expect(await page.evaluate('getSelection().toString().trim()')).toBe(secret)
})

test('tokens that are not shown are told, and found by the filter', async () => {
  const numbers = Array.from({ length: 201 }, (_, i) => i)
  for (const i of numbers) await stage.api('POST', '/api/tokens', { user: 'many', name: `token-${i}` })
  open = await stage.open('#/tokens')
  page = open.page
  const { tokens } = await stage.api<TokensAnswer>('GET', '/api/tokens')
  await page.getByText(`The first 200 of ${tokens.length} tokens: filter to find the others.`).waitFor()
  await page.getByRole('searchbox').fill('token-20')
  const rows = page.getByRole('row', { name: 'many' })
  await expect.poll(() => rows.count(), SOON).toBe(numbers.filter((i) => `token-${i}`.includes('token-20')).length)
  expect(await page.getByText('The first 200').count()).toBe(0)
  await page.getByRole('searchbox').fill('token-999')
  await page.getByText('No token matches.').waitFor()
})

test('of two tokens of one name and user the question says which one is revoked', async () => {
  const made = []
  for (let i = 0; i < 2; i++)
    made.push(await stage.api<TokenAnswer>('POST', '/api/tokens', { user: 'vera', name: 'twin' }))
  open = await stage.open('#/tokens')
  page = open.page
  await page.getByRole('searchbox').fill('twin')
  await button('Revoke twin of vera').first().click()
  const dialog = page.getByRole('dialog')
  const asked = await dialog.innerText()
  const [chosen] = made.filter(({ id }) => asked.includes(id))
  for (const part of ['vera', 'twin']) expect(asked).toContain(part)
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByText(/^revoked/).waitFor()
  const { tokens } = await stage.api<TokensAnswer>('GET', '/api/tokens')
  const revoked = tokens.filter(({ user, revokedAt }) => user === 'vera' && revokedAt !== null)
  expect(revoked.map(({ id }) => id)).toEqual([chosen?.id])
})

test('a draft of a token waits while one looks elsewhere, until it is made or given up; the secret never does', async () => {
  open = await stage.open('#/tokens')
  page = open.page
  const owner = page.getByLabel('User on whose quota it draws')
  const name = page.getByRole('textbox', { name: 'Name' })
  const elsewhereAndBack = async () => {
    await page.getByRole('link', { name: 'Now', exact: true }).click()
    await page.getByRole('heading', { name: 'Now', exact: true }).waitFor()
    await page.goBack()
    await owner.waitFor()
  }
  const draft = async () => [
    await owner.inputValue(),
    await name.inputValue(),
    await page.getByLabel('Expires', { exact: true }).inputValue(),
  ]
  expect(await button('Discard edits').isDisabled()).toBe(true)
  await owner.fill('kate')
  await name.fill('robot')
  await page.getByLabel('Expires', { exact: true }).selectOption('24')
  await elsewhereAndBack()
  expect(await draft()).toEqual(['kate', 'robot', '24'])
  await button('Make the token').click()
  const secret = await page.locator('.copyable pre').innerText()
  expect(await draft()).toEqual(['', '', 'never'])
  await elsewhereAndBack()
  await page.getByRole('row', { name: 'kate' }).waitFor()
  expect(await draft()).toEqual(['', '', 'never'])
  expect(await page.content()).not.toContain(secret)

  await owner.fill('nobody')
  await button('Make the token').click()
  await page.getByText('This is needed.').waitFor()
  await button('Discard edits').click()
  expect(await page.getByText('This is needed.').count()).toBe(0)
  await elsewhereAndBack()
  expect(await draft()).toEqual(['', '', 'never'])
})

test('a draft of a token that is changed while it is being made stays a draft', async () => {
  open = await stage.open('#/tokens')
  page = open.page
  const held = await hold(page, 'POST', '**/api/tokens')
  await page.getByLabel('User on whose quota it draws').fill('liam')
  await page.getByRole('textbox', { name: 'Name' }).fill('robot')
  await button('Make the token').click()
  await held.asked
  await page.getByRole('textbox', { name: 'Name' }).fill('robot two')
  held.release()
  await page.getByText('Copy it now: it is shown this once').waitFor()
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('robot two')
})

test('where the clock of the browser is wrong, an end is by the clock of the gateway', async () => {
  const HOUR = 3_600_000
  const expiresAt = new Date(Date.now() + 2 * HOUR).toISOString()
  await stage.api('POST', '/api/tokens', { user: 'nora', name: 'two hours', expiresAt })
  await show('nora')
  await page.clock.setFixedTime(Date.now() + 24 * HOUR)
  await page.reload()
  await page.getByRole('textbox', { name: '1h' }).fill('5')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await page.getByLabel('Ends', { exact: true }).selectOption({ label: 'In 1 hour' })
  await button('Review').click()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserAnswer>('GET', '/api/users/nora')
  expect(Date.parse(override?.expiresAt ?? '') - Date.now()).toBeLessThan(2 * HOUR)

  await page.getByRole('link', { name: 'Tokens' }).click()
  const row = page.getByRole('row').filter({ hasText: 'two hours' })
  expect(await row.innerText()).not.toMatch(/expired/i)
})

test('who turns over the pages of users or of the audit is at the heading of the list', async () => {
  const users = Array.from({ length: 27 }, (_, i) => `turned-${i}`)
  for (const user of users) {
    await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 9 }, reason: 'many' })
    await stage.api('POST', `/api/users/${user}/reset`, { reason: 'many' })
  }
  const focused = () => page.evaluate('document.activeElement.textContent')
  open = await stage.open('#/users')
  page = open.page
  for (const name of ['Next page', 'First page']) {
    await button(name).press('Enter')
    await expect.poll(focused, SOON).toBe('Search for users')
  }
  await page.getByRole('link', { name: 'Audit' }).click()
  for (const name of ['Older', 'Newest']) {
    await button(name).press('Enter')
    await expect.poll(focused, SOON).toBe('Changes at run time')
  }
})
