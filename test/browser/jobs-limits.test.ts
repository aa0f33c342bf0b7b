import type { Locator } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { QuotaResponse } from '../../src/admin/api.ts'
import type { OpenPage } from '../setup/browser.ts'
import { ADMIN, SOON, type Stage, startStage, VIEWER } from './stage.ts'

/** What an administrator wants to do with limits and with what was changed, and how many actions it takes from the overview. */

let stage: Stage
let open: OpenPage
let actions = 0
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  actions = 0
  await stage.api('PATCH', '/api/quota', { mode: null, global: null, baselines: null, custom: null, shadow: null })
})
afterEach(() => open.close())

async function start(hash = '', token = ADMIN): Promise<void> {
  open = await stage.open(hash, { token })
}

/** What is a click for a person, too: an action. */
async function click(place: Locator): Promise<void> {
  actions++
  await place.click()
}

async function fill(place: Locator, text: string): Promise<void> {
  actions++
  await place.fill(text)
}

const quota = () => stage.api<QuotaResponse>('GET', '/api/quota')
const link = (name: string) => open.page.getByRole('navigation').getByRole('link', { name, exact: true })
const button = (name: string | RegExp) => open.page.getByRole('button', { name, exact: true })
const entries = () => open.page.locator('.audit-entry')
const dialog = () => open.page.getByRole('dialog')

/** Of the change that sets this multiplier. */
async function numberOf(multiplier: number): Promise<number> {
  return (await stage.api<QuotaResponse>('PATCH', '/api/quota', { global: { multiplier } })).version
}

test('the last change is undone in three actions, and it is shown what comes back', async () => {
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 120 } } } })
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 200 } } }, reason: 'the fair' })
  await start()
  await click(link('Audit'))
  const last = entries().first()
  await last.getByText('ops raised the personal read limit of 1 hour from 120 to 200.').waitFor()
  await click(last.getByRole('button'))
  await expect.poll(() => dialog().getByRole('listitem').innerText(), SOON).toMatch(/limit of 1 hour: 200\s+→\s+120$/)
  await click(dialog().getByRole('button', { name: 'Undo' }))
  await open.page.getByText(/^Change #\d+ is undone/).waitFor()
  expect((await quota()).baselines.personal.read).toEqual({ '1h': 120 })
  expect(actions).toBeLessThanOrEqual(6)
  expect(open.errors).toEqual([])
})

test('what was done an hour ago is found by kind and undone in four actions, and what came after stays', async () => {
  await numberOf(2)
  for (const user of ['alice', 'bob'])
    await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 50 }, reason: 'a busy week' })
  await start()
  await click(link('Audit'))
  actions++
  await open.page.getByLabel('Kind').selectOption('settings')
  const wanted = entries().filter({ hasText: 'raised the global multiplier from 1 (the file) to 2' })
  await expect.poll(() => entries().filter({ hasText: 'override' }).count(), SOON).toBe(0)
  await click(wanted.first().getByRole('button'))
  await click(dialog().getByRole('button', { name: 'Undo' }))
  await open.page.getByText(/^Change #\d+ is undone/).waitFor()
  expect((await quota()).global.multiplier).toBe(1)
  expect(await stage.api('GET', '/api/users/bob')).toMatchObject({ override: { limits: { read: { '1h': 50 } } } })
  expect(actions).toBeLessThanOrEqual(6)
})

test('the audit is searched by whom a change is about, and the address has the search', async () => {
  for (const user of ['carol', 'dave'])
    await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 50 }, reason: `for ${user}` })
  await start()
  await click(link('Audit'))
  await fill(open.page.getByLabel('User, organisation or key'), 'CARO')
  await expect.poll(() => entries().count(), SOON).toBe(1)
  expect(await entries().innerText()).toContain('ops set an override for carol:')
  expect(new URL(open.page.url()).hash).toBe('#/audit?about=CARO')
  await open.page.reload()
  await expect.poll(() => entries().count(), SOON).toBe(1)
  await click(button('Clear'))
  await expect.poll(() => entries().count(), SOON).toBeGreaterThan(1)
})

test('an undo of what somebody has set since puts nothing back, and both values are shown', async () => {
  const version = await numberOf(2)
  await numberOf(3)
  await start('#/audit')
  await click(button(`Undo change #${version}`))
  await click(dialog().getByRole('button', { name: 'Undo' }))
  await dialog().getByText(`the global multiplier: change #${version} set 2, and now it is 3.`).waitFor()
  expect((await quota()).global.multiplier).toBe(3)
})

test('a viewer sees no undo', async () => {
  await numberOf(2)
  await start('#/audit', VIEWER)
  await entries().first().waitFor()
  expect(await button(/^Undo/).count()).toBe(0)
})
