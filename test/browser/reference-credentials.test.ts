import { describe, expect, test, vi } from 'vitest'
import { bearer } from '../e2e/jwt.ts'
import {
  app,
  authorize,
  but,
  chart,
  choose,
  describeCharts,
  frame,
  net,
  open,
  operation,
  page,
  send,
  stageReference,
  typeCredential,
  upstream,
  visit,
} from './reference-stage.ts'

// A snapshot of the memory takes seconds on a machine with a lot to do.
vi.setConfig({ testTimeout: 180_000 })
stageReference()

/** Everything that scripts of the page and its frames can still reach. */
async function heap(): Promise<string> {
  const session = await open.context.newCDPSession(page)
  const chunks: string[] = []
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk))
  await session.send('HeapProfiler.collectGarbage')
  await session.send('HeapProfiler.takeHeapSnapshot', { captureNumericValue: false })
  await session.detach()
  return chunks.join('')
}

async function gone(text: string): Promise<void> {
  await expect.poll(async () => (await heap()).includes(text), { timeout: 60_000, interval: 500 }).toBe(false)
}

/** What browsers keep for a page, beside its memory. */
const kept = () =>
  page.evaluate(`(async () => JSON.stringify({
    local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, state: history.state, name,
    databases: await indexedDB.databases(), caches: await caches?.keys() ?? [], url: location.href,
  }))()`)
const NOTHING_KEPT = () =>
  JSON.stringify({
    local: {},
    session: {},
    cookie: '',
    state: null,
    name: '',
    databases: [],
    caches: [],
    url: `${app.url}/reference`,
  })

describe('what is typed for one service', () => {
  const secret = bearer('alice').authorization.slice('Bearer '.length)

  test('what is typed for one service is gone from memory, storage and the next request as soon as another one is chosen', async () => {
    await visit()
    await authorize(secret)
    expect((await send('/items/', '1')).status).toBe('200')
    expect(upstream.seen.at(-1)?.url).toBe('/items/1')
    // The search finds it where it is, so that not to find it means something.
    expect(await heap()).toContain(secret)
    expect(await kept()).toBe(NOTHING_KEPT())

    await choose('Network', '/api/sync')
    await gone(secret)
    expect((await send('/api/sync')).status).toBe('200')
    expect(net.calls.map(({ headers }) => [headers.authorization, headers['bot-token'], headers.cookie])).toEqual([
      [undefined, undefined, undefined],
    ])
    expect(JSON.stringify([net.calls[0]?.rawHeaders, net.calls[0]?.url])).not.toContain(secret)
    expect(await kept()).toBe(NOTHING_KEPT())
    expect(await open.context.cookies()).toEqual([])

    await choose('Gateway', '/items/')
    expect((await send('/items/', '1')).status).toBe('401')
    expect(but('401')).toEqual([])
  })

  test('what is typed for one service is gone as well where it was typed and not yet taken', async () => {
    await visit()
    await choose('Network', '/api/sync')
    await typeCredential('bot-token-canary')
    expect(await heap()).toContain('bot-token-canary')
    await choose('Charts', '/charts')
    await gone('bot-token-canary')
    await frame.getByRole('button', { name: 'Authorize' }).first().click()
    expect(await frame.locator('.auth-container input').inputValue()).toBe('')
    expect(await frame.locator('.auth-container input').getAttribute('autocomplete')).toBe('off')
    expect(open.errors).toEqual([])
  })

  test('what is typed for one service is gone where the page is left, and not there when somebody comes back', async () => {
    await visit()
    await authorize(secret)
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }))')
    expect(await page.locator('iframe').count()).toBe(0)
    await gone(secret)
    await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))')
    await operation('/items/').waitFor()
    await authorize(secret)
    await page.goto('about:blank')
    await page.goBack()
    await operation('/items/').waitFor()
    expect((await send('/items/', '1')).status).toBe('401')
    expect(await heap()).not.toContain(secret)
    expect(but('401')).toEqual([])
  })

  test('what is typed for one service goes to no other service, whatever the document says of servers and references', async () => {
    describeCharts('<img src="http://evil.test/x.png"><script>fetch("http://evil.test/")</script>')
    await visit()
    await choose('Charts', '/charts')
    describeCharts('')
    // One server is no choice.
    expect(await frame.locator('.servers option').count()).toBe(0)
    await authorize('chart-key-canary')
    expect((await send('/charts')).status).toBe('200')
    expect(chart.calls.map(({ url, headers }) => [url, headers['x-key']])).toEqual([['/charts', 'chart-key-canary']])
    await operation('/schema').locator('.opblock-summary-control').click()
    await operation('/schema').locator('.responses-table').waitFor()
    expect(net.calls).toEqual([])
    // The picture is asked for by the renderer and stopped by the policy.
    expect(open.errors).toEqual([
      expect.stringMatching(/http:\/\/evil\.test\/x\.png.*Content Security Policy.*blocked/),
    ])
    open.origins.delete('http://evil.test')
    expect([...open.origins].sort()).toEqual([app.url, chart.url].sort())
    expect(upstream.seen.some(({ url }) => url === '/charts')).toBe(false)
  })

  test('what is typed for one service does not follow a redirect to another service', async () => {
    const handle = chart.handle
    chart.handle = (req, res) => {
      if (req.url === '/charts' && req.method === 'GET')
        res.writeHead(307, { 'access-control-allow-origin': '*', location: `${net.url}/api/sync` }).end()
      else handle(req, res)
    }
    await visit()
    await choose('Charts', '/charts')
    await authorize('chart-key-canary')
    expect((await send('/charts')).text).toContain('Failed to fetch')
    expect([chart.calls.length, net.calls.length]).toEqual([1, 0])
    chart.handle = handle
  })
})
