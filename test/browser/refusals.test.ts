import { beforeAll, expect, test, vi } from 'vitest'
import type { RefusalsResponse } from '../../src/contract/api.ts'
import { ask, OWN, open, page, SOON, show, stage, stageDashboard } from './stage.ts'

stageDashboard({
  rest: `quota: { plans: { pro: { personal: { read: { 1h: 10 } } } }, default_plan: pro, baselines: { personal: { read: { 1h: 10 }, write: { 1h: 4 } }, global: { read: { 1h: 1000 }, write: { 1h: 4 } } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: GET /notes/*, category: write, cost: 4 }
  - { match: GET /exports/*, category: write, cost: 4, shadow: true }`,
})
beforeAll(async () => {
  for (let i = 0; i < 4; i++) await ask(stage.app.url, 'bob')
  await ask(stage.app.url, 'dora', '/notes/1')
  await ask(stage.app.url, 'eve', '/notes/1')
  await ask(stage.app.url, 'dora', '/exports/1')
  await stage.api('PUT', '/api/users/zoe/override', { read: { '1h': 0 }, reason: 'abuse' })
  await vi.waitUntil(async () => (await ask(stage.app.url, 'zoe')).status === 429, SOON)
  // What was refused is sent to the store every two seconds.
  const kept = (query = '') => stage.api<RefusalsResponse>('GET', `/api/refusals${query}`)
  await vi.waitUntil(async () => new Set((await kept()).refusals.map(({ user }) => user)).size === 3, SOON)
  await vi.waitUntil(async () => (await kept('?shadow=true')).refusals.length === 1, SOON)
})

async function showRefusals(hash: string): Promise<void> {
  await show(hash)
  await page.getByRole('search', { name: 'Filters' }).waitFor()
}
const each = () => page.getByRole('region', { name: 'Refusals', exact: true })
const groups = () => page.getByRole('region', { name: 'Counted by', exact: true })
const rows = () => each().locator('tbody tr')
const users = async () => (await each().locator('tbody th').allInnerTexts()).sort()
const hash = () => page.evaluate('location.hash')

test('each refusal names its user, its limit and what made it, when it ends, how much was used and what the request cost', async () => {
  await showRefusals('#/refusals')
  const bob = rows().filter({ hasText: 'bob' })
  await bob.waitFor()
  await expect
    .poll(() => bob.innerText(), SOON)
    .toMatch(
      /Personal read 1h\s+plan pro[\s\S]*(ago|now)[\s\S]*\d\d:\d\d:\d\d \(in (1 hour|\d+ minutes)\)\s+2\s+8 of 10\s+4\s+GET \/items\/\*/,
    )
  expect(await rows().filter({ hasText: 'zoe' }).innerText()).toMatch(/user override[\s\S]*until the limit is raised/)
  expect(await rows().filter({ hasText: 'eve' }).innerText()).toMatch(/Global write 1h/)
})

test('a refusal leads to its user, its limit and its route', async () => {
  await showRefusals('#/refusals')
  const links = (user: string) =>
    rows()
      .filter({ hasText: user })
      .getByRole('link')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href')))
  await expect.poll(users, SOON).toEqual(['bob', 'eve', 'zoe'])
  expect(await links('bob')).toEqual([
    '#/users/bob',
    '#/limits?scope=Personal&category=read&window=1h&plan=pro',
    '#/routes?route=GET+%2Fitems%2F*',
  ])
  // That limit is changed where the override is.
  expect((await links('zoe')).slice(0, 2)).toEqual(['#/users/zoe', '#/users/zoe?part=override'])
  // The row that made the limit is marked.
  const marked = page.locator('[aria-current="true"]')
  await rows().filter({ hasText: 'bob' }).getByRole('link', { name: 'Personal read 1h' }).click()
  await expect.poll(() => marked.getByRole('textbox').getAttribute('aria-label'), SOON).toMatch(/^Plan pro: /)
  await page.goBack()
  await rows().filter({ hasText: 'eve' }).getByRole('link', { name: 'Global write 1h' }).click()
  await expect.poll(() => marked.getByRole('textbox').inputValue(), SOON).toBe('4')
})

test('what was let through in shadow is a choice of its own, by name', async () => {
  await showRefusals('#/refusals')
  await page.getByLabel('Enforcement').selectOption('in shadow')
  await page.getByRole('heading', { name: 'What the quota would have refused' }).waitFor()
  await expect.poll(users, SOON).toEqual(['dora'])
  expect(await rows().innerText()).toMatch(/Personal write 1h[\s\S]*4 of 4\s+4\s+GET \/exports\/\*/)
  expect(await hash()).toBe('#/refusals?shadow=true')
  await page.getByLabel('User or organisation').fill('bob')
  await page.getByText('Nothing that matches would have been refused in this time.').waitFor()
})

test('the refusals of a moment that is asked for are marked, or the nearest one is', async () => {
  const { refusals } = await stage.api<RefusalsResponse>('GET', '/api/refusals?user=bob')
  const last = Date.parse(refusals[0]?.last ?? '')
  const around = (at: number) => {
    const [from, until, moment] = [at - 1_800_000, at + 1_800_000, at].map((ms) => new Date(ms).toISOString())
    return `#/refusals?${new URLSearchParams({ user: 'bob', from: from ?? '', to: until ?? '', at: moment ?? '' })}`
  }
  await showRefusals(around(last))
  await rows().getByText('at that moment').waitFor()
  await page.getByText(/^Refusals around .*Those of that minute are marked/).waitFor()
  const dates = page.getByRole('search', { name: 'Range' }).getByRole('button')
  expect(await dates.first().innerText()).toMatch(/\d\d:\d\d – .*\d\d:\d\d/)
  await showRefusals(around(last - 600_000))
  await rows().getByText('nearest').waitFor()
  await page.getByText(/^Nothing was refused in the minute of /).waitFor()
})

