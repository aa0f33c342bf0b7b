import { expect, test } from 'vitest'
import type { FailuresResponse } from '../../src/contract/api.ts'
import { TIME_ZONE } from '../setup/browser.ts'
import { ask, page, QUOTA, SOON, show, stage, stageDashboard } from './stage.ts'

stageDashboard({
  rest: QUOTA.replace('cost: 4', 'cost: 0'),
  respond: ({ url }, res) => {
    res.statusCode = url === '/items/broken' ? 503 : 200
    res.end()
  },
})

const failures = () => stage.api<FailuresResponse>('GET', '/api/failures')
const slider = () => page.getByRole('slider')
const readout = async () => (await page.locator('.readout').innerText()).replace(/\s+/g, ' ')

const fillOf = (part: string) => page.evaluate(`getComputedStyle(document.querySelector('.part.${part}')).fill`)

async function sums() {
  const { buckets } = await failures()
  const sum = (field: 'total' | 'status0' | 'status5xx') => buckets.reduce((all, bucket) => all + bucket[field], 0)
  return [sum('status0'), sum('status5xx'), sum('total')]
}

/** Also over the end of a half-hour: the latest one in which the upstream was gone. */
async function failedBucket() {
  const { buckets } = await failures()
  const at = buckets.findLastIndex(({ status0 }) => status0 > 0)
  const bucket = buckets[at]
  if (bucket === undefined) throw new Error('no half-hour has a status 0')
  const from = new Date(bucket.start)
  return { at, bucket, bars: buckets.filter(({ status0 }) => status0 > 0).length, from }
}

const clockOf = (at: Date) =>
  new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: TIME_ZONE }).format(at)

test('an upstream that is killed is a bar of status 0: hatched, with exact numbers, and chosen it is what the page is about', async () => {
  await show('#/errors?range=7d')
  await slider().waitFor()
  expect(await page.locator('.part').count()).toBe(0)
  expect(await slider().getAttribute('aria-valuemax')).toBe('336')
  // A wide window has room for all of it, and no bar to scroll by.
  const room = '((frame) => frame.clientWidth - frame.scrollWidth)(document.querySelector(".chart-scroll"))'
  await expect.poll(() => page.evaluate(room), SOON).toBe(0)
  await page.getByText(/^Since .*: No response 0, 5xx 0, 5xx of the gateway 0, Forwarded 0, 4xx 0$/).waitFor()

  for (const path of ['/items/1', '/items/2', '/items/3'])
    expect((await ask(stage.app.url, 'a', path)).status).toBe(200)
  for (let i = 0; i < 2; i++) expect((await ask(stage.app.url, 'a', '/items/broken')).status).toBe(503)
  await stage.upstream.close()
  for (let i = 0; i < 4; i++) expect((await ask(stage.app.url, 'a')).status).toBe(502)
  await expect.poll(sums, SOON).toEqual([4, 2, 9])
  await page.getByText(/^Since .*: No response 4, 5xx 2, 5xx of the gateway 0, Forwarded 9, 4xx 0$/).waitFor()

  const { at, bucket, bars, from } = await failedBucket()
  const numbers = `No response ${bucket.status0}, 5xx ${bucket.status5xx}, 5xx of the gateway 0, Forwarded ${bucket.total}`
  expect(await page.locator('.part.status0').count()).toBe(bars)
  const bar = page.locator('.part.status0').last()
  expect(await fillOf('status0')).toMatch(/url\("#.*-status0"\)/)
  expect(await page.locator('pattern[id$=status0] path').count()).toBe(1)
  expect(await fillOf('status5xx')).toMatch(/^rgb/)

  // The keyboard: from the first half-hour to this one, by days, then one by one.
  await slider().focus()
  await page.keyboard.press('Home')
  expect(await slider().getAttribute('aria-valuenow')).toBe('1')
  expect(await slider().getAttribute('aria-valuetext')).toContain(
    'No response 0, 5xx 0, 5xx of the gateway 0, Forwarded 0',
  )
  await page.keyboard.press('PageUp')
  expect(await slider().getAttribute('aria-valuenow')).toBe('49')
  await page.keyboard.press('End')
  const last = Number(await slider().getAttribute('aria-valuenow'))
  for (let i = last; i > at + 1; i--) await page.keyboard.press('ArrowLeft')
  expect(await slider().getAttribute('aria-valuetext')).toContain(numbers)
  expect(await slider().getAttribute('aria-valuetext')).toContain(clockOf(from))
  const told = `No response: ${bucket.status0} 5xx: ${bucket.status5xx} 5xx of the gateway: 0 Forwarded: ${bucket.total}`
  expect(await readout()).toContain(told)

  await page.keyboard.press('Home')
  expect(await readout()).not.toContain(told)
  await bar.hover({ force: true })
  await expect.poll(readout, SOON).toContain(told)

  // The gateway itself gave no 5xx.
  const verdict = page.getByRole('note').filter({ hasText: 'It is the upstream' })
  await expect
    .poll(() => verdict.innerText(), SOON)
    .toContain('The upstream failed 6 of 9 forwarded requests (66.6%): 2 got 5xx, 4 no response.')

  // One half-hour is what the whole page is about: an empty one, and then that of the failures.
  await slider().press('Home')
  await slider().press('Enter')
  await page.getByText('Nothing was counted in this range.').waitFor()
  await page.getByText('No request failed in this time.').waitFor()
  await page.getByRole('button', { name: 'Back to the whole range' }).click()
  await verdict.waitFor()
  await page.locator('.part.status0').last().click({ force: true })
  await page.getByText(new RegExp(`^Of the half-hour .*${clockOf(from)}`)).waitFor()
  expect(page.url()).toContain(`half=${encodeURIComponent(from.toISOString())}`)
  const failed = bucket.status0 + bucket.status5xx
  await expect.poll(() => verdict.innerText(), SOON).toContain(`failed ${failed} of ${bucket.total} forwarded requests`)
  await page.getByText('Find these requests in the log').click()
  const filter = await page.getByRole('region', { name: 'Log filter' }).locator('pre').innerText()
  const [start, end] = [from.getTime(), from.getTime() + 1_800_000]
  expect(filter).toContain(`.time >= ${start} and .time < ${end} and (.httpStatus == 0 or .httpStatus >= 500 or`)
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(filter)

  await page.getByText('As a table').click()
  const row = page.getByRole('region', { name: 'Failed requests' }).getByRole('row').nth(1)
  expect((await row.getByRole('cell').allInnerTexts()).map(Number)).toEqual([
    bucket.status0,
    bucket.status5xx,
    0,
    bucket.total,
    0,
  ])

  await page.getByRole('link', { name: 'Overview' }).click()
  const health = page.locator('dl').first()
  await expect
    .poll(() => health.innerText(), SOON)
    .toContain('In the last 30 minutes 66.6% of 9 forwarded requests failed: 4 without a response, 2 with 5xx')
})

