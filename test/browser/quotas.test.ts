import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import type { AuditResponse, QuotaResetResponse, QuotaResponse, UsersResponse } from '../../src/contract/api.ts'
import { NOTHING } from '../../src/failures/histogram.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import {
  ask,
  button,
  forgive,
  hold,
  OPS,
  open,
  page,
  SOON,
  show,
  signIn,
  signOut,
  stage,
  stageDashboard,
  VIEWER,
} from './stage.ts'

let folder: string
afterAll(() => rmSync(folder, { recursive: true }))
stageDashboard(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-quotas-'))
  const file = join(folder, 'quota.db')
  // Some that count for the adaptive factor, and are too few to move it.
  const hand = openSqliteStore({ file })
  await hand.addTally({ ...NOTHING, total: 60 })
  await hand.close()
  return { store: `sqlite:${file}` }
})
beforeEach(async () => {
  await stage.api('PATCH', '/api/quota', { mode: null, global: null, baselines: null, custom: null, shadow: null })
})

async function showLimits(options: { token?: string; own?: boolean } = {}): Promise<void> {
  await show('#/limits', options)
  await page.getByRole('radio', { name: 'Normal' }).waitFor()
}

const quota = () => stage.api<QuotaResponse>('GET', '/api/quota')
const client = (user: string) => ask(stage.app.url, user)
const multiplier = () => page.getByRole('textbox', { name: 'Global multiplier' })
const bar = () => page.getByRole('region', { name: 'A change not applied yet' })
const preview = () => page.getByRole('region', { name: 'What this change does' })

async function choose(mode: string): Promise<void> {
  await page.getByRole('radio', { name: mode }).check()
  await look()
}

/** Asks what the edits would do. */
async function look(): Promise<void> {
  await button('Preview').click()
  await preview().waitFor()
}

async function apply(): Promise<void> {
  await button('Apply').click()
  await page.getByText(/^Applied as version \d+\. /).waitFor()
}

/** Uses 8 of the 10 tokens of the hour. */
async function useEight(user: string): Promise<void> {
  expect([await client(user), await client(user)]).toEqual([{ status: 200 }, { status: 200 }])
}

test('a mode that is chosen, previewed and applied is that of the next refusal', async () => {
  await useEight('alice')
  expect(await client('alice')).toEqual({ status: 429, limit: 10 })
  await showLimits()
  await choose('Loose')
  await expect.poll(() => preview().getByRole('list').first().innerText(), SOON).toMatch(/Mode: Normal\s*→\s*Loose/)
  await expect.poll(() => preview().getByRole('row', { name: 'Personal read 1h' }).innerText()).toMatch(/10\s+15$/)
  await bar().getByLabel('Reason').fill('the fair')
  await apply()
  await expect.poll(() => client('alice'), SOON).toEqual({ status: 200 })
  expect(await client('alice')).toEqual({ status: 429, limit: 15 })
  await expect.poll(() => page.getByText('changed at run time (file: Normal)').count(), SOON).toBe(1)

  await page.getByRole('link', { name: 'Audit' }).click()
  const entry = page.locator('.audit-entry').first()
  await expect
    .poll(() => entry.innerText(), SOON)
    .toMatch(/admin changed the mode from Normal \(the file\) to Loose\.\s+Reason: the fair/)
})

