import { expect, test } from 'vitest'
import type { GrantsResponse, NewTokenResponse } from '../../src/contract/api.ts'
import { zh } from '../../src/dashboard/i18n/zh.ts'
import { open, page, SOON, show, stage, stageDashboard } from './stage.ts'

const QUOTA = `quota:
  plans: { team: { organisation: { read: { 1h: 20 } } } }
  baselines: { personal: { read: { 1h: 4 } }, global: { read: { 1h: 1000 } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }`

stageDashboard({ rest: QUOTA })

const panel = (title = 'Extra tokens') => page.locator('section', { has: page.getByRole('heading', { name: title }) })
const given = (query: string) => stage.api<GrantsResponse>('GET', `/api/grants?${query}`)

test('extra tokens are given on the page of a user, pay for a request beyond the limit, and are ended there; the page, the list and the overview say that they pay', async () => {
  const { token } = await stage.api<NewTokenResponse>('POST', '/api/tokens', { user: 'bob', name: 'laptop' })
  const ask = async () =>
    (await fetch(`${stage.app.url}/items/1`, { headers: { authorization: `Bearer ${token}` } })).status
  expect([await ask(), await ask()]).toEqual([200, 429])
  await show('#/users/bob?part=grants')
  await panel().getByText('No extra tokens were given.').waitFor()
  await panel().getByRole('button', { name: 'Give tokens' }).click()
  await panel().getByText('Enter a whole number from 1').waitFor()
  await panel().getByRole('textbox', { name: 'Tokens' }).fill('10')
  await panel().getByRole('textbox', { name: 'What they are for' }).fill('the audit of November')
  await panel().getByRole('button', { name: 'Give tokens' }).click()
  await panel().getByText('The tokens are given.').waitFor()
  await panel().getByText('0 of 10').waitFor()
  await expect.poll(ask, SOON).toBe(200)
  await panel().getByText('4 of 10').waitFor()
  await page.getByText('Nothing is refused now: extra tokens pay (6 left)').waitFor()
  await page.getByText('Personal read 1h: 4 of 4 used.').waitFor()
  expect(await page.locator('.bar.bad').count()).toBe(0)
  for (const [hash, width] of [
    ['#/overview', 1280],
    ['#/users', 390],
  ] as const) {
    await page.setViewportSize({ width, height: 900 })
    await page.evaluate(`location.hash = '${hash}'`)
    await page.getByText('extra tokens pay (6 left)').waitFor()
  }
  await page.evaluate(`location.hash = '#/users/bob?part=grants'`)
  await panel().getByRole('button', { name: 'End', exact: true }).click()
  await page.getByRole('dialog').getByText('The 6 tokens that are left').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
  await panel().getByText('ended by hand').waitFor()
  expect((await given('user=bob')).grants).toMatchObject([{ taken: 4, live: false, reason: 'the audit of November' }])
  await expect.poll(ask, SOON).toBe(429)
})

test('the question before extra tokens are ended has as many as the table, grouped alike', async () => {
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const grant = { user: 'mona', category: 'read', tokens: 1_500_000, until, reason: 'the fair' }
  await stage.api('POST', '/api/grants', grant)
  await show('#/users/mona?part=grants')
  await panel().getByText('0 of 1,500,000').waitFor()
  await panel().getByRole('button', { name: 'End', exact: true }).click()
  await page.getByRole('dialog').getByText('The 1,500,000 tokens that are left').waitFor()
})

test('extra tokens whose answer was lost are given once, though one gives the same again, also after a look at another page', async () => {
  await show('#/users/lena?part=grants')
  await panel().getByRole('textbox', { name: 'Tokens' }).fill('30')
  await panel().getByRole('textbox', { name: 'What they are for' }).fill('a lost answer')
  let lost = 0
  await page.route('**/api/grants', async (route) => {
    if (route.request().method() !== 'POST' || lost++ > 0) return route.fallback()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await panel().getByRole('button', { name: 'Give tokens' }).click()
  await expect.poll(async () => (await given('user=lena')).total, SOON).toBe(1)
  await panel().getByText('0 of 30').waitFor()
  await page.goto(new URL('#/users/bob', page.url()).href)
  await page.getByRole('heading', { name: 'bob' }).first().waitFor()
  await page.goto(new URL('#/users/lena?part=grants', page.url()).href)
  await panel().getByRole('button', { name: 'Give tokens' }).click()
  await panel().getByText('The tokens are given.').waitFor()
  expect([lost, (await given('user=lena')).total]).toEqual([2, 1])
  await panel().getByRole('textbox', { name: 'Tokens' }).fill('30')
  await panel().getByRole('textbox', { name: 'What they are for' }).fill('a lost answer')
  await panel().getByRole('button', { name: 'Give tokens' }).click()
  await expect.poll(async () => (await given('user=lena')).total, SOON).toBe(2)
  open.errors.length = 0
})

test('a note asks for the spelling of a name that has neither sent a request nor got an access key, of a user and of an organisation, in each language', async () => {
  await stage.api('POST', '/api/tokens', { user: 'sue', organisation: 'works', name: 'laptop' })
  await show('#/users/seu?part=grants')
  await page.getByText('Neither a request nor an access key is kept of seu.').waitFor()
  await page.goto(new URL('#/users/sue?part=grants', page.url()).href)
  await panel().getByText('No extra tokens were given.').waitFor()
  expect(await page.getByText('Neither a request').count()).toBe(0)
  await page.goto(new URL('#/organisations/works?part=grants', page.url()).href)
  await panel().getByText('No extra tokens were given.').waitFor()
  expect(await page.getByText('Neither a request').count()).toBe(0)
  await show('#/organisations/wroks?part=override', { language: 'zh-CN' })
  await page.getByText(zh['users.unseen'].replace('{name}', 'wroks')).waitFor()
})

test('extra tokens of an organisation stand on its page and in the audit, in each language', async () => {
  await stage.api('PUT', '/api/organisations/acme/override', { read: { '1h': 40 }, reason: 'a big event' })
  const until = new Date(Date.now() + 86_400_000).toISOString()
  const grant = { organisation: 'acme', category: 'read', tokens: 5000, until, reason: 'a launch' }
  await stage.api('POST', '/api/grants', grant)
  await show('#/organisations/acme?part=grants', { language: 'zh-CN' })
  await panel(zh['grants.title']).getByText('0 / 5,000').waitFor()
  await panel(zh['grants.title']).getByText(zh['grants.state.live']).waitFor()
  const key = { user: 'ann', organisation: 'acme', plan: 'team', name: 'laptop' }
  const { token } = await stage.api<NewTokenResponse>('POST', '/api/tokens', key)
  await stage.api('PUT', '/api/organisations/acme/override', { read: { '1h': 3 }, reason: 'a small plan' })
  const ask = async () =>
    (await fetch(`${stage.app.url}/items/1`, { headers: { authorization: `Bearer ${token}` } })).status
  await expect.poll(ask, SOON).toBe(200)
  await page.getByText('目前不拒绝请求：由额外额度支付（剩余 4,996）').waitFor()
  await page.goto(`${page.url().split('#')[0]}#/audit`)
  await page.getByText('5,000 的 read 额外额度').waitFor()
})