test.each([1280, 360])(
  'each day of the chart is named behind its midnight, apart from the others, at a width of %i',
  async (width) => {
    await show('#/errors?range=7d', { width })
    await page.getByRole('slider').waitFor()
    const days = (await page.evaluate(`(() => {
    const right = document.querySelector('.chart-slider svg').getBoundingClientRect().right
    return [...document.querySelectorAll('.chart .visx-axis-bottom .visx-axis-tick')].flatMap((tick) => {
      const text = tick.querySelector('text')
      if (text.textContent === '') return []
      const box = text.getBoundingClientRect()
      return [{ at: tick.querySelector('line').getBoundingClientRect().left, left: box.left, right: box.right, end: right }]
    })
  })()`)) as { at: number; left: number; right: number; end: number }[]
    expect(days.length).toBeGreaterThanOrEqual(6)
    for (const [i, { at, left, right, end }] of days.entries()) {
      expect(left).toBeGreaterThanOrEqual(at)
      expect(right).toBeLessThanOrEqual(days[i + 1]?.at ?? end)
    }
  },
)

test.each([1280, 390])('the numbers of the chart stand beside its latest bars at a width of %i', async (width) => {
  await show('#/errors?range=7d', { width })
  await page.getByRole('slider').waitFor()
  const [numbers, bars, window] = (await page.evaluate(`(() => {
    const box = (element) => element.getBoundingClientRect()
    const texts = [...document.querySelectorAll('.chart .visx-axis-left text')].filter((text) => text.textContent !== '')
    const slider = document.querySelector('[role="slider"]')
    return [
      texts.map(box).map(({ left, right }) => ({ left, right })),
      { left: Math.max(box(slider).left, box(slider.parentElement).left), right: box(slider).right },
      document.documentElement.clientWidth,
    ]
  })()`)) as [{ left: number; right: number }[], { left: number; right: number }, number]
  expect(numbers.length).toBeGreaterThanOrEqual(3)
  for (const { left, right } of numbers) {
    expect(left).toBeGreaterThanOrEqual(0)
    expect(right).toBeLessThanOrEqual(bars.left)
  }
  expect(bars.right).toBeLessThanOrEqual(window)
})