test.each([
  ['makes tags weak', (tag: string) => `W/${tag}`],
  ['writes how into them', (tag: string) => tag.replace(/"$/, '-gzip"')],
])('a change is made through a proxy that compresses and %s', async (_how, changed) => {
  await showLimits()
  await page.route('**/api/quota', async (route) => {
    const answer = await route.fetch()
    const { etag, ...headers } = answer.headers()
    await route.fulfill({ response: answer, headers: { ...headers, etag: changed(etag ?? '') } })
  })
  await page.reload()
  await choose('Loose')
  await apply()
})

test('a preview names who would be blocked, and nothing is changed before the click', async () => {
  await useEight('has been blocked')
  for (const user of ['blocked-1', 'blocked-2']) expect(await client(user)).toEqual({ status: 200 })
  await stage.api('PUT', '/api/users/vip/override', { read: { '1h': 100 }, reason: 'why not' })
  expect(await client('vip')).toEqual({ status: 200 })
  await showLimits()
  const before = await quota()
  await choose('Conservative')
  const { users } = await stage.api<UsersResponse>('GET', '/api/users?limit=100')
  const blocked = preview().getByRole('row').filter({ hasText: 'newly blocked' })
  expect((await blocked.getByRole('link').allInnerTexts()).sort()).toEqual(['blocked-1', 'blocked-2'])
  expect(await blocked.filter({ hasText: 'blocked-1' }).innerText()).toMatch(/read 1h\s+4\s+7\s/)
  // A request costs 4.
  const all = users.filter(({ user, windows }) => user !== 'vip' && (windows.read?.[0]?.used ?? 0) + 4 > 7).length
  expect(await preview().getByRole('status').first().innerText()).toContain(
    `even the cheapest request: ${all} of ${users.length}, 2 of them newly. Free again: 0.`,
  )
  const room = preview().getByRole('region', { name: 'Room in the global windows' })
  const used = before.windows.read?.[0]?.used ?? 0
  expect((await room.getByRole('row').nth(1).innerText()).split(/\s+/)).toEqual(
    ['read', '1h', used, '1,000', 1000 - used, 750, 750 - used].map(String),
  )

  expect(await quota()).toMatchObject({ version: before.version, mode: 'normal' })
  expect(await client('has been blocked')).toEqual({ status: 429, limit: 10 })
  await apply()
  await expect.poll(() => client('blocked-1'), SOON).toEqual({ status: 429, limit: 7 })
  // The override before it has a number too.
  expect(await quota()).toMatchObject({ version: before.version + 2, mode: 'conservative' })
})

test('in a wide window a preview stands beside the form, in a narrow one below it', async () => {
  await showLimits({ own: true })
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 })
    await choose(width === 1440 ? 'Loose' : 'Conservative')
    const [form, beside] = await Promise.all([page.getByRole('radiogroup').boundingBox(), preview().boundingBox()])
    const isBeside = (beside?.x ?? 0) >= (form?.x ?? 0) + (form?.width ?? 0)
    expect([width, isBeside]).toEqual([width, width === 1440])
  }
})

test('a preview says of how many blocked users it names the first, and that only where there are more', async () => {
  for (const user of ['many-1', 'many-2']) expect(await client(user)).toEqual({ status: 200 })
  await showLimits()
  const some = page.getByText(/^The first \d+ of them, newly blocked ones first/)
  await choose('Conservative')
  await preview().getByRole('row').filter({ hasText: 'newly blocked' }).first().waitFor()
  expect(await some.count()).toBe(0)
  await page.route('**/api/quota/preview', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), blockedCount: 10_000 } })
  })
  await choose('Loose')
  await choose('Conservative')
  await some.waitFor()
})

test('a preview that switches the global windows on claims no limit of now, and nobody blocked', async () => {
  await stage.api('PATCH', '/api/quota', { global: { enabled: false }, reason: 'off for now' })
  await showLimits()
  await page.getByLabel('Check and charge the global windows').check()
  await button('Preview').click()
  const room = preview().getByRole('region', { name: 'Room in the global windows' })
  const cells = async (): Promise<string[]> => (await room.getByRole('row').nth(1).innerText()).split(/\s+/).slice(2)
  await expect
    .poll(cells, SOON)
    .toEqual([expect.stringMatching(/^\d+$/), '–', '–', '1,000', expect.stringMatching(/^[\d,]+$/)])
})

test('a preview says which global windows would be used up for everybody', async () => {
  await useEight('crowd')
  const used = (await quota()).windows.read?.[0]?.used ?? 0
  await stage.api('PATCH', '/api/quota', { baselines: { global: { read: { '1h': 2 * used } } } })
  await showLimits()
  await multiplier().fill('0.25')
  await look()
  const warning = preview().getByText(
    'These windows would have no room for even the cheapest request at once, for everybody who does not bypass the global limits: read 1h.',
  )
  await expect.poll(() => warning.count(), SOON).toBe(1)
  await multiplier().fill('1.5')
  await button('Preview').click()
  await expect.poll(() => preview().getByRole('list').first().innerText(), SOON).toContain('1.5')
  expect(await warning.count()).toBe(0)
})

