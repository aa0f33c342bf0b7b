import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { createClient, remaining } from '../../docs/examples/client.mjs'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { jwtOf } from '../e2e/jwt.ts'
import { blocksIn } from './blocks.ts'

/** The clients of docs/clients.md against a real gateway: what they wait, what they send again, and when they give up. */

const SOON = { timeout: 30_000, interval: 20 }

interface Call {
  readonly url: string
  readonly method?: string
  readonly path?: string
  readonly body?: string
  readonly repeatable?: boolean
  readonly patience?: number
  readonly maxTries?: number
  /** How often the call is made, one after the other; told of is the last. Default 1. */
  readonly times?: number
  /** Notes how long it should sleep, and does not. */
  readonly skip?: boolean
  /** What the function that gives the token gives, one for each request. Default a token that stays. */
  readonly tokens?: readonly string[]
  /** What its random numbers are. Default 0. */
  readonly chance?: number
}

interface Ended {
  readonly status: number | null
  /** `error` of an answer of the gateway. */
  readonly code: string
  /** Seconds. */
  readonly slept: readonly number[]
  /** There was no answer. */
  readonly failed: boolean
}

async function javascript({
  url,
  patience = 60,
  maxTries = 5,
  times = 1,
  skip = false,
  chance = 0,
  tokens,
  ...call
}: Call): Promise<Ended> {
  const slept: number[] = []
  const sleep = async (seconds: number): Promise<void> => {
    slept.push(seconds)
    if (!skip) await new Promise((done) => setTimeout(done, seconds * 1000))
  }
  const given = tokens?.values()
  const token = given === undefined ? jwtOf('alice') : async () => given.next().value ?? ''
  const send = createClient({ url, token, patience, maxTries, sleep, random: () => chance })
  for (let i = 1; i < times; i++) await send({ path: '/items', ...call })
  const response = await send({ path: '/items', ...call }).catch(() => null)
  if (response === null) return { status: null, code: '', slept, failed: true }
  const { status, body } = response
  return { status, code: body.startsWith('{') ? JSON.parse(body).error : '', slept, failed: false }
}

async function python(call: Call): Promise<Ended> {
  const given = { method: 'GET', path: '/items', body: null, repeatable: null, patience: 60, maxTries: 5, times: 1 }
  const text = JSON.stringify({ ...given, skip: false, chance: 0, tokens: [], token: jwtOf('alice'), ...call })
  const { stdout } = await promisify(execFile)('python3', ['test/docs/client_driver.py', text], {
    env: { ...process.env, NO_PROXY: '127.0.0.1' },
  })
  return JSON.parse(stdout)
}

let upstream: Upstream
let app: RunningApp

interface Setting {
  readonly window?: string
  readonly limit?: number
  readonly respond?: Parameters<typeof startUpstream>[0]
  /** How long the upstream may take. */
  readonly responseTimeout?: string
  readonly maxInFlight?: number
  readonly perUser?: number
  /** Quota and routes, instead of those with one limit. */
  readonly rest?: string
}

async function start({
  window = '1h',
  limit = 100,
  respond,
  responseTimeout = '30s',
  maxInFlight = 10,
  perUser = 10,
  rest,
}: Setting) {
  upstream = await startUpstream(respond)
  app = await startApp(
    yaml(
      upstream.url,
      rest ??
        `
quota:
  baselines: { personal: { read: { ${window}: ${limit} } }, global: { read: { ${window}: 1000 } } }
  windows: { ${window}: ${window} }
routes: [{ match: "* /items", category: read, cost: 1 }]
edge: { max_in_flight: ${maxInFlight}, max_in_flight_per_user: ${perUser}, shares: { address: none, user: none } }`,
      'sqlite::memory:',
      `response_timeout: ${responseTimeout}`,
    ),
  )
  return app.url
}

/** How many requests the gateway answered with each code of its own; `ok` for those that it did not. */
function codes(): Record<string, number> {
  const all = app.requests().map(({ error }) => error ?? 'ok')
  return Object.fromEntries([...new Set(all)].map((code) => [code, all.filter((one) => one === code).length]))
}

