import { expect, test } from 'vitest'
import type { ExplainResponse, UserResponse } from '../../src/contract/api.ts'
import {
  ask,
  button,
  configOf,
  forgive,
  hold,
  OWN,
  openAccount,
  page,
  QUOTA,
  SOON,
  show,
  stage,
  stageDashboard,
  turnTo,
} from './stage.ts'

stageDashboard()

async function showUser(user: string, part = 'use'): Promise<void> {
  await show(`#/users/${user}?part=${part}`)
  await page.getByRole('heading', { name: 'Windows and limits' }).waitFor()
}

const client = (user: string) => ask(stage.app.url, user)

test('the page of a user says which windows have no room for another request, and that they count tokens', async () => {
  for (let i = 0; i < 2; i++) expect(await client('quinn')).toEqual({ status: 200 })
  await showUser('quinn')
  const row = page.getByRole('row', { name: 'Personal read 1h' })
  await row.getByText('limit reached').waitFor()
  expect(await row.innerText()).toMatch(/8\s+10/)
  expect(await page.getByText('limit reached').count()).toBe(1)
  expect(await page.getByRole('heading', { name: 'Windows and limits' }).locator('+ p').innerText()).toContain('Tokens')
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  expect(await page.getByRole('heading', { name: 'Global windows' }).locator('+ p').innerText()).toContain('Tokens')
})

test('beside the windows of a user stands the part that was chosen, which the address has', async () => {
  await showUser('ines')
  const shown = async () => [await page.getByRole('heading', { level: 2 }).allInnerTexts(), new URL(page.url()).hash]
  await turnTo(page, 'Extra tokens')
  await expect.poll(shown, SOON).toEqual([['Windows and limits', 'Extra tokens'], '#/users/ines?part=grants'])
  await page.reload()
  await expect.poll(shown, SOON).toEqual([['Windows and limits', 'Extra tokens'], '#/users/ines?part=grants'])
  await turnTo(page, 'Use')
  const use = ['Windows and limits', 'Refusals', 'Tokens over time', 'Bill of a month']
  await expect.poll(shown, SOON).toEqual([use, '#/users/ines'])
})

test('where nobody is known yet the list of users says so, and blames no search', async () => {
  await show('#/routes')
  await page.route('**/api/users?**', (route) => route.fulfill({ headers: OWN, json: { users: [], next: null } }))
  await page.getByRole('link', { name: 'Users' }).click()
  await page.getByText('No user is known yet: each appears with the first request that is charged.').waitFor()
  expect(await page.getByText('No known user matches.').count()).toBe(0)
  await page.getByRole('searchbox').fill('x')
  await page.getByText('No known user matches.').waitFor()
})

test('the list shows first who is nearest to a limit, and is ordered by its heads, by keyboard too', async () => {
  for (const [user, times] of [
    ['near-1', 1],
    ['near-2', 2],
  ] as const) {
    for (let i = 0; i < times; i++) expect(await client(user)).toEqual({ status: 200 })
  }
  const set = { read: { '1h': 1000 }, bypassGlobal: false, shadow: false, reason: 'a big event', expiresAt: null }
  await stage.api('PUT', '/api/users/near-0/override', set)
  expect(await client('near-0')).toEqual({ status: 200 })
  await show('#/users')
  const shown = () => page.locator('[aria-label="Users"] th a').allInnerTexts()
  await page.getByRole('searchbox').fill('near-')
  await expect.poll(shown, SOON).toEqual(['near-2', 'near-1', 'near-0'])
  const head = (name: string) => page.getByRole('columnheader', { name })
  expect(await head('Fullest window').getAttribute('aria-sort')).toBe('descending')
  expect(await head('User').getAttribute('aria-sort')).toBe('none')
  await head('User').getByRole('button').press('Enter')
  await expect.poll(shown, SOON).toEqual(['near-0', 'near-1', 'near-2'])
  expect(await head('User').getAttribute('aria-sort')).toBe('ascending')
  await head('Fullest window').getByRole('button').press('Enter')
  await head('Fullest window').getByRole('button').press('Enter')
  await expect.poll(shown, SOON).toEqual(['near-0', 'near-1', 'near-2'])
  expect(await head('Fullest window').getAttribute('aria-sort')).toBe('ascending')
  expect(await page.evaluate('location.hash')).toContain('order=-use')
  // Of 10 tokens 2 are left, and the cheapest request costs 4.
  expect(
    await page
      .locator('[aria-label="Users"] tbody tr')
      .filter({ hasText: 'limit reached' })
      .getByRole('link')
      .allInnerTexts(),
  ).toEqual(['near-2'])
})

