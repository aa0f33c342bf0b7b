import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { beforeEach, describe, expect, it } from 'vitest'
import { readJson } from '../faults/client.ts'
import { parseMetrics } from '../observe/parse-metrics.ts'
import { tempFolder } from '../setup/at-end.ts'
import { sharedRedis } from '../setup/redis.ts'
import { type RunningApp, type Seen, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What receivers get of thresholds that were reached, at gateways that share a store. */

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ADMIN = { authorization: 'Bearer test-admin-token-0001' }

let upstream: Upstream
let receiver: Upstream
let folder: string
let redis: Awaited<ReturnType<typeof sharedRedis>> | null
let apps: RunningApp[]
beforeEach(async () => {
  folder = tempFolder()
  redis = null
  apps = []
  upstream = await startUpstream((seen, res) => {
    res.statusCode = seen.url === '/broken' ? 500 : 200
    res.end()
  })
  receiver = await startUpstream()
})

const alertOf = (name: string, rest: string, path = '/hook') =>
  `  - { name: ${name}, ${rest}, webhook: { url: "${receiver.url}${path}", secret: "${SECRET}" } }\n`
const NEAR = 'scope: personal, category: read, window: 1h, at: [50%, 100%]'

function text(alerts: string, store: string, rest = ''): string {
  const quota = `quota:
  baselines: { personal: { read: { 1h: 10 } }, global: { read: { 1h: 1000 } } }
routes:
  - { match: "GET /*", category: read, anonymous: true }
${rest}
alerts:
${alerts}`
  const shared = `store_options: { prefix: "${redis?.prefix ?? 'tollgate'}", deadline: 5s }\n`
  const withAddresses = yaml(upstream.url, shared + quota, store)
  return withAddresses.replace('gateway_tokens: true', 'gateway_tokens: true\n  anonymous: { by: address }')
}

async function start(text: string): Promise<RunningApp> {
  const app = await startApp(text)
  apps.push(app)
  return app
}

async function ask(app: RunningApp, user: string | null, times = 1, path = '/x'): Promise<void> {
  for (let i = 0; i < times; i++) {
    const response = await fetch(app.url + path, user === null ? {} : { headers: bearer(user) })
    await response.arrayBuffer()
  }
}

/** What a receiver makes of a request: nothing that does not verify. */
function received({ headers, body }: Seen) {
  const event = new Webhook(SECRET).verify(body, headers as Record<string, string>) as {
    readonly id: string
    readonly data: {
      readonly alert: string
      readonly user?: string
      readonly threshold: number
      readonly used?: number
    }
  }
  expect(headers['webhook-id']).toBe(event.id)
  return event
}

/** Each event once: on a machine that stands still for seconds one may come twice, as receivers have to expect. */
const eventsOf = () => [...new Map(receiver.seen.map(received).map((event) => [event.id, event])).values()]

const namesOf = () =>
  eventsOf()
    .map(({ data: { alert, user, threshold } }) => `${alert} ${user ?? '-'} ${threshold}`)
    .sort()

const SOON = { timeout: 90_000, interval: 50 }

describe.each(['Redis', 'the embedded store'])('of two gateways on %s', (which) => {
  it('each threshold comes once, of whichever gateway it was noticed by, and of no caller by address', async () => {
    redis = which === 'Redis' ? await sharedRedis() : null
    const store = redis?.url ?? `sqlite:${join(folder, 'quota.db')}`
    const of = text(
      alertOf('near', NEAR) + alertOf('all', 'scope: global, category: read, window: 1h, at: [2%]'),
      store,
    )
    const [one, two] = [await start(of), await start(of)]
    for (const user of ['alice', 'bob', 'carol']) {
      for (let i = 0; i < 6; i++) await Promise.all([ask(one, user), ask(two, user)])
    }
    await ask(one, null, 12)
    const expected = ['alice', 'bob', 'carol'].flatMap((user) => [`near ${user} 0.5`, `near ${user} 1`])
    await expect.poll(namesOf, SOON).toEqual(['all - 0.02', ...expected])
    const half = eventsOf().find(({ data }) => data.user === 'bob' && data.threshold === 0.5)
    expect(half?.data).toMatchObject({ scope: 'personal', category: 'read', window: '1h', limit: 10 })
    expect([5, 6]).toContain(half?.data.used)

    const shown = async () => {
      const response = await fetch(`${two.admin}/api/alerts`, { headers: ADMIN })
      return (await response.json()) as { events: { id: string; state: string }[] }
    }
    await expect.poll(async () => (await shown()).events.every(({ state }) => state === 'delivered'), SOON).toBe(true)
    const { events } = await shown()
    expect(events.map(({ id }) => id).sort()).toEqual(
      eventsOf()
        .map(({ id }) => id)
        .sort(),
    )
    let delivered = 0
    for (const app of apps) {
      const { samples } = parseMetrics(await (await fetch(`${app.admin}/metrics`)).text())
      delivered += samples.get('tollgate_alert_events_total{alert="near",event="delivered"}') ?? 0
    }
    expect(delivered).toBeGreaterThanOrEqual(6)
    // Nobody is notified twice, whatever comes behind.
    await ask(one, 'alice', 3)
    await expect.poll(async () => (await shown()).events.length).toBe(7)
    expect(namesOf()).toHaveLength(7)
  }, 240_000)
})

it.each(['Redis', 'the embedded store'])(
  'on %s a cost that the response tells is noticed, also if its user never comes again',
  async (which) => {
    await upstream.close()
    upstream = await startUpstream((_seen, res) => res.setHeader('x-tokens-used', '9').end())
    redis = which === 'Redis' ? await sharedRedis() : null
    const settle = '  - { match: GET /settled, category: read, settle: { header: X-Tokens-Used, max: 9 } }'
    const app = await start(text(alertOf('near', NEAR), redis?.url ?? 'sqlite::memory:', settle))
    await ask(app, 'alice', 1, '/settled')
    await expect.poll(namesOf, SOON).toEqual(['near alice 0.5'])
    expect(eventsOf()[0]?.data.used).toBe(9)
  },
  240_000,
)

it('a receiver that fails gets the same event again', async () => {
  let fails = 1
  await receiver.close()
  receiver = await startUpstream((_seen, res) => {
    res.statusCode = fails-- > 0 ? 500 : 200
    res.end()
  })
  const app = await start(text(alertOf('near', NEAR), 'sqlite::memory:'))
  await ask(app, 'alice', 5)
  await expect.poll(() => receiver.seen.length, SOON).toBeGreaterThan(1)
  expect(namesOf()).toEqual(['near alice 0.5'])
  const [failed] = app.observations.filter(({ type }) => type === 'alert_failed')
  expect(failed).toMatchObject({ alert: 'near', attempt: 1, isLast: false })
})

it('a half hour in which too many requests fail is noticed', async () => {
  const app = await start(
    text(alertOf('broken', 'scope: failures, at: [20%, 50%], min_requests: 10'), 'sqlite::memory:'),
  )
  let users = 0
  // A half hour may end meanwhile.
  await expect
    .poll(async () => {
      await ask(app, `user-${users++}`, 4, '/broken')
      return namesOf().includes('broken - 0.5')
    }, SOON)
    .toBe(true)
})

it('a reload changes who is notified of what', async () => {
  const store = 'sqlite::memory:'
  const app = await start(text(alertOf('near', NEAR), store))
  await ask(app, 'alice', 5)
  await expect.poll(namesOf, SOON).toEqual(['near alice 0.5'])
  await app.reload(text(alertOf('near', NEAR.replace('50%', '30%'), '/other'), store))
  await ask(app, 'bob', 3)
  await expect.poll(() => [...new Set(receiver.seen.map(({ url }) => url))], SOON).toEqual(['/hook', '/other'])
  await app.reload(text('  []\n', store))
  await ask(app, 'carol', 10)
  expect(await readJson<{ windows: object }>(`${app.url}/me/quota`, 'carol')).toBeDefined()
  const response = await fetch(`${app.admin}/api/alerts`, { headers: ADMIN })
  expect(await response.json()).toEqual({ alerts: [], former: [], events: [] })
  expect(namesOf()).toEqual(['near alice 0.5', 'near bob 0.3'])
})

describe.each(['Redis', 'the embedded store'])('while a receiver fails, on %s', (which) => {
  let isDown: boolean
  let store: string
  beforeEach(async () => {
    isDown = true
    await receiver.close()
    receiver = await startUpstream((_seen, res) => {
      res.statusCode = isDown ? 503 : 200
      res.end()
    })
    redis = which === 'Redis' ? await sharedRedis() : null
    store = redis?.url ?? `sqlite:${join(folder, 'quota.db')}`
  })

  async function startWithEvent(): Promise<RunningApp> {
    const app = await start(text(alertOf('near', NEAR), store))
    await ask(app, 'alice', 5)
    await expect.poll(() => app.observations.some(({ type }) => type === 'alert_failed'), SOON).toBe(true)
    return app
  }

  const formerAt = async (app: RunningApp) => {
    const response = await fetch(`${app.admin}/api/alerts`, { headers: ADMIN })
    return (await response.json()) as { former: unknown; events: { alert: string; state: string }[] }
  }

  it.each(['a reload', 'a restart'])(
    'an event of an alert that %s renames is delivered to the same receiver under the new name',
    async (how) => {
      let app = await startWithEvent()
      const renamed = text(alertOf('renamed', NEAR), store)
      if (how === 'a reload') await app.reload(renamed)
      else {
        await app.stop()
        apps = []
        app = await start(renamed)
      }
      isDown = false
      const states = async () => (await formerAt(app)).former
      await expect.poll(states, SOON).toEqual([])
      const taken = receiver.seen.map(received).at(-1)
      expect(taken?.data).toMatchObject({ alert: 'near', user: 'alice', threshold: 0.5 })
      expect(new Set(receiver.seen.map(received).map(({ id }) => id)).size).toBe(1)
    },
    240_000,
  )

  it('an event of an alert that is removed, or renamed to another receiver, is shown and reported by name and number', async () => {
    const app = await startWithEvent()
    await app.reload(text(alertOf('renamed', NEAR, '/other'), store))
    const reported = () => app.observations.filter(({ type }) => type === 'former_alert')
    await expect.poll(reported, SOON).toEqual([{ type: 'former_alert', alert: 'near', count: 1, isGivenUp: false }])
    const shown = await formerAt(app)
    expect(shown.former).toEqual([{ name: 'near', pending: 1 }])
    expect(shown.events).toMatchObject([{ alert: 'near', state: 'pending' }])
    expect(receiver.seen.map(({ url }) => url)).not.toContain('/other')
  }, 240_000)
})