test('filters are in the address: they are there again after a reload, and one button takes them away', async () => {
  await showRefusals('#/refusals')
  await page.getByLabel('Scope', { exact: true }).selectOption('Global')
  await expect.poll(users, SOON).toEqual(['eve'])
  expect(await hash()).toBe('#/refusals?scope=Global')
  await page.getByRole('combobox', { name: 'Route' }).selectOption('GET /items/*')
  await page.getByText('Nothing that matches was refused in this time.').waitFor()
  await page.getByLabel('Scope', { exact: true }).selectOption('all')
  await page.getByLabel('User or organisation').fill('BO')
  await expect.poll(users, SOON).toEqual(['bob'])
  await page.reload()
  await expect.poll(users, SOON).toEqual(['bob'])
  expect(await page.getByRole('combobox', { name: 'Route' }).inputValue()).toBe('GET /items/*')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect.poll(users, SOON).toEqual(['bob', 'eve', 'zoe'])
  expect(await hash()).toBe('#/refusals')
})

test('a time in which nobody was refused says so, and what the address has wrong is the last 7 days', async () => {
  await showRefusals('#/refusals?from=2026-01-01&to=2026-01-02')
  await page.getByText('Nobody was refused in this time.').waitFor()
  await page.getByRole('search', { name: 'Range' }).getByText('1 hour').click()
  await expect.poll(users, SOON).toEqual(['bob', 'eve', 'zoe'])
  expect(await hash()).toBe('#/refusals?range=1h')
  await showRefusals('#/refusals?scope=everybody&range=yesterday&from=now')
  await expect.poll(users, SOON).toEqual(['bob', 'eve', 'zoe'])
  expect(await page.getByRole('radio', { name: '7 days' }).isChecked()).toBe(true)
})

test('refusals are counted over time, and by user, limit or route, of which each narrows the page', async () => {
  await showRefusals('#/refusals')
  await page.getByText('Refusals: 4. Users: 3.').waitFor()
  await page.getByText(/^Since .*: Personal 3, Organisation 0, Global 1$/).waitFor()
  await expect.poll(() => groups().locator('tbody tr').first().innerText(), SOON).toMatch(/bob\s+2\s+50%/)
  await page.getByText('Limit reached').first().click()
  await groups().getByRole('link', { name: 'Global write 1h' }).click()
  await expect.poll(users, SOON).toEqual(['eve'])
  expect(await hash()).toBe('#/refusals?by=limit&scope=Global&category=write')
  await page.getByText('Refusals: 1. Users: 1.').waitFor()
})

test('the groups and the rows that are shown come as CSV', async () => {
  await showRefusals('#/refusals?query=bo')
  await page.getByText('Refusals: 2. Users: 1.').waitFor()
  const ofGroups = decodeURIComponent((await page.getByText('This table as CSV').getAttribute('href')) ?? '')
  expect(ofGroups).toMatch(/name,refusals,users,personal,organisation,global,last\r\nbob,2,1,2,0,0,/)
  const href = await page.getByText('All of them as CSV').getAttribute('href')
  const csv = await (await open.context.request.get(`${stage.app.admin}${href}`)).text()
  expect(csv.trim().split('\r\n')).toHaveLength(2)
  expect(csv).toContain('bob,pro')
})

test('refusals of one user alone are shown by a link, and of all again after a click', async () => {
  await showRefusals('#/refusals?user=bob')
  await expect.poll(users, SOON).toEqual(['bob'])
  await page.getByRole('button', { name: 'Show others than bob too' }).click()
  await expect.poll(users, SOON).toEqual(['bob', 'eve', 'zoe'])
})

test('one turns over the pages, and Back comes to the one before', async () => {
  await show('#/routes')
  const all = await stage.api<RefusalsResponse>('GET', '/api/refusals')
  const [first, second] = all.refusals
  await page.route('**/api/refusals?*limit=25*', (route) => {
    const isSecond = route.request().url().includes('cursor=behind')
    return route.fulfill({
      headers: OWN,
      json: { refusals: [isSecond ? second : first], next: isSecond ? null : 'behind' },
    })
  })
  await page.getByRole('link', { name: 'Refusals', exact: true }).click()
  await expect.poll(users, SOON).toEqual([first?.user])
  await page.getByRole('button', { name: 'Next page' }).click()
  await expect.poll(users, SOON).toEqual([second?.user])
  await page.goBack()
  await expect.poll(users, SOON).toEqual([first?.user])
  await page.goForward()
  await page.getByRole('button', { name: 'First page' }).click()
  await expect.poll(users, SOON).toEqual([first?.user])
})

test('a button that turns over belongs to the page that the address names, however fast one presses', async () => {
  await show('#/routes')
  const all = await stage.api<RefusalsResponse>('GET', '/api/refusals')
  await page.route('**/api/refusals?*limit=25*', (route) => {
    const at = ['', 'second', 'third'].indexOf(new URL(route.request().url()).searchParams.get('cursor') ?? '')
    return route.fulfill({ headers: OWN, json: { refusals: [all.refusals[at]], next: ['second', 'third', null][at] } })
  })
  await page.getByRole('link', { name: 'Refusals', exact: true }).click()
  await page.getByRole('button', { name: 'Next page' }).click()
  await expect.poll(users, SOON).toEqual([all.refusals[1]?.user])
  await page.getByRole('button', { name: 'First page' }).click()
  await page.getByRole('button', { name: 'Next page' }).click()
  expect(await hash()).toBe('#/refusals?cursor=second')
  await expect.poll(users, SOON).toEqual([all.refusals[1]?.user])
})
