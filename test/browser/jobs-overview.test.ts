import { beforeAll, expect, test, vi } from 'vitest'
import type { AlertsResponse, RefusalGroupsResponse, UsageResponse, UsersResponse } from '../../src/contract/api.ts'
import { actions, limitActions } from './actions.ts'
import { ask, open, page, QUOTA, SOON, show, stage, stageDashboard, withNow } from './stage.ts'

limitActions(5)

stageDashboard(async () => {
  // Nobody listens at the port of the receiver.
  const webhook = `{ url: "http://127.0.0.1:9/hook", secret: "whsec_${Buffer.alloc(32, 'a').toString('base64')}" }`
  const alert = `{ name: much, scope: global, category: read, window: 1h, at: [1%], webhook: ${webhook} }`
  const flaky = '{ match: GET /flaky, public: true }, { match: GET /sound, public: true }'
  return {
    rest: `${QUOTA.replace('routes: [', `routes: [${flaky}, `)}\nalerts: [${alert}]`,
    respond: ({ url }, res) => {
      res.statusCode = url === '/flaky' ? 503 : url === '/sound' ? 404 : 200
      res.end()
    },
  }
})
beforeAll(async () => {
  await stage.api('PATCH', '/api/quota', { baselines: { global: { read: { '1h': 900 } } }, reason: 'a trial' })
  for (const user of ['alice', 'alice', 'alice', 'bob']) await ask(stage.app.url, user)
  for (const path of ['/flaky', '/flaky', '/flaky', '/sound']) await ask(stage.app.url, 'carol', path)
  await vi.waitFor(async () => {
    const used = await stage.api<UsageResponse>('GET', '/api/usage?by=all&step=30m')
    expect(used.rows.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(12)
    const refused = await stage.api<RefusalGroupsResponse>('GET', '/api/refusals/groups')
    expect(refused.groups.map(({ name }) => name)).toEqual(['alice'])
  }, SOON)
})

test('who eats the global quota is a row of the first page, and a link to that user', async () => {
  await show('#/overview')
  const top = page.getByRole('region', { name: 'Most tokens', exact: true })
  const first = top.getByRole('row').nth(1)
  await expect.poll(() => first.innerText(), SOON).toMatch(/alice\s+read\s+8\s+66\.6%/)
  await actions.click(first.getByRole('link'))
  await page.getByRole('heading', { level: 1, name: 'alice' }).waitFor()
})

test('who will be full is named with the time, but not a member whose organisation is full already', async () => {
  let isFull = false
  await show('#/overview')
  await page.route('**/api/users?order=full*', async (route) => {
    const response = await route.fetch()
    const json = (await response.json()) as UsersResponse
    const bob = json.users.filter(({ user }) => user === 'bob')
    const window = { category: 'read', window: '1h', used: 10, limit: 10, resetAt: null }
    const by = isFull ? { scope: 'Organisation', ...window } : null
    const forecast = { category: 'read', window: '1h', fullAt: new Date(Date.now() + 600_000).toISOString() }
    const users = bob.map((each) => ({ ...each, forecast, standing: { ...each.standing, by } }))
    await route.fulfill({ response, json: { ...json, users } })
  })
  await page.reload()
  const full = page.getByRole('region', { name: 'Full, or will be' })
  await expect.poll(() => full.innerText(), SOON).toMatch(/bob\s+read 1h\s+about /)
  isFull = true
  await page.reload()
  await page.getByText('No window is full, and none will be before it ends at the present pace.').waitFor()
})

test('four figures of the last day, what is full or will be, the trend and who moves it are in the first screen, from the store', async () => {
  await show('#/overview', { width: 1440, height: 900 })
  const figures = page.getByRole('region', { name: 'The last 24 hours' })
  await expect
    .poll(() => figures.innerText(), SOON)
    .toMatch(/Requests\s+8\s[\s\S]*Refused \(429\)\s+1\s[\s\S]*Tokens charged\s+12\s[\s\S]*Upstream errors\s+3\s/)
  const full = page.getByRole('region', { name: 'Full, or will be' })
  await expect.poll(() => full.innerText(), SOON).toMatch(/alice\s+read 1h\s+until /)
  for (const name of ['Most tokens', 'Refused most', 'Tokens charged']) {
    const box = await page.getByRole('heading', { name, exact: true }).boundingBox()
    expect(box?.y, name).toBeLessThan(840)
  }
})

test('who is near a limit, and when it will be full, is a list after 1 action, and whose window fills first is its order after 1 more', async () => {
  await show('#/overview', { width: 1440 })
  await actions.click(page.getByRole('link', { name: 'Users near a limit: 1' }))
  const rows = page.locator('[aria-label="Users"] tbody tr')
  await expect.poll(() => rows.allInnerTexts(), SOON).toEqual([expect.stringMatching(/alice[\s\S]*80%[\s\S]*now/)])
  await actions.click(page.locator('.chips label').filter({ hasText: 'Near a limit' }))
  await expect.poll(() => rows.count(), SOON).toBeGreaterThan(1)
  expect(await page.getByRole('columnheader', { name: 'Full at' }).getAttribute('aria-sort')).toBe('ascending')
  expect(actions.count()).toBe(2)
})

test('an alert that is raised is acknowledged by one person in one browser, and stands again when it is asked for', async () => {
  await expect
    .poll(async () => (await stage.api<AlertsResponse>('GET', '/api/alerts')).events.length, SOON)
    .toBeGreaterThan(0)
  await show('#/overview')
  const note = page.getByText(/The alert much is raised at 1%/)
  await note.waitFor()
  await page.getByRole('button', { name: 'Acknowledge' }).first().click()
  await expect.poll(() => note.count(), SOON).toBe(0)
  await page.getByText('Acknowledged by you in this browser: 1.').waitFor()
  await page.reload()
  await page.getByText('Acknowledged by you in this browser: 1.').waitFor()
  await page.getByRole('button', { name: 'Show again' }).click()
  await note.waitFor()
})

test('who was refused most stands beside it, with the scopes', async () => {
  await show('#/overview')
  const row = page.getByRole('region', { name: 'Refused most', exact: true }).getByRole('row').nth(1)
  await expect.poll(() => row.innerText(), SOON).toMatch(/alice\s+1\s+Personal/)
})

test('the trend of days is one choice away, and is there again after a reload', async () => {
  await show('#/overview')
  const tokens = page.getByRole('slider', { name: /^Tokens charged/ })
  await expect.poll(() => tokens.getAttribute('aria-valuetext'), SOON).toMatch(/: Tokens \d+/)
  await actions.click(page.getByText('7 days', { exact: true }))
  await expect.poll(async () => Number(await tokens.getAttribute('aria-valuemax')), SOON).toBeGreaterThanOrEqual(168)
  await page.reload()
  await expect.poll(async () => Number(await tokens.getAttribute('aria-valuemax')), SOON).toBeGreaterThanOrEqual(168)
  expect(page.url()).toContain('range=7d')
})

test('a shared window has a bar, what is left of its time and a forecast', async () => {
  await show('#/overview')
  const row = page.getByRole('region', { name: 'Global windows' }).getByRole('row').nth(1)
  // It began less than a minute ago, or the rate of so few tokens does not fill it.
  const forecast =
    /read 1h\s+[\d.]+%\s+12 of 900\s+\d+ minutes?( \d+ seconds?)?\s+(too early to know|not before it ends)/
  await expect.poll(() => row.innerText(), SOON).toMatch(forecast)
  expect(await row.getByRole('meter', { name: 'read 1h' }).getAttribute('aria-valuetext')).toContain('12 of 900 used')
})

test('a shared window that fills says when it will be full, and a full one that all users are refused', async () => {
  await show('#/overview')
  let used = 0
  await withNow((now) => {
    const [before] = now.windows?.read ?? []
    if (before === undefined) return now
    const startedAt = new Date(Date.parse(now.at) - 10 * 60_000).toISOString()
    const resetAt = new Date(Date.parse(now.at) + 50 * 60_000).toISOString()
    return { ...now, windows: { read: [{ ...before, startedAt, resetAt, used, remaining: 900 - used }] } }
  })
  const row = page.getByRole('region', { name: 'Global windows' }).getByRole('row').nth(1)
  // 60 tokens a minute in 10 minutes: the other 300 take 5 minutes more.
  used = 600
  await expect.poll(() => row.innerText(), SOON).toMatch(/full at about (\w+ )?\d\d:\d\d at this rate/)
  used = 900
  await expect.poll(() => row.innerText(), SOON).toMatch(/Limit reached: all users are refused until \d\d:\d\d:\d\d/)
})

test('the last change is a sentence with the way to its entry of the audit', async () => {
  await show('#/overview')
  const health = page.locator('dl').first()
  await expect
    .poll(() => health.innerText(), SOON)
    .toMatch(/ops lowered the global read limit of 1 hour from 1,000 \(the file\) to 900\./)
  await health.getByRole('link', { name: 'Change #1' }).click()
  await page.getByText('Reason: a trial').waitFor()
})

test('the bar of a window is red only where the window refuses, also above a soft limit and for everybody', async () => {
  // 12 tokens are used by everybody and 8 by alice, and a request costs 4.
  const set = (global: unknown, personal: unknown) =>
    stage.api('PATCH', '/api/quota', {
      baselines: { global: { read: { '1h': global } }, personal: { read: { '1h': personal } } },
    })
  await show('#/overview')
  const bar = (tone: string) => page.locator(`.window-bar .bar.${tone}`)
  const barOfAlice = (tone: string) => page.locator('tr', { hasText: 'alice' }).locator(`.bar.${tone}`)
  try {
    await set({ limit: 10, over: 100 }, { limit: 6, over: 100 })
    await bar('warn').waitFor()
    await page.evaluate(`location.hash = '#/users'`)
    await barOfAlice('warn').waitFor()
    await page.evaluate(`location.hash = '#/overview'`)
    await set(15, 10)
    await bar('bad').waitFor()
    await page.evaluate(`location.hash = '#/users'`)
    await barOfAlice('bad').waitFor()
    await page.evaluate(`location.hash = '#/users/alice'`)
    await page.getByRole('row', { name: 'Personal read 1h' }).locator('.bar.bad').waitFor()
  } finally {
    await set(900, null)
  }
})

test('an alert is named with its state, and its receiver if that does not take it', async () => {
  await expect
    .poll(async () => (await stage.api<AlertsResponse>('GET', '/api/alerts')).events[0]?.attempts ?? 0, SOON)
    .toBeGreaterThan(0)
  await show('#/overview')
  const failing = page.getByText(/^http:\/\/127\.0\.0\.1:9 did not take the last event of much: /)
  await failing.waitFor()
  await page.getByRole('link', { name: 'Alerts', exact: true }).click()
  const row = page.getByRole('region', { name: 'Alerts' }).getByRole('row').nth(1)
  await expect.poll(() => row.innerText(), SOON).toMatch(/much\s+Global read 1h, at 1%\s+raised 1%/)
  await failing.waitFor()
})

test('the route that eats the quota is the first row of the routes', async () => {
  await show('#/overview')
  await actions.click(page.getByRole('link', { name: 'Routes', exact: true }))
  const table = page.getByRole('region', { name: 'Requests by route' })
  const first = table.getByRole('row').nth(1)
  await expect
    .poll(() => first.innerText(), SOON)
    .toMatch(/GET \/items\/\*.*\s+read 4\s+4\s+12\s+100%\s+1\s+25%\s+0\s+0\s+≤ [\d,]+ ms/)
  expect(await first.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
    '#/refusals?route=GET+%2Fitems%2F*',
  ])
  await actions.click(table.getByRole('button', { name: 'Refused' }))
  expect(page.url()).toContain('order=refused')
})

test('a route is found by a part of it, which the address keeps', async () => {
  await show('#/routes?route=%2Fitems')
  const row = page.getByRole('row').filter({ hasText: 'GET /items/*' })
  await row.waitFor()
  await page.getByRole('searchbox', { name: 'Find a route' }).fill('/nothing')
  await page.getByText('No route matches.').waitFor()
  await page.reload()
  await page.getByText('No route matches.').waitFor()
  await page.getByRole('searchbox', { name: 'Find a route' }).fill('')
  await row.waitFor()
})

test('the counts of routes come as CSV', async () => {
  await show('#/routes?range=7d')
  const href = await page.getByRole('link', { name: 'As CSV' }).getAttribute('href')
  const csv = await (await open.context.request.get(`${stage.app.admin}${href}`)).text()
  expect(csv.split('\n')[0]).toContain('route')
  expect(csv).toContain('GET /items/*')
})

test('the first sentence of the errors says whether it is us or the upstream', async () => {
  await show('#/overview')
  await actions.click(page.getByRole('link', { name: 'Errors', exact: true }))
  const verdict = page.getByRole('note').filter({ hasText: 'It is the upstream' })
  await expect
    .poll(() => verdict.innerText(), SOON)
    .toContain('The upstream failed 3 of 7 forwarded requests (42.8%): 3 got 5xx, 0 no response. Most of them:')
  await page
    .getByText('Not counted as failed: 1 of 8 requests refused by the quota (12.5%), 1 with 4xx from the upstream.')
    .waitFor()
})

test('over a month the errors lead to the day with most of them, which becomes the range', async () => {
  await show('#/errors?range=30d')
  const verdict = page.getByRole('note').filter({ hasText: 'It is the upstream' })
  await verdict.getByRole('link').click()
  await expect.poll(() => page.evaluate('location.hash'), SOON).toMatch(/^#\/errors\?from=[^&]+&to=[^&]+$/)
  await expect.poll(() => verdict.innerText(), SOON).toContain('The upstream failed 3 of 7 forwarded requests')
})

test('failures of one route are over time, with the line that finds them in the log', async () => {
  await show('#/overview')
  await actions.click(page.getByRole('link', { name: 'Errors', exact: true }))
  const failing = page.getByRole('region', { name: 'Routes that fail most' })
  await expect
    .poll(async () => (await failing.getByRole('row').nth(1).innerText()).split(/\s+/), SOON)
    .toEqual(['GET', '/flaky', '100%', 'of', '3', '3', '0', '0', '0'])
  await actions.click(failing.getByRole('link', { name: 'GET /flaky' }))
  await page.getByText(/^Since .*: No response 0, 5xx 3, 5xx of the gateway 0, Forwarded 3, 4xx 0$/).waitFor()
  await page.getByText('The upstream failed 3 of 3 forwarded requests (100%)').waitFor()
  await actions.click(page.locator('.part.status5xx').last())
  await actions.click(page.getByText('Find these requests in the log'))
  const filter = page.getByRole('region', { name: 'Log filter' }).locator('pre')
  expect(await filter.innerText()).toContain('.clientStatus >= 500) and .route == "GET /flaky"')
  expect(page.url()).toContain('route=GET+%2Fflaky')
  expect(page.url()).toContain('half=')
})

test('4xx of a route are drawn where that is asked for, and the address keeps it', async () => {
  await show('#/errors?route=GET+%2Fsound')
  await page.getByText(/^Since .*: No response 0, 5xx 0, 5xx of the gateway 0, Forwarded 1, 4xx 1$/).waitFor()
  await page.getByText('None of 1 requests failed.').waitFor()
  expect(await page.locator('.part.status4xx').count()).toBe(0)
  await page.getByLabel('Draw 4xx too').check()
  await page.reload()
  await page.locator('.part.status4xx').waitFor()
  expect(page.url()).toContain('draw=4xx')
  await page.getByLabel('Route', { exact: true }).selectOption('All routes')
  await page.getByText(/^Since .*: No response 0, 5xx 3, 5xx of the gateway 0, Forwarded 7, 4xx 1$/).waitFor()
})
