import { once } from 'node:events'
import http from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { isGivenBack } from '../observe/settled.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'

/** What a request cost is known by its response: what the store has counted is what the upstream said. */

let app: RunningApp | null = null
let upstream: Upstream | null = null
afterEach(async () => {
  app = upstream = null
})

type Respond = (res: http.ServerResponse, url: string) => void

/** A rule that reserves 20 tokens. @param limit of each user, in an hour */
async function start(settle: string, respond: Respond, limit = 1000, more = ''): Promise<void> {
  upstream = await startUpstream(({ url }, res) => respond(res, url))
  const baselines = `{ personal: { write: { 1h: ${limit} } }, global: { write: { 1h: 100000 } } }`
  const route = `routes: [{ match: "* /*", category: write, cost: 20, settle: ${settle} }]`
  const text = `quota: { baselines: ${baselines}, ${more} }\n${route}`
  app = await startApp(yaml(upstream.url, text, undefined, 'response_timeout: 300ms'))
}

interface Response {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

async function ask(path = '/', options: http.RequestOptions = {}): Promise<Response> {
  const { headers, ...rest } = options
  const req = http.request(`${app?.url}${path}`, { ...rest, agent: false, headers: { ...bearer('alice'), ...headers } })
  req.end()
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  req.on('error', () => {})
  const pieces: Buffer[] = []
  for await (const piece of res) pieces.push(piece as Buffer)
  return { status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(pieces) }
}

/** Tokens of alice and of all together, when the last request is recorded. */
async function used(requests = 1): Promise<readonly number[]> {
  await expect.poll(() => app?.requests().length).toBe(requests)
  const { windows } = JSON.parse(String((await ask('/me/quota', { method: 'GET' })).body))
  return windows.write.map((each: { used: number }) => each.used)
}
const last = () => app?.requests().findLast((each) => each.route !== null)
const charged = ({ headers }: Response) => headers['x-tollgate-charged']
const sources = () =>
  app?.observations.flatMap((seen) => (seen.type === 'settled' && seen.kind === 'corrected' ? [seen.source] : []))

describe('a cost in a field of the response', () => {
  const HEADER = '{ header: X-Tokens-Used, max: 500 }'
  const says = (value: string | string[] | null) =>
    start(HEADER, (res) => {
      if (value !== null) res.setHeader('X-Tokens-Used', value)
      res.end('report')
    })

  it.each<[string, string | string[] | null, number, string]>([
    ['less than the reserve is given back', '7', 7, 'response'],
    ['none gives all back', '0', 0, 'response'],
    ['more than the reserve is charged', '120', 120, 'response'],
    ['more than max counts as max', '100000', 500, 'above_max'],
    ['that is not there leaves the reserve', null, 20, 'missing'],
    ['that is no number leaves the reserve', '-3', 20, 'malformed'],
    ['in two lines that differ leaves the reserve', ['3', '4'], 20, 'malformed'],
  ])('%s', async (_, value, tokens, source) => {
    await says(value)
    const response = await ask()
    expect(String(response.body)).toBe('report')
    expect(charged(response)).toBe(String(tokens))
    expect(await used()).toEqual([tokens, tokens])
    expect(last()).toMatchObject({ cost: 20, charged: tokens })
    expect(sources()).toEqual([source])
  })

  it.each([
    ['7', 'r=993;'],
    ['120', 'r=880;'],
    ['2000', 'r=500;'],
    ['none', 'r=980;'],
  ])('%s of 1000 leaves as much as the RateLimit field beside it says', async (value, left) => {
    await says(value)
    const { headers } = await ask()
    expect(headers.ratelimit).toContain(`"personal-write-1h";${left}`)
    const status = await ask('/me/quota', { method: 'GET' })
    expect(status.headers.ratelimit).toContain(`"personal-write-1h";${left}`)
  })

  it('a cost in a field of the response goes on to the client, and what the upstream says in the name of the gateway does not', async () => {
    await start(HEADER, (res) => {
      res.setHeader('X-Tollgate-Charged', '1')
      res.setHeader('X-Tokens-Used', '3')
      res.end()
    })
    const { headers } = await ask()
    expect([headers['x-tollgate-charged'], headers['x-tokens-used']]).toEqual(['3', '3'])
  })

  it('a cost in a field of the response is what the metrics add up to', async () => {
    const costs: Record<string, string> = { '/a': '7', '/b': '120', '/c': '0' }
    await start(HEADER, (res, url) => {
      res.setHeader('X-Tokens-Used', costs[url] ?? '')
      res.end()
    })
    for (const path of Object.keys(costs)) await ask(path)
    expect(await used(3)).toEqual([127, 127])
    const text = await (await fetch(`${app?.admin}/metrics`)).text()
    const value = (name: string): number =>
      Number(new RegExp(`^${name}\\{category="write"\\} (\\d+)$`, 'm').exec(text)?.[1])
    expect(value('tollgate_tokens_charged_total') - value('tollgate_tokens_refunded_total')).toBe(127)
    expect(text).toContain('tollgate_settled_costs_total{category="write",source="response"} 3')
  })

  it('a cost in a field of the response that comes when the limit is reached is charged beyond it, and refuses the next request', async () => {
    await start('{ header: X-Tokens-Used, max: 2000 }', (res) => {
      res.setHeader('X-Tokens-Used', '1500')
      res.end()
    })
    expect((await ask()).status).toBe(200)
    expect((await used())[0]).toBe(1500)
    expect((await ask()).status).toBe(429)
  })

  it('a cost in a field of the response counts if the client leaves in the middle of the body', async () => {
    await start(HEADER, (res) => {
      res.setHeader('X-Tokens-Used', '7')
      res.write('the first part')
    })
    const req = http.get(`${app?.url}/`, { agent: false, headers: bearer('alice') })
    req.on('error', () => {})
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    res.on('error', () => {})
    await once(res, 'data')
    req.destroy()
    expect(await used()).toEqual([7, 7])
    expect(last()).toMatchObject({ outcome: 'aborted', charged: 7 })
  })
})

describe('a cost in a JSON response', () => {
  const JSON_RULE = '{ json: usage.total_tokens, max: 500, max_body: 200KiB }'
  const body = (tokens: unknown, pad = 0) =>
    JSON.stringify({ text: 'ü'.repeat(pad), usage: { total_tokens: tokens }, more: [{}] })

  it('a cost in a JSON response that comes with its head is known to the client too', async () => {
    await start(JSON_RULE, (res) => res.end(body(42)))
    const response = await ask()
    expect([String(response.body), charged(response)]).toEqual([body(42), '42'])
    expect(await used()).toEqual([42, 42])
  })

  it('a cost in a JSON response that comes later counts, and the client has its bytes unchanged', async () => {
    const text = body(42, 30_000)
    await start(JSON_RULE, async (res) => {
      res.setHeader('Content-Type', 'application/json')
      const bytes = Buffer.from(text)
      // Pieces of one byte and of many, some of them in the middle of a character.
      for (const [from, to] of [
        [0, 1],
        [1, 12],
        [12, 20_001],
        [20_001, bytes.length],
      ] as const) {
        res.write(bytes.subarray(from, to))
        await new Promise((resolve) => setImmediate(resolve))
      }
      res.end()
    })
    const response = await ask()
    expect(String(response.body)).toBe(text)
    expect(charged(response)).toBe(undefined)
    expect(await used()).toEqual([42, 42])
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['zstd', zstdCompressSync],
  ])('in the coding %s counts, and the client has its bytes unchanged', async (coding, encode) => {
    const bytes = encode(Buffer.from(body(42, 5000)))
    await start(JSON_RULE, (res) => {
      res.setHeader('Content-Encoding', coding)
      res.end(bytes)
    })
    const response = await ask()
    expect(response.body.equals(bytes)).toBe(true)
    expect(await used()).toEqual([42, 42])
  })

  it.each<[string, Respond]>([
    ['longer than max_body', (res) => res.end(body(42, 200_000))],
    [
      'that unfolds to more than max_body',
      (res) => res.setHeader('Content-Encoding', 'gzip').end(gzipSync(body(42, 200_000))),
    ],
    ['in a coding that nobody knows', (res) => res.setHeader('Content-Encoding', 'compress').end(body(42))],
    ['in a coding that is broken', (res) => res.setHeader('Content-Encoding', 'gzip').end(body(42))],
    ['that is a part', (res) => res.writeHead(206).end(body(42))],
    [
      'that the upstream breaks off',
      (res) => {
        res.setHeader('Content-Length', '1000')
        res.write(body(42))
        res.flushHeaders()
        setTimeout(() => res.destroy(), 20)
      },
    ],
  ])('%s is not read: the reserve stands, whatever is said of a missing one', async (_, respond) => {
    await start('{ json: usage.total_tokens, max: 500, max_body: 200KiB, missing: 0 }', respond)
    await ask().catch(() => {})
    expect(await used()).toEqual([20, 20])
    expect(sources()).toEqual(['unread'])
  })

  it.each<[string, Respond]>([
    ['without the member', (res) => res.end('{}')],
    ['that is no JSON', (res) => res.end('<html>')],
    ['without a body', (res) => res.writeHead(204).end()],
  ])('%s gives back if missing is 0', async (_, respond) => {
    await start('{ json: usage.total_tokens, max: 500, missing: 0 }', respond)
    await ask()
    expect(await used()).toEqual([0, 0])
    expect(sources()).toEqual(['missing'])
  })

  it('a cost in a JSON response of a HEAD is not read: the reserve stands', async () => {
    await start('{ json: usage.total_tokens, max: 500, missing: 0 }', (res) => res.end(body(42)))
    await ask('/', { method: 'HEAD' })
    expect(await used()).toEqual([20, 20])
  })

  it('a cost in a JSON response whose client leaves before its end leaves the reserve', async () => {
    await start('{ json: usage.total_tokens, max: 500, missing: 0 }', (res) => {
      res.write('{"usage":{"total_tokens":1}')
    })
    const req = http.get(`${app?.url}/`, { agent: false, headers: bearer('alice') })
    req.on('error', () => {})
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    res.on('error', () => {})
    req.destroy()
    expect(await used()).toEqual([20, 20])
  })
})

describe('only successes are charged', () => {
  const RULE = '{ status: { 4xx: 1, 5xx: 0 }, json: returnCode, values: { 1: all }, otherwise: 0 }'
  const answers =
    (status: number, text: string): Respond =>
    (res) => {
      res.statusCode = status
      res.end(text)
    }

  it.each<[string, Respond, number]>([
    ['a success costs all', answers(200, '{"returnCode":1}'), 20],
    ['a failure that comes with 200 costs nothing', answers(200, '{"returnCode":5004}'), 0],
    ['a response that says nothing costs nothing', answers(200, 'ok'), 0],
    ['a mistake of the client costs 1', answers(400, '{"returnCode":1}'), 1],
    ['a failure of the upstream costs nothing', answers(500, '{"returnCode":1}'), 0],
  ])('%s', async (_, respond, tokens) => {
    await start(RULE, respond)
    expect(charged(await ask())).toBe(String(tokens))
    expect(await used()).toEqual([tokens, tokens])
  })

  it('an upstream that does not respond in time leaves the reserve, as it may have done the work', async () => {
    await start(RULE, () => {})
    const response = await ask()
    expect([response.status, charged(response)]).toEqual([504, '20'])
    expect(await used()).toEqual([20, 20])
    expect(last()).toMatchObject({ httpStatus: 0, charged: 20 })
    expect(sources()).toEqual(['unread'])
  })

  it('an upstream that takes no connection costs nothing, once', async () => {
    await start(RULE, answers(200, ''))
    await upstream?.close()
    const response = await ask()
    expect([response.status, charged(response)]).toEqual([502, '0'])
    expect(await used()).toEqual([0, 0])
    expect(app?.observations.filter(isGivenBack)).toHaveLength(1)
    upstream = null
  })

  it('what the quota would have refused, and shadow lets through, is not charged, whatever the response says', async () => {
    await start('{ status: { 2xx: 5 } }', answers(200, ''), 10, 'shadow: true')
    const response = await ask()
    expect([response.status, charged(response)]).toEqual([200, undefined])
    expect(await used()).toEqual([0, 0])
    expect(sources()).toEqual([])
  })
})
