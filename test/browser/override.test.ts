import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { UserResponse } from '../../src/contract/api.ts'
import type { OpenPage, View } from '../setup/browser.ts'
import {
  ask,
  button,
  configOf,
  forgive,
  hold,
  keepOpen,
  lookAt,
  OWN,
  page,
  QUOTA,
  SOON,
  show,
  stage,
  stageDashboard,
  turnTo,
} from './stage.ts'

/** Where an override is that ends while the other tests run. */
let brief: { readonly kept: OpenPage; readonly end: number } | null = null
stageDashboard()

async function showUser(user: string, view: View = {}): Promise<void> {
  await show(`#/users/${user}?part=override`, view)
  await page.getByRole('textbox', { name: 'Reason' }).waitFor()
}

const client = (user: string) => ask(stage.app.url, user)
const limitShown = () => page.getByRole('row', { name: 'Personal read 1h' }).getByRole('cell').nth(1).innerText()

/** As the field for a time wants it: in the time zone of the page, Shanghai. */
function local(at: number): string {
  return new Date(at + 8 * 3_600_000).toISOString().slice(0, 19)
}

/** The field leaves out seconds that are 0, and the browser that fills it in takes that for another time. */
function withSeconds(at: number): number {
  return Math.floor(at / 1000) % 60 === 0 ? at + 1000 : at
}

test('an override changes the limit of its user', async () => {
  expect([await client('alice'), await client('alice')]).toEqual([{ status: 200 }, { status: 200 }])
  expect(await client('alice')).toEqual({ status: 429, limit: 10 })
  await showUser('alice')
  await page.getByRole('textbox', { name: '1h' }).fill('13')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial of seconds')
  await page.getByLabel('Ends', { exact: true }).selectOption('at')
  // Longer than a slow machine takes to see it in force.
  const end = withSeconds(Date.now() + 25_000)
  await page.getByLabel('Time (of this browser)').fill(local(end))
  await button('Review').click()
  const review = page.getByRole('region', { name: 'What this change does' })
  await expect.poll(() => review.innerText(), SOON).toMatch(/the read limit of 1 hour: 10 \(by default\)\s*→\s*13/)
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  await expect.poll(() => client('alice'), SOON).toEqual({ status: 200 })
  expect(await client('alice')).toEqual({ status: 429, limit: 13 })
  await expect.poll(limitShown, SOON).toBe('13')
  expect(await page.getByText('In force: a trial of seconds').count()).toBe(1)
  const { override } = await stage.api<UserResponse>('GET', '/api/users/alice')
  expect(override?.expiresAt).toBe(new Date(Math.floor(end / 1000) * 1000).toISOString())
  brief = { kept: keepOpen(), end }
})

test('an override gives a plan, and says which windows it would block', async () => {
  const quota = QUOTA.replace('quota: {', 'quota: { plans: { small: { personal: { read: { 1h: 4 } } }, pro: {} },')
  await stage.app.reload(configOf(stage.upstream.url, { rest: quota }))
  try {
    expect(await client('paula')).toEqual({ status: 200 })
    await showUser('paula')
    const plan = page.getByLabel('Plan', { exact: true })
    const options = () => plan.locator('option').allInnerTexts()
    await expect.poll(options, SOON).toEqual(['that of the credential', 'small', 'pro'])
    await plan.selectOption('small')
    await page.getByRole('textbox', { name: 'Reason' }).fill('a small contract')
    await button('Review').click()
    const review = page.getByRole('region', { name: 'What this change does' })
    await expect.poll(() => review.innerText(), SOON).toMatch(/the plan: that of the credential\s*→\s*small/)
    expect(await review.innerText()).toContain('read 1h: 4 used already')
    await button('Set the override').click()
    await page.getByText('The override is set.').waitFor()
    await expect.poll(() => client('paula'), SOON).toEqual({ status: 429, limit: 4 })
    expect(await plan.inputValue()).toBe('small')
    await page.getByText('Plan: small (by the override)').waitFor()
    await expect.poll(limitShown, SOON).toBe('4')
  } finally {
    await stage.app.reload(configOf(stage.upstream.url))
  }
})

test('an override that is set while its user cannot be read is told as set all the same', async () => {
  await showUser('sam')
  const json = { error: 'store_unavailable', msg: 'The store does not answer.' }
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await page.route('**/api/users/sam', (route) => route.fulfill({ status: 503, headers: OWN, json }))
  await button('Review').click()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  await page.unroute('**/api/users/sam')
  await page.getByText('In force: a trial').waitFor()
  expect(await page.getByText('The override is set.').count()).toBe(1)
  forgive(503)
})