test('the list shows which window has no room also where nothing was used of it yet', async () => {
  const none = (user: string, shadow: boolean) =>
    stage.api('PUT', `/api/users/${user}/override`, {
      read: { '1h': 0 },
      bypassGlobal: false,
      shadow,
      reason: 'abuse',
      expiresAt: null,
    })
  await none('void-1', false)
  await none('void-2', true)
  await show('#/users')
  await page.getByRole('searchbox').fill('void-')
  const line = (user: string) => page.locator('[aria-label="Users"] tbody tr').filter({ hasText: user })
  await line('void-2').waitFor()
  expect(await line('void-1').innerText()).toMatch(/blocked[\s\S]*read 1h\s+0 \/ 0/)
  expect(await line('void-1').getByText('blocked').getAttribute('class')).toBe('tag bad')
  // In shadow mode nothing is refused.
  expect(await line('void-2').getByText('blocked').getAttribute('class')).toBe('tag warn')
  await stage.api('PATCH', '/api/quota', { shadow: true })
  try {
    await page.reload()
    await page.getByRole('searchbox').fill('void-')
    await expect.poll(() => line('void-1').getByText('blocked').getAttribute('class'), SOON).toBe('tag warn')
  } finally {
    await stage.api('PATCH', '/api/quota', { shadow: null })
  }
})

test('on a phone the name of a user with three marks stays, and the marks end before the actions', async () => {
  expect(await client('maximilian')).toEqual({ status: 200 })
  const body = { read: { '1h': 4 }, bypassGlobal: true, reason: 'r' }
  await stage.api('PUT', '/api/users/maximilian/override', body)
  await show('#/users?query=maximilian', { width: 390, height: 844 })
  const row = page.getByRole('row', { name: 'maximilian' })
  for (const mark of ['limit reached', 'override', 'bypasses global'])
    await row.getByText(mark, { exact: true }).waitFor()
  const boxOf = async (part: string) => (await row.locator(part).boundingBox()) ?? { x: 0, width: 0 }
  const [name, state, actions] = [
    await boxOf('th'),
    await boxOf('[data-column="state"]'),
    await boxOf('[data-column="actions"]'),
  ]
  expect(name.width).toBeGreaterThan(60)
  expect(name.x + name.width).toBeLessThanOrEqual(state.x)
  expect(state.x + state.width).toBeLessThanOrEqual(actions.x)
})

test('a reset asks why, empties the windows, and the user may go on', async () => {
  expect([await client('carol'), await client('carol')]).toEqual([{ status: 200 }, { status: 200 }])
  expect(await client('carol')).toEqual({ status: 429, limit: 10 })
  await showUser('carol', 'data')
  await button('Reset windows').dblclick()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Empty the windows' }).click()
  await dialog.getByText('Enter a reason of 1 to 500 characters.').waitFor()
  expect(await client('carol')).toEqual({ status: 429, limit: 10 })
  await dialog.getByLabel('Reason').fill('our fault')
  const held = await hold(page, 'POST', '**/reset')
  await dialog.getByRole('button', { name: 'Empty the windows' }).click()
  await held.asked
  // Whoever left now would not read what became of it.
  await page.keyboard.press('Escape')
  for (const name of ['Cancel', 'Close']) expect(await dialog.getByRole('button', { name }).isDisabled()).toBe(true)
  held.release()
  await page.getByText('The windows were emptied.').waitFor()
  expect(await dialog.count()).toBe(0)
  await expect.poll(() => client('carol'), SOON).toEqual({ status: 200 })
})

