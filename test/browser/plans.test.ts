import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import type { PlansResponse, UserResponse } from '../../src/contract/api.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'
import { ask, button, page, SOON, show, stage, stageDashboard, VIEWER } from './stage.ts'

/** The limits of plans, which most users have, changed at run time as any other setting is. */

const REST = `quota:
  plans: { free: { personal: { read: { 1h: 8 } } }, team v1.5: { personal: { read: { 1h: 40 } } } }
  default_plan: free
  baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`

stageDashboard({ rest: REST })
beforeEach(async () => {
  await stage.api('PATCH', '/api/quota', { mode: null, baselines: null, plans: null })
})

const free = () => page.getByRole('textbox', { name: 'Plan free: Personal read 1h' })
const limitOf = async (user: string) => {
  const { windows } = await stage.api<UserResponse>('GET', `/api/users/${user}`)
  return windows.read?.[0]?.limit
}

test('the limit of a plan is lowered with a preview of whom it refuses first and a guard, is seen at a user, and is undone', async () => {
  expect(await ask(stage.app.url, 'alice')).toEqual({ status: 200 })
  await show('#/limits')
  await page.getByRole('columnheader', { name: 'free default users: 1' }).waitFor()
  expect(await free().inputValue()).toBe('8')
  await page.getByText('in force for the plan free (default): 8').waitFor()
  await free().fill('7')
  await page.getByLabel('Guard: revert automatically').selectOption('10m')
  await button('Preview').click()
  const preview = page.getByRole('region', { name: 'What this change does' })
  await preview.getByText(/: 1 of 1, 1 of them newly\./).waitFor()
  expect(await preview.getByRole('heading', { level: 4 }).first().innerText()).toBe('Users')
  await preview
    .getByRole('row', { name: /^alice/ })
    .getByText('newly blocked')
    .waitFor()
  await preview.getByRole('row', { name: 'Plan free: Personal read 1h 8 7' }).waitFor()
  expect(await preview.getByRole('row', { name: /Personal read 1h 8 7/ }).count()).toBe(1)
  await button('Apply').click()
  await page.getByText(/^Applied as version \d+\./).waitFor()
  expect(await limitOf('alice')).toBe(7)
  expect((await stage.api<PlansResponse>('GET', '/api/plans')).plans[0]?.layers).toMatchObject([
    { guard: { refused: 0.05 }, value: { personal: { read: { '1h': 7 } } } },
  ])
  await expect.poll(async () => (await ask(stage.app.url, 'alice')).status, SOON).toBe(429)
  await page.goto(`${page.url().split('#')[0]}#/users/alice`)
  await page.getByText('plan free', { exact: false }).first().waitFor()
  await page.goto(`${page.url().split('#')[0]}#/limits`)
  await free().fill('9')
  await button('Preview').click()
  await button('Apply').click()
  await button(/^Undo change \d+$/).click()
  await page.getByText(/^Change \d+ is undone\./).waitFor()
  await expect.poll(() => free().inputValue(), SOON).toBe('7')
  expect(await limitOf('alice')).toBe(7)
})

test('on a phone the fields of plans begin at one edge', async () => {
  await ask(stage.app.url, 'alice')
  await show('#/limits', { width: 390, height: 844 })
  await free().waitFor()
  const fields = await page.locator('.limits .data-table td input').all()
  const edges = await Promise.all(fields.map(async (field) => Math.round((await field.boundingBox())?.x ?? 0)))
  expect([fields.length > 1, new Set(edges).size]).toEqual([true, 1])
})

test('a value that nobody follows is called so in the preview and after it was applied, with what goes before it', async () => {
  await ask(stage.app.url, 'bob')
  await show('#/limits')
  await page.getByRole('textbox', { name: 'Plan team v1.5: Personal read 1h' }).fill('50')
  await page.getByRole('group', { name: 'Personal · read' }).getByLabel('1h').first().fill('12')
  await button('Preview').click()
  const said = (place: ReturnType<Page['locator']>) =>
    place.getByRole('listitem').filter({ hasText: 'nobody follows this value' }).allInnerTexts()
  const expected = [
    'Baselines: Personal read 1h: nobody follows this value, since plan free sets 8.',
    'Plan team v1.5: Personal read 1h: nobody follows this value, since plan team v1.5 has no known users.',
  ]
  const preview = page.getByRole('region', { name: 'What this change does' })
  await expect.poll(() => said(preview), SOON).toEqual(expected)
  await preview.getByText('This change moves nobody, so it has no effect as things stand.').waitFor()
  await button('Apply').click()
  await expect.poll(() => said(page.locator('.change-bar')), SOON).toEqual(expected)
  await page.goto(`${page.url().split('#')[0]}#/audit`)
  await page
    .locator('.audit-entry')
    .first()
    .getByText('the personal read limit of 1 hour of plan team v1.5', { exact: false })
    .waitFor()
})

test('an empty field of a plan follows the baseline, unlimited takes the limit away, and a viewer may look only', async () => {
  await stage.api('PATCH', '/api/plans/free', { personal: { read: { '1h': 'unlimited' } } })
  await show('#/limits', { token: VIEWER })
  await expect.poll(() => free().inputValue(), SOON).toBe('unlimited')
  await page.getByText('changed at run time (file: 8)').waitFor()
  await page.getByText('No personal limit is in force there.').waitFor()
  expect(await page.getByRole('combobox', { name: 'Window' }).count()).toBe(0)
  await free().fill('none')
  await button('Preview').click()
  await page.getByText(/^Enter a whole number/).waitFor()
  expect(await button('Apply').isDisabled()).toBe(true)
})

test('in Chinese the matrix of plans is Chinese, and the address of a limit leads to its field', async () => {
  await show('#/limits?scope=Personal&category=read&window=1h&plan=free', { language: 'zh-CN' })
  await page.getByRole('group', { name: zh['plans.matrix'] }).waitFor()
  const wanted = page.locator('[aria-current="true"] input')
  await expect.poll(() => wanted.getAttribute('aria-label'), SOON).toBe('套餐 free: 个人 read 1 小时')
})
