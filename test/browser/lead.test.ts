import { fetch } from 'undici'
import { beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { AuditResponse, NewTokenResponse, TokensResponse, UserResponse } from '../../src/contract/api.ts'
import { accessibilityFindings } from '../setup/browser.ts'
import { button, LEAD, page, SOON, show, stage, stageDashboard, turnTo } from './stage.ts'

/** What somebody does who leads one organisation. */

let ann: NewTokenResponse
stageDashboard({
  lead: 'acme',
  rest: `quota:
  plans: { team: { personal: { read: { 1h: 100 } }, organisation: { read: { 1h: 60 } } } }
  baselines: { personal: { read: { 1h: 10 } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`,
})
beforeAll(async () => {
  const keys = [
    { user: 'ann', organisation: 'acme' },
    { user: 'rita', organisation: 'rival' },
  ].map((who) => stage.api<NewTokenResponse>('POST', '/api/tokens', { ...who, name: 'laptop', plan: 'team' }))
  const made = await Promise.all(keys)
  ann = made[0] as NewTokenResponse
  for (const { token } of made) await vi.waitFor(async () => expect(await statusOf(token)).toBe(200), SOON)
  await vi.waitFor(async () => expect((await memberOf('ann')).organisation).toBe('acme'), SOON)
})
beforeEach(async () => {
  await show('#/overview', { token: LEAD })
})

async function statusOf(token: string): Promise<number> {
  const response = await fetch(`${stage.app.url}/items/1`, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response.status
}

const memberOf = (user: string) => stage.api<UserResponse>('GET', `/api/users/${encodeURIComponent(user)}`)

test('a lead sees the own organisation and its members, whatever page is asked for, and nothing of others', async () => {
  await page.getByRole('heading', { name: 'acme', level: 1 }).waitFor()
  const links = await page.getByRole('navigation').getByRole('link').allInnerTexts()
  expect(links).toEqual(['Organisations', 'Refusals', 'Access keys'])
  await page.getByText('(lead)').waitFor()
  await page.getByRole('table').getByText('ann').first().waitFor()
  expect(await page.getByText('rita').count()).toBe(0)
  expect(await accessibilityFindings(page)).toEqual([])
  for (const hash of ['#/limits', '#/organisations/rival', '#/audit', '#/users']) {
    await page.evaluate(`location.hash = '${hash}'`)
    await page.getByRole('heading', { name: 'acme', level: 1 }).waitFor()
  }
})

test('a lead gives a member a smaller share, and none above what the organisation has', async () => {
  await page.getByRole('link', { name: 'ann', exact: true }).first().click()
  await page.getByRole('heading', { name: 'ann', level: 1 }).waitFor()
  expect(await page.getByText('Reset and data').count()).toBe(0)
  await turnTo(page, 'Override')
  const limit = page.getByRole('textbox', { name: '1h', exact: true })
  const save = async (text: string) => {
    await limit.fill(text)
    await button('Review').click()
    await button('Set the override').click()
  }
  await page.getByLabel('Reason').fill('a share of the team')
  await limit.fill('61')
  await page.getByText('At most 60: you divide what the plan and the organisation have.').waitFor()
  await button('Review').click()
  expect(await button('Set the override').count()).toBe(0)
  await limit.fill('4')
  await button('Review').click()
  await page.getByText('read 1h: 4 used already, so the user is blocked until the window ends.').waitFor()
  await save('8')
  await expect.poll(async () => (await memberOf('ann')).override?.limits.read?.['1h'], SOON).toBe(8)
  await expect.poll(() => statusOf(ann.token), SOON).toBe(429)
  const { entries } = await stage.api<AuditResponse>('GET', '/api/audit?about=ann&what=override')
  expect(entries[0]).toMatchObject({ who: 'carol (lead of acme)', why: 'a share of the team', to: { within: 'acme' } })
})

test('a lead makes a key for a new member and revokes it, with nothing to choose but whose it is', async () => {
  await page.getByRole('link', { name: 'Access keys' }).click()
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('acme/robot')
  await page.getByRole('textbox', { name: 'Name' }).fill('nightly')
  expect(await page.getByRole('textbox', { name: 'Organisation' }).count()).toBe(0)
  await button('Create key').click()
  const secret = await page.locator('.copyable pre').innerText()
  await expect.poll(() => statusOf(secret), SOON).toBe(200)
  const { tokens } = await stage.api<TokensResponse>('GET', '/api/tokens?user=acme%2Frobot')
  expect(tokens).toMatchObject([{ organisation: 'acme', plan: 'team' }])
  await button('Revoke nightly of acme/robot').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expect.poll(() => statusOf(secret), SOON).toBe(401)
  expect(await page.getByText('rita').count()).toBe(0)
})
