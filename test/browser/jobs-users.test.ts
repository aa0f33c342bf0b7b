import { text } from 'node:stream/consumers'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { NewTokenResponse, OrganisationResponse, RefusalsResponse, UserResponse } from '../../src/contract/api.ts'
import { accessibilityFindings } from '../setup/browser.ts'
import { actions, limitActions } from './actions.ts'
import { ask, button, open, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** Jobs of an administrator, each from the overview on, with the number of what is to be done for it. */

limitActions(6)
stageDashboard({
  rest: `quota:
  plans: { team: { organisation: { read: { 1h: 20 } } } }
  baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`,
})
beforeAll(async () => {
  for (let i = 0; i < 3; i++) await ask(stage.app.url, 'bob')
  await ask(stage.app.url, 'mallory')
  const wish = { user: 'carol', name: 'laptop', plan: 'team', organisation: 'arcade' }
  const { token } = await stage.api<NewTokenResponse>('POST', '/api/tokens', wish)
  await fetch(`${stage.app.url}/items/1`, { headers: { authorization: `Bearer ${token}` } })
  for (const name of ['one', 'two']) await stage.api('POST', '/api/tokens', { user: 'mallory', name })
  // Both are sent to the store every two seconds.
  const refused = async () => (await stage.api<RefusalsResponse>('GET', '/api/refusals')).refusals.length
  const planOf = async () => (await stage.api<OrganisationResponse>('GET', '/api/organisations/arcade')).plan?.name
  await vi.waitUntil(async () => (await refused()) === 1 && (await planOf()) === 'team', SOON)
})
beforeEach(async () => {
  await show('#/overview')
})

const link = (name: string) => page.locator('body').getByRole('link', { name, exact: true })
const chip = (name: string) => page.getByRole('group', { name: 'Filters' }).locator('label').filter({ hasText: name })
/** The overview names users too, and is there until the page is. */
async function goTo(name: string): Promise<void> {
  await actions.click(link(name))
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}
const DAY_MS = 86_400_000
const isDaysAway = (at: string | null | undefined, least: number, most: number): boolean => {
  const days = (Date.parse(at ?? '') - Date.now()) / DAY_MS
  return days >= least && days <= most
}

test('who was refused is found by 1 action', async () => {
  await goTo('Refusals')
  await page.getByRole('region', { name: 'Refusals' }).getByRole('link', { name: 'bob' }).waitFor()
  expect(actions.count()).toBe(1)
})

test('who is blocked, how full everybody is and who was refused is one table after 1 action', async () => {
  await goTo('Users')
  const row = (user: string) => page.getByRole('row').filter({ hasText: user })
  // Of 10 tokens 8 are used, and a request costs 4.
  await expect.poll(() => row('bob').innerText(), SOON).toMatch(/limit reached\s+read 1h\s+80%\s+8\s+1\s+⋯$/)
  expect(await row('carol').innerText()).not.toContain('limit reached')
  expect(await page.getByRole('rowheader').first().innerText()).toContain('bob')
  await row('bob').getByRole('link', { name: '1', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Refusals' }).waitFor()
})

test('who is blocked, has an override, is let through by it or has a plan is listed after 2 actions each, with counts, and the address says so', async () => {
  await stage.api('PUT', '/api/users/dave/override', { read: { '1h': 50 }, reason: 'a friend' })
  await stage.api('PUT', '/api/users/erin/override', { shadow: true, reason: 'a trial' })
  const shown = async () => (await page.locator('[aria-label="Users"] th a').allInnerTexts()).sort()
  await goTo('Users')
  await page.getByText('1 to 5 of 5').waitFor()
  expect(await page.getByRole('group', { name: 'Filters' }).innerText()).toMatch(
    /Near a limit\s+1\s+Refused in 24 h\s+1\s+Limit reached\s+1\s+With an override\s+2\s+Shadow by an override\s+1/,
  )
  await actions.click(chip('Limit reached'))
  await expect.poll(shown, SOON).toEqual(['bob'])
  await page.getByText('1 to 1 of 1').waitFor()
  expect(await page.evaluate('location.hash')).toBe('#/users?blocked=true')
  const [download] = await Promise.all([page.waitForEvent('download'), actions.click(link('These rows as CSV'))])
  expect(await text(await download.createReadStream())).toBe(
    'user,plan,override,blocked,tokens\r\nbob,,false,true,8\r\n',
  )
  expect(actions.count()).toBe(3)
  await chip('Limit reached').click()
  await chip('With an override').click()
  await expect.poll(shown, SOON).toEqual(['dave', 'erin'])
  await chip('Shadow by an override').click()
  await expect.poll(shown, SOON).toEqual(['erin'])
  await page.reload()
  await expect.poll(shown, SOON).toEqual(['erin'])
  await chip('With an override').click()
  await chip('Shadow by an override').click()
  await page.getByLabel('Plan', { exact: true }).selectOption('team')
  await expect.poll(shown, SOON).toEqual(['carol'])
  await chip('Limit reached').click()
  await page.getByText('No known user matches.').waitFor()
  expect(await page.evaluate('location.hash')).toBe('#/users?plan=team&blocked=true')
  for (const user of ['dave', 'erin']) await stage.api('DELETE', `/api/users/${user}/override`)
})

test('how the use of each goes is drawn in the list after 1 action', async () => {
  await goTo('Users')
  const row = page.getByRole('row').filter({ hasText: 'bob' })
  await row.getByRole('img', { name: 'Tokens by day: at most 8, in the last day 8.' }).waitFor()
  expect(await accessibilityFindings(page)).toEqual([])
  expect(actions.count()).toBe(1)
})

test('organisations have the filters that they can have', async () => {
  await goTo('Organisations')
  await actions.choose(page.getByLabel('Plan', { exact: true }), 'team')
  await link('arcade').waitFor()
  await page.getByText('1 to 1 of 1').waitFor()
  await chip('Limit reached').click()
  await page.getByText('No known organisation matches.').waitFor()
  expect(await chip('Shadow by an override').count()).toBe(0)
})

test('bob has half as much again for a day after 4 actions in the list, which stays where it was', async () => {
  await goTo('Users')
  await actions.click(button('Actions for bob'))
  await actions.click(page.getByRole('menuitem', { name: '+50 % for a day…' }))
  await page.getByRole('dialog').getByText('the read limit of 1 hour: 10 → 15').waitFor()
  await actions.click(button('Raise the limits'))
  const row = page.getByRole('row').filter({ hasText: 'bob' })
  await row.getByText('override').waitFor()
  expect(await page.evaluate('location.hash')).toBe('#/users')
  const { override } = await stage.api<UserResponse>('GET', '/api/users/bob')
  expect(override).toMatchObject({ factor: 1.5 })
  expect(isDaysAway(override?.expiresAt, 0.9, 1)).toBe(true)
  expect(actions.count()).toBe(4)
  await stage.api('DELETE', '/api/users/bob/override')
})

test('an abuser is stopped after 4 actions in the list, by keyboard alone', async () => {
  await goTo('Users')
  await actions.press(button('Actions for mallory'), 'Enter')
  const item = page.getByRole('menuitem', { name: 'Block until…' })
  await item.waitFor()
  await actions.press(item, 'Enter')
  await actions.press(button('Block'), 'Enter')
  await expect.poll(() => ask(stage.app.url, 'mallory'), SOON).toEqual({ status: 429, limit: 0 })
  await page.getByRole('row').filter({ hasText: 'mallory' }).getByText('blocked').waitFor()
  expect(actions.count()).toBe(4)
  await stage.api('DELETE', '/api/users/mallory/override')
})

test('the only one who matches, and whoever has the very id, is open after 3 actions', async () => {
  const search = page.getByRole('searchbox')
  await goTo('Users')
  await actions.fill(search, 'allor')
  await actions.press(search, 'Enter')
  await page.getByRole('heading', { level: 1, name: 'mallory' }).waitFor()
  expect(actions.count()).toBe(3)
  await page.goBack()
  // Carol and mallory.
  await search.fill('o')
  await search.press('Enter')
  await link('carol').waitFor()
  await search.fill('bob')
  await search.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'bob' }).waitFor()
})

test('why bob was refused is read on his page after 2 actions, and what there was at a time after 2 more', async () => {
  await goTo('Users')
  await actions.click(link('bob'))
  await page.getByText('Requests are refused now').waitFor()
  await page.getByText('Personal read 1h: 8 of 10 used.').waitFor()
  const row = page.getByRole('region', { name: 'Refusals' }).locator('tbody tr')
  await expect.poll(() => row.innerText(), SOON).toMatch(/Personal read 1h\s+baseline[\s\S]*8 of 10\s+4/)
  await actions.fill(page.getByLabel('Why was this user refused at'), '2026-01-01T12:00')
  await actions.click(button('Look'))
  await page.getByText('Nothing that matches was refused in this time.').waitFor()
  expect(await page.evaluate('location.hash')).toBe(
    '#/refusals?user=bob&from=2026-01-01T03%3A30%3A00.000Z&to=2026-01-01T04%3A30%3A00.000Z&at=2026-01-01T04%3A00%3A00.000Z',
  )
  expect(actions.count()).toBe(4)
})

test('bob has half as much again for a day after 4 actions, and other things of his override stay', async () => {
  await stage.api('PUT', '/api/users/bob/override', { bypassGlobal: true, reason: 'a friend' })
  await goTo('Users')
  await actions.click(link('bob'))
  await actions.click(button('+50 % for a day…'))
  await page.getByRole('dialog').getByText('the read limit of 1 hour: 10 → 15').waitFor()
  await page
    .getByRole('dialog')
    .getByText('Then this is in force again: “a friend” (bypasses global), without an end.')
    .waitFor()
  await actions.click(button('Raise the limits'))
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<UserResponse>('GET', '/api/users/bob')
  expect(override).toMatchObject({ limits: {}, factor: 1.5, bypassGlobal: true })
  expect(isDaysAway(override?.expiresAt, 0.9, 1)).toBe(true)
  await expect.poll(() => ask(stage.app.url, 'bob'), SOON).toEqual({ status: 200 })
  expect(actions.count()).toBe(4)
})

test('how the use of a user goes over days is seen after 3 actions', async () => {
  await goTo('Users')
  await actions.click(link('bob'))
  const chart = page.getByRole('slider', { name: 'Tokens over time' })
  await expect.poll(() => page.locator('.readout').innerText(), SOON).toMatch(/Tokens: \d+\s+read: [1-9]/)
  await expect.poll(() => chart.getAttribute('aria-valuemax'), SOON).toMatch(/^2\d$/)
  await actions.click(page.getByText('7 days', { exact: true }))
  await expect.poll(() => chart.getAttribute('aria-valuemax'), SOON).toBe('8')
  expect(await page.evaluate('location.hash')).toBe('#/users/bob?range=7d')
  expect(actions.count()).toBe(3)
})

test('an abuser is stopped for a day by 4 actions, and loses all access keys by 2 more', async () => {
  await goTo('Users')
  await actions.click(link('mallory'))
  await actions.click(button('Block until…'))
  await actions.click(button('Block'))
  await page.getByText('The override is set.').waitFor()
  await expect.poll(() => ask(stage.app.url, 'mallory'), SOON).toEqual({ status: 429, limit: 0 })
  const { override } = await stage.api<UserResponse>('GET', '/api/users/mallory')
  expect(isDaysAway(override?.expiresAt, 0.9, 1)).toBe(true)
  await page.getByText(/^Blocked until /).waitFor()
  await actions.click(button('Revoke all access keys (2)…'))
  await actions.click(button('Revoke all'))
  await expect.poll(() => button('Revoke all access keys (0)…').isDisabled(), SOON).toBe(true)
  expect(actions.count()).toBe(6)
})

test('the team of carol has twice as much until Friday after 5 actions', async () => {
  await goTo('Organisations')
  await actions.click(link('arcade'))
  await page.getByRole('slider', { name: 'Tokens over time' }).waitFor()
  await page.getByText('No limit of this organisation has refused a request in the last 7 days.').waitFor()
  await actions.click(button('Twice as much until…'))
  await actions.choose(page.getByRole('dialog').getByLabel('Ends'), 'friday')
  await actions.click(button('Raise the limits'))
  await page.getByText('The override is set.').waitFor()
  const { override } = await stage.api<OrganisationResponse>('GET', '/api/organisations/arcade')
  expect(override).toMatchObject({ limits: {}, factor: 2 })
  // The clock of the browser is that of China.
  const end = new Intl.DateTimeFormat('en', {
    weekday: 'long',
    hour: 'numeric',
    hourCycle: 'h23',
    timeZone: 'Asia/Shanghai',
  })
  expect(end.format(new Date(override?.expiresAt ?? 0))).toMatch(/Saturday.*00/)
  expect(isDaysAway(override?.expiresAt, 0, 7)).toBe(true)
  expect(actions.count()).toBe(5)
})

test('what somebody else has set since the question was asked is not set over', async () => {
  await goTo('Users')
  await actions.click(link('bob'))
  await actions.click(button('+50 % for a day…'))
  await stage.api('PUT', '/api/users/bob/override', { read: { '1h': 77 }, reason: 'another one' })
  await page.getByText('The override has changed since this was asked.').waitFor()
  await actions.click(button('Raise the limits'))
  await page.getByText('Somebody else has changed this in the meantime.').waitFor()
  expect(await stage.api('GET', '/api/users/bob')).toMatchObject({ override: { limits: { read: { '1h': 77 } } } })
  // The console has each response of 400 and above.
  expect(open.errors.splice(0)).toEqual([expect.stringContaining('412')])
  await actions.click(button('Look again'))
  await actions.click(button('Raise the limits'))
  await page.getByText('The override is set.').waitFor()
  const { override, windows } = await stage.api<UserResponse>('GET', '/api/users/bob')
  expect(override).toMatchObject({ limits: { read: { '1h': 77 } }, factor: 1.5 })
  expect(windows.read?.[0]?.limit).toBe(115)
})
