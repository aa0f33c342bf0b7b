import type { Locator } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import type { QuotaResponse } from '../../src/contract/api.ts'
import { actions, limitActions } from './actions.ts'
import { ask, button, forgive, page, SOON, show, stage, stageDashboard, VIEWER } from './stage.ts'

/** What an administrator wants to do with limits and with what was changed, and how many actions it takes from the overview. */

limitActions(5)
stageDashboard()
beforeEach(async () => {
  await stage.api('PATCH', '/api/quota', { mode: null, global: null, baselines: null, custom: null, shadow: null })
})

const quota = () => stage.api<QuotaResponse>('GET', '/api/quota')
const link = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true })
const entries = () => page.locator('.audit-entry')
const dialog = () => page.getByRole('dialog')

/** Of the change that sets this multiplier. */
async function numberOf(multiplier: number): Promise<number> {
  return (await stage.api<QuotaResponse>('PATCH', '/api/quota', { global: { multiplier } })).version
}

test('the last change is undone in three actions, and it is shown what comes back', async () => {
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 120 } } } })
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 200 } } }, reason: 'the fair' })
  await show('')
  await actions.click(link('Audit'))
  const last = entries().first()
  await last.getByText('ops raised the personal read limit of 1 hour from 120 to 200.').waitFor()
  await actions.click(last.getByRole('button'))
  await expect.poll(() => dialog().getByRole('listitem').innerText(), SOON).toMatch(/limit of 1 hour: 200\s+→\s+120$/)
  await actions.click(dialog().getByRole('button', { name: 'Undo' }))
  await page.getByText(/^Change #\d+ is undone/).waitFor()
  const undone = entries().filter({ hasText: 'from 120 to 200' }).first()
  await undone.getByRole('link', { name: /^by change #\d+$/ }).waitFor()
  expect(await undone.getByRole('button').count()).toBe(0)
  expect((await quota()).baselines.personal.read).toEqual({ '1h': 120 })
})

test('what was done an hour ago is found by kind and undone in four actions, and what came after stays', async () => {
  await numberOf(2)
  for (const user of ['alice', 'bob'])
    await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 50 }, reason: 'a busy week' })
  await show('')
  await actions.click(link('Audit'))
  await actions.choose(page.getByLabel('Kind'), 'settings')
  const wanted = entries().filter({ hasText: 'raised the global multiplier from 1 (the file) to 2' })
  await expect.poll(() => entries().filter({ hasText: 'override' }).count(), SOON).toBe(0)
  await actions.click(wanted.first().getByRole('button'))
  await actions.click(dialog().getByRole('button', { name: 'Undo' }))
  await page.getByText(/^Change #\d+ is undone/).waitFor()
  expect((await quota()).global.multiplier).toBe(1)
  expect(await stage.api('GET', '/api/users/bob')).toMatchObject({ override: { limits: { read: { '1h': 50 } } } })
})

test('the audit is searched by whom a change is about, and the address has the search', async () => {
  for (const user of ['carol', 'dave'])
    await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 50 }, reason: `for ${user}` })
  await show('')
  await actions.click(link('Audit'))
  await actions.fill(page.getByLabel('User, organisation or key'), 'CARO')
  await expect.poll(() => entries().count(), SOON).toBe(1)
  expect(await entries().innerText()).toContain('ops set an override for carol:')
  expect(new URL(page.url()).hash).toBe('#/audit?about=CARO')
  await page.reload()
  await expect.poll(() => entries().count(), SOON).toBe(1)
  await actions.click(button('Clear'))
  await expect.poll(() => entries().count(), SOON).toBeGreaterThan(1)
})

test('an undo of what somebody has set since puts nothing back, and both values are shown', async () => {
  const version = await numberOf(2)
  await numberOf(3)
  await show('#/audit')
  await actions.click(button(`Undo change #${version}`))
  await actions.click(dialog().getByRole('button', { name: 'Undo' }))
  await dialog().getByText(`the global multiplier: change #${version} set 2, and now it is 3.`).waitFor()
  // What the undo would have put in force is not claimed any more.
  expect(await dialog().getByText('The undo puts these values in force:').count()).toBe(0)
  expect((await quota()).global.multiplier).toBe(3)
  forgive(412)
})