test('an edit ends the preview that is on its way: what can be applied is what the fields say', async () => {
  await showLimits()
  const held = await hold(page, 'POST', '**/api/quota/preview')
  await multiplier().fill('0.25')
  await button('Preview').click()
  await held.asked
  await multiplier().fill('3')
  held.release()
  await expect.poll(() => button('Preview').isEnabled(), SOON).toBe(true)
  expect(await preview().count()).toBe(0)
  await button('Preview').click()
  await apply()
  expect(await quota()).toMatchObject({ global: { multiplier: 3 } })
})

test('a preview that is given up does not end the waiting for the next one', async () => {
  await showLimits()
  const held = Promise.withResolvers<void>()
  let asked = 0
  await page.route('**/api/quota/preview', async (route) => {
    asked++
    await held.promise
    await route.continue().catch(() => {})
  })
  await multiplier().fill('0.25')
  await button('Preview').click()
  await expect.poll(() => asked, SOON).toBe(1)
  // Both in one turn: the first preview has not learnt yet that it was given up.
  await page.evaluate(`{
    const field = document.querySelector('form input[value="0.25"]')
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, '3')
    field.dispatchEvent(new Event('input', { bubbles: true }))
    Promise.resolve().then(() => field.form.requestSubmit())
  }`)
  await expect.poll(() => asked, SOON).toBe(2)
  expect(await button('Preview').isDisabled()).toBe(true)
  held.resolve()
  await preview().waitFor()
  expect(await preview().getByRole('list').first().innerText()).toMatch(/Global multiplier: 1\s*→\s*3/)
})

test('a preview says which limits no request would fit into, also where nobody has used anything', async () => {
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 5 } } } })
  await showLimits()
  await choose('Conservative')
  const warning = preview().getByText(
    'Not even the cheapest request would fit into these limits, for everybody without an override: Personal read 1h.',
  )
  await expect.poll(() => warning.count(), SOON).toBe(1)
  await choose('Loose')
  await expect.poll(() => preview().getByRole('list').first().innerText(), SOON).toContain('Loose')
  expect(await warning.count()).toBe(0)
})

test('under shadow mode a preview says that nothing is refused', async () => {
  await useEight('in-shadow')
  const used = (await quota()).windows.read?.[0]?.used ?? 0
  await stage.api('PATCH', '/api/quota', { baselines: { global: { read: { '1h': 2 * used } } }, shadow: true })
  await showLimits()
  await multiplier().fill('0.25')
  await button('Preview').click()
  await preview().getByText('These windows would have no room for even the cheapest request at once').waitFor()
  expect(await preview().getByText('Shadow mode is on: nothing is refused.').count()).toBe(1)
  expect(await preview().getByRole('alert').count()).toBe(0)
  await page.getByRole('switch', { name: 'Shadow mode' }).uncheck({ force: true })
  await button('Preview').click()
  await preview().getByRole('alert').waitFor()
  expect(await preview().getByText('Shadow mode is on: nothing is refused.').count()).toBe(0)
})

test('an edit waits while one looks at a user whom its preview names, and is gone with who made it', async () => {
  await useEight('looked-up')
  await showLimits()
  await choose('Conservative')
  await preview().getByRole('link', { name: 'looked-up' }).click()
  await page.getByRole('heading', { name: 'looked-up' }).waitFor()
  await page.goBack()
  await expect.poll(() => page.getByRole('radio', { name: 'Conservative' }).isChecked(), SOON).toBe(true)
  expect(await page.getByText('Edits, not applied: 1').count()).toBe(1)
  await button('Preview').click()
  await apply()
  expect(await quota()).toMatchObject({ mode: 'conservative' })

  await multiplier().fill('3')
  await signOut(page)
  await signIn(open, OPS)
  await expect.poll(() => multiplier().inputValue(), SOON).toBe('1')
  forgive(401)
})

test('an edit that is made while another one is being applied stays an edit', async () => {
  await showLimits()
  const held = await hold(page, 'PATCH', '**/api/quota')
  await multiplier().fill('2')
  await button('Preview').click()
  await button('Apply').click()
  await held.asked
  await page.getByRole('radio', { name: 'Loose' }).check()
  held.release()
  await page.getByText(/^Applied as version/).waitFor()
  await expect.poll(async () => (await quota()).changed, SOON).toEqual(['global.multiplier'])
  expect(await page.getByRole('radio', { name: 'Loose' }).isChecked()).toBe(true)
  expect(await page.getByText('Edits, not applied: 1').count()).toBe(1)
})