test('a user is exported and forgotten, after a question, and the audit has another name', async () => {
  expect(await client('erased-1')).toEqual({ status: 200 })
  const body = { read: { '1h': 3 }, reason: 'a trial of erased-1' }
  await stage.api('PUT', '/api/users/erased-1/override', body)
  await showUser('erased-1', 'data')
  const link = page.getByRole('link', { name: 'Download all that is kept (JSON)' })
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  expect(download.suggestedFilename()).toBe('erased-1.json')
  const chunks = await (await download.createReadStream()).toArray()
  const file = JSON.parse(Buffer.concat(chunks).toString())
  expect(file).toMatchObject({ user: 'erased-1', override: { reason: body.reason } })
  await button('Forget this user').click()
  const dialog = page.getByRole('dialog', { name: 'Forget erased-1' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect((await stage.api<UserResponse>('GET', '/api/users/erased-1')).override).not.toBeNull()
  await button('Forget this user').click()
  await dialog.getByRole('button', { name: 'Forget for good' }).click()
  const told = page.getByText(/^The user is forgotten\. The audit has the name forgotten-[0-9a-f]{12} instead\.$/)
  await told.waitFor()
  const alias = /forgotten-[0-9a-f]{12}/.exec(await told.innerText())?.[0] ?? ''
  const audit = JSON.stringify(await stage.api('GET', '/api/audit'))
  expect([audit.includes('erased-1'), audit.includes(alias)]).toEqual([false, true])
  await page.evaluate(`location.hash = '#/audit'`)
  await page.getByText(`had a user forgotten, whom the audit calls ${alias}.`).waitFor()
})

test('what became of a reset is told at its user, also where one looked at another one meanwhile', async () => {
  expect(await client('wanda')).toEqual({ status: 200 })
  await showUser('wanda', 'data')
  await button('Reset windows').click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  const held = await hold(page, 'POST', '**/reset')
  await page.getByRole('dialog').getByRole('button', { name: 'Empty the windows' }).click()
  await held.asked
  await page.evaluate(`location.hash = '#/users/xaver'`)
  await page.getByRole('heading', { level: 1, name: 'xaver' }).waitFor()
  held.release()
  const used = async () => (await stage.api<UserResponse>('GET', '/api/users/wanda')).windows.read?.[0]?.used
  await expect.poll(used, SOON).toBe(0)
  expect(await page.getByText('The windows were emptied.').count()).toBe(0)
  await page.goBack()
  await page.getByText('The windows were emptied.').waitFor()
})

test('what a dialog or a review leaves behind has the focus: what opened it, or what is nearest where that is of no use', async () => {
  const focused = () => page.evaluate('document.activeElement.innerText')
  await showUser('yara', 'data')
  await button('Reset windows').press('Enter')
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await page.keyboard.press('Escape')
  await expect.poll(focused, SOON).toBe('Reset windows')
  await button('Reset windows').press('Enter')
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await page.keyboard.press('Enter')
  await page.getByText('The windows were emptied.').waitFor()
  await expect.poll(focused, SOON).toBe('Reset windows')

  await turnTo(page, 'Override')
  await page.getByRole('textbox', { name: '1h' }).fill('20')
  await page.getByRole('textbox', { name: 'Reason' }).fill('a trial')
  await button('Review').press('Enter')
  await button('Continue editing').press('Enter')
  await expect.poll(focused, SOON).toBe('Review')
  await button('Review').press('Enter')
  await button('Set the override').press('Enter')
  await page.getByText('The override is set.').waitFor()
  await expect.poll(focused, SOON).toBe('Override')
  await button('Remove override').press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Remove override' }).press('Enter')
  await page.getByText('The override is removed.').waitFor()
  await expect.poll(focused, SOON).toBe('Override')

  await stage.api('POST', '/api/tokens', { user: 'yara', name: 'phone' })
  await page.getByRole('link', { name: 'Access keys' }).click()
  await button('Revoke phone of yara').press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).press('Enter')
  await page
    .getByRole('row', { name: 'yara' })
    .getByText(/^revoked/)
    .waitFor()
  await expect
    .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'), SOON)
    .toBe('All access keys')
})

test('a button that was pressed by the keyboard has the focus again after what it waited for', async () => {
  const focused = () => page.evaluate('document.activeElement.textContent')
  /** Answers after the browser has noticed that the button cannot be pressed. */
  async function press(name: string, method: string, url: string, json?: unknown): Promise<void> {
    const answered = Promise.withResolvers<void>()
    await page.route(url, async (route) => {
      // The page also reads by itself, before the button is pressed.
      if (route.request().method() !== method) return route.continue()
      await expect.poll(() => page.evaluate('document.activeElement.tagName'), SOON).toBe('BODY')
      await (json === undefined ? route.continue() : route.fulfill({ status: 503, headers: OWN, json }))
      answered.resolve()
    })
    // An access key can be made when it is known what its user has.
    await expect.poll(() => button(name).isEnabled(), SOON).toBe(true)
    await button(name).focus()
    await page.keyboard.press('Enter')
    await answered.promise
    await expect.poll(focused, SOON).toBe(name)
    await page.unroute(url)
  }
  const json = { error: 'store_unavailable', msg: 'The store does not answer.' }
  await showUser('rosa', 'explain')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/1')
  await press('Test', 'GET', '**/api/explain?**')
  await press('Test', 'GET', '**/api/explain?**', json)
  await turnTo(page, 'Reset and data')
  await button('Reset windows').click()
  await page.getByRole('dialog').getByLabel('Reason').fill('our fault')
  await press('Empty the windows', 'POST', '**/reset', json)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Access keys' }).click()
  await page.getByRole('textbox', { name: 'User', exact: true }).fill('rosa')
  await page.getByRole('textbox', { name: 'Name' }).fill('robot')
  await press('Create key', 'POST', '**/api/tokens', json)
  forgive(503)
})

test('under shadow mode, of the user or of the gateway, no full window and no explanation is red', async () => {
  const set = { read: { '1h': 4 }, bypassGlobal: false, shadow: true, reason: 'a trial', expiresAt: null }
  await stage.api('PUT', '/api/users/zora/override', set)
  expect(await client('zora')).toEqual({ status: 200 })
  await showUser('zora', 'explain')
  await expect.poll(() => page.locator('.bar.warn').count(), SOON).toBeGreaterThan(0)
  expect(await page.locator('.bar.bad').count()).toBe(0)
  await page.getByLabel('Method').selectOption('GET')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/7')
  await button('Test').click()
  await page.getByText('would refuse', { exact: true }).waitFor()
  expect(await page.locator('main .bad').count()).toBe(0)

  await page.getByRole('link', { name: 'Users' }).first().click()
  await page.getByRole('searchbox').fill('zora')
  const line = page.locator('[aria-label="Users"] tbody tr').filter({ hasText: 'zora' })
  await line.locator('.bar.warn').waitFor()
  expect(await line.locator('.bad').count()).toBe(0)
  // Without it the same window refuses.
  await stage.api('PUT', '/api/users/zora/override', { ...set, shadow: false })
  await line.locator('.bar.bad').waitFor()
  await stage.api('PATCH', '/api/quota', { shadow: true, baselines: { global: { read: { '1h': 4 } } } })
  try {
    await page.reload()
    await page.getByRole('searchbox').fill('zora')
    await line.locator('.bar.warn').waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await expect.poll(() => page.locator('.window-bar .bar.warn').count(), SOON).toBe(1)
    expect(await page.locator('.window-bar .bar.bad').count()).toBe(0)
  } finally {
    await stage.api('PATCH', '/api/quota', { shadow: null, baselines: null })
  }
})

test('an explanation says what would become of a request, and charges nothing', async () => {
  expect([await client('dan'), await client('dan')]).toEqual([{ status: 200 }, { status: 200 }])
  await showUser('dan', 'explain')
  await page.getByLabel('Method').selectOption('GET')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/7')
  await button('Test').click()
  const said = page.locator('[aria-live] .note')
  await expect.poll(() => said.innerText(), SOON).toMatch(/^Refused\s[\s\S]*the window Personal read 1h is used up/)
  expect(await page.getByRole('alert').count()).toBe(0)
  const facts = page.locator('dl').last()
  expect(await facts.innerText()).toMatch(/GET \/items\/\*[\s\S]*Cost\s+4/)
  expect(await page.getByText('refuses', { exact: true }).count()).toBe(1)
  const asOf = /^As of (.*);/.exec(await page.getByText('what is used or changed later is not in it').innerText())
  expect(Math.abs(Date.parse(`${asOf?.[1]} GMT+0800`) - Date.now())).toBeLessThan(60_000)
  const { windows } = await stage.api<UserResponse>('GET', '/api/users/dan')
  expect(windows.read?.[0]?.used).toBe(8)

  await page.getByRole('textbox', { name: 'Path' }).fill('/other')
  expect(await said.count()).toBe(0)
})

test('an explanation says whether the response decides the cost', async () => {
  await showUser('dan', 'explain')
  await page.getByLabel('Method').selectOption('GET')
  await page.getByRole('textbox', { name: 'Path' }).fill('/items/7')
  await button('Test').click()
  const facts = page.locator('dl').last()
  await expect.poll(() => facts.innerText(), SOON).toMatch(/Cost\s+4/)
  const reserved = facts.getByText('reserved: the response decides what it costs')
  expect(await reserved.count()).toBe(0)
  const settled = QUOTA.replace('cost: 4', 'cost: 4, settle: { header: X-Tokens-Used, max: 9 }')
  await stage.app.reload(configOf(stage.upstream.url, { rest: settled }))
  await button('Test').click()
  await reserved.waitFor()
  await stage.app.reload(configOf(stage.upstream.url))
})

/** As the configuration writes a length of time, which is foreign in a Chinese text. */
const CONFIGURED_LENGTH = /\b\d+[smhdw]\b/

test('an explanation has the language and the clock of the page, whatever zone the configuration has', async () => {
  for (let i = 0; i < 2; i++) expect(await client('mei')).toEqual({ status: 200 })
  await show('#/users/mei?part=explain', { language: 'zh-CN' })
  await page.getByLabel('方法').selectOption('GET')
  await page.getByRole('textbox', { name: '路径' }).fill('/items/7')
  await button('测试').click()
  const said = page.locator('[aria-live] .note')
  await expect
    .poll(() => said.innerText(), SOON)
    .toMatch(/^拒绝\s+429：个人 read 1 小时 窗口的额度已用完，到 .*\d.*后\) 为止。 此请求的价格为 4。$/)
  const main = page.locator('main')
  expect(await main.innerText()).not.toMatch(CONFIGURED_LENGTH)
  await openAccount(page)
  await page.getByLabel('语言').selectOption('en')
  await page.keyboard.press('Escape')
  await expect
    .poll(() => said.innerText(), SOON)
    .toMatch(/^Refused\s+429: the window Personal read 1h is used up until .*:\d\d \(in .*\)\. This request costs 4\.$/)
  // Rounded up to a second, as the 429 has it, in the sentence and in the row.
  const { reasons } = await stage.api<ExplainResponse>('GET', '/api/explain?user=mei&method=GET&path=/items/7')
  const resetAt = Math.ceil(Date.parse(String(reasons[0]?.values.resetAt)) / 1000) * 1000
  const shown = [said, page.getByRole('row', { name: 'refuses' })].map((place) => place.locator('time'))
  for (const time of shown) {
    expect(Date.parse((await time.getAttribute('datetime')) ?? '')).toBe(resetAt)
    // The browser is in Shanghai.
    expect(Date.parse(`${await time.innerText()} GMT+0800`)).toBe(resetAt)
  }
})