test('the question before an override is taken away names all that ends with it', async () => {
  await stage.api('PUT', '/api/users/petra/override', { read: { '1h': 30 }, bypassGlobal: true, reason: 'a big event' })
  await showUser('petra')
  await button('Remove override').click()
  const lines = page.getByRole('dialog').locator('.differences li')
  await expect
    .poll(() => lines.allInnerTexts(), SOON)
    .toEqual([
      expect.stringMatching(/^the read limit of 1 hour: 30\s*→\s*10 \(by default\)$/),
      expect.stringMatching(/^bypass of the global limits: on\s*→\s*off$/),
    ])
})

test('an override that is told as set has its limits in the windows above it', async () => {
  await showUser('rita')
  await page.getByRole('textbox', { name: '1h' }).fill('20')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await button('Review').click()
  const held = await hold(page, 'GET', '**/api/users/rita')
  await button('Set the override').click()
  await expect.poll(async () => (await stage.api<UserResponse>('GET', '/api/users/rita')).override).not.toBeNull()
  expect(await page.getByText('The override is set.').count()).toBe(0)
  held.release()
  await page.getByText('The override is set.').waitFor()
  expect(await limitShown()).toBe('20')
})

test('a review says which windows an override would block', async () => {
  expect(await client('bob')).toEqual({ status: 200 })
  await showUser('bob')
  await page.getByRole('textbox', { name: 'Reason' }).fill('why not')
  await button('Review').click()
  await page.getByText('This sets nothing: enter a limit or switch something on.').waitFor()
  await page.getByRole('textbox', { name: 'Reason' }).fill('')
  await page.getByRole('textbox', { name: '1h' }).fill('4')
  await button('Review').click()
  await page.getByText('Enter a reason of 1 to 500 characters.').waitFor()
  await button('Discard edits').click()
  expect(await page.getByText('Enter a reason of 1 to 500 characters.').count()).toBe(0)
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
  await showUser('erin')
  const blocked = 'read 1h: 12 used already, so the user is blocked until the window ends.'
  await page.getByRole('textbox', { name: '1h' }).fill('')
  await page.getByLabel('Bypass the global scope').check({ force: true })
  await button('Review').click()
  await page.getByText(blocked).waitFor()
  await button('Discard edits').click()
  await button('Remove override').click()
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
  await show('#/routes')
  const held = await hold(page, 'GET', '**/api/quota')
  await page.goto(`${stage.app.admin}/#/users/enid?part=override`)
  const unknown = page.getByText(/^The default limits are not loaded yet/)
  const blocked = page.getByText('read 1h: 12 used already, so the user is blocked until the window ends.')
  await button('Remove override').click()
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
  await showUser('gina')
  await button('Remove override').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/Global read 1h: \d+ used already, so the user is blocked until the window ends/).waitFor()
  await dialog.getByRole('button', { name: 'Remove override' }).click()
  await expect.poll(() => client('gina'), SOON).toEqual({ status: 429, limit: 4 })
  await stage.api('PATCH', '/api/quota', { baselines: null })
})

test('an override that somebody else changes during an edit is told before the review, and not taken back unseen', async () => {
  const set = { read: { '1h': 20 }, bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/frank/override', set)
  await showUser('frank')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a better reason')
  await stage.api('PUT', '/api/users/frank/override', { ...set, read: { '1h': 90 }, reason: 'they need more' })
  await page.getByText('In force: they need more').waitFor()
  await button('Review').click()
  const conflict = page.getByRole('alert').filter({ hasText: 'Changed by somebody else' })
  await expect
    .poll(() => conflict.innerText(), SOON)
    .toMatch(/ops changed this at .*\. Your edits are kept but not in force: [\s\S]*read limit of 1 hour: 20 → 90/)
  expect(await button('Set the override').count()).toBe(0)
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe('a better reason')

  await page.getByRole('textbox', { name: '1h' }).fill('90')
  expect(await conflict.count()).toBe(0)
  await button('Review').click()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserResponse>('GET', '/api/users/frank')
  expect(override).toMatchObject({ limits: { read: { '1h': 90 } }, reason: 'a better reason' })
})

/**
 * An override of somebody that ends by itself in seconds: longer than a slow machine takes to open the page.
 * @returns its end, in the middle of a second: an answer that comes at once has a `Date` before it
 */
async function setBriefly(user: string): Promise<number> {
  const end = Math.floor(Date.now() / 1000) * 1000 + 12_500
  const expiresAt = new Date(end).toISOString()
  await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 20 }, reason: 'a trial', expiresAt })
  return end
}

