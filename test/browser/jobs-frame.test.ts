import { beforeAll, beforeEach, expect, test } from 'vitest'
import { actions, limitActions } from './actions.ts'
import { ask, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** Jobs that begin on any page, with the number of what is to be done for them. */

limitActions(6)
stageDashboard()
beforeAll(async () => {
  for (const user of ['bob', 'bobby']) await ask(stage.app.url, user)
})
beforeEach(async () => {
  await show('#/audit')
})

const field = () => page.getByRole('combobox', { name: 'Go to a page, user, organisation or route' })
const options = () => page.getByRole('listbox', { name: 'Found' }).getByRole('option').allInnerTexts()
const heading = () => page.locator('h1').innerText()

test('a user is found from any page by the keyboard alone: Ctrl-K, a part of the name, an arrow, Enter', async () => {
  await actions.press(page.locator('body'), 'Control+k')
  await actions.fill(field(), 'bob')
  await expect.poll(options, SOON).toEqual(['bob\nuser', 'bobby\nuser'])
  await actions.press(field(), 'ArrowDown')
  await actions.press(field(), 'Enter')
  await expect.poll(heading, SOON).toBe('bobby')
  await expect.poll(() => page.evaluate('document.activeElement.tagName'), SOON).toBe('H1')
})

test('a page and a route are found by a part of their names, with the pointer', async () => {
  await actions.click(page.getByRole('button', { name: 'Go to' }))
  await actions.fill(field(), 'repl')
  await actions.click(page.getByRole('option', { name: 'Replicas' }))
  await expect.poll(heading, SOON).toBe('Replicas')
  await actions.press(page.locator('body'), 'Control+k')
  await actions.fill(field(), '/items/*')
  await actions.click(page.getByRole('option', { name: 'GET /items/*' }))
  await expect.poll(heading, SOON).toBe('Routes')
  expect(await page.getByRole('searchbox').inputValue()).toBe('GET /items/*')
})

test('what can be done with a user and with an organisation of one name says with which, and Enter does the chosen one', async () => {
  const body = { read: { '1h': 50 }, reason: 'a busy week' }
  for (const kind of ['users', 'organisations']) await stage.api('PUT', `/api/${kind}/acme/override`, body)
  await actions.press(page.locator('body'), 'Control+k')
  await actions.fill(field(), 'block acme')
  await expect.poll(options, SOON).toEqual(['Block acme…\nuser', 'Block acme…\norganisation'])
  await actions.press(field(), 'ArrowDown')
  await actions.press(field(), 'Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Block' }).waitFor()
  expect(await page.evaluate('location.hash')).toMatch(/^#\/organisations\/acme/)
})

test('the tab has the name of its user, or of a page that shows no single entry, whatever follows it in the address', async () => {
  for (const [hash, title] of [
    ['#/users/bob', 'bob · Tollgate'],
    ['#/limits/foo', 'Limits · Tollgate'],
  ] as const) {
    await page.evaluate(`location.hash = '${hash}'`)
    await expect.poll(() => page.title(), SOON).toBe(title)
  }
})

test('Escape leaves the page as it was, and a question that waits for its answer is not covered', async () => {
  await page.locator('body').press('Control+k')
  await field().waitFor()
  await field().press('Escape')
  await field().waitFor({ state: 'detached' })
  expect(await heading()).toBe('Audit')
  await page.evaluate(`location.hash = '#/users/bob?part=data'`)
  await page.getByRole('button', { name: 'Reset windows' }).click()
  await page.getByRole('dialog').waitFor()
  await page.getByRole('dialog').getByLabel('Reason').press('Control+k')
  await page.getByRole('dialog').getByLabel('Reason').press('Tab')
  expect(await field().count()).toBe(0)
})

test('whether anything is wrong now is said by any page after no action, and who is refused by which limit after 1', async () => {
  const status = page.getByRole('region', { name: 'Refused lately' })
  await status.getByText('Nobody got 429 in the last 5 minutes.').waitFor()
  expect(actions.count()).toBe(0)
  // The third one has no room: each costs 4 of 10.
  for (let i = 0; i < 3; i++) await ask(stage.app.url, 'mallory')
  await status.getByText('1 user got 429 in the last 5 minutes from a personal limit.').waitFor()
  await actions.click(status.getByRole('link', { name: 'Who and why' }))
  await expect.poll(heading, SOON).toBe('Refusals')
  const first = page.getByRole('region', { name: 'Refusals', exact: true }).getByRole('row').nth(1)
  await expect.poll(() => first.innerText(), SOON).toMatch(/mallory\s+Personal read 1h/)
  expect(actions.count()).toBe(1)
})
