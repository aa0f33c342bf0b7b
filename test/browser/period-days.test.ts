import { beforeAll, expect, test, vi } from 'vitest'
import type { NewTokenResponse, OrganisationResponse, UserResponse } from '../../src/contract/api.ts'
import { open, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** The day with which the months of a user or an organisation begin, on their pages. */

const QUOTA = `quota:
  windows: { month: { calendar: month, zone: UTC } }
  plans: { late: { period_day: 17, organisation: { read: { month: 90 } } } }
  baselines: { personal: { read: { month: 40 } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }`

stageDashboard({ rest: QUOTA })
beforeAll(async () => {
  const key = { user: 'ann', organisation: 'acme', plan: 'late', name: 'laptop' }
  const { token } = await stage.api<NewTokenResponse>('POST', '/api/tokens', key)
  const ask = async () =>
    (await fetch(`${stage.app.url}/items/1`, { headers: { authorization: `Bearer ${token}` } })).status
  await vi.waitFor(async () => expect(await ask()).toBe(200), SOON)
  const organisation = async () => (await stage.api<UserResponse>('GET', '/api/users/ann')).organisation
  await vi.waitFor(async () => expect(await organisation()).toBe('acme'), SOON)
})

test('the billing day of a user stands on the page with whoever says so, and the override there gives another one', async () => {
  await show('#/users/ann?part=override')
  await page.getByText('month from day 17 (by the plan)').waitFor()
  const override = page.locator('section', { has: page.getByRole('heading', { name: 'Override', exact: true }) })
  const day = override.getByRole('textbox', { name: 'Months begin with day' })
  const ends = override.getByRole('combobox', { name: 'Ends' })
  expect(await ends.inputValue()).toBe('24')
  await day.fill('32')
  await override.getByRole('textbox', { name: 'Reason' }).fill('a contract')
  await override.getByRole('button', { name: 'Review' }).click()
  await override.getByText('Enter a day from 1 to 31.').waitFor()
  await day.fill('5')
  await override.getByRole('button', { name: 'Review' }).click()
  await override.getByText('the day with which months begin').first().waitFor()
  expect(await ends.inputValue()).toBe('never')
  await ends.selectOption('today')
  await override.getByRole('button', { name: 'Review' }).click()
  await override.getByText('Months begin with day 17 again then.').waitFor()
  // The whole review is in the window, and its heading has the focus.
  const save = override.getByRole('button', { name: 'Set the override' })
  const bottom = async () => {
    const box = await save.boundingBox()
    return (box?.y ?? 9999) + (box?.height ?? 0)
  }
  await expect.poll(bottom, SOON).toBeLessThanOrEqual(page.viewportSize()?.height ?? 0)
  expect(await page.locator('h3:focus').innerText()).toBe('What this change does')
  await override.getByRole('button', { name: 'Set the override' }).click()
  await page.getByText('month from day 5 (by the override)').waitFor()
  const { periodDay, override: set } = await stage.api<UserResponse>('GET', '/api/users/ann')
  expect([periodDay, set?.periodDay]).toEqual([{ day: 5, from: 'override' }, 5])
})

test('the billing day of an organisation stands on the page in each language', async () => {
  const { periodDay } = await stage.api<OrganisationResponse>('GET', '/api/organisations/acme')
  expect(periodDay).toEqual({ day: 17, from: 'plan' })
  await show('#/organisations/acme', { language: 'zh-CN' })
  await page.getByText('每月从 17 日起 (按套餐)').waitFor()
  await page.getByText('每月从 17 日起的用量', { exact: false }).waitFor()
})

test('the bill of an organisation with a billing day has the months of that day, and says since when the store knows', async () => {
  await show('#/organisations/acme')
  const bill = page.locator('section', { has: page.getByRole('heading', { name: 'Bill of a month' }) })
  await bill.getByText('in a month that begins with day 17', { exact: false }).waitFor()
  await bill.getByText('Nothing is known of this month.').waitFor()
  await bill.getByText('The store was first used at', { exact: false }).waitFor()
  await bill.getByLabel('Month').selectOption('0')
  await expect.poll(() => bill.locator('tbody tr').allInnerTexts(), SOON).toEqual(['read\t4', 'Total\t4'])
  const href = (await bill.getByRole('link', { name: 'Bill as CSV' }).getAttribute('href')) ?? ''
  expect([new URLSearchParams(href).get('from'), new URLSearchParams(href).get('to')]).toEqual([
    expect.stringMatching(/-17$/),
    expect.stringMatching(/-17$/),
  ])
  const file = await open.context.request.get(`${stage.app.admin}${href}`)
  expect(file.headers()['content-disposition']).toMatch(/"acme-\d{4}-\d\d-17-to-\d{4}-\d\d-16\.csv"$/)
})

test('on a phone in Chinese the cure of the status line is seen, and a word of the file stands apart from the sentence, which in English calls it a window', async () => {
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { month: 45 } } } })
  await show('#/audit')
  await page.getByText('the personal read limit of the window month', { exact: false }).waitFor()
  await show('#/audit', { language: 'zh-CN', width: 390 })
  await page.getByText('个人 read month 上限', { exact: false }).waitFor()
  await page.getByRole('link', { name: '查看已无额度的用户' }).waitFor()
})
