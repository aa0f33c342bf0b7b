import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NowAnswer } from '../../src/admin/api.ts'
import { SOON, type Stage, startStage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())

test('with the store out the page claims nothing that it cannot know', async () => {
  const { page } = await stage.open('#/now')
  const main = page.locator('main')
  await expect.poll(() => main.innerText(), SOON).toContain('no requests in the last 30 minutes')
  expect(await main.innerText()).toContain('read 1h')
  // As the API answers then: test/admin/now.test.ts.
  await page.route('**/api/now', async (route) => {
    const response = await route.fetch()
    const now = (await response.json()) as NowAnswer
    await route.fulfill({ response, json: { ...now, windows: {}, store: { ...now.store, answers: false } } })
  })
  await expect.poll(() => main.innerText(), SOON).toContain('The store does not answer.')
  const text = await main.innerText()
  expect(text).toContain('not known while the store does not answer')
  expect(text).not.toContain('switched off')
  expect(text).not.toContain('no requests in the last 30 minutes')
  expect(text).not.toContain('All replicas have the same configuration')
  await page.unroute('**/api/now')
  await expect.poll(() => main.innerText(), SOON).toContain('no requests in the last 30 minutes')
})
