import { beforeEach, expect, test } from 'vitest'
import type { TokenResponse, TokensResponse } from '../../src/contract/api.ts'
import { accessibilityFindings } from '../setup/browser.ts'
import { actions, limitActions } from './actions.ts'
import { button, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** Jobs with access keys, with the number of what is to be done for them, from the overview on. */

const A_DAY_MS = 86_400_000
limitActions(5)
stageDashboard({
  rest: `quota:
  plans: { pro: {} }
  baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`,
})
beforeEach(async () => {
  await show('#/overview')
  await actions.click(page.getByRole('link', { name: 'Access keys' }))
})

const keyOf = async (user: string): Promise<TokenResponse | undefined> =>
  (await stage.api<TokensResponse>('GET', '/api/tokens')).tokens.find((key) => key.user === user)

test('an access key for a user that ends in 30 days is made, and its secret is there to copy', async () => {
  await actions.fill(page.getByRole('textbox', { name: 'User', exact: true }), 'bob')
  await actions.fill(page.getByRole('textbox', { name: 'Name' }), 'phone')
  await actions.choose(page.getByLabel('Expires', { exact: true }), '720')
  await actions.click(button('Create key'))
  await page.getByText('Copy the key now: it is not shown again.').waitFor()
  const days = (Date.parse((await keyOf('bob'))?.expiresAt ?? '') - Date.now()) / A_DAY_MS
  expect(Math.round(days)).toBe(30)
})

test('a key is found by its user among the valid ones and revoked', async () => {
  for (const user of ['bob', 'carol']) await stage.api('POST', '/api/tokens', { user, name: 'tablet' })
  await actions.fill(page.getByRole('searchbox', { name: 'User, name or id' }), 'carol')
  await actions.choose(page.getByLabel('State', { exact: true }), 'valid')
  await actions.click(button('Revoke tablet of carol'))
  await actions.click(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }))
  await page.getByText('No access key matches.').waitFor()
  expect((await keyOf('carol'))?.revokedAt).not.toBeNull()
  expect((await keyOf('bob'))?.revokedAt).toBeNull()
  expect(new URL(page.url()).hash).toBe('#/keys?query=carol&state=valid')
  await page.getByLabel('State', { exact: true }).selectOption('revoked')
  await expect.poll(() => page.getByRole('row', { name: 'carol' }).count(), SOON).toBe(1)
})

test('a further key of a user stays in the organisation and the plan of the one before, and the user is chosen while typing', async () => {
  await stage.api('POST', '/api/tokens', { user: 'frank', name: 'server', plan: 'pro', organisation: 'acme' })
  await stage.api('PUT', '/api/users/frank/override', { read: { '1h': 50 }, reason: 'a friend' })
  const user = page.getByRole('textbox', { name: 'User', exact: true })
  await page.getByRole('row', { name: 'frank' }).waitFor()
  await actions.fill(user, 'fra')
  await page.getByText('No user with this id has used anything yet.').waitFor()
  await actions.click(button('frank'))
  await page.getByText('This user is known.').waitFor()
  expect(await page.getByLabel('Organisation').inputValue()).toBe('acme')
  await expect.poll(() => page.getByLabel('Plan').inputValue(), SOON).toBe('pro')
  await actions.fill(page.getByRole('textbox', { name: 'Name' }), 'phone')
  await actions.click(button('Create key'))
  await page.getByText('Copy the key now: it is not shown again.').waitFor()
  expect(await keyOf('frank')).toMatchObject({ name: 'phone', plan: 'pro', organisation: 'acme' })
})

test('a key is handed over by a link, which somebody without a sign-in opens once by a button', async () => {
  await actions.fill(page.getByRole('textbox', { name: 'User', exact: true }), 'dora')
  await actions.fill(page.getByRole('textbox', { name: 'Name' }), 'phone')
  // What is known of the user comes above the switch, which it moves: who clicks by force meanwhile hits something else.
  await page.getByText('No user with this id has used anything yet.').waitFor()
  await page.getByRole('switch', { name: 'Make a link instead of showing the key' }).check({ force: true })
  await actions.click(button('Create key'))
  await page.getByText('Send this link to whoever gets the key.', { exact: false }).waitFor()
  const link = await page.locator('.copyable pre').innerText()
  expect(link).toContain('/handover#')
  const other = await stage.browser.open({ own: true })
  try {
    await other.page.goto(link)
    await other.page.getByRole('button', { name: 'Show the key' }).click()
    expect(await other.page.locator('.copyable pre').innerText()).toMatch(/^gw_/)
    expect(new URL(other.page.url()).hash).toBe('')
    expect(await accessibilityFindings(other.page)).toEqual([])
    await other.page.goto('about:blank')
    await other.page.goto(link)
    await other.page.getByRole('button', { name: 'Show the key' }).click()
    await other.page
      .getByText(
        'This link was used already, or its time is over. If it was not you who used it, ask whoever sent it to you to revoke the key.',
      )
      .waitFor()
    expect(other.errors.splice(0)).toEqual([expect.stringContaining('404')])
  } finally {
    await other.close()
  }
})