const over = () => page.getByRole('status').filter({ hasText: 'The override has ended' })

const conflict = () => page.getByText('Changed by somebody else')

test('an override that ends while it is edited is told, and neither revived nor lost with the edits', async () => {
  const end = await setBriefly('theo')
  await showUser('theo', { own: true })
  // The browser is a day ahead, and the gateway far away: no answer tells its clock nearer than to 0.4 s.
  await page.addInitScript('{ const now = Date.now; Date.now = () => now.call(Date) + 86_400_000 }')
  await page.route('**/api/**', async (route) => {
    const response = await route.fetch()
    const date = new Date(Date.now() - 400).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date } })
  })
  await page.reload()
  await page.getByRole('textbox', { name: 'Reason' }).fill('a better reason')
  const held = await hold(page, 'GET', '**/api/users/theo')
  await sleep(end - Date.now())
  held.release()
  await over().waitFor()
  const ends = page.getByLabel('Ends', { exact: true })
  expect(await ends.locator('option:checked').innerText()).toMatch(/^As set: /)
  await button('Review').click()
  await page.getByText('Choose a time in the future.').waitFor()
  expect(await conflict().count()).toBe(0)
  await ends.selectOption('24')
  await button('Review').click()
  await page.getByRole('region', { name: 'What this change does' }).waitFor()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  expect(await over().count()).toBe(0)
  const { override } = await stage.api<UserResponse>('GET', '/api/users/theo')
  expect(override).toMatchObject({ limits: { read: { '1h': 20 } }, reason: 'a better reason' })
})

test('an override that ends while its change is reviewed, or while it is to be taken away, is nobody else’s change', async () => {
  await setBriefly('uma')
  await showUser('uma')
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
  await button('Remove override').click()
  await page.getByText('No override: this user follows the defaults.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove override' }).click()
  await page.getByText('The override had ended by itself.').waitFor()
  expect(await conflict().count()).toBe(0)
  forgive(412)
})