test('a limit is tightened with a guard in five actions, and the page says what guards it until that is cancelled', async () => {
  await show('')
  await actions.click(link('Limits'))
  await actions.fill(page.getByRole('group', { name: 'Personal · read' }).getByLabel('1h').first(), '8')
  await actions.choose(page.getByLabel('Guard: revert automatically'), '10m')
  await actions.click(button('Preview'))
  await page.getByRole('heading', { name: 'What this change does' }).waitFor()
  await actions.click(button('Apply'))
  await page.getByText(/^Applied as version \d+\./).waitFor()
  expect(await quota()).toMatchObject({
    baselines: { personal: { read: { '1h': 8 } } },
    layers: [{ who: 'admin', guard: { refused: 0.05 }, value: { baselines: { personal: { read: { '1h': 8 } } } } }],
  })
  const guard = page.getByText(/^The change of admin is guarded until .*more than 5% of the requests is refused/)
  await guard.waitFor()
  await button('End the guard').click()
  await dialog().getByRole('button', { name: 'End the guard' }).click()
  await expect.poll(() => guard.count(), SOON).toBe(0)
  const after = await quota()
  expect([after.layers, after.baselines.personal.read]).toEqual([undefined, { '1h': 8 }])
})

test('what 20 % less would have done yesterday is seen in three actions', async () => {
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 9 } } } })
  for (let i = 0; i < 2; i++) expect(await ask(stage.app.url, 'yesterday')).toEqual({ status: 200 })
  expect(await ask(stage.app.url, 'less')).toEqual({ status: 200 })
  await show('')
  await actions.click(link('Limits'))
  await actions.click(button('All personal limits: −20%'))
  await actions.click(button('Preview'))
  await page
    .getByText(
      'read 1h: 1 of 2 users had a window with more tokens than their own limit would be, with overrides and blocks. Tokens above: 1.',
    )
    .waitFor()
  await page.getByText(/^This is approximate: /).waitFor()
  expect((await quota()).baselines.personal.read).toEqual({ '1h': 9 })
})

test('a limit is set by a line over the users, which is dragged or moved by keys, and says how many would have no room', async () => {
  await ask(stage.app.url, 'below the line')
  await show('#/limits')
  const chart = page.getByRole('region', { name: 'Users and the limit' })
  const line = chart.getByRole('slider', { name: 'Personal read limit of 1h' })
  await expect.poll(() => line.getAttribute('aria-valuetext'), SOON).toMatch(/^10, \d+ of \d+ users without room$/)
  await line.press('ArrowLeft')
  const field = page.getByRole('group', { name: 'Personal · read' }).getByLabel('1h').first()
  await expect.poll(() => field.inputValue(), SOON).toBe('9')
  await line.press('Home')
  await expect.poll(() => line.getAttribute('aria-valuetext'), SOON).toMatch(/^0, (\d+) of \1 users without room$/)
  const plot = await chart.locator('.distribution-bars').boundingBox()
  if (plot === null) throw new Error('no plot')
  await page.mouse.move(plot.x + plot.width * 0.2, plot.y + 30)
  await page.mouse.down()
  await page.mouse.move(plot.x + (plot.width * 12) / 15, plot.y + 60, { steps: 4 })
  await page.mouse.up()
  await expect.poll(() => field.inputValue(), SOON).toBe('12')
  await expect.poll(() => page.evaluate('document.activeElement.role'), SOON).toBe('slider')
  await chart.getByText(/^With a limit of 12, 0 of the \d+ users .* no room for another request/).waitFor()
  expect((await quota()).baselines.personal.read).toEqual({ '1h': 10 })
})

