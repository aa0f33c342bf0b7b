import { beforeEach, expect, test } from 'vitest'
import type { OverrideResponse, QuotaResponse } from '../../src/contract/api.ts'
import { ask, OPS, openAccount, page, SOON, show, stage, stageDashboard } from './stage.ts'

/** What is temporary lies over what is permanent, and the pages say so. */

const READ = (limit: number) => ({ baselines: { personal: { read: { '1h': limit } } } })
const HOUR = 3_600_000

stageDashboard()
beforeEach(() => stage.api('PATCH', '/api/quota', { mode: null, baselines: null, shadow: null }))

const later = (ms: number): string => new Date(Date.now() + ms).toISOString()
const patch = (body: object) => stage.api<QuotaResponse>('PATCH', '/api/quota', body)
const quota = () => stage.api<QuotaResponse>('GET', '/api/quota')
const limitNow = async () => (await quota()).effective.personal.read?.['1h']
const pending = () => page.locator('.pending > li')
const dialog = () => page.getByRole('dialog')

test('each of two temporary changes says what follows it, and the end of the inner one brings the outer one back', async () => {
  await patch({ ...READ(50), until: later(2 * HOUR), reason: 'the fair' })
  await patch({ ...READ(30), until: later(20_000), reason: 'a loop' })
  await show('#/limits')
  const [inner, outer] = [pending().filter({ hasText: 'a loop' }), pending().filter({ hasText: 'the fair' })]
  await inner.getByText('then 50').waitFor()
  await outer.getByText('A newer change lies above it.').waitFor()
  await outer.getByText('then as in the file').waitFor()
  await expect.poll(() => pending().filter({ hasText: 'a loop' }).count(), SOON).toBe(0)
  expect(await limitNow()).toBe(50)
  expect(await pending().filter({ hasText: 'the fair' }).count()).toBe(1)
})

test('a change is prolonged on its page, and the audit says that its end moved', async () => {
  await patch({ mode: 'conservative', until: later(HOUR), reason: 'the incident' })
  await show('#/limits')
  await page.getByRole('button', { name: 'Move the end…' }).click()
  await dialog().getByLabel('End', { exact: true }).selectOption('24')
  await dialog().getByText('The same is set already, so its end moves from').waitFor()
  await dialog().getByRole('button', { name: 'Move the end' }).click()
  await expect.poll(() => dialog().count(), SOON).toBe(0)
  const { layers = [] } = await quota()
  expect(layers).toHaveLength(1)
  expect(Date.parse(layers[0]?.until ?? '') - Date.now()).toBeGreaterThan(23 * HOUR)
  await page.goto(`${stage.app.admin}/#/audit`)
  await page.getByText('The same was set already. Its end moved from').waitFor()
})

test('what is for a while has its buttons within a narrow window', async () => {
  await patch({ ...READ(50), until: later(HOUR), reason: 'the fair' })
  await show('#/limits', { width: 390, height: 844 })
  await page.getByRole('button', { name: 'Move the end…' }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
})

test('a change for good says in the bar which ends it drops', async () => {
  await patch({ ...READ(50), until: later(HOUR), reason: 'the fair' })
  await show('#/limits')
  await page.getByRole('group', { name: 'Personal · read' }).getByRole('textbox', { name: '1h' }).fill('70')
  await page.getByText(/^The end of “the fair” at .* is dropped\.$/).waitFor()
})

test('a guard takes its change back inside another temporary change, whose end stays', async () => {
  const outer = await patch({ mode: 'loose', until: later(HOUR), reason: 'the fair' })
  await patch({ ...READ(1), guard: { for: '10m', refused: '5%' }, reason: 'too little' })
  await show('#/limits')
  await pending().filter({ hasText: 'too little' }).getByText('is guarded until').waitFor()
  const users = Array.from({ length: 12 }, (_, i) => `guest-${i}`)
  const left = async () => {
    await Promise.all(users.map((user) => ask(stage.app.url, user)))
    return (await quota()).layers?.map(({ until }) => until)
  }
  await expect.poll(left, { timeout: 60_000, interval: 25 }).toEqual([outer.layers?.[0]?.until])
  expect((await quota()).mode).toBe('loose')
  await page.goto(`${stage.app.admin}/#/audit`)
  await page.getByText('The guard took back a change of ops').first().waitFor()
})

test('the overrides of a user are listed one above the other, and taking them away names each end', async () => {
  const put = (body: object) => stage.api<OverrideResponse>('PUT', '/api/users/etl/override', body)
  await put({ read: { '1h': 3000 }, reason: 'OPS-1423' })
  await put({ factor: 1.5, reason: 'for a day', expiresAt: later(24 * HOUR) })
  await show('#/users/etl?part=override')
  const layers = page.getByRole('list', { name: 'Overrides that lie above each other' }).getByRole('listitem')
  await expect
    .poll(() => layers.allInnerTexts(), SOON)
    .toEqual([
      expect.stringMatching(/^in force times 1\.5: for a day until .*, by ops$/),
      expect.stringMatching(/^in force read 1h 3,000: OPS-1423 without an end$/),
    ])
  await page.getByRole('button', { name: 'Remove override' }).click()
  await dialog()
    .getByText(/^The end of “for a day” at .* is dropped\.$/)
    .waitFor()
  await page.keyboard.press('Escape')
  await openAccount(page)
  await page.locator('select:has(option[value="zh"])').selectOption('zh')
  await page.getByRole('list', { name: '相互叠加的特别设置' }).getByText('乘以 1.5').waitFor()
})

test('an empty file of overrides is refused, and one that was meant is undone on the page of the audit', async () => {
  const file = async (text: string, query = '') => {
    const headers = { authorization: `Bearer ${OPS}`, 'content-type': 'application/x-ndjson' }
    const response = await fetch(`${stage.app.admin}/api/overrides${query}`, { method: 'PUT', headers, body: text })
    return { status: response.status, json: (await response.json()) as { total: number; removed: number } }
  }
  const exported = async () => {
    const headers = { authorization: `Bearer ${OPS}` }
    return (await fetch(`${stage.app.admin}/api/overrides`, { headers })).text()
  }
  const lines = Array.from({ length: 30 }, (_, i) =>
    JSON.stringify({ user: `customer-${i}`, read: { '1h': 100 + i }, reason: 'a contract' }),
  )
  const acme = JSON.stringify({ organisation: 'acme', read: { '1h': 900 }, reason: 'a contract' })
  await file([...lines, acme].join('\n'), '?max_removed=99')
  const before = await exported()
  expect(await file('')).toMatchObject({ status: 400 })
  expect(await exported()).toBe(before)
  expect(await file('', '?allow_empty=1')).toMatchObject({ status: 200, json: { total: 0, removed: 31 } })
  await show('#/audit')
  const entry = page.locator('.audit-entry').filter({ hasText: '31 removed' })
  await entry.getByRole('button').click()
  await dialog().getByText('The undo puts back the 31 overrides that the file replaced.').waitFor()
  await dialog().getByRole('button', { name: 'Undo' }).click()
  await page.getByText(/^Change #\d+ is undone/).waitFor()
  await page.getByText('31 overrides were put in force again: 31 added').waitFor()
  expect(await exported()).toBe(before)
})