test('users are found by a part of their id', async () => {
  for (const user of ['needle-1', 'needle-2', 'hay']) await client(user)
  await show('#/users')
  await page.getByRole('link', { name: 'hay' }).waitFor()
  // As many as a user id may have: more would be refused.
  await page.getByRole('searchbox').fill('x'.repeat(300))
  await expect.poll(() => page.getByRole('searchbox').inputValue(), SOON).toHaveLength(256)
  await page.getByRole('searchbox').fill('needle')
  const listed = page.locator('[aria-label="Users"] th a')
  await expect.poll(() => listed.allInnerTexts(), SOON).toEqual(['needle-1', 'needle-2'])
  await page.getByRole('searchbox').fill('nobody/yet')
  await page.getByText('No known user matches.').waitFor()
  await page.getByRole('link', { name: 'nobody/yet' }).click()
  await expect.poll(() => page.locator('h1').innerText(), SOON).toBe('nobody/yet')
  await expect.poll(() => page.evaluate('document.activeElement.textContent'), SOON).toBe('nobody/yet')
})

test('who comes back from a user finds the search, its order and its page as they were', async () => {
  await Promise.all(Array.from({ length: 30 }, (_, i) => client(`straw-${i}`)))
  await show('#/users')
  const answered = page.waitForResponse((response) => response.url().includes('query=straw'))
  await page.getByRole('searchbox').fill('straw')
  await answered
  const listed = page.locator('[aria-label="Users"] th a')
  await expect.poll(() => listed.count(), SOON).toBe(25)
  await button('Next page').click()
  await expect.poll(() => listed.count(), SOON).toBe(5)
  const seen = await listed.allInnerTexts()
  await listed.first().click()
  await expect.poll(() => page.locator('h1').innerText(), SOON).toBe(seen[0])
  await page.goBack()
  await expect.poll(() => page.getByRole('searchbox').inputValue(), SOON).toBe('straw')
  await expect.poll(() => listed.allInnerTexts(), SOON).toEqual(seen)
  await page.getByRole('columnheader', { name: 'User' }).getByRole('button').click()
  const hash = () => page.evaluate('location.hash')
  const ordered = await hash()
  expect(ordered).toContain('order=name')
  await listed.first().click()
  await page.getByRole('link', { name: 'All users' }).click()
  await expect.poll(hash, SOON).toBe(ordered)
})