test('client.mjs waits in pieces where a wait is longer than a timer can be', async () => {
  const url = await start({ window: '30d', limit: 1 })
  const send = createClient({ url, token: jwtOf('alice'), patience: 40 * 86_400 })
  await send({ path: '/items' })
  const timers = vi.spyOn(globalThis, 'setTimeout')
  try {
    void send({ path: '/items' })
    const delays = (): number[] => timers.mock.calls.map(([, ms = 0]) => ms)
    await vi.waitUntil(() => delays().some((ms) => ms > 1e9), SOON)
    expect(Math.max(...delays())).toBe(2 ** 31 - 1)
    for (const { value } of timers.mock.results) clearTimeout(value)
  } finally {
    timers.mockRestore()
  }
})

async function leftInJavascript(url: string, path: string): Promise<unknown> {
  return remaining(await createClient({ url, token: jwtOf('alice') })({ path }))
}

const PRINTED = `import json, sys
sys.path.insert(0, "docs/examples")
sys.dont_write_bytecode = True
from client import Client, remaining
url, token, path = sys.argv[1:]
print(json.dumps([window._asdict() for window in remaining(Client(url, token).call(path))]))`

async function leftInPython(url: string, path: string): Promise<unknown> {
  const given = ['-c', PRINTED, url, jwtOf('alice'), path]
  const { stdout } = await promisify(execFile)('python3', given, { env: { ...process.env, NO_PROXY: '127.0.0.1' } })
  return JSON.parse(stdout)
}

test.each([
  ['client.mjs', leftInJavascript],
  ['client.py', leftInPython],
] as const)('%s says what is left after a call, the window with the least left first', async (_file, left) => {
  const rest = `
quota: { windows: { 1h: 1h, 1d: 1d }, baselines: { personal: { read: { 1h: 100, 1d: 5 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: GET /items, category: read, cost: 2 }, { match: GET /open, public: true }]`
  const own = { RateLimit: '"burst";r=1;t=2', 'RateLimit-Policy': '"burst";q=5;w=2' }
  const url = await start({ rest, respond: (_seen, res) => res.writeHead(200, own).end('ok') })
  const seconds = expect.any(Number)
  expect(await left(url, '/items')).toEqual([
    { policy: 'personal-read-1d', limit: 5, remaining: 3, seconds },
    { policy: 'personal-read-1h', limit: 100, remaining: 98, seconds },
    { policy: 'global-read-1h', limit: 1000, remaining: 998, seconds },
  ])
  expect(await left(url, '/open')).toEqual([])
})

test.each([
  ['client.mjs', leftInJavascript],
  ['client.py', leftInPython],
] as const)('%s says of windows with as much left first which of them ends last', async (_file, left) => {
  const rest = `
quota: { windows: { 1h: 1h, 1d: 1d, 5h: 5h }, baselines: { personal: { read: { 1h: 5, 1d: 5, 5h: 5 } } } }
routes: [{ match: GET /items, category: read, cost: 2 }]`
  const url = await start({ rest, respond: (_seen, res) => res.writeHead(200).end('ok') })
  const windows = (await left(url, '/items')) as { policy: string; remaining: number }[]
  expect(windows.map(({ policy, remaining: tokens }) => [policy, tokens])).toEqual([
    ['personal-read-1d', 3],
    ['personal-read-5h', 3],
    ['personal-read-1h', 3],
  ])
})

/** What docs/clients.md shows beside the clients. */
const SHOWN = blocksIn(readFileSync('docs/clients.md', 'utf8')).find(({ text }) => text.includes('function oneByOne'))

async function manyInJavascript(url: string, calls: number): Promise<number[]> {
  const module = `data:text/javascript,${encodeURIComponent(SHOWN?.text ?? '')}`
  const { oneByOne }: { oneByOne: <T>(call: T) => T } = await import(/* @vite-ignore */ module)
  const write = oneByOne(createClient({ url, token: jwtOf('alice') }))
  const answers = await Promise.all(Array.from({ length: calls }, () => write({ method: 'POST', path: '/items' })))
  return answers.map(({ status }) => status)
}

