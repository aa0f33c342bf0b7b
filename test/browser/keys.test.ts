import { expect, test } from 'vitest'
import type { TokenResponse, TokensResponse } from '../../src/contract/api.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'
import { accessibilityFindings } from '../setup/browser.ts'
import { button, hold, OWN, open, page, SOON, show, stage, stageDashboard } from './stage.ts'

stageDashboard()

const secret = () => page.locator('.copyable pre').innerText()

test('a key is copied, or at least selected, also where the browser has no clipboard for the page', async () => {
  await show('#/keys', { own: true })
  // As at http:// and an address that is not this machine's.
  await page.addInitScript(`Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })`)
  await page.reload()
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('clara')
  const name = page.getByRole('textbox', { name: 'Name' })
  await name.fill('robot')
  await button('Create key').click()
  const copied = await secret()
  await button('Copy').click()
  await button('Copied').waitFor()
  await name.focus()
  await page.keyboard.press('Control+V')
  expect(await name.inputValue()).toBe(copied)

  await page.evaluate('document.execCommand = () => false')
  await button('Copy').click()
  await button('Selected: press Ctrl+C or ⌘C').waitFor()
  expect(await page.evaluate('getSelection().toString().trim()')).toBe(copied)
})

test('the button that makes a key stands in line with the fields, since the styles of a page go before those of all pages', async () => {
  await show('#/keys')
  const bottomOf = async (name: string) => {
    const box = await page
      .locator('.key-line')
      .getByRole(name === 'Create key' ? 'button' : 'textbox', { name })
      .boundingBox()
    return (box?.y ?? 0) + (box?.height ?? 0)
  }
  expect(Math.abs((await bottomOf('Create key')) - (await bottomOf('User')))).toBeLessThan(3)
})

test('a change of which nobody knows what became of it is told in the language of the page', async () => {
  await show('#/keys', { language: 'zh-CN' })
  const json = { error: 'outcome_unknown', msg: 'The change may have been made.' }
  await page.route('**/api/tokens', (route) =>
    route.request().method() === 'POST' ? route.fulfill({ status: 503, headers: OWN, json }) : route.continue(),
  )
  await page.getByRole('textbox', { name: zh['word.user'], exact: true }).fill('clio')
  await page.getByRole('textbox', { name: zh['keys.name'] }).fill('robot')
  await button(zh['keys.make']).click()
  await page.getByRole('alert').getByText(zh['error.outcome_unknown'], { exact: false }).waitFor()
  expect(open.errors.splice(0)).toEqual([expect.stringContaining('503')])
})

test('keys that are not shown are counted, and found by the search, which the address has', async () => {
  const numbers = Array.from({ length: 101 }, (_, i) => i)
  for (const i of numbers) await stage.api('POST', '/api/tokens', { user: 'many', name: `token-${i}` })
  await show('#/keys')
  const { tokens } = await stage.api<TokensResponse>('GET', '/api/tokens')
  await page.getByText(`Access keys: the first 100 of ${tokens.length}. Search to find the others.`).waitFor()
  await page.getByRole('searchbox').fill('token-10')
  const rows = page.getByRole('row', { name: 'many' })
  await expect.poll(() => rows.count(), SOON).toBe(numbers.filter((i) => `token-${i}`.includes('token-10')).length)
  await page.getByText(`Access keys: 2 of ${tokens.length}`).waitFor()
  await page.reload()
  await expect.poll(() => rows.count(), SOON).toBe(2)
  await page.getByRole('searchbox').fill('token-999')
  await page.getByText('No access key matches.').waitFor()
})

test('the question says which one of two keys of one name and user is revoked', async () => {
  const made = []
  for (let i = 0; i < 2; i++)
    made.push(await stage.api<TokenResponse>('POST', '/api/tokens', { user: 'vera', name: 'twin' }))
  await show('#/keys')
  await page.getByRole('searchbox').fill('twin')
  await button('Revoke twin of vera').first().click()
  const dialog = page.getByRole('dialog')
  const asked = await dialog.innerText()
  const [chosen] = made.filter(({ id }) => asked.includes(id))
  for (const part of ['vera', 'twin']) expect(asked).toContain(part)
  await dialog.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('table').getByText('revoked', { exact: true }).waitFor()
  const { tokens } = await stage.api<TokensResponse>('GET', '/api/tokens')
  const revoked = tokens.filter(({ user, revokedAt }) => user === 'vera' && revokedAt !== null)
  expect(revoked.map(({ id }) => id)).toEqual([chosen?.id])
})

