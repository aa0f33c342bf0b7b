import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AlertsResponse } from '../../src/contract/api.ts'
import { type RawReceiver, startReceiver } from '../webhook/receiver.ts'
import { actions, countAnew, limitActions } from './actions.ts'
import { ask, open, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** Jobs with a time that one looks at, and what is done from any page, with the number of what is to be done for them. */

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const MANY = Array.from({ length: 60 }, (_, i) => `  - { match: GET /v1/things/kind-${i}, category: read, cost: 1 }`)

let receiver: RawReceiver
afterAll(() => receiver.close())
limitActions(5)
stageDashboard(async () => {
  receiver = await startReceiver((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
  return {
    rest: `quota: { baselines: { personal: { read: { 1h: 10 }, write: { 1h: 10 } }, global: { read: { 1h: 1000 } } } }
alerts:
  - { name: near, scope: personal, category: read, window: 1h, at: [80%], webhook: { url: "${receiver.url}", secret: "${SECRET}" } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: GET /notes/*, category: write, cost: 1 }
${MANY.join('\n')}`,
  }
})
beforeAll(async () => {
  for (const path of ['/items/1', '/items/1', '/items/1', '/notes/1']) await ask(stage.app.url, 'bob', path)
  const events = async () => (await stage.api<AlertsResponse>('GET', '/api/alerts')).events
  await vi.waitUntil(async () => (await events()).some(({ state }) => state === 'delivered'), SOON)
})

const hash = () => page.evaluate('location.hash')
const body = () => page.locator('body')
const field = () => page.getByRole('combobox', { name: 'Go to a page, user, organisation or route' })
const link = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true })
const range = () => page.getByRole('search', { name: 'Range', exact: true })
const heading = () => page.locator('h1').innerText()

async function jumpTo(typed: string): Promise<void> {
  await actions.press(body(), 'Control+k')
  await actions.fill(field(), typed)
  await page.getByRole('listbox', { name: 'Found' }).getByRole('option').first().waitFor()
  await actions.press(field(), 'Enter')
}

test('how one user goes over a week, beside the week before, is seen after 4 actions', async () => {
  await show('#/overview')
  await jumpTo('bob')
  await actions.click(range().getByText('7 days'))
  const chart = page.getByRole('slider', { name: /^Tokens over time/ })
  await expect.poll(() => chart.getAttribute('aria-valuetext'), SOON).toMatch(/Tokens 9, read 8, write 1$/)
  expect(Number(await chart.getAttribute('aria-valuemax'))).toBe(8)
  await range().getByRole('button', { name: 'Dates' }).click()
  await page.getByLabel('Compare with the time before').check()
  await expect.poll(() => chart.getAttribute('aria-valuetext'), SOON).toMatch(/The week before 0$/)
  expect(await hash()).toBe('#/users/bob?range=7d&compare=true')
})

test('the bill of a month of one user is read after 4 actions, and comes as the file of the command line', async () => {
  await show('#/overview')
  await jumpTo('bob')
  await actions.choose(page.getByLabel('Month', { exact: true }), '0')
  const bill = page.getByRole('region', { name: 'Bill of a month' })
  await expect.poll(() => bill.locator('tbody tr').allInnerTexts(), SOON).toEqual(['read\t8', 'write\t1', 'Total\t9'])
  const href = await page.getByRole('link', { name: 'Bill as CSV' }).getAttribute('href')
  const csv = await (await open.context.request.get(`${stage.app.admin}${href}`)).text()
  expect(csv).toMatch(/bob,read,days,.*,8,/)
})

test('who changed what since yesterday is read after 2 actions, and is there as a file', async () => {
  await stage.api('PUT', '/api/users/carol/override', { read: { '1h': 50 }, reason: 'a busy week' })
  await show('#/overview')
  await actions.click(link('Audit'))
  await actions.click(range().getByText('24 hours'))
  await page.getByText('ops set an override for carol:').waitFor()
  const href = await page.getByRole('link', { name: 'These as CSV' }).getAttribute('href')
  expect(href).toBe('/api/audit?from=24h&format=csv')
  const csv = await (await open.context.request.get(`${stage.app.admin}${href}`)).text()
  expect(csv.split('\r\n')[1]).toMatch(/,ops,override,carol,.*,a busy week,/)
})

test('the range that is chosen goes along to the other pages that look at a time, and is in their addresses', async () => {
  await show('#/overview')
  await actions.click(range().getByText('7 days'))
  await actions.click(link('Errors'))
  await expect.poll(hash, SOON).toBe('#/errors?range=7d')
  await actions.click(link('Limits'))
  await expect.poll(hash, SOON).toBe('#/limits')
  expect(await range().count()).toBe(0)
  await actions.click(link('Routes'))
  await expect.poll(hash, SOON).toBe('#/routes?range=7d')
  expect(await range().getByRole('radio', { name: '7 days' }).isChecked()).toBe(true)
})

test('a link to another time leaves the other pages at the range that was chosen, also if more is looked for there', async () => {
  await show('#/overview?range=7d')
  await page.evaluate(`location.hash = '#/refusals?range=1h'`)
  await expect.poll(() => range().getByRole('radio', { name: '1 hour' }).isChecked(), SOON).toBe(true)
  await page.getByLabel('Category').selectOption('read')
  await expect.poll(hash, SOON).toBe('#/refusals?range=1h&category=read')
  await actions.click(link('Errors'))
  await expect.poll(hash, SOON).toBe('#/errors?range=7d')
})

test('any days are chosen in 4 actions, and a part of a chart by dragging over it, which Back leaves', async () => {
  await show('#/overview?range=7d')
  const chart = page.getByRole('slider', { name: /^Refused \(429\)/ })
  await expect.poll(async () => Number(await chart.getAttribute('aria-valuemax')), SOON).toBeGreaterThan(160)
  await chart.scrollIntoViewIfNeeded()
  const box = await chart.boundingBox()
  if (box === null) throw new Error('no chart')
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width - 12, box.y + 40, { steps: 4 })
  await page.mouse.up()
  await expect.poll(hash, SOON).toMatch(/^#\/overview\?from=[^&]+&to=[^&]+$/)
  await expect.poll(async () => Number(await chart.getAttribute('aria-valuemax')), SOON).toBeLessThan(100)
  await page.goBack()
  await expect.poll(hash, SOON).toBe('#/overview?range=7d')
  await actions.click(range().getByRole('button', { name: 'Dates' }))
  await actions.fill(page.getByLabel('First day'), '2026-01-01')
  await actions.fill(page.getByLabel('Last day'), '2026-01-31')
  await actions.click(page.getByRole('button', { name: 'Show', exact: true }))
  await expect.poll(hash, SOON).toBe('#/overview?from=2026-01-01&to=2026-02-01')
  await range().getByRole('button', { name: '1 Jan 2026 – 31 Jan 2026' }).waitFor()
})

test('limits are raised and a user is blocked from any page by what is typed, each in 4 actions', async () => {
  await show('#/audit')
  await jumpTo('raise bob')
  await page.getByRole('dialog').getByText('Raise the limits of bob').waitFor()
  expect(await hash()).toBe('#/users/bob')
  await actions.click(page.getByRole('dialog').getByRole('button', { name: 'Raise the limits' }))
  await page.getByText('The override is set.').waitFor()
  expect(await stage.api('GET', '/api/users/bob')).toMatchObject({ override: { factor: 1.5 } })
  await stage.api('DELETE', '/api/users/bob/override')
  countAnew()
  await jumpTo('block bob')
  await page.getByRole('dialog').getByRole('button', { name: 'Block' }).waitFor()
  await page.keyboard.press('Escape')
  countAnew()
  await jumpTo('refusals of bob')
  await expect.poll(heading, SOON).toBe('Refusals')
  expect(await hash()).toBe('#/refusals?user=bob')
  countAnew()
  await jumpTo('dark')
  await expect.poll(() => page.evaluate('document.documentElement.dataset.mantineColorScheme'), SOON).toBe('dark')
})

test('an alert is seen with whom it was about and its delivery after 1 action, and its receiver is tried by 1 more', async () => {
  await show('#/overview')
  await actions.click(link('Alerts'))
  const events = page.getByRole('region', { name: 'Events' }).locator('tbody tr')
  await expect.poll(() => events.innerText(), SOON).toMatch(/near[\s\S]*bob[\s\S]*80%: 8 of 10 read 1h[\s\S]*delivered/)
  const before = receiver.requests.length
  await actions.click(page.getByRole('button', { name: 'Send a test to the receiver of near' }))
  await page.getByText('taken by the receiver').waitFor()
  expect(receiver.requests.length).toBe(before + 1)
})

test('Back comes to where a page was left', async () => {
  await show('#/routes')
  await page.getByText('GET /v1/things/kind-59').waitFor()
  await page.evaluate('window.scrollTo(0, 900)')
  await expect.poll(() => page.evaluate('window.scrollY'), SOON).toBe(900)
  // As a link further down does.
  await page.evaluate(`location.hash = '#/limits'`)
  await expect.poll(heading, SOON).toBe('Limits')
  await page.goBack()
  // To the height of a line: a browser keeps what it shows in its place where something above it grows.
  await expect.poll(async () => Math.abs(Number(await page.evaluate('window.scrollY')) - 900), SOON).toBeLessThan(20)
  await link('Audit').click()
  await expect.poll(heading, SOON).toBe('Audit')
  expect(await page.evaluate('window.scrollY')).toBe(0)
})

test('something is seen before style and script are here, and a page loads only what it is made of', async () => {
  await show('#/audit')
  const asked: string[] = []
  const released = Promise.withResolvers<void>()
  await page.route('**/assets/*.{js,css}', async (route) => {
    asked.push(route.request().url())
    await released.promise
    await route.continue().catch(() => {})
  })
  await page.goto(`${stage.app.admin}/?again#/audit`, { waitUntil: 'commit' })
  const first = page.getByRole('img', { name: 'Tollgate is loading' })
  await first.waitFor()
  await expect.poll(async () => (await first.boundingBox())?.height, SOON).toBeGreaterThan(100)
  released.resolve()
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor()
  expect(asked.some((url) => /\/overview-/.test(url))).toBe(false)
  await link('Overview').click()
  await expect.poll(() => asked.some((url) => /\/overview-/.test(url)), SOON).toBe(true)
})