test('what was applied is what the fields say, with nothing read again', async () => {
  await showLimits()
  await multiplier().fill('2')
  await look()
  const held = await hold(page, 'GET', '**/api/quota')
  await apply()
  expect(await page.getByText('changed at run time (file: 1)').count()).toBe(1)
  expect(await multiplier().inputValue()).toBe('2')
  held.release()
})

test('what was changed meanwhile is told with who did it, and applied only after another look', async () => {
  await showLimits()
  await multiplier().fill('2')
  await look()
  await stage.api('PATCH', '/api/quota', { mode: 'conservative', reason: 'the night' })
  await button('Apply').click()
  const conflict = page.getByRole('alert').filter({ hasText: 'Changed by somebody else' })
  await expect
    .poll(() => conflict.innerText(), SOON)
    .toMatch(/ops changed this at [\s\S]*mode: Normal .*→ Conservative/)
  expect(await quota()).toMatchObject({ mode: 'conservative', global: { multiplier: 1 } })
  await expect.poll(() => page.getByRole('radio', { name: 'Conservative' }).isChecked(), SOON).toBe(true)
  expect(await multiplier().inputValue()).toBe('2')
  forgive(412)

  await look()
  await apply()
  expect(await quota()).toMatchObject({ mode: 'conservative', global: { multiplier: 2 } })
  const { entries } = await stage.api<AuditResponse>('GET', '/api/audit?limit=2')
  expect(entries.map(({ who }) => who)).toEqual(['admin', 'ops'])
})

test('a preview of very many users is waited for, and can be given up', async () => {
  await showLimits({ own: true })
  await page.addInitScript(`{
    const timeout = AbortSignal.timeout
    window.patience = []
    AbortSignal.timeout = (ms) => { window.patience.push(ms); return timeout.call(AbortSignal, ms) }
  }`)
  await page.reload()
  const held = await hold(page, 'POST', '**/api/quota/preview')
  await multiplier().fill('0.25')
  await button('Preview').press('Enter')
  await held.asked
  await page.getByText('Counting whom it would block. With very many users this takes up to 2 minutes.').waitFor()
  expect(await page.evaluate('Math.max(...window.patience)')).toBe(120_000)
  await button('Cancel').press('Enter')
  await expect.poll(() => page.evaluate('document.activeElement.innerText'), SOON).toBe('Preview')
  expect(await button('Cancel').count()).toBe(0)
  expect(await page.getByText('Edits, not applied: 1').count()).toBe(1)
  held.release()
  await button('Preview').press('Enter')
  await preview().waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.innerText'), SOON).toBe('What this change does')
})

test('a multiplier is taken with every figure, and the arrow keys step it within its bounds', async () => {
  await showLimits()
  await multiplier().fill('1.125')
  await button('Preview').click()
  await expect.poll(() => preview().getByRole('list').first().innerText(), SOON).toMatch(/1\s*→\s*1\.125$/)
  await apply()
  expect(await quota()).toMatchObject({ global: { multiplier: 1.125 } })
  await multiplier().press('ArrowUp')
  expect(await multiplier().inputValue()).toBe('1.175')
  await multiplier().fill('0.26')
  await multiplier().press('ArrowDown')
  expect(await multiplier().inputValue()).toBe('0.25')
})

test('a preview is counted at a time by the clock of the gateway, however wrong that of the browser is', async () => {
  const HOUR = 3_600_000
  await showLimits({ own: true })
  await page.clock.setFixedTime(Date.now() + 24 * HOUR)
  await page.reload()
  await multiplier().fill('2')
  await button('Preview').click()
  const text = await preview().getByText('Counted at').innerText()
  const at = Date.parse(`${/Counted at (.*?)\. Later/.exec(text)?.[1]} GMT+0800`)
  expect(Math.abs(at - Date.now())).toBeLessThan(HOUR)
})

