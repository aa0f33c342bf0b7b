import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { RefusedUsersResponse, UsageResponse } from '../../src/admin/api.ts'
import { ask, SOON, type Stage, startStage } from './stage.ts'

/** No job of these needs more actions: a click or a key is one. */
const MOST_ACTIONS = 6

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
  for (const user of ['alice', 'alice', 'alice', 'bob']) await ask(stage.app.url, user)
  await vi.waitFor(async () => {
    const used = await stage.api<UsageResponse>('GET', '/api/usage?by=all&step=30m')
    expect(used.rows.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(12)
    const refused = await stage.api<RefusedUsersResponse>('GET', '/api/refusals/users')
    expect(refused.users.map(({ user }) => user)).toEqual(['alice'])
  }, SOON)
})
afterAll(() => stage.stop())

test('who eats the global quota is a row of the first page, and a link to that user', async () => {
  const { page, errors, close } = await stage.open('#/overview')
  let actions = 0
  const top = page.getByRole('region', { name: 'Most tokens', exact: true })
  const first = top.getByRole('row').nth(1)
  await expect.poll(() => first.innerText(), SOON).toMatch(/alice\s+read\s+8/)
  actions++
  await first.getByRole('link').click()
  await page.getByRole('heading', { level: 1, name: 'alice' }).waitFor()
  expect(actions).toBeLessThanOrEqual(MOST_ACTIONS)
  expect(errors).toEqual([])
  await close()
})

test('who was refused most stands beside it, with the scopes', async () => {
  const { page, close } = await stage.open('#/overview')
  const row = page.getByRole('region', { name: 'Refused most', exact: true }).getByRole('row').nth(1)
  await expect.poll(() => row.innerText(), SOON).toMatch(/alice\s+1\s+1\s+0\s+0/)
  await close()
})

test('the trend of days is one choice away, and is there again after a reload', async () => {
  const { page, errors, close } = await stage.open('#/overview')
  const tokens = page.getByRole('slider', { name: /^Tokens charged/ })
  await expect.poll(() => tokens.getAttribute('aria-valuetext'), SOON).toMatch(/: Tokens \d+$/)
  let actions = 0
  actions++
  await page.getByText('7 days', { exact: true }).click()
  await expect.poll(async () => Number(await tokens.getAttribute('aria-valuemax')), SOON).toBeGreaterThanOrEqual(168)
  await page.reload()
  await expect.poll(async () => Number(await tokens.getAttribute('aria-valuemax')), SOON).toBeGreaterThanOrEqual(168)
  expect(page.url()).toContain('range=7d')
  expect(actions).toBeLessThanOrEqual(MOST_ACTIONS)
  expect(errors).toEqual([])
  await close()
})
