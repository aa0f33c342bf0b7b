import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type Agreement, credentialOf, inParallel, type Sent, send, startAgreement, usedBy } from '../agreement.ts'
import { HOST } from '../page.ts'
import { type AskingProxy, caddy, envoy, haproxy, nginx, traefik } from '../proxies.ts'

/** Ten thousand requests through each proxy of a page: its log, that of the service, that of the gateway and what was charged agree. */

vi.setConfig({ testTimeout: 900_000 })

const COUNT = 10_000
const LANES = 32
const USERS = Array.from({ length: 20 }, (_, i) => `user-${i}`)
/** Of each user in an hour: less than the requests ask for. */
const LIMITS = { read: 250, write: 900 }
const COSTS: Readonly<Record<string, number>> = { GET: 1, HEAD: 1, POST: 15, PUT: 3 }

/** Reads, dear ones, retries with a key, strangers, and paths that nobody serves. */
function requestOf(i: number): Sent {
  const user = USERS[i % USERS.length] ?? ''
  const kind = (i * 7919) % 100
  const headers = { authorization: credentialOf(user) }
  if (kind < 55) return { method: 'GET', path: `/v1/items?i=${i}`, headers }
  if (kind < 60) return { method: 'HEAD', path: `/v1/items?i=${i}`, headers }
  if (kind < 80) return { method: 'POST', path: `/v1/charge?i=${i}`, headers }
  if (kind < 92) {
    const order = `${user}-${Math.floor(i / 1000)}`
    return { method: 'PUT', path: `/v1/orders/${order}`, headers: { ...headers, 'idempotency-key': order } }
  }
  if (kind < 96) return { method: 'GET', path: `/v1/items?i=${i}`, headers: {} }
  return { method: 'GET', path: `/nowhere?i=${i}`, headers }
}

/** What each request got, as `GET /a 200`, beside what was sent. @param atHalf what to do in the middle, while requests go on */
async function run({ port }: Agreement, atHalf: () => Promise<void>) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: LANES })
  const results: { readonly sent: Sent; readonly status: number }[] = []
  let half: Promise<void> | null = null
  await inParallel(COUNT, LANES, async (i) => {
    if (i === COUNT / 2) half = atHalf()
    // So many more find no gateway.
    if (i > COUNT / 2 + 300) await half
    const sent = requestOf(i)
    results.push({ sent, status: await send(agent, port, sent) })
  })
  agent.destroy()
  return results
}

const lineOf = ({ sent, status }: { readonly sent: Sent; readonly status: number }) =>
  `${sent.method} ${sent.path} ${status}`

/** Tokens by category that requests of a user cost, each order once. */
function costOf(requests: readonly { readonly method: string; readonly path: string }[]): Record<string, number> {
  const sum = (methods: RegExp, all = requests) =>
    all.filter(({ method }) => methods.test(method)).reduce((tokens, { method }) => tokens + (COSTS[method] ?? 0), 0)
  const orders = new Map(requests.filter(({ method }) => method === 'PUT').map((each) => [each.path, each]))
  return { read: sum(/GET|HEAD/), write: sum(/POST/) + sum(/PUT/, [...orders.values()]) }
}

function linesOf({ log }: Agreement, { lineOf: read }: AskingProxy): string[] {
  return readFileSync(log, 'utf8').trimEnd().split('\n').map(read)
}

const counted = (all: readonly number[]) => {
  const by = new Map<number, number>()
  for (const each of all) by.set(each, (by.get(each) ?? 0) + 1)
  return [...by].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
}

