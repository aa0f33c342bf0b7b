import { expect, test } from 'vitest'
import { accessibilityFindings } from '../setup/browser.ts'
import { ask, openAccount, page, SOON, show, stage, stageDashboard } from './stage.ts'

stageDashboard({
  rest: `quota: { baselines: { personal: { read: { 1h: 1000 } }, global: { read: { 1h: 8 } } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }]`,
})

test('every page says that nobody was refused lately, and then which global window refuses everybody, with the way to change it', async () => {
  await show('#/audit')
  const status = page.getByRole('region', { name: 'Refused lately' })
  await status.getByText('Nobody got 429 in the last 5 minutes.').waitFor()
  for (const user of ['alice', 'bob']) expect((await ask(stage.app.url, user)).status).toBe(200)
  await status.getByText('All read requests of everybody get 429: the global window 1h is used up.').waitFor()
  expect(await status.innerText()).toMatch(/It ends at .* \(in (an hour|1 hour|60 minutes|59 minutes)\)/)
  expect(await status.getByText('Nobody got 429 in the last 5 minutes.').count()).toBe(0)
  expect(await accessibilityFindings(page)).toEqual([])
  // Whoever has no room and sends nothing is in the list of users, to which the overview leads.
  await page.evaluate(`location.hash = '#/overview'`)
  await page.getByRole('link', { name: 'Users without room now: 2' }).click()
  await page.getByRole('link', { name: 'alice' }).waitFor()
  await openAccount(page)
  await page.getByLabel('Language').selectOption('zh')
  await page.keyboard.press('Escape')
  await page.getByText('所有用户的 read 请求都返回 429：全局窗口 1 小时 已用完。').waitFor()
  await page.getByRole('link', { name: '更改设置' }).click()
  await expect.poll(() => page.locator('h1').innerText(), SOON).toBe('上限')
  await stage.api('PATCH', '/api/quota', { shadow: true })
  await page.getByText('影子模式已开启：无论用量多少，都不会返回 429。').waitFor()
  await stage.api('PATCH', '/api/quota', { shadow: null })
  await stage.api('POST', '/api/quota/reset', { scope: 'global', category: 'read', reason: 'another hour' })
  const nobody = page.locator('.status-line', { hasText: '最近 5 分钟没有用户收到 429。' })
  await nobody.getByRole('link', { name: '查看已无额度的用户' }).waitFor()
  expect(await nobody.getAttribute('class')).toBe('status-line info')
})

test('the status line and the overview read what goes on by one request each time', async () => {
  await show('#/overview')
  let under = 0
  let most = 0
  await page.route('**/api/now', async (route) => {
    under++
    most = Math.max(most, under)
    const response = await route.fetch().catch(() => null)
    under--
    await (response === null ? route.abort() : route.fulfill({ response })).catch(() => {})
  })
  await page.waitForResponse('**/api/now')
  await page.waitForResponse('**/api/now')
  expect(most).toBe(1)
})