const MANY = `import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, "docs/examples")
sys.dont_write_bytecode = True
from client import Client
url, token, calls = sys.argv[1:]
client, write = Client(url, token), threading.Lock()

def call(_):
    with write:
        return client.call("/items", "POST").status

with ThreadPoolExecutor(int(calls)) as pool:
    print(json.dumps(list(pool.map(call, range(int(calls))))))`

async function manyInPython(url: string, calls: number): Promise<number[]> {
  const given = ['-c', MANY, url, jwtOf('alice'), String(calls)]
  const { stdout } = await promisify(execFile)('python3', given, { env: { ...process.env, NO_PROXY: '127.0.0.1' } })
  return JSON.parse(stdout)
}

test.each([
  ['client.mjs', manyInJavascript],
  ['client.py', manyInPython],
] as const)('calls of %s one by one meet one refusal for each window that is used up', async (_file, many) => {
  const url = await start({ window: '2s', limit: 3 })
  expect(await many(url, 9)).toEqual(Array(9).fill(200))
  const { ok, quota_exceeded: refused = 0 } = codes()
  // On a slow machine a window may end before it is used up.
  expect([ok, refused <= 3]).toEqual([9, true])
})

test('calls one by one send nothing more while a window is used up for longer than a call may wait', async () => {
  const url = await start({ window: '1h', limit: 3 })
  expect(await manyInJavascript(url, 9)).toEqual([200, 200, 200, ...Array(6).fill(429)])
  expect(codes()).toEqual({ ok: 3, quota_exceeded: 1 })
})