it.each([nginx, haproxy, caddy, envoy, traefik])(
  'ten thousand requests through $page: its log, that of the service and the charges agree',
  async (page) => {
    const stack = await startAgreement(page, LIMITS)
    onTestFinished(stack.stop)
    const results = await run(stack, async () => {})
    await stack.stopProxy()
    const passed = results.filter(({ status }) => status === 200)
    const { got } = stack.upstream
    // The first lines are those by which it was waited for.
    expect(
      linesOf(stack, page)
        .filter((line) => !line.startsWith('GET / '))
        .sort(),
    ).toEqual(results.map(lineOf).sort())
    expect(got.map(({ method, url }) => `${method} ${url}`).sort()).toEqual(
      passed.map(({ sent }) => `${sent.method} ${sent.path}`).sort(),
    )
    expect(got.filter(({ authorization }) => authorization !== undefined)).toEqual([])
    const charged: Record<string, number> = { read: 0, write: 0 }
    for (const user of USERS) {
      const own = got.filter((each) => each.user === user).map(({ method, url }) => ({ method, path: url }))
      const used = await usedBy(stack.gateway, user)
      expect({ user, ...used }).toEqual({ user, ...costOf(own) })
      for (const category of ['read', 'write']) charged[category] = (charged[category] ?? 0) + (used[category] ?? 0)
    }
    const bill = stack.lines().reduce((sum, { charged: of, cost, outcome }) => {
      return sum + (outcome === 'answered' ? Number(of ?? cost ?? 0) : 0)
    }, 0)
    expect(bill).toBe((charged.read ?? 0) + (charged.write ?? 0))
    console.log(
      `${page.page}: ${counted(results.map(({ status }) => status)).join(', ')}; service ${got.length}; charged ${JSON.stringify(charged)}`,
    )
    expect(counted(results.map(({ status }) => status)).length).toBe(4)
  },
)

it.each([nginx, haproxy, caddy, envoy, traefik])(
  'a WebSocket opens through $page, and is charged once',
  async (page) => {
    const stack = await startAgreement(page, LIMITS)
    onTestFinished(stack.stop)
    const headers = { authorization: credentialOf('ann'), host: HOST }
    const opened = new WebSocket(`ws://127.0.0.1:${stack.port}/ws/1`, { headers })
    await once(opened, 'open')
    opened.send('hello')
    const [said] = await once(opened, 'message')
    expect(String(said)).toBe('hello')
    opened.close()
    await once(opened, 'close')
    expect(stack.upstream.got).toMatchObject([{ method: 'GET', url: '/ws/1', user: 'ann' }])
    expect(await usedBy(stack.gateway, 'ann')).toEqual({ read: 1, write: 0 })
  },
)

it.each([nginx, haproxy, caddy, envoy, traefik])(
  'a price in the body is known through $page as far as it sends the body',
  async (page) => {
    const priced = async (sendsBody: boolean) => {
      const stack = await startAgreement(page, LIMITS, sendsBody)
      const agent = new http.Agent()
      const headers = { authorization: credentialOf('ann'), 'content-type': 'application/json' }
      const status = await send(agent, stack.port, { method: 'POST', path: '/v1/priced', headers })
      const { write } = await usedBy(stack.gateway, 'ann')
      await stack.stop()
      return [status, write]
    }
    expect(await priced(false)).toEqual([200, 2])
    if (page.withBodies !== undefined) expect(await priced(true)).toEqual([200, 9])
  },
)

it('a gateway that is killed amid ten thousand requests through nginx lets none pass uncharged', async () => {
  const stack = await startAgreement(nginx, { read: 10_000, write: 10_000 })
  onTestFinished(stack.stop)
  const results = await run(stack, async () => {
    await stack.killGateway()
    await sleep(200)
    await stack.startGateway()
  })
  await stack.stopProxy()
  const { got } = stack.upstream
  expect(linesOf(stack, nginx).sort()).toEqual(results.map(lineOf).sort())
  expect(got.length).toBe(results.filter(({ status }) => status === 200).length)
  const failed = results.filter(({ status }) => status >= 500)
  const tokens = { charged: 0, served: 0, failed: 0 }
  const total = (of: Record<string, number>) => (of.read ?? 0) + (of.write ?? 0)
  for (const user of USERS) {
    const own = got.filter((each) => each.user === user).map(({ method, url }) => ({ method, path: url }))
    tokens.served += total(costOf(own))
    tokens.charged += total(await usedBy(stack.gateway, user))
  }
  tokens.failed = total(costOf(failed.map(({ sent }) => sent)))
  console.log(`${counted(results.map(({ status }) => status)).join(', ')}; tokens ${JSON.stringify(tokens)}`)
  expect(failed.length).toBeGreaterThan(0)
  expect(tokens.charged).toBeGreaterThanOrEqual(tokens.served)
  expect(tokens.charged).toBeLessThanOrEqual(tokens.served + tokens.failed)
})
