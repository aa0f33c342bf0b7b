import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { en } from '../../src/dashboard/i18n/en.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'
import { accessibilityFindings } from '../setup/browser.ts'
import { PERSISTENT, type RedisServer, startRedis } from '../setup/redis.ts'
import { ask, forgive, page, QUOTA, SOON, show, stage, stageDashboard } from './stage.ts'

let redis: RedisServer
afterAll(() => redis.stop())
stageDashboard(async () => {
  redis = await startRedis({ args: PERSISTENT })
  return {
    store: redis.url,
    rest: QUOTA.replace('quota: {', 'quota: { store_outage: { read: { allow: 10% } },'),
  }
})
beforeAll(async () => {
  await ask(stage.app.url, 'alice')
  await ask(stage.app.url, 'bob')
  await stage.api('PUT', '/api/users/bob/override', { read: { '1h': 70 }, reason: 'a fair', bypassGlobal: true })
  await stage.api('PATCH', '/api/quota', { mode: 'loose' })
})

/** The gateway has found that its store is gone. */
async function takeStoreAway(): Promise<void> {
  await redis.kill('SIGKILL')
  await expect
    .poll(async () => (await stage.api<{ store: unknown }>('GET', '/api/now')).store, SOON)
    .toMatchObject({ answers: false })
}

describe.each([
  ['en-US', en],
  ['zh-CN', zh],
])('in %s, loaded anew while the store is out', (language, words) => {
  const unknown = words['now.unknown']
  const banner = () => page.getByText(words['outage.title'], { exact: true })

  test('the page of the quotas shows what is in force, refuses changes, and fills itself', async () => {
    await show('#/limits', { language })
    await page.evaluate('window.sameDocument = true')
    await takeStoreAway()
    await page.reload()
    const main = page.locator('main')
    await banner().waitFor()
    await expect.poll(() => main.innerText(), SOON).toContain('10%')
    const loose = page.getByRole('radio', { name: words['mode.loose'] })
    await loose.waitFor()
    expect(await loose.isChecked()).toBe(true)
    expect(await main.innerText()).not.toContain(words['failed.title'])
    expect(await accessibilityFindings(page)).toEqual([])
    // What is edited is kept, and is not made.
    await page.getByRole('radio', { name: words['mode.conservative'] }).check()
    await page.getByText(words['outage.edits']).waitFor()
    await page.getByRole('button', { name: words['quotas.preview'], exact: true }).click()
    await page.getByRole('alert').filter({ hasText: words['error.store_unavailable'] }).waitFor()
    await page.evaluate('window.sameDocument = true')
    await redis.restart()
    await expect.poll(() => banner().count(), SOON).toBe(0)
    await page.getByRole('button', { name: words['quotas.preview'], exact: true }).click()
    await page.getByRole('region', { name: words['preview.title'] }).waitFor()
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    forgive(503)
  })

  test('the page of the errors says that they are not known, and fills itself', async () => {
    await show('#/errors', { language })
    await takeStoreAway()
    await page.reload()
    const main = page.locator('main')
    await expect.poll(() => main.innerText(), SOON).toContain(unknown)
    expect(await main.innerText()).not.toContain(words['failed.title'])
    expect(await accessibilityFindings(page)).toEqual([])
    await redis.restart()
    await expect.poll(() => main.innerText(), SOON).not.toContain(unknown)
    forgive(503)
  })

  test('the page of the users shows who has an override, and fills itself', async () => {
    await show('#/users', { language })
    await page.getByRole('link', { name: 'alice' }).waitFor()
    await takeStoreAway()
    await page.reload()
    await banner().waitFor()
    await page.getByRole('link', { name: 'bob' }).waitFor()
    await page.getByText(words['users.bypass']).waitFor()
    const said = words['users.withOverride'].replace('{total}', '1')
    await page.getByText(said).waitFor()
    expect(await page.getByRole('link', { name: 'alice' }).count()).toBe(0)
    expect(await accessibilityFindings(page)).toEqual([])
    await page.evaluate('window.sameDocument = true')
    await redis.restart()
    await page.getByRole('link', { name: 'alice' }).waitFor()
    expect(await banner().count()).toBe(0)
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    forgive(503)
  })

  test('the page of one user shows the limits and the override, and fills itself', async () => {
    await show('#/users/bob?part=override', { language })
    await takeStoreAway()
    await page.reload()
    await banner().waitFor()
    const row = page.getByRole('row', {
      name: `${words['word.personal']} read ${language === 'zh-CN' ? '1 小时' : '1h'}`,
    })
    await expect.poll(() => row.innerText(), SOON).toContain('70')
    expect(await row.innerText()).toContain(words['users.unknown'])
    await page.getByText(words['override.now'].replace('{reason}', 'a fair')).waitFor()
    await page.getByText(words['outage.edits']).waitFor()
    expect(await accessibilityFindings(page)).toEqual([])
    await page.evaluate('window.sameDocument = true')
    await redis.restart()
    await page.getByRole('button', { name: words['override.review'] }).waitFor()
    await expect.poll(() => row.getByRole('cell').first().innerText(), SOON).toMatch(/^4/)
    expect(await banner().count()).toBe(0)
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    forgive(503)
  })
})

test('what was seen before the outage is there when one comes back to its page', async () => {
  await show('#/users')
  await page.getByRole('link', { name: 'alice' }).waitFor()
  await page.evaluate(`location.hash = '#/users/alice'`)
  const row = page.getByRole('row', { name: 'Personal read 1h' })
  await row.waitFor()
  await takeStoreAway()
  await page.evaluate(`location.hash = '#/users'`)
  await page.getByText(en['failed.stale']).waitFor()
  await page.getByRole('link', { name: 'alice' }).waitFor()
  await page.evaluate(`location.hash = '#/users/alice'`)
  await page.getByText(en['failed.stale']).first().waitFor()
  expect(await row.getByRole('cell').first().innerText()).toMatch(/^4/)
  await redis.restart()
  await expect.poll(() => page.getByText(en['failed.stale']).count(), SOON).toBe(0)
  forgive(503)
})
