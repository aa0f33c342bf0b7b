import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { hashOf, PAGES } from '../../src/dashboard/logic/location.ts'
import { accessibilityFindings, type OpenPage } from '../setup/browser.ts'
import { ask, open, openAccount, page, SOON, show, stage, stageDashboard } from './stage.ts'

const WIDE = 1280
const NARROW = 360
const LONG_ID = 'https://id.example.org/accounts/'.padEnd(256, '0123456789')

// Thirty pages are looked at in one test.
vi.setConfig({ testTimeout: 120_000 })

stageDashboard({
  rest: `quota:
  baselines:
    personal: { read: { 1h: 10, 5h: 400, 1d: 1200 }, write: { 1h: 10, 5h: 200, 1d: 600 } }
    global: { read: { 1h: 12, 5h: 4000, 1d: 12000 }, write: { 1h: 600, 5h: 2000, 1d: 6000 } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
  - { match: POST /v1/charge, category: write, cost: { body: chargeId, values: { 2: 10, 3: 15, 5: 25 } }, shadow: true }
  - { match: GET /health, public: true, health: false }`,
  respond: ({ url }, res) => {
    res.statusCode = url === '/items/broken' ? 500 : 200
    res.end()
  },
})
beforeAll(async () => {
  for (const user of ['alice', 'alice', LONG_ID, 'bob']) await ask(stage.app.url, user)
  await ask(stage.app.url, 'carol', '/items/broken')
  await ask(stage.app.url, 'carol', `/nothing/${'long'.repeat(40)}`)
  const override = { read: { '1h': 30 }, bypassGlobal: true, shadow: true, reason: 'a word of '.repeat(30).trim() }
  await stage.api('PUT', `/api/users/${encodeURIComponent(LONG_ID)}/override`, {
    ...override,
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const ofOrganisation = { read: { '1h': 30 }, reason: override.reason }
  await stage.api('PUT', `/api/organisations/${encodeURIComponent(LONG_ID)}/override`, ofOrganisation)
  await stage.api('PATCH', '/api/quota', {
    ...{ mode: 'adaptive', global: { multiplier: 1.5 }, shadow: true },
    baselines: { personal: { write: { '1d': 601 } } },
  })
  await stage.api('POST', '/api/tokens', { user: LONG_ID, name: 'robot' })
})

const HASHES = [...PAGES.map((name) => hashOf(name)), hashOf('users', LONG_ID), hashOf('organisations', LONG_ID)]

/** Leaves the window narrow. */
async function judge({ page, errors }: OpenPage, where: string): Promise<void> {
  for (const width of [WIDE, NARROW]) {
    await page.setViewportSize({ width, height: 900 })
    const sideways = 'document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth'
    await expect.poll(() => page.evaluate(sideways), { ...SOON, message: `${where} at ${width}` }).toBe(0)
    expect(await accessibilityFindings(page), `${where} at ${width}`).toEqual([])
  }
  expect(errors, where).toEqual([])
}

describe.each(['en-US', 'zh-CN'])('in %s', (language) => {
  test.each([false, true])('every page is sound, dark: %s', async (dark) => {
    await show('#/overview', { language, dark, width: WIDE })
    expect(await page.evaluate('document.documentElement.lang')).toBe(language === 'zh-CN' ? 'zh-CN' : 'en')
    const ground = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
    expect(Number(/\d+/.exec(ground)?.[0]) < 128).toBe(dark)
    for (const hash of HASHES) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
      await page.locator('main .panel').first().waitFor()
      await expect.poll(() => page.locator('main [role="status"] .mantine-Skeleton-root').count(), SOON).toBe(0)
      await judge(open, hash)
    }
    // What is folded away on a narrow window is sound too, once it is open.
    await page.getByRole('button', { name: language === 'zh-CN' ? '菜单' : 'Menu' }).click()
    await openAccount(page)
    await judge(open, 'menu')
    await page.getByRole('button', { name: language === 'zh-CN' ? '退出' : 'Sign out' }).click()
    await page.locator('.sign-in').waitFor()
    await judge(open, 'sign in')
  })
})

test.each(
  [360, 390, 560, 600, 768, 1440].flatMap((width) => [
    { width, language: 'en-US', names: ['Language', 'Colours'] },
    { width, language: 'zh-CN', names: ['语言', '配色'] },
  ]),
)('language and colours are chosen side by side at a width of $width in $language', async ({ names, ...view }) => {
  await show('#/overview', view)
  const menu = page.getByRole('button', { name: /^(Menu|菜单)$/ })
  if (view.width <= 768) await menu.click()
  expect(await menu.isVisible()).toBe(view.width <= 768)
  await openAccount(page)
  const boxes = names.map((name) => page.getByRole('combobox', { name }).boundingBox())
  const [language, colours] = await Promise.all(boxes)
  expect(colours?.y).toBe(language?.y)
})

test.each([false, true])(
  'a preview, a dialog, an open filter and a wrong field are sound too, dark: %s',
  async (dark) => {
    await show('#/errors', { dark })
    await page.getByRole('slider').press('Enter')
    await page.getByText('As a table').click()
    await judge(open, 'filter')
    await page.evaluate(`location.hash = '#/limits'`)
    await page.getByRole('radio', { name: 'Conservative' }).check()
    await page.getByRole('button', { name: 'Preview', exact: true }).click()
    await page.getByRole('region', { name: 'What this change does' }).waitFor()
    await judge(open, 'preview')
    await page.getByRole('textbox', { name: 'Global multiplier' }).fill('x')
    await page.getByRole('button', { name: 'Preview', exact: true }).click()
    await page.getByText('Enter a number from 0.25 to 4, with a point and without commas.').waitFor()
    await judge(open, 'problem')
    await page.evaluate(`location.hash = '#/keys'`)
    await page.getByRole('button', { name: `Revoke robot of ${LONG_ID}` }).click()
    await page.getByRole('dialog').waitFor()
    await judge(open, 'dialog')
  },
)

/** Evaluated in the page: how the colour of a property stands out from the panel behind it. */
const CONTRAST = `(element, property) => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => {
      const share = Number(part) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const of = luminance(getComputedStyle(element)[property]) + 0.05
  const behind = luminance(getComputedStyle(element.closest('.panel')).backgroundColor) + 0.05
  return Math.max(of, behind) / Math.min(of, behind)
}`

test.each([false, true])(
  'what bounds a field and what has the focus can be seen, and nothing moves, dark: %s',
  async (dark) => {
    await show('#/limits', { dark })
    const shown = (name: string) => page.locator(`main form ${name}`).first()
    const look = (name: string, what: string) =>
      page.evaluate(`((element) => ${what})(document.querySelector('main form ${name}'))`)
    const contrast = (name: string, property: string) => look(name, `(${CONTRAST})(element, '${property}')`)
    await shown('[inputmode="decimal"]').waitFor()
    await page.getByRole('switch', { name: 'Shadow mode' }).uncheck({ force: true })
    const bounds = {
      '[inputmode="decimal"]': 'borderTopColor',
      '[type="radio"]:not(:checked)': 'borderTopColor',
      '[type="checkbox"]:not(:checked) ~ .mantine-Switch-track': 'backgroundColor',
    }
    for (const [name, property] of Object.entries(bounds)) {
      expect(await contrast(name, property), name).toBeGreaterThanOrEqual(3)
    }
    for (const name of ['[inputmode="decimal"]', '[type="radio"]:checked', '[type="submit"]', '[type="checkbox"]']) {
      await shown(name).focus()
      // By the keyboard: a click on a button shows no ring.
      await page.keyboard.press('Shift')
      expect(await look(name, 'getComputedStyle(element).outlineStyle'), name).toBe('solid')
      expect(await contrast(name, 'outlineColor'), name).toBeGreaterThanOrEqual(3)
      expect(await look(name, 'getComputedStyle(element).transitionDuration'), name).toBe('0s')
    }
  },
)

async function choose(page: Page, language: string, overview: string): Promise<void> {
  await openAccount(page)
  await page.locator('.dropdown select').first().selectOption(language)
  await page.getByRole('navigation').getByText(overview).waitFor()
  await page.keyboard.press('Escape')
}

test.each(['#/errors?range=7d', '#/limits', '#/users/bob?part=override'])(
  'a page says all in a language that is chosen on it, as one that is opened in that language does: %s',
  async (hash) => {
    await show(hash, { language: 'en-US', width: WIDE })
    const shown = () => page.evaluate(`document.title + document.querySelector('.shell').innerText`)
    await choose(page, 'zh', '概览')
    const chosen = await shown()
    await page.reload()
    await expect.poll(shown, SOON).toBe(chosen)
  },
)

test('a page whose Chinese could not be loaded stays English as a whole, and is Chinese when that is chosen again', async () => {
  await show('#/overview', { language: 'en-US', width: WIDE })
  await page.route('**/zh-*.js', (route) => route.abort(), { times: 1 })
  await page.getByRole('button', { name: /\(admin\)/ }).click()
  await page.locator('.dropdown select').first().selectOption('zh')
  await expect.poll(() => open.errors.splice(0).length, SOON).toBeGreaterThan(0)
  expect(await page.evaluate('document.documentElement.lang')).toBe('en')
  await page.evaluate(`localStorage.setItem('tollgate.language', 'zh')`)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: '概览' }).waitFor()
  expect(await page.evaluate('document.documentElement.lang')).toBe('zh-CN')
})

test('what was typed stays when another language is chosen', async () => {
  await show('#/users/bob?part=override', { language: 'en-US', width: WIDE })
  await page.getByLabel('Reason').fill('a trial')
  await choose(page, 'zh', '概览')
  expect(await page.getByLabel('原因').inputValue()).toBe('a trial')
})