test('an override that somebody else sets while one is asked is not taken away unseen', async () => {
  const set = { read: { '1h': 20 }, bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/olga/override', set)
  await showUser('olga')
  const takeAway = async (): Promise<void> => {
    await button('Remove override').click()
    await page.getByRole('dialog').getByLabel('Reason').waitFor()
  }
  const confirm = () => page.getByRole('dialog').getByRole('button', { name: 'Remove override' }).click()
  await takeAway()
  await stage.api('PUT', '/api/users/olga/override', { ...set, read: { '1h': 0 }, reason: 'abuse' })
  await page.getByText('In force: abuse').waitFor()
  await confirm()
  const conflict = page.getByRole('alert').filter({ hasText: 'Changed by somebody else' })
  await expect.poll(() => conflict.innerText(), SOON).toMatch(/ops changed this at [\s\S]*read limit of 1 hour: 20 → 0/)
  const user = await stage.api<UserResponse>('GET', '/api/users/olga')
  expect(user.override).toMatchObject({ reason: 'abuse' })

  await takeAway()
  await confirm()
  await page.getByText('The override is removed.').waitFor()
  expect(await conflict.count()).toBe(0)
  forgive(412)
})

test('an override can be changed also where the file has one of its windows no more', async () => {
  const rest = QUOTA.replace('1h: 10 }', '1h: 10, 1d: 50 }').replace('1h: 1000 }', '1h: 1000, 1d: 5000 }')
  await stage.app.reload(configOf(stage.upstream.url, { rest }))
  const set = { bypassGlobal: false, shadow: false, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/paula/override', { ...set, read: { '1h': 20, '1d': 90 } })
  await stage.app.reload(configOf(stage.upstream.url))
  await showUser('paula')
  await page.getByRole('textbox', { name: '1h' }).fill('30')
  await button('Review').click()
  // What goes with it is told before.
  await page.getByRole('region', { name: 'What this change does' }).getByText('the read limit of 1 day').waitFor()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserResponse>('GET', '/api/users/paula')
  expect(override?.limits).toEqual({ read: { '1h': 30 } })
})

test('a draft of an override waits while one looks elsewhere, also what came of it, and belongs to its user', async () => {
  await showUser('gina')
  await page.getByRole('textbox', { name: '1h' }).fill('77')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a draft')
  await page.getByRole('link', { name: 'All users' }).click()
  await page.getByRole('searchbox').fill('henry')
  await page.getByRole('link', { name: 'henry' }).click()
  await page.getByRole('heading', { name: 'henry' }).waitFor()
  await turnTo(page, 'Override')
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
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
  held.release()
  await expect
    .poll(async () => (await stage.api<UserResponse>('GET', '/api/users/gina')).override?.reason, SOON)
    .toBe('a draft')
  await page.goBack()
  await page.getByText('In force: a draft').waitFor()
  await expect.poll(() => page.getByText('Edits that are not set yet.').count(), SOON).toBe(0)
  expect(await button('Discard edits').isDisabled()).toBe(true)
})

test('what is wrong in an override, a question or a new token has the focus, at each attempt', async () => {
  const field = () => page.evaluate('document.activeElement.labels?.[0]?.textContent')
  await showUser('nina')
  await page.getByRole('textbox', { name: '1h' }).fill('x')
  for (const _ of [1, 2]) {
    await button('Review').click()
    await expect.poll(field, SOON).toBe('1h')
  }
  await page.getByRole('textbox', { name: '1h' }).fill('5')
  await button('Review').click()
  await expect.poll(field, SOON).toMatch(/^Reason/)
  await turnTo(page, 'Test a request')
  for (const _ of [1, 2]) {
    await button('Test').click()
    await expect.poll(field, SOON).toBe('Path')
  }
  await page.getByRole('link', { name: 'Access keys' }).click()
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('nina')
  await button('Create key').click()
  await expect.poll(field, SOON).toMatch(/^Name/)
})

test('who gives up what was typed is at the heading of the panel', async () => {
  const focused = () => page.evaluate('document.activeElement.textContent')
  await showUser('olga')
  await page.getByRole('textbox', { name: '1h' }).fill('7')
  await button('Discard edits').press('Enter')
  await expect.poll(focused, SOON).toBe('Override')
  await page.getByRole('link', { name: 'Access keys' }).click()
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('olga')
  await button('Discard edits').press('Enter')
  await expect.poll(focused, SOON).toBe('New access key')
})

test('under the shadow mode of the gateway a review says that nobody is blocked', async () => {
  expect(await client('judy')).toEqual({ status: 200 })
  await stage.api('PATCH', '/api/quota', { shadow: true })
  try {
    await showUser('judy')
    await page.getByRole('textbox', { name: '1h' }).fill('4')
    await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
    await button('Review').click()
    await page
      .getByText('read 1h: 4 of 4 used. Shadow mode is on and refuses nothing; without it the user would be blocked.')
      .waitFor()
    expect(await page.getByText('so the user is blocked').count()).toBe(0)
    await button('Set the override').click()
    await page.getByText('The override is set.').waitFor()
    await button('Remove override').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  } finally {
    await stage.api('PATCH', '/api/quota', { shadow: null })
  }
})

test('where the clock of the browser is wrong, an end is by the clock of the gateway', async () => {
  const HOUR = 3_600_000
  const expiresAt = new Date(Date.now() + 2 * HOUR).toISOString()
  await stage.api('POST', '/api/tokens', { user: 'nora', name: 'two hours', expiresAt })
  await showUser('nora', { own: true })
  await page.clock.setFixedTime(Date.now() + 24 * HOUR)
  await page.reload()
  await page.getByRole('textbox', { name: '1h' }).fill('5')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await page.getByLabel('Ends', { exact: true }).selectOption('1')
  await button('Review').click()
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserResponse>('GET', '/api/users/nora')
  expect(Date.parse(override?.expiresAt ?? '') - Date.now()).toBeLessThan(2 * HOUR)

  await page.getByRole('link', { name: 'Access keys' }).click()
  const row = page.getByRole('row').filter({ hasText: 'two hours' })
  expect(await row.innerText()).not.toMatch(/expired/i)
})

test('an override ends by itself', async () => {
  if (brief === null) throw new Error('it was not set by the first test')
  lookAt(brief.kept)
  await expect.poll(() => client('alice'), SOON).toEqual({ status: 429, limit: 10 })
  expect(Date.now()).toBeGreaterThanOrEqual(Math.floor(brief.end / 1000) * 1000)
  await expect.poll(limitShown, SOON).toBe('10')
  expect(await page.getByText('No override: this user follows the defaults.').count()).toBe(1)
  expect(await page.getByText('The override is set.').count()).toBe(0)
  // In the audit its undo would change nothing.
  await page.evaluate(`location.hash = '#/audit'`)
  await page.getByText('ended', { exact: true }).first().waitFor()
})