describe.each([
  ['client.mjs', javascript],
  ['client.py', python],
] as const)('%s', (_file, call) => {
  test('waits for the end of the window, asks once more, and is served', async () => {
    const url = await start({ window: '3s', limit: 1 })
    const { status, slept } = await call({ url, method: 'POST', body: '{}', times: 2 })
    expect(status).toBe(200)
    expect(codes()).toEqual({ ok: 2, quota_exceeded: 1 })
    expect(slept).toHaveLength(1)
    expect(slept[0]).toBeGreaterThanOrEqual(1)
    expect(slept[0]).toBeLessThanOrEqual(3)
  })

  test('gives the refusal back at once where the window ends after its patience', async () => {
    const url = await start({ limit: 1 })
    await call({ url })
    expect(await call({ url })).toEqual({ status: 429, code: 'quota_exceeded', slept: [], failed: false })
    expect(codes()).toEqual({ ok: 1, quota_exceeded: 1 })
  })

  test('waits never less than it was told, and not as long as others', async () => {
    const url = await start({ limit: 1 })
    const patience = 3 * 3700
    const since = performance.now()
    const [early, late] = [
      await call({ url, skip: true, patience, maxTries: 2, times: 2 }),
      await call({ url, skip: true, patience, maxTries: 2, chance: 0.999 }),
    ]
    expect([early.status, late.status]).toEqual([429, 429])
    // Each is told what is left of the hour, and waits up to 30 seconds more.
    const left = 3600 - Math.ceil((performance.now() - since) / 1000)
    const [shortest = 0, longest = 0] = [early.slept[0], late.slept[0]]
    expect([shortest >= left, shortest <= 3600]).toEqual([true, true])
    expect([longest >= left + 29.9, longest <= 3630]).toEqual([true, true])
  })

  test('waits also if the operator wrote the body of the refusal', async () => {
    const fields = { 'Retry-After': '7', 'X-Quota-Reset': '2030-01-01T00:00:00.000Z', 'Content-Type': 'text/html' }
    await start({ respond: (_seen, res) => res.writeHead(429, fields).end('<p>Sorry</p>') })
    const { url } = upstream
    expect(await call({ url, method: 'POST', skip: true, maxTries: 2 })).toMatchObject({ status: 429, slept: [7] })
  })

  test('waits to the end of the window also if Retry-After may name a shorter time', async () => {
    const quota = 'retry_after_max: 5s, baselines: { personal: { read: { 1h: 1 } } }'
    const url = await start({ rest: `\nquota: { ${quota} }\nroutes: [{ match: GET /items, category: read }]` })
    const { status, slept } = await call({ url, skip: true, patience: 1e6, maxTries: 2, times: 2 })
    expect([status, slept.length, (slept[0] ?? 0) > 5]).toEqual([429, 1, true])
  })

  test('asks for its token before each request, so that a new one takes the place of the old one', async () => {
    const url = await start({})
    expect(await call({ url, tokens: ['an old one', jwtOf('alice')], times: 2 })).toMatchObject({ status: 200 })
    expect(codes()).toEqual({ unauthorized: 1, ok: 1 })
  })

  test('takes a response of the service for an answer, also with the status and the code of a refusal', async () => {
    let [status, error] = [429, 'quota_exceeded']
    const url = await start({
      respond: (_seen, res) => res.writeHead(status, { 'X-Quota-Reset': '2030' }).end(JSON.stringify({ error })),
    })
    for ([status, error] of [
      [429, 'quota_exceeded'],
      [429, 'too_many_in_flight'],
      [503, 'overloaded'],
      [503, 'store_unavailable'],
    ] as const) {
      expect(await call({ url, method: 'POST', skip: true })).toMatchObject({ status, slept: [] })
    }
    expect(upstream.seen).toHaveLength(4)
  })

  test('gives up after so many tries', async () => {
    const url = await start({ limit: 1 })
    const { status, slept } = await call({ url, skip: true, patience: 1e6, maxTries: 3, times: 2 })
    expect([status, slept.length]).toEqual([429, 2])
    expect(codes()).toEqual({ ok: 1, quota_exceeded: 3 })
  })

  test('does not wait where no waiting helps: the request costs more than a limit, also one that is not named', async () => {
    const rest = `
quota: { baselines: { personal: { read: { 5s: 10, 20s: 14 } }, global: { read: { 5s: 1000, 20s: 1000 } } } }
routes: [{ match: GET /items, category: read, cost: 4 }, { match: POST /items, category: read, cost: 12 }]`
    const url = await start({ rest })
    expect(await call({ url })).toMatchObject({ status: 200 })
    const post = { method: 'POST', headers: { authorization: `Bearer ${jwtOf('alice')}` } }
    const { quota } = (await (await fetch(`${url}/items`, post)).json()) as { quota: unknown }
    expect(quota).toMatchObject({ window: '20s', limit: 14, used: 4, requested: 12 })
    expect(await call({ url, method: 'POST' })).toMatchObject({ status: 429, slept: [] })
  })

  test('waits where the request costs more than a limit of another category, or than one that lets more pass', async () => {
    const ofTwo = `
quota:
  windows: { 2s: 2s }
  baselines: { personal: { requests: { 2s: 10 }, llm: { 2s: 1000 } } }
routes: [{ match: "* /items", charges: { requests: 1, llm: 600 } }]`
    const { status, slept } = await call({ url: await start({ rest: ofTwo }), times: 2 })
    expect([status, slept.length]).toEqual([200, 1])
    await app.stop()
    await upstream.close()
    const soft = `
quota:
  windows: { 2s: 2s }
  baselines: { personal: { read: { 2s: { limit: 10, over: 5 } } } }
routes: [{ match: GET /items, category: read, cost: 12 }, { match: POST /items, category: read, cost: 16 }]`
    const url = await start({ rest: soft })
    const again = await call({ url, times: 2 })
    expect([again.status, again.slept.length]).toEqual([200, 1])
    expect(await call({ url, method: 'POST' })).toMatchObject({ status: 429, slept: [] })
  })

  test('waits where the request costs more than a limit of a category whose name begins in the same way', async () => {
    const rest = `
quota:
  windows: { 2s: 2s }
  baselines: { personal: { chat: { 2s: 60 }, chat-x: { 2s: 20 } } }
routes: [{ match: "* /items", charges: { chat: 50, chat-x: 1 } }]`
    const { status, slept } = await call({ url: await start({ rest }), times: 2 })
    expect([status, slept.length]).toEqual([200, 1])
  })

  test('sends anything again that the gateway was too busy to take', async () => {
    let free: () => void = () => {}
    const respond: Setting['respond'] = (_seen, res) => {
      free = () => res.end('ok')
    }
    const url = await start({ respond, maxInFlight: 1 })
    const first = fetch(`${url}/items`, { headers: { authorization: `Bearer ${jwtOf('bob')}` } })
    await vi.waitUntil(() => upstream.seen.length === 1, SOON)
    const inVain = { url, method: 'POST', skip: true, maxTries: 4, chance: 0.5 }
    expect(await call(inVain)).toMatchObject({ status: 503, slept: [1.5, 2, 3] })
    const second = call({ url, method: 'POST' })
    await vi.waitUntil(() => codes().overloaded === 5, SOON)
    free()
    await first
    await vi.waitUntil(() => upstream.seen.length === 2, SOON)
    free()
    expect(await second).toMatchObject({ status: 200, slept: [1] })
  })

  test('sends anything again that was too much for one user at a time', async () => {
    let free: () => void = () => {}
    const respond: Setting['respond'] = (_seen, res) => {
      free = () => res.end('ok')
    }
    const url = await start({ respond, perUser: 1 })
    const first = fetch(`${url}/items`, { headers: { authorization: `Bearer ${jwtOf('alice')}` } })
    await vi.waitUntil(() => upstream.seen.length === 1, SOON)
    const second = call({ url, method: 'POST' })
    await vi.waitUntil(() => app.requests().some(({ error }) => error === 'too_many_in_flight'), SOON)
    free()
    await first
    await vi.waitUntil(() => upstream.seen.length === 2, SOON)
    free()
    expect(await second).toMatchObject({ status: 200, slept: [1] })
  })

  test('sends nothing again that the service may have acted on, unless it is told that it may', async () => {
    const url = await start({ respond: () => {}, responseTimeout: '200ms' })
    const post = { url, method: 'POST', body: '{}', skip: true, maxTries: 3, chance: 0.5 }
    expect(await call(post)).toEqual({ status: 504, code: 'upstream_timeout', slept: [], failed: false })
    expect(upstream.seen).toHaveLength(1)
    expect(await call({ ...post, repeatable: true })).toMatchObject({ status: 504, slept: [0.5, 1] })
    const get = { url, skip: true, maxTries: 3, chance: 0.5 }
    expect(await call(get)).toMatchObject({ status: 504, slept: [0.5, 1] })
    expect(upstream.seen).toHaveLength(7)
  })

  test('takes a 429 and a 503 of the service itself for an answer', async () => {
    const respond: Setting['respond'] = ({ method }, res) =>
      res.writeHead(method === 'POST' ? 429 : 503, { 'Retry-After': '7' }).end('{"error":"down"}')
    const url = await start({ respond })
    expect(await call({ url, method: 'POST', skip: true })).toMatchObject({ status: 429, slept: [] })
    expect(await call({ url, method: 'PUT', skip: true })).toMatchObject({ status: 503, slept: [] })
    expect(await call({ url, skip: true, maxTries: 2 })).toMatchObject({ status: 503, slept: [7] })
  })

  test('takes a success of the service for an answer, also with a code of the gateway in it', async () => {
    const url = await start({ respond: (_seen, res) => res.end('{"error":"overloaded"}') })
    expect(await call({ url, method: 'POST', skip: true })).toMatchObject({ status: 200, slept: [] })
    expect(upstream.seen).toHaveLength(1)
  })

  test('takes its credential to no other address', async () => {
    const other = await startUpstream()
    const respond: Setting['respond'] = (_seen, res) => res.writeHead(307, { Location: `${other.url}/items` }).end()
    const url = await start({ respond })
    expect(await call({ url })).toMatchObject({ status: 307, slept: [] })
    expect(other.seen).toEqual([])
  })

  test('fails where nobody listens, after trying again what is safe', async () => {
    const url = await start({ limit: 1 })
    await app.stop()
    expect(await call({ url, method: 'POST', skip: true })).toMatchObject({ failed: true, slept: [] })
    expect(await call({ url, skip: true, maxTries: 3, chance: 0.5 })).toMatchObject({ failed: true, slept: [0.5, 1] })
  })
})
