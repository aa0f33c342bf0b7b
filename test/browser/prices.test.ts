import { expect, test } from 'vitest'
import { page, SOON, show, stageDashboard } from './stage.ts'

/** Prices by what is asked, and several meters: what requests may cost, and what one would. */

const REST = `quota: { baselines: { personal: { read: { 1h: 500 }, requests: { 1h: 10 }, tokens: { 1d: { limit: 5000, over: 500 } } } } }
routes:
  - match: POST /mcp
    category: read
    cost: { body: method, values: { tools/call: { body: params.name, values: { search: 5 }, otherwise: 2 } }, otherwise: 1, batch: 50 }
  - { match: GET /export, category: read, cost: { query: limit, times: 0.1, min: 1, max: 400, missing: 100 } }
  - { match: POST /items, category: read, cost: { body: items, each: 2, max: 300 } }
  - { match: POST /v1/chat, charges: { requests: 1, tokens: { cost: { body: model, values: { small: 500, large: 2000 }, otherwise: 1000 } } } }`

stageDashboard({ rest: REST })

test('each route shows what its cheapest and its dearest request cost, of each of its meters', async () => {
  await show('#/routes')
  const row = (match: string) => page.getByRole('row').filter({ hasText: match })
  await expect.poll(() => row('POST /mcp').innerText(), SOON).toMatch(/read 1 to 250, by method of the body/)
  expect(await row('POST /mcp').innerText()).toMatch(
    /tools\/call: by params\.name of the body\s+search: 5\s+anything else: 2/,
  )
  expect(await row('GET /export').innerText()).toMatch(/read 1 to 400, by limit of the query/)
  expect(await row('POST /items').innerText()).toMatch(/read 1 to 300, by items of the body/)
  expect(await row('POST /v1/chat').innerText()).toMatch(
    /requests[\s\S]*1[\s\S]*tokens 500 to 2,000, by model of the body/,
  )
})

test('an explanation says what a given body costs, within a price, as an array, and in each meter', async () => {
  await show('#/users/kim?part=explain')
  const costs = async (path: string, body: string): Promise<string> => {
    await page.getByLabel('Method').selectOption('POST')
    await page.getByRole('textbox', { name: 'Path' }).fill(path)
    await page.getByRole('textbox', { name: 'JSON body' }).fill(body)
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    return await page.locator('[aria-live] dl').innerText()
  }
  const search = { method: 'tools/call', params: { name: 'search' } }
  expect(await costs('/mcp', JSON.stringify(search))).toMatch(/Cost\s+5\b/)
  expect(await costs('/mcp', JSON.stringify([search, search, { method: 'ping' }]))).toMatch(/Cost\s+11\b/)
  expect(await costs('/items', '{"items":[1,2,3]}')).toMatch(/Cost\s+6\b/)
  expect(await costs('/v1/chat', '{"model":"large"}')).toMatch(/requests\s+Cost\s+1\b[\s\S]*tokens\s+Cost\s+2,000/)
  expect(await page.getByText('5,000 (and 500 over)').count()).toBeGreaterThan(0)
})

test('a soft limit is edited as the sum of what is promised and what passes beyond, and previewed as both', async () => {
  await show('#/limits')
  const field = page.getByRole('group', { name: 'Personal · tokens' }).first().getByRole('textbox').last()
  await expect.poll(() => field.inputValue(), SOON).toBe('5000 + 500')
  await field.fill('6000 + 600')
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  const preview = page.getByRole('region', { name: 'What this change does' })
  const row = preview.getByRole('row', { name: 'Personal tokens 1d' })
  await expect.poll(() => row.first().innerText(), SOON).toMatch(/5,000 \(and 500 over\)\s+6,000 \(and 600 over\)/)
})