test('a change is scheduled for a while, is listed with who asked for it, and is cancelled', async () => {
  await show('#/limits')
  await page.getByRole('textbox', { name: 'Global multiplier' }).fill('2')
  await page.getByLabel('Start (empty: now)').fill('2026-01-01T00:00')
  await button('Preview').click()
  await button('Apply').click()
  await page.getByText('Choose a time in the future.').waitFor()
  const tomorrow = new Date(Date.now() + 86_400_000)
  await page.getByLabel('Start (empty: now)').fill(`${tomorrow.toISOString().slice(0, 10)}T12:00`)
  await page.getByLabel('End', { exact: true }).selectOption('168')
  await page.getByLabel('Reason').fill('the fair')
  await button('Apply').click()
  await page.getByText(/^Scheduled: it is made at /).waitFor()
  const told = page.getByRole('listitem').filter({ hasText: 'admin has scheduled this for' })
  await expect
    .poll(() => told.innerText(), SOON)
    .toMatch(/taken back at [\s\S]*Global multiplier: 2, then as in the file\s+Reason: the fair/)
  expect((await quota()).global.multiplier).toBe(1)
  await button('Cancel the scheduled change').click()
  await dialog().getByRole('button', { name: 'Cancel the scheduled change' }).click()
  await expect.poll(() => told.count(), SOON).toBe(0)
  expect((await quota()).layers).toBeUndefined()
})

test('in a narrow window the bar stands at the foot, opens its terms by a key, and covers no field that has the focus', async () => {
  await show('#/limits', { width: 390, height: 844 })
  await page.getByRole('textbox', { name: 'Global multiplier' }).fill('2')
  const bar = page.getByRole('region', { name: 'A change not applied yet' })
  const coversNot = async (field: Locator): Promise<void> => {
    const [over, under] = await Promise.all([bar.boundingBox(), field.boundingBox()])
    expect((under?.y ?? 0) + (under?.height ?? 0)).toBeLessThanOrEqual((over?.y ?? 0) + 1)
  }
  const guard = page.getByLabel('Guard: revert automatically')
  expect(await guard.isVisible()).toBe(false)
  const more = button('Reason, guard, times')
  await more.press('Enter')
  await guard.waitFor()
  // Open it covers more.
  await page.locator('.limits-columns input:visible').last().focus()
  await coversNot(page.locator('.limits-columns input:visible').last())
  await more.press('Enter')
  await expect.poll(() => guard.isVisible(), SOON).toBe(false)
  for (const field of await page.locator('.limits-columns input:visible').all()) {
    await field.focus()
    await coversNot(field)
  }
  expect((await bar.boundingBox())?.height).toBeLessThan(200)
  // In a wide one the terms are always open: no button is there, and the end has its time in line with the others.
  await page.setViewportSize({ width: 1440, height: 900 })
  await expect.poll(() => more.isVisible(), SOON).toBe(false)
  await page.getByLabel('End', { exact: true }).selectOption('at')
  const bottoms = new Set<number>()
  for (const field of await page.locator('.change-terms :is(input, select)').all()) {
    const box = await field.boundingBox()
    bottoms.add(Math.round((box?.y ?? 0) + (box?.height ?? 0)))
  }
  expect([...bottoms]).toHaveLength(1)
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
})

test('a viewer sees no undo', async () => {
  await numberOf(2)
  await show('#/audit', { token: VIEWER })
  await entries().first().waitFor()
  expect(await button(/^Undo/).count()).toBe(0)
})

test('the undo of an override names the user, the limit that comes into force, and that more of it is used already', async () => {
  for (let i = 0; i < 2; i++) expect(await ask(stage.app.url, 'erin')).toEqual({ status: 200 })
  await stage.api('PUT', '/api/users/erin/override', { read: { '1h': 50 }, reason: 'a busy week' })
  await show('#/audit?about=erin')
  await actions.click(button(/^Undo change/))
  await dialog()
    .getByText(/^Undo change #\d+ of erin\?$/)
    .waitFor()
  await expect.poll(() => dialog().getByRole('listitem').innerText(), SOON).toMatch(/50\s+→\s+10 \(the default\)$/)
  await dialog().getByText('erin has used 8 in the window 1h of read. That is more than a limit of 10').waitFor()
})
