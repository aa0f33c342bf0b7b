import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bearer } from '../e2e/jwt.ts'
import { accessibilityFindings, type View } from '../setup/browser.ts'
import {
  app,
  authorize,
  but,
  chart,
  choose,
  frame,
  type Handler,
  net,
  open,
  operation,
  PICTURE,
  page,
  send,
  stageReference,
  upstream,
  visit,
} from './reference-stage.ts'

stageReference()

describe('the page', () => {
  test('the page draws a picture of the document and one that a service sends, and neither runs nor loads what is in it', async () => {
    await visit()
    await choose('Charts', '/preview.svg')
    const usual = chart.handle
    onTestFinished(() => {
      chart.handle = usual
    })
    chart.handle = (_req, res) => {
      res.setHeader('access-control-allow-origin', '*').setHeader('access-control-allow-headers', 'x-key')
      res.setHeader('content-type', 'image/svg+xml').end(PICTURE)
    }
    await operation('/preview.svg').locator('.opblock-summary-control').click()
    const drawn = async (name: string) => {
      const image = operation('/preview.svg').getByRole('img', { name, exact: true })
      await image.waitFor()
      return image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth)
    }
    expect(await drawn('An example of the response')).toBe(30)
    expect((await send('/preview.svg')).status).toContain('200')
    expect(await drawn('The response')).toBe(30)
    expect(await page.title()).toBe('Our API')
    expect(but()).toEqual([])
  })

  test('the page tries a request at the gateway: the answer with its headers, and a refusal with its body', async () => {
    await visit()
    const secret = bearer('dora').authorization.slice(7)
    await authorize(secret)
    const accepted = await send('/items/', '7')
    expect(accepted.status).toBe('200')
    for (const part of ['"item": 1', 'x-of-the-backend: seen', 'ratelimit:', 'x-request-id:'])
      expect(accepted.text).toContain(part)
    await operation('/items/').getByText('Left: 6 of 10 tokens (personal-read-1h)').waitFor()
    await operation('/items/').getByText('Bearer CREDENTIAL').waitFor()
    expect(await frame.locator('body').innerText()).not.toContain(secret)
    await send('/items/', '7')
    const refused = await send('/items/', '7')
    expect(refused.status).toContain('429')
    for (const part of ['"error": "quota_exceeded"', '"requested": 4', 'retry-after:', 'x-quota-reset:'])
      expect(refused.text).toContain(part)
    expect((await send('/free')).status).toBe('200')
    expect(but('429')).toEqual([])
  })

  test('the page shows the parameters, schemas and cost of an operation, and sends nothing before it is told to', async () => {
    await visit()
    const before = upstream.seen.length
    const block = operation('/items/')
    expect(await frame.locator('.price').allInnerTexts()).toEqual(['read · 4', 'public'])
    await block.locator('.opblock-summary-control').click()
    await block.getByText('costs 4 tokens').waitFor()
    await block.locator('.parameters', { hasText: 'id' }).first().waitFor()
    expect(await block.locator('.responses-table .response-col_status').allInnerTexts()).toEqual(
      expect.arrayContaining(['401', '429', '503']),
    )
    expect(await block.getByRole('button', { name: 'Execute' }).count()).toBe(0)
    expect(upstream.seen.length).toBe(before)
    expect(await page.title()).toBe('Our API')
    expect(await frame.getByText('Servers').count()).toBe(0)
    expect(open.errors).toEqual([])
  })

  test('the page asks nobody for what its address names', async () => {
    await visit({}, '?url=http://evil.test/a.json&configUrl=http://evil.test/b.json&urls.primaryName=x')
    expect([...open.origins]).toEqual([app.url])
    expect(await frame.getByText('evil.test').count()).toBe(0)
    expect(open.errors).toEqual([])
  })

  test('the page tells why a service cannot be shown and what cures it, goes on, and shows it when it can', async () => {
    const usual = net.handle
    const answering =
      (status: number, type: string, body: string): Handler =>
      (_req, res) =>
        res.writeHead(status, { 'access-control-allow-origin': '*', 'content-type': type }).end(body)
    const wrong: readonly (readonly [Handler, string, string])[] = [
      [answering(500, 'text/plain', ''), 'answered with status 500', 'look at its log'],
      [answering(200, 'text/html', '<h1>'), 'text/html that is no OpenAPI 3', 'check it in the configuration'],
      [answering(404, 'text/plain', ''), 'answered with status 404', 'reference.services'],
      [
        (_req, res) => res.end('{}'),
        'does not allow pages of http://127.0.0.1',
        'Let the service allow the origin http://127.0.0.1',
      ],
    ]
    await visit()
    const alert = page.getByRole('alert')
    const told = async (why: string, cure: string): Promise<void> => {
      await alert.getByText(why).waitFor()
      const text = await alert.innerText()
      for (const part of ['Network cannot be shown.', why, cure, net.url]) expect(text).toContain(part)
      expect(await page.locator('iframe').count()).toBe(0)
    }
    await net.close()
    await page.getByLabel('Service').selectOption('Network')
    await told('cannot be reached from this browser', 'start it, and try again')
    await net.listen()
    for (const [handle, why, cure] of wrong) {
      net.handle = handle
      await page.getByRole('button', { name: 'Try again' }).click()
      await told(why, cure)
    }

    await choose('Charts', '/charts')
    expect(await alert.count()).toBe(0)
    await page.getByLabel('Service').selectOption('Network')
    await alert.waitFor()
    net.handle = usual
    await page.getByRole('button', { name: 'Try again' }).click()
    await operation('/api/sync').waitFor()
    expect(but('Failed to load resource', 'CORS policy')).toEqual([])
  })

  test('the page shows the service that was chosen last, however slow the one before it is', async () => {
    const usual = net.handle
    const waiting: (() => void)[] = []
    net.handle = (req, res) => void waiting.push(() => usual(req, res))
    await visit()
    await page.getByLabel('Service').selectOption('Network')
    await page.getByText('Reading the description of Network').waitFor()
    // What was typed is gone at once, not when the next service has answered.
    expect(await page.locator('iframe').count()).toBe(0)
    await choose('Charts', '/charts')
    for (const response of waiting) response()
    net.handle = usual
    await choose('Gateway', '/items/')
    expect(await page.locator('iframe').count()).toBe(1)
    expect(await frame.getByText('Network score-sync').count()).toBe(0)
    expect(open.errors).toEqual([])
  })

  test.each<[string, View]>([
    ['wide and light', {}],
    ['wide and dark', { dark: true }],
    ['360 pixels wide', { width: 360, height: 700 }],
  ])('the page has nothing that keeps somebody out, %s', async (_how, view) => {
    await visit(view)
    await operation('/items/').locator('.opblock-summary-control').click()
    await operation('/items/').locator('.responses-table').waitFor()
    const inner = page.frames().find((each) => each.url().endsWith('/frame.html'))
    expect(await accessibilityFindings(page)).toEqual([])
    expect(await accessibilityFindings(inner as unknown as Page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await inner?.evaluate('document.documentElement.classList.contains("dark-mode")')).toBe(view.dark === true)
    expect(await inner?.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(open.errors).toEqual([])
  })

  test('the page is used by the keyboard alone', async () => {
    await visit()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.id')).toBe('service')
    await page.keyboard.press('ArrowDown')
    await operation('/api/sync').waitFor()
    await page.keyboard.press('Tab')
    const inner = () => page.frames().find((each) => each.url().endsWith('/frame.html'))
    for (let i = 0; i < 12; i++) {
      if ((await inner()?.evaluate('document.activeElement.className')) === 'btn authorize unlocked') break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await frame.locator('.auth-container input').waitFor()
    expect(await inner()?.evaluate('document.activeElement.tagName')).toBe('INPUT')
    expect(open.errors).toEqual([])
  })
})