test('a page of the list is no longer than three screens, and who comes back from a user finds it as far down as it was', async () => {
  await Promise.all(Array.from({ length: 25 }, (_, i) => client(`chaff-${i}`)))
  await show('#/users?query=chaff', { height: 500 })
  await expect.poll(() => page.locator('[aria-label="Users"] th a').count(), SOON).toBe(25)
  // 36 px and a line between two.
  expect((await page.getByRole('row').nth(1).boundingBox())?.height).toBeLessThanOrEqual(37)
  const height = async () => Number(await page.evaluate('document.documentElement.scrollHeight'))
  for (const [width, screen] of [
    [1440, 900],
    [390, 844],
    [1280, 500],
  ] as const) {
    await page.setViewportSize({ width, height: screen })
    expect(await height(), `at ${width}`).toBeLessThanOrEqual(3 * Math.max(screen, 844))
  }
  await page.evaluate('window.scrollTo(0, 400)')
  await expect.poll(() => page.evaluate('window.scrollY'), SOON).toBe(400)
  const last = page.locator('[aria-label="Users"] th a').nth(20)
  const name = await last.innerText()
  await last.click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  await expect.poll(() => page.evaluate('window.scrollY'), SOON).toBe(0)
  for (const back of [() => page.goBack(), () => page.getByRole('link', { name: 'All users' }).click()]) {
    await back()
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
    await expect.poll(() => page.evaluate('window.scrollY'), SOON).toBeGreaterThan(300)
    await page.goForward()
    await page.getByRole('heading', { level: 1, name }).waitFor()
  }
})