test('a draft of a key waits while one looks elsewhere, until it is made or given up; the secret never does', async () => {
  await show('#/keys')
  const owner = page.getByRole('textbox', { name: 'User', exact: true })
  const name = page.getByRole('textbox', { name: 'Name' })
  const elsewhereAndBack = async () => {
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    await page.goBack()
    await owner.waitFor()
  }
  const draft = async () => [
    await owner.inputValue(),
    await name.inputValue(),
    await page.getByLabel('Expires', { exact: true }).inputValue(),
  ]
  const empty = async () => [await owner.inputValue(), await name.inputValue(), await button('Discard edits').count()]
  expect(await empty()).toEqual(['', '', 0])
  await owner.fill('kate')
  await name.fill('robot')
  await page.getByLabel('Expires', { exact: true }).selectOption('24')
  await elsewhereAndBack()
  expect(await draft()).toEqual(['kate', 'robot', '24'])
  await button('Create key').click()
  const secret = await page.locator('.copyable pre').innerText()
  expect(await empty()).toEqual(['', '', 0])
  await elsewhereAndBack()
  await page.getByRole('row', { name: 'kate' }).waitFor()
  expect(await empty()).toEqual(['', '', 0])
  expect(await page.content()).not.toContain(secret)

  await owner.fill('nobody')
  await button('Create key').click()
  await page.getByText('This field is required.').waitFor()
  await button('Discard edits').click()
  expect(await page.getByText('This field is required.').count()).toBe(0)
  await elsewhereAndBack()
  expect(await empty()).toEqual(['', '', 0])
})

test('a draft of a key that is changed while it is being made stays a draft', async () => {
  await show('#/keys')
  const held = await hold(page, 'POST', '**/api/tokens')
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('liam')
  await page.getByRole('textbox', { name: 'Name' }).fill('robot')
  await button('Create key').click()
  await held.asked
  await page.getByRole('textbox', { name: 'Name' }).fill('robot two')
  held.release()
  await page.getByText('Copy the key now: it is not shown again').waitFor()
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('robot two')
})

test('keys are ordered by the heads of their table, by the first of all and not of those that are shown', async () => {
  await stage.api('POST', '/api/tokens', { user: 'aaron', name: 'oldest of all', expiresAt: '2099-01-01T00:00:00Z' })
  await show('#/keys?order=-user')
  const first = page.getByRole('row').nth(1)
  await expect.poll(() => first.innerText(), SOON).toContain('vera')
  await button('User').click()
  await expect.poll(() => first.innerText(), SOON).toContain('aaron')
  await button('Expires').click()
  await expect.poll(() => first.innerText(), SOON).toMatch(/kate|aaron/)
  expect(new URL(page.url()).hash).toBe('#/keys?order=expires')
})

test('a key that is replaced ends after the time that was chosen, and the new one is shown once', async () => {
  const old = await stage.api<TokenResponse>('POST', '/api/tokens', { user: 'rita', name: 'rotated' })
  await show('#/keys?query=rotated')
  await button('Replace rotated of rita').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(old.id).waitFor()
  await dialog.getByLabel('The old key stays valid for').selectOption('1h')
  await dialog.getByLabel('Reason').fill('a year old')
  await dialog.getByRole('button', { name: 'Replace', exact: true }).click()
  await expect.poll(secret, SOON).toMatch(/^gw_/)
  await expect.poll(() => page.getByRole('row', { name: 'rita' }).count(), SOON).toBe(2)
  expect(await accessibilityFindings(page)).toEqual([])
  const { tokens } = await stage.api<TokensResponse>('GET', '/api/tokens?user=rita')
  const left = Date.parse(tokens.find(({ id }) => id === old.id)?.expiresAt ?? '') - Date.now()
  expect([left > 0, left <= 3_600_000]).toEqual([true, true])
  await page.goto(`${stage.app.admin}/#/audit`)
  const ids = tokens.map(({ id }) => id.slice(0, 8))
  const of = (id: string) => page.getByRole('link', { name: id, exact: true })
  const entry = page.locator('.audit-entry', { hasText: 'in the place of' })
  await expect.poll(() => entry.getByRole('link').allInnerTexts(), SOON).toEqual(expect.arrayContaining(ids))
  await of(old.id.slice(0, 8)).first().click()
  await page.getByRole('row', { name: 'rita' }).waitFor()
})

test('a key that is replaced may give a link to the new one, which is not shown', async () => {
  await stage.api('POST', '/api/tokens', { user: 'rolf', name: 'linked' })
  await show('#/keys?query=linked')
  await button('Replace linked of rolf').click()
  await page.getByRole('dialog').getByRole('switch', { name: 'Make a link instead of showing the key' }).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Replace', exact: true }).click()
  await expect.poll(secret, SOON).toMatch(/^http.*\/handover#/)
  await page.getByText('Send this link to whoever gets the key.', { exact: false }).waitFor()
  await page.getByText(`It leads to ${stage.app.admin}, which that person must be able to reach.`).waitFor()
  // The next one is handed over in the same way, unless that is changed.
  await button('Replace linked of rolf').first().click()
  await expect.poll(() => page.getByRole('dialog').getByRole('switch').isChecked(), SOON).toBe(true)
  await page.keyboard.press('Escape')
  await button('Replace linked of rolf').last().click()
  expect(await page.getByRole('dialog').getByRole('switch').isChecked()).toBe(false)
})
