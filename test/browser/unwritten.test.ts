import { expect, test } from 'vitest'
import { accessibilityFindings } from '../setup/browser.ts'
import { openAccount, page, show, stage, stageDashboard } from './stage.ts'

stageDashboard({ rest: 'routes: [{ match: GET /items/*, category: read, cost: 4 }]' })

test('limits that nobody wrote are shown on the overview, with the lines to write, until somebody sets them', async () => {
  await show('#/overview')
  const note = page.getByRole('note').filter({ hasText: 'Nobody wrote these limits' })
  await note.waitFor()
  expect(await note.innerText()).toContain(
    'quota:\n  baselines:\n    personal:\n      read: { 1h: 120, 5h: 400, 1d: 1200 }\n    global:\n      read: { 1h: 12000',
  )
  expect(await accessibilityFindings(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  const beyond = await note.evaluate((element) => {
    const { right } = element.getBoundingClientRect()
    return [...element.querySelectorAll('*')].filter((each) => each.getBoundingClientRect().right > right).length
  })
  expect(beyond).toBe(0)
  await page.setViewportSize({ width: 1280, height: 900 })
  await openAccount(page)
  await page.getByLabel('Language').selectOption('zh')
  await page.keyboard.press('Escape')
  await page.getByText('以下上限并非由任何人设置').waitFor()
  await stage.api('PATCH', '/api/quota', { baselines: { personal: { read: { '1h': 500 } } } })
  await page.getByText('以下上限并非由任何人设置').waitFor({ state: 'detached' })
})