test('an old link beyond the end of the list leads to its last page', async () => {
  await Promise.all(Array.from({ length: 27 }, (_, i) => client(`outlying-${i}`)))
  await show('#/users?query=outlying&cursor=500')
  await page.getByText('26 to 27 of 27').waitFor()
  expect(await page.evaluate('location.hash')).toBe('#/users?query=outlying&cursor=25')
  expect(await page.locator('[aria-label="Users"] th a').count()).toBe(2)
})

test('the link from a user to the list goes back to it, scrolled or not, and whatever was typed there since', async () => {
  expect(await client('wanda')).toEqual({ status: 200 })
  await show('#/users', { height: 500 })
  const places = () => page.evaluate('[history.state, history.length]')
  const listed = page.locator('[aria-label="Users"] th a')
  async function thereAndBack(): Promise<void> {
    const before = await places()
    await listed.filter({ hasText: 'wanda' }).click()
    await page.getByRole('heading', { level: 1, name: 'wanda' }).waitFor()
    const after = await places()
    expect(after).not.toEqual(before)
    await page.getByRole('link', { name: 'All users' }).click()
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
    expect(await places()).toEqual([(before as number[])[0], (after as number[])[1]])
  }
  await page.getByRole('searchbox').fill('wan')
  await thereAndBack()
  await page.evaluate('window.scrollTo(0, 100)')
  await expect.poll(() => page.evaluate('window.scrollY'), SOON).toBe(100)
  await page.getByRole('searchbox').fill('wand')
  await thereAndBack()
})

