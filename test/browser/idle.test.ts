import type { Request } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { ask, page, SOON, show, stage, stageDashboard } from './stage.ts'

const ROUTES = Array.from({ length: 100 }, (_, i) => `  - { match: GET /v1/things/kind-${i}, category: read, cost: 1 }`)

/** Of the page's clock, between two looks: half of the shortest pause of a tab at rest. */
const STEP_SECONDS = 5

stageDashboard({
  rest: `quota: { baselines: { personal: { read: { 1h: 10, 1d: 50 } }, global: { read: { 1h: 100000, 1d: 1000000 } } } }
routes:
  - { match: GET /items/*, category: read, cost: 4 }
${ROUTES.join('\n')}`,
})
beforeAll(async () => {
  // The third request of each is refused.
  for (let i = 0; i < 120; i++) await ask(stage.app.url, `user-${i % 40}`)
  for (let i = 0; i < 30; i++)
    await stage.api('PUT', `/api/users/user-${i}/override`, { read: { '1h': 20 }, reason: 'a test' })
})

interface Traffic {
  bytes: number
  requests: number
  /** By path, for whoever reads a failure. */
  paths: string[]
}

interface Watched {
  /** What the page was sent, heads included, since it was opened or since this was called last. */
  afresh(): Traffic
  readonly traffic: Traffic
  /** No request is under way. */
  settled(): Promise<void>
  /** No request is counted any more, and the last one that was has its sizes, so that the page may be closed. */
  end(): Promise<void>
}

function watch(): Watched {
  let traffic: Traffic = { bytes: 0, requests: 0, paths: [] }
  const under = new Set<Request>()
  const begin = (request: Request): void => void under.add(request)
  const finish = async (request: Request): Promise<void> => {
    const [response, sizes] = await Promise.all([request.response(), request.sizes()])
    const size = sizes.responseBodySize + sizes.responseHeadersSize
    traffic.bytes += size
    traffic.requests++
    traffic.paths.push(`${response?.status()} ${new URL(request.url()).pathname} ${size}`)
    under.delete(request)
  }
  const settled = () => expect.poll(() => under.size, SOON).toBe(0)
  page.on('request', begin)
  page.on('requestfinished', (request) => under.has(request) && void finish(request))
  page.on('requestfailed', (request) => void under.delete(request))
  return {
    get traffic() {
      return traffic
    },
    afresh: () => (traffic = { bytes: 0, requests: 0, paths: [] }),
    settled,
    async end() {
      page.off('request', begin)
      await settled()
    },
  }
}

/** Lets the page's clock go on, while others use the gateway as they do. */
async function pass({ settled }: Watched, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i += STEP_SECONDS) {
    await ask(stage.app.url, `other-${i}`)
    await page.clock.runFor(1000 * STEP_SECONDS)
    await settled()
  }
}

async function openAtRest(hash: string): Promise<Watched> {
  await show(hash, { own: true })
  await page.clock.install()
  await page.reload()
  await page.locator('main h1').waitFor()
  const watched = watch()
  await pass(watched, 45)
  watched.afresh()
  return watched
}

test.each(['#/overview', '#/users', '#/limits', '#/users/user-1'])(
  'a tab at %s that nobody uses takes at most 60 KB and 20 requests a minute',
  async (hash) => {
    const watched = await openAtRest(hash)
    await pass(watched, 120)
    const { bytes, requests, paths } = watched.traffic
    expect(requests / 2, paths.join('\n')).toBeLessThanOrEqual(20)
    expect(bytes / 2, paths.join('\n')).toBeLessThanOrEqual(60_000)
    // It is read all the same.
    expect(requests).toBeGreaterThan(0)
    await watched.end()
  },
)

test('a tab that nobody uses shows at once what another administrator changes, and all of it whoever comes back to it', async () => {
  const watched = await openAtRest('#/limits')
  await stage.api('PATCH', '/api/quota', { mode: 'conservative' })
  await pass(watched, 15)
  expect(watched.traffic.paths.filter((path) => path.includes('/api/quota'))).not.toEqual([])
  await stage.api('PATCH', '/api/quota', { mode: null })
  watched.afresh()
  await page.mouse.move(40, 40)
  await expect.poll(() => watched.traffic.paths.filter((path) => path.includes('/api/quota')), SOON).not.toEqual([])
  await watched.end()
})

test('a hidden tab asks nothing, and everything as soon as it is seen', async () => {
  const watched = await openAtRest('#/overview')
  const appear = (state: string) =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
      Object.defineProperty(document, 'hidden', { value: ${state === 'hidden'}, configurable: true })
      window.dispatchEvent(new Event('visibilitychange'))`)
  await appear('hidden')
  await watched.settled()
  watched.afresh()
  await pass(watched, 180)
  expect(watched.traffic.requests, watched.traffic.paths.join('\n')).toBe(0)
  await appear('visible')
  await expect.poll(() => watched.traffic.requests, SOON).toBeGreaterThan(3)
  await watched.end()
})
