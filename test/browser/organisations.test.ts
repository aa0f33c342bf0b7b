import { expect, test } from 'vitest'
import type { NewTokenResponse, OrganisationResponse } from '../../src/contract/api.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'
import { button, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** Plan team limits an organisation to 20 tokens an hour, of which a request costs 4; no plan limits what is written. */
const QUOTA = `quota:
  plans: { team: { organisation: { read: { 1h: 20 } } } }
  baselines: { personal: { read: { 1h: 100 }, write: { 1h: 100 } }, global: { read: { 1h: 1000 }, write: { 1h: 1000 } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: POST /items/*, category: write, cost: 1 }`

const tokens = new Map<string, string>()
stageDashboard({ rest: QUOTA })

/** A request of a user of the organisation. */
async function ask(organisation: string, method = 'GET'): Promise<{ status: number; limit?: number }> {
  const wish = { user: `user of ${organisation}`, name: 'laptop', plan: 'team', organisation }
  const token = tokens.get(organisation) ?? (await stage.api<NewTokenResponse>('POST', '/api/tokens', wish)).token
  tokens.set(organisation, token)
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${stage.app.url}/items/1`, { method, headers })
  const text = await response.text()
  if (response.status !== 429) return { status: response.status }
  return { status: 429, limit: (JSON.parse(text) as { quota: { limit: number } }).quota.limit }
}

const noted = (id: string) => stage.api<OrganisationResponse>('GET', `/api/organisations/${id}`)

test('the list has organisations with what their users used together, and is searched and ordered as that of users', async () => {
  for (const [id, times] of [
    ['far', 1],
    ['near', 5],
  ] as const) {
    for (let i = 0; i < times; i++) expect(await ask(id)).toEqual({ status: 200 })
    await expect.poll(async () => (await noted(id)).plan?.name, SOON).toBe('team')
  }
  await stage.api('PUT', '/api/organisations/zoo/override', { read: { '1h': 40 }, reason: 'a big event' })
  await show('#/organisations')
  const shown = () => page.locator('[aria-label="Organisations"] th a').allInnerTexts()
  await expect.poll(shown, SOON).toEqual(['near', 'far', 'zoo'])
  expect(
    await page
      .locator('[aria-label="Organisations"] tbody tr')
      .filter({ hasText: 'limit reached' })
      .getByRole('link')
      .allInnerTexts(),
  ).toEqual(['near'])
  expect(await page.locator('[aria-label="Organisations"] tbody tr').filter({ hasText: 'near' }).innerText()).toContain(
    '100%',
  )
  await page.getByRole('columnheader', { name: 'Tokens' }).getByRole('button').click()
  await expect.poll(shown, SOON).toEqual(['near', 'far', 'zoo'])
  await page.getByRole('searchbox').fill('FA')
  await expect.poll(shown, SOON).toEqual(['far'])
  await page.getByRole('searchbox').fill('not yet')
  await page.getByText('No known organisation matches.').waitFor()
  await page.getByRole('link', { name: 'Open “not yet”' }).click()
  await page.getByRole('heading', { level: 1, name: 'not yet' }).waitFor()
  await page
    .getByRole('row', { name: /^Organisation read 1h/ })
    .getByText('plan team')
    .waitFor()
})

test('an override changes the limits of its organisation, also where no plan limits it, and is taken away', async () => {
  for (let i = 0; i < 5; i++) expect(await ask('acme')).toEqual({ status: 200 })
  expect(await ask('acme')).toEqual({ status: 429, limit: 20 })
  await expect.poll(async () => (await noted('acme')).plan?.name, SOON).toBe('team')
  await show('#/organisations/acme?part=override')
  const row = page.getByRole('row', { name: /^Organisation read 1h/ })
  await row.getByText('limit reached').waitFor()
  expect(await row.innerText()).toContain('plan team')
  await page.getByText('Organisation read 1h: 20 of 20 used. Users with the plan team are refused.').waitFor()
  await page.getByText('1 to 1 of 1').waitFor()
  await page.getByRole('region', { name: 'Users' }).getByRole('link', { name: 'user of acme' }).waitFor()
  expect(await page.getByLabel('Bypass the global scope').count()).toBe(0)
  const fields = page.getByRole('textbox', { name: '1h' })
  await expect.poll(() => fields.count(), SOON).toBe(2)
  await fields.nth(0).fill('24')
  await fields.nth(1).fill('0')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await page.getByLabel('Ends', { exact: true }).selectOption('24')
  await button('Review').click()
  const review = page.getByRole('region', { name: 'What this change does' })
  await expect.poll(() => review.innerText(), SOON).toMatch(/the read limit of 1 hour: 20 \(plan team\)\s*→\s*24/)
  expect(await review.innerText()).toContain(
    'write 1h: no request fits into a limit of 0, so the organisation is blocked.',
  )
  await button('Set the override').click()
  await page.getByText('The override is set.').waitFor()
  await expect.poll(async () => (await ask('acme', 'POST')).limit, SOON).toBe(0)
  expect(await ask('acme')).toEqual({ status: 200 })
  expect(await ask('acme')).toEqual({ status: 429, limit: 24 })
  await page.getByText('In force: a trial').waitFor()
  await expect.poll(() => row.innerText(), SOON).toContain('organisation override')
  expect((await noted('acme')).override).toMatchObject({ limits: { read: { '1h': 24 }, write: { '1h': 0 } } })

  await button('Remove override').click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.innerText()).toMatch(/the read limit of 1 hour: 24\s*→\s*20 \(plan team\)/)
  await dialog.getByRole('button', { name: 'Remove override' }).click()
  await page.getByText('The override is removed.').waitFor()
  await expect.poll(async () => (await ask('acme', 'POST')).status, SOON).toBe(200)
})

test('a reset empties the windows of the organisation and leaves those of its users', async () => {
  expect(await ask('loop')).toEqual({ status: 200 })
  await show('#/organisations/loop?part=data')
  await button('Reset windows').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Windows of its users and global ones keep their counts.').waitFor()
  await dialog.getByLabel('Reason').fill('our fault')
  await dialog.getByRole('button', { name: 'Empty the windows' }).click()
  await page.getByText('The windows were emptied.').waitFor()
  expect((await noted('loop')).windows.read?.[0]?.used).toBe(0)
  const used = await stage.api<{ windows: { read: { used: number }[] } }>('GET', '/api/users/user%20of%20loop')
  expect(used.windows.read[0]?.used).toBe(4)
})

test('the page of limits leads to the organisations with limits of their own', async () => {
  await stage.api('PUT', '/api/organisations/fair/override', { read: { '1h': 40 }, reason: 'a big event' })
  await show('#/limits')
  await page.getByRole('textbox', { name: 'Plan team: Organisation read 1h' }).waitFor()
  await page.getByRole('link', { name: 'fair', exact: true }).click()
  await page.getByRole('heading', { name: 'fair' }).waitFor()
})

test('in Chinese the pages of organisations are Chinese, and the audit leads to them', async () => {
  await stage.api('PUT', '/api/organisations/用户/override', { read: { '1h': 40 }, reason: '活动' })
  await show('#/audit', { language: 'zh-CN' })
  await page.getByText('ops 为 用户 设置了特别设置：').waitFor()
  await page.getByRole('link', { name: '用户' }).last().click()
  await page.getByRole('heading', { level: 1, name: '用户' }).waitFor()
  await page.getByText(zh['override.title'], { exact: true }).click()
  await page.getByText(zh['organisations.override.limits'], { exact: true }).waitFor()
  await page.getByRole('link', { name: new RegExp(zh['organisations.back']) }).click()
  await page.getByRole('heading', { level: 1, name: zh['page.organisations'] }).waitFor()
  await page.getByRole('rowheader').getByRole('link').filter({ hasText: '用户' }).waitFor()
})
