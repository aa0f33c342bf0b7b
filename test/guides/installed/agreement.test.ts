import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { WebSocket } from 'ws'
import { type Agreement, type Changes, inParallel, type Sent, send, startAgreement, usedBy } from '../agreement.ts'
import { credentialOf } from '../credential.ts'
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

interface Result {
  readonly user: string
  readonly sent: Sent
  readonly status: number
}

/** What each request got, as `GET /a 200`, beside what was sent. @param atHalf what to do in the middle, while requests go on */
async function run({ port }: Agreement, atHalf: () => Promise<void>) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: LANES })
  const results: Result[] = []
  let half: Promise<void> | null = null
  await inParallel(COUNT, LANES, async (i) => {
    if (i === COUNT / 2) half = atHalf()
    // So many more find no gateway.
    if (i > COUNT / 2 + 300) await half
    const sent = requestOf(i)
    results.push({ user: USERS[i % USERS.length] ?? '', sent, status: await send(agent, port, sent) })
  })
  agent.destroy()
  return results
}

const lineOf = ({ sent, status }: Result) => `${sent.method} ${sent.path} ${status}`

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

function statusesOf(results: readonly Result[]): string {
  const by = Map.groupBy(results, ({ status }) => status)
  const all = [...by].sort(([one], [other]) => one - other)
  return all.map(([status, each]) => `${each.length} × ${status}`).join(', ')
}

/** By which a request was decided. On a busy machine a proxy or the store may not wait long enough for others. */
const DECIDED: ReadonlySet<number> = new Set([200, 401, 404, 429])

/** Each user was charged what the service got of his, and at most what was not decided beyond. @returns the tokens of all */
async function tokensOf({ upstream: { got }, gateway }: Agreement, results: readonly Result[]) {
  const tokens = { charged: 0, served: 0, undecided: 0 }
  for (const user of USERS) {
    const own = results.filter((each) => each.user === user && !DECIDED.has(each.status)).map(({ sent }) => sent)
    const served = costOf(got.filter((each) => each.user === user).map(({ method, url }) => ({ method, path: url })))
    const [used, undecided] = [await usedBy(gateway, user), costOf(own)]
    for (const category of ['read', 'write'] as const) {
      const [least, charged] = [served[category] ?? 0, used[category] ?? 0]
      const most = least + (undecided[category] ?? 0)
      expect({ user, category, least, charged, most, isBetween: least <= charged && charged <= most }).toMatchObject({
        isBetween: true,
      })
      tokens.charged += charged
      tokens.served += least
      tokens.undecided += most - least
    }
  }
  return tokens
}

/** What the log of the proxy has, and what the service got, are what the clients got. */
function expectLogs(stack: Agreement, page: AskingProxy, results: readonly Result[]): void {
  const { got } = stack.upstream
  // The first lines are those by which it was waited for.
  const logged = linesOf(stack, page).filter((line) => !line.startsWith('GET / '))
  expect(logged.sort()).toEqual(results.map(lineOf).sort())
  const passed = results.filter(({ status }) => status === 200).map(({ sent }) => `${sent.method} ${sent.path}`)
  expect(got.map(({ method, url }) => `${method} ${url}`).sort()).toEqual(passed.sort())
  expect(got.filter(({ authorization }) => authorization !== undefined)).toEqual([])
}

it.each([nginx, haproxy, caddy, envoy, traefik])(
  'ten thousand requests through $page: its log, that of the service and the charges agree',
  async (page) => {
    const stack = await startAgreement(page, LIMITS)
    onTestFinished(stack.stop)
    const results = await run(stack, async () => {})
    await stack.stopProxy()
    expectLogs(stack, page, results)
    const tokens = await tokensOf(stack, results)
    const bill = stack.lines().reduce((sum, { charged, cost, outcome }) => {
      return sum + (outcome === 'answered' ? Number(charged ?? cost ?? 0) : 0)
    }, 0)
    expect(bill).toBe(tokens.charged)
    const got = stack.upstream.got.length
    console.log(`${page.page}: ${statusesOf(results)}; the service got ${got}; tokens ${JSON.stringify(tokens)}`)
    expect([...DECIDED].filter((status) => !results.some((each) => each.status === status))).toEqual([])
  },
)

const withBodies = (page: AskingProxy): Changes => ({
  also: [[['decisions', 'sends_body'], true]],
  file: page.withBodies,
})

it.each([nginx, haproxy, caddy, envoy, traefik])(
  'a page of another site opens no WebSocket through $page by the cookie of its visitor',
  async (page) => {
    const stack = await startAgreement(page, LIMITS, {
      also: [[['auth', 'from'], [{ cookie: 'session' }]]],
      // As the page of Envoy says of such credentials.
      file: (text) => text.replace('{ exact: accept }', '{ exact: accept }, { exact: cookie }'),
    })
    onTestFinished(stack.stop)
    const cookie = `session=${credentialOf('ann').slice('Bearer '.length)}`
    const statusOf = async (origin: string) => {
      const opened = new WebSocket(`ws://127.0.0.1:${stack.port}/ws/1`, { headers: { cookie, host: HOST }, origin })
      const [status] = await Promise.race([
        once(opened, 'open').then(() => [101]),
        once(opened, 'unexpected-response').then(([, response]) => [(response as http.IncomingMessage).statusCode]),
      ])
      opened.on('error', () => {})
      opened.terminate()
      return status
    }
    expect(await statusOf('https://evil.example')).toBe(401)
    expect(await statusOf(`http://${HOST}`)).toBe(101)
    expect(stack.upstream.got).toMatchObject([{ user: 'ann' }])
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
      const stack = await startAgreement(page, LIMITS, sendsBody ? withBodies(page) : {})
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
  expectLogs(stack, nginx, results)
  const tokens = await tokensOf(stack, results)
  console.log(`${statusesOf(results)}; tokens ${JSON.stringify(tokens)}`)
  expect(tokens.undecided).toBeGreaterThan(0)
})