test.each(['.', '..'])('%s, which no browser can ask for, is shown as no user id', async (user) => {
  await show(`#/users/${user}`)
  await page.getByText('“.” and “..” are no user ids.').waitFor()
})

test('who turns over the pages of users or of the audit is at the heading of the list', async () => {
  const users = Array.from({ length: 27 }, (_, i) => `turned-${i}`)
  for (const user of users) {
    await stage.api('PUT', `/api/users/${user}/override`, { read: { '1h': 9 }, reason: 'many' })
    await stage.api('POST', `/api/users/${user}/reset`, { reason: 'many' })
  }
  const focused = () => page.evaluate('document.activeElement.textContent')
  await show('#/users')
  for (const name of ['Next page', 'Previous page']) {
    await button(name).press('Enter')
    await expect.poll(focused, SOON).toBe('Search for users')
  }
  await page.getByRole('link', { name: 'Audit' }).click()
  for (const name of ['Older', 'Newest']) {
    await button(name).press('Enter')
    await expect.poll(focused, SOON).toBe('Changes at run time')
  }
})

test('an exempt user is said to be so on the page and in the list, and no window of the user is called full', async () => {
  for (let i = 0; i < 2; i++) expect(await client('monitor')).toEqual({ status: 200 })
  const rest = QUOTA.replace('quota: {', 'quota: { exempt: { users: [monitor] },')
  await stage.app.reload(configOf(stage.upstream.url, { rest }))
  await showUser('monitor')
  await page.getByText('Nothing is charged to this user and nothing is refused').waitFor()
  expect(await page.getByText('limit reached').count()).toBe(0)
  await page.goto(`${new URL(page.url()).origin}/#/users?query=monitor`)
  await page.getByRole('row', { name: 'monitor' }).getByText('exempt', { exact: true }).waitFor()
  await stage.app.reload(configOf(stage.upstream.url))
})
