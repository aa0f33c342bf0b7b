import { expect, test } from 'vitest'
import type { NowResponse } from '../../src/contract/api.ts'
import { configOf, forgive, OWN, page, SOON, show, stage, stageDashboard, withNow } from './stage.ts'

stageDashboard()

test('with the store out the page claims nothing that it cannot know', async () => {
  await show('#/overview')
  const main = page.locator('main')
  await expect.poll(() => main.innerText(), SOON).toContain('no requests in the last 30 minutes')
  expect(await main.innerText()).toContain('read 1h')
  // As the API answers then: test/admin/routes/now.test.ts.
  let unseen = false
  await withNow((now) => withoutStore(now, unseen))
  await expect.poll(() => main.innerText(), SOON).toContain('The store is out:')
  const text = await main.innerText()
  expect(text).toContain('not known while the store is out')
  expect(text).toMatch(/Meanwhile read requests are (refused with 503|admitted up to)/)
  expect(text).not.toContain('switched off')
  expect(text).not.toContain('no requests in the last 30 minutes')
  expect(text).not.toContain('All have the same configuration')
  unseen = true
  await expect.poll(() => main.innerText(), SOON).toContain('Replicas\n\nnot known while the store is out')
  const blank = await main.innerText()
  expect(blank).not.toContain('No replica')
  expect(blank).toMatch(/Last change[^\n]*\s+not known/)
  await page.reload()
  await expect.poll(() => main.innerText(), SOON).toContain('The store is out:')
  await page.unroute('**/api/now')
  await expect.poll(() => main.innerText(), SOON).toContain('no requests in the last 30 minutes')
})

test('with the store out a request of a user can be explained that charges nothing', async () => {
  await show('#/overview')
  // As the API answers then: test/admin/explain.test.ts.
  const json = { error: 'store_unavailable', msg: 'The store does not answer.' }
  await page.route('**/api/users/kim', (route) => route.fulfill({ status: 503, headers: OWN, json }))
  await page.evaluate(`location.hash = '#/users/kim'`)
  await page.getByText('The store is out', { exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Path' }).fill('/other')
  await page.getByRole('button', { name: 'Test', exact: true }).click()
  await page.getByText('404: No route matches this path.').waitFor()
  forgive(503)
})

test('a replica that left is named with the requests that the sums no longer contain', async () => {
  await show('#/overview')
  const main = page.locator('main')
  let gone = false
  await withNow((now) => {
    const [first] = now.replicas ?? []
    if (first === undefined) return now
    const other = { ...first, instance: 'other', host: 'node-2', pid: 4711, counts: { ...first.counts, requests: 41 } }
    return { ...now, replicas: gone ? [first] : [first, other] }
  })
  await expect.poll(() => main.innerText(), SOON).toContain('Replicas: 2.')
  gone = true
  await expect
    .poll(() => main.innerText(), SOON)
    .toMatch(/node-2 4711 left at \d\d:\d\d:\d\d\. The sums no longer contain its 41 requests\./)
  // It is still named on another page, and on this one again.
  await page.getByRole('link', { name: 'Replicas', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Replicas' }).waitFor()
  expect(await main.innerText()).toMatch(/node-2 4711 left at/)
})

test('the upstream is red while requests fail, and no longer once they succeed again', async () => {
  await show('#/overview')
  const main = page.locator('main')
  let failing = true
  let looks = 0
  await withNow((now) => {
    looks++
    const replicas = (now.replicas ?? []).map((replica) => ({
      ...replica,
      counts: { ...replica.counts, forwarded: 100 * looks, failed: failing ? 50 * looks : 1_000_000 },
    }))
    const backend = { ...now.backend, requests: 1000, status0: 10, status5xx: 90 }
    return { ...now, replicas, backend }
  })
  await expect.poll(() => main.innerText(), SOON).toContain('50% of forwarded requests fail now')
  failing = false
  await expect.poll(() => main.innerText(), SOON).toContain('no errors now')
  expect(await main.innerText()).toContain(
    'In the last 30 minutes 10% of 1,000 forwarded requests failed: 10 without a response, 90 with 5xx',
  )
})

test('what a replica lacks is told in lines that can be read, also where the window is narrow', async () => {
  await show('#/replicas', { width: 360 })
  const lacking =
    'nearly all requests come from this address; if it is a load balancer, name it in edge.trusted_proxies'
  await withNow((now) => ({
    ...now,
    replicas: now.replicas?.map((replica) => ({ ...replica, reasons: [lacking] })) ?? null,
  }))
  const line = page.getByText(lacking)
  await line.waitFor()
  expect((await line.boundingBox())?.width).toBeGreaterThan(200)
  const hash = page.locator('td .hash')
  expect((await hash.boundingBox())?.height).toBeLessThan(30)
})

function withoutStore(now: NowResponse, unseen: boolean): NowResponse {
  return {
    ...now,
    ...(unseen && { replicas: null, counts: null }),
    agree: null,
    controlVersion: 0,
    windows: null,
    backend: { ...now.backend, requests: null, status0: null, status5xx: null },
    store: { ...now.store, answers: false },
  }
}

test('the page says whom auth.shadow lets in, and what was wrong, and no more when it is off', async () => {
  const { upstream, app } = stage
  const usual = configOf(upstream.url)
  await app.reload(usual.replace('gateway_tokens: true', 'gateway_tokens: true\n  shadow: true'))
  for (const authorization of ['', 'Bearer nonsense']) {
    expect((await fetch(`${app.url}/items/1`, { headers: { authorization } })).status).toBe(200)
  }
  await show('#/overview')
  const text = () => page.locator('main').innerText()
  await expect.poll(text, SOON).toContain('1 without a credential, 1 with an invalid one')
  await app.reload(usual)
  await expect.poll(text, SOON).not.toContain('auth.shadow')
})