test('what is wrong is told at its field, and goes with the edit', async () => {
  await showLimits()
  const field = multiplier()
  await field.fill('9')
  await button('Preview').click()
  const problem = page.getByText('Enter a number from 0.25 to 4, with a point and without commas.')
  await problem.waitFor()
  // It is far above the button.
  await expect.poll(() => page.evaluate('document.activeElement.inputMode'), SOON).toBe('decimal')
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  expect(await field.getAttribute('aria-describedby')).toContain(await problem.getAttribute('id'))
  expect(await preview().count()).toBe(0)
  const focused = (of: string) => page.evaluate(`document.activeElement.${of}`)
  await button('Undo: Global multiplier').press('Enter')
  await expect.poll(() => focused('inputMode'), SOON).toBe('decimal')
  await field.fill('2')
  await button('Discard edits').press('Enter')
  await expect.poll(() => focused('textContent'), SOON).toBe('Settings')
  expect([await field.inputValue(), await problem.count()]).toEqual(['1', 0])
  expect(await bar().count()).toBe(0)
})

test('a viewer previews and cannot apply', async () => {
  await useEight('looked-at')
  await showLimits({ token: VIEWER })
  expect(await page.getByText('Only a token of the role admin can apply it.').count()).toBe(1)
  await choose('Conservative')
  await expect.poll(() => preview().getByRole('row', { name: 'looked-at' }).count(), SOON).toBe(1)
  expect(await button('Apply').isDisabled()).toBe(true)
  expect(await bar().getByRole('textbox', { name: 'Reason' }).isDisabled()).toBe(true)
  expect(await quota()).toMatchObject({ mode: 'normal' })
})

test('the mode comes first, only what differs from the file is marked, and what no mode uses is closed', async () => {
  await stage.api('PATCH', '/api/quota', { global: { multiplier: 3 } })
  await showLimits()
  const first = await page.getByRole('radio', { name: 'Normal' }).boundingBox()
  expect(first?.y).toBeLessThan(600)
  await page.getByText('changed at run time (file: 1)').waitFor()
  expect(await page.locator('.origin').count()).toBe(1)
  expect(await page.getByRole('heading', { name: 'Adaptive factor' }).count()).toBe(0)
  const custom = page.getByRole('group', { name: 'Custom values' }).getByRole('textbox').first()
  expect(await custom.isVisible()).toBe(false)
  await page.getByRole('radio', { name: 'Custom' }).check()
  await custom.waitFor()
})

test('on the Chinese page the adaptive factor is explained in Chinese', async () => {
  await stage.api('PATCH', '/api/quota', { mode: 'adaptive' })
  await show('#/limits', { language: 'zh-CN' })
  const panel = page.locator('section.panel').filter({ has: page.getByRole('heading', { name: '自适应系数' }) })
  await expect
    .poll(() => panel.innerText(), SOON)
    .toMatch(/最近 30 分钟计入的 \d+ 个请求中有 0 个失败（0%）。 请求太少，无法判断（约需 100 个），因此系数为 1。/)
  expect(await panel.locator('[lang="en"]').count()).toBe(0)
})

test('values that were changed go back to the file together', async () => {
  await stage.api('PATCH', '/api/quota', { mode: 'loose', global: { multiplier: 3 } })
  await showLimits({ token: OPS })
  expect(await page.getByText('Values changed at run time: 2.').count()).toBe(1)
  await button('Reset everything to file').click()
  await look()
  await button('Apply').click()
  await expect.poll(async () => (await quota()).changed, SOON).toEqual([])
  await expect.poll(() => page.getByRole('radio', { name: 'Normal' }).isChecked(), SOON).toBe(true)
})

test.each([
  ['en-US', 'ops emptied the global windows of read. They had used: 1 hour: '],
  ['zh-CN', 'ops 将 read 的全局窗口清零，清零前已用： 1 小时：'],
])('shared windows that were emptied are told by the audit, with what was used (%s)', async (language, told) => {
  await useEight(`emptied in ${language}`)
  const body = { scope: 'global', category: 'read', window: '1h', reason: 'a load test' }
  const { from } = await stage.api<QuotaResetResponse>('POST', '/api/quota/reset', body)
  await show('#/audit', { language })
  const entry = page.locator('.audit-entry').first()
  await expect.poll(() => entry.innerText(), SOON).toContain('a load test')
  expect((await entry.innerText()).replace(/\s+/g, ' ')).toContain(`${told}${from['1h']} `)
  expect(from['1h']).toBeGreaterThanOrEqual(8)
})
