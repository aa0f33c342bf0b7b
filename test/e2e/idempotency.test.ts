import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isCharged, tokensIn } from '../observe/settled.ts'
import { startFaultProxy } from '../setup/fault-proxy.ts'
import { sharedRedis } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange } from './raw.ts'

/** A client that does not know what became of its request sends it again, with the key of before: it pays once. */

const COST = 15
const RULES = `
edge: { max_body: 1MiB }
routes:
  - match: POST /tickets
    category: write
    cost: ${COST}
    idempotency: { replays: 2 }
  - { match: POST /others, category: write, cost: ${COST}, idempotency: {} }
  - { match: POST /plain, category: write, cost: ${COST} }
  - { match: POST /graded, category: write, cost: { header: X-Quality, values: { low: 1, high: 8 } }, idempotency: {} }
  - { match: POST /priced, category: write, cost: { body: kind, values: { a: ${COST} } }, idempotency: {} }`

interface Sent {
  readonly key?: string
  readonly user?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string | ReadableStream
}

let upstream: Upstream
beforeEach(async () => {
  upstream = await startUpstream()
})

const start = (rules = RULES, store = 'sqlite::memory:'): Promise<RunningApp> =>
  startApp(yaml(upstream.url, rules, store))

function send(app: RunningApp, { key, user = 'alice', path = '/tickets', headers = {}, body = '{"n":1}' }: Sent = {}) {
  const named = key === undefined ? {} : { 'idempotency-key': key }
  const all = { 'content-type': 'application/json', ...bearer(user), ...named, ...headers }
  return fetch(app.url + path, { method: 'POST', headers: all, body, duplex: 'half' } as RequestInit)
}

/** Whether each was charged. */
const replay = (response: Response) => response.headers.get('x-tollgate-replay')

async function used(app: RunningApp, user = 'alice'): Promise<number> {
  const response = await fetch(`${app.url}/me/quota`, { headers: bearer(user) })
  const { windows } = (await response.json()) as { windows: { write: { used: number }[] } }
  return windows.write[0]?.used ?? 0
}

describe('a request that comes again with its key', () => {
  it('a request that comes again with its key is forwarded and not charged, as often as the rule says, and the response says so', async () => {
    const app = await start()
    const responses = [await send(app, { key: 'k' }), await send(app, { key: 'k' }), await send(app, { key: 'k' })]
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(responses.map(replay)).toEqual([null, '1', '1'])
    expect(responses[1]?.headers.get('ratelimit')).toContain(`"personal-write-1h";r=${60 - COST};`)
    expect(await used(app)).toBe(COST)
    const more = await send(app, { key: 'k' })
    expect([more.status, replay(more), await used(app)]).toEqual([200, null, 2 * COST])
    expect(upstream.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['k', 'k', 'k', 'k'])
    expect(app.requests().map(({ replayed }) => replayed)).toEqual([false, true, true, false, false, false])
    const repeated = app.observations.filter((seen) => seen.type === 'settled' && seen.kind === 'repeated')
    expect(repeated).toMatchObject([1, 2].map(() => ({ tokens: 0, charge: { category: 'write' } })))
    const charged = app.observations.filter(isCharged)
    expect(charged).toHaveLength(2)
  })

  it.each<[string, Sent]>([
    ['of another user', { user: 'bob' }],
    ['of another key', { key: 'l' }],
    ['without one', { key: '' }],
    ['to another path', { path: '/others' }],
    ['with another query', { path: '/tickets?n=2' }],
  ])('a request that comes again with its key is another request: %s', async (_what, other) => {
    const app = await start()
    await send(app, { key: 'k' })
    const response = await send(app, { key: 'k', ...other })
    expect([response.status, replay(response)]).toEqual([200, null])
    expect((await used(app)) + (await used(app, 'bob'))).toBe(2 * COST)
  })

  it('a request that comes again with its key is charged for each host, in any letter case, as each may be another service behind the upstream', async () => {
    const app = await start()
    const { authorization } = bearer('alice')
    const ask = (host: string) =>
      rawExchange(
        app.url,
        `POST /tickets HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\nIdempotency-Key: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      )
    const replayed = []
    for (const host of ['a.example', 'b.example', 'A.example:8080', '[::1]:1', '[::2]:1']) {
      replayed.push((await ask(host)).includes('X-Tollgate-Replay: 1'))
    }
    expect(replayed).toEqual([false, false, true, false, false])
    expect(await used(app)).toBe(4 * COST)
  })

  it('a request that comes again with its key is charged each time by a rule that does not say so', async () => {
    const app = await start()
    for (const _ of [1, 2]) expect(replay(await send(app, { key: 'k', path: '/plain' }))).toBeNull()
    expect(await used(app)).toBe(2 * COST)
  })

  it.each<[string, Sent]>([
    ['other bytes', { body: '{"n":2}' }],
    ['another type of content', { headers: { 'content-type': 'text/plain' } }],
    ['no body', { body: '' }],
  ])(
    'a request that comes again with its key gets 422 with %s, which costs nothing and never reaches the service',
    async (_what, other) => {
      const app = await start()
      await send(app, { key: 'k' })
      const response = await send(app, { key: 'k', ...other })
      expect(response.status).toBe(422)
      expect(await response.json()).toEqual({
        error: 'idempotency_key_reused',
        msg: 'An earlier request with this Idempotency-Key had another body, Content-Type, Content-Encoding or priced header. To repeat it, send it exactly as before. Use a new Idempotency-Key only for a new request.',
      })
      expect([upstream.seen.length, await used(app)]).toEqual([1, COST])
      expect(replay(await send(app, { key: 'k' }))).toBe('1')
    },
  )

  it('a request that comes again with its key gets 422 with another value of the field that says its price', async () => {
    const app = await start()
    const graded = async (quality: string, key: string) => {
      const response = await send(app, { key, path: '/graded', headers: { 'x-quality': quality } })
      return [response.status, replay(response)]
    }
    expect(await graded('low', 'k')).toEqual([200, null])
    expect(await graded('high', 'k')).toEqual([422, null])
    expect(await graded('low', 'k')).toEqual([200, '1'])
    expect(await graded('high', 'l')).toEqual([200, null])
    expect([upstream.seen.length, await used(app)]).toEqual([3, 9])
  })

  it('a request that comes again with its key is let through where a new one is refused', async () => {
    const app = await start()
    for (const key of ['a', 'b', 'c', 'd']) await send(app, { key })
    const [fresh, again] = [await send(app, { key: 'e' }), await send(app, { key: 'a' })]
    expect([fresh.status, again.status, replay(again), await used(app)]).toEqual([429, 200, '1', 4 * COST])
    expect((await send(app, { key: 'e' })).status).toBe(429)
  })

  it('a request that comes again with its key is known by a body in chunks, one that waits for 100 Continue, and one that has the price', async () => {
    const app = await start()
    const chunks = () => new Blob(['{"n":1}']).stream()
    expect(replay(await send(app, { key: 'k', body: chunks() }))).toBeNull()
    expect(replay(await send(app, { key: 'k', body: chunks() }))).toBe('1')
    expect(await expecting(app, 'k', '{"n":1}')).toContain('X-Tollgate-Replay: 1')
    const priced = { key: 'k', path: '/priced', body: '{"kind":"a"}' }
    expect([replay(await send(app, priced)), replay(await send(app, priced))]).toEqual([null, '1'])
    expect(await used(app)).toBe(2 * COST)
  })

  it('a request that comes again with its key is charged each time if its body is larger than 64 KiB, announced or in chunks, and arrives whole', async () => {
    const large = { key: 'k', body: 'x'.repeat(64 * 1024 + 1) }
    const app = await start()
    for (const _ of [1, 2]) expect(replay(await send(app, large))).toBeNull()
    expect(await used(app)).toBe(2 * COST)
    const unbounded = await start(RULES.replace('max_body: 1MiB', ''))
    const inChunks = { ...large, body: 'x'.repeat(300_000) }
    for (const _ of [1, 2]) {
      const response = await send(unbounded, { ...inChunks, body: new Blob([inChunks.body]).stream() })
      expect([response.status, replay(response)]).toEqual([200, null])
      expect(upstream.seen.at(-1)?.body).toBe(inChunks.body)
    }
    expect(await used(unbounded)).toBe(2 * COST)
  })

  it('a request that comes again with its key is known by a small body in chunks also where nothing bounds bodies', async () => {
    const app = await start(RULES.replace('max_body: 1MiB', ''))
    const chunks = () => new Blob(['{"n":1}']).stream()
    expect(replay(await send(app, { key: 'k', body: chunks() }))).toBeNull()
    expect(replay(await send(app, { key: 'k', body: chunks() }))).toBe('1')
    expect((await send(app, { key: 'k', body: new Blob(['{"n":2}']).stream() })).status).toBe(422)
    expect([await used(app), upstream.seen.map(({ body }) => body)]).toEqual([COST, ['{"n":1}', '{"n":1}']])
  })

  it('a request that comes again with its key is charged when it comes again, if the first one never reached the service', async () => {
    const app = await start()
    const { port } = new URL(upstream.url)
    await upstream.close()
    expect((await send(app, { key: 'k' })).status).toBe(502)
    await expect.poll(() => used(app)).toBe(0)
    upstream = await startUpstream(undefined, Number(port))
    const [first, again] = [await send(app, { key: 'k' }), await send(app, { key: 'k' })]
    expect([first.status, replay(first), replay(again), await used(app)]).toEqual([200, null, '1', COST])
  })

  it('a request that comes again with its key is charged as long as one of its requests is, where the response decides what they cost', async () => {
    const rules = RULES.replace('idempotency: {}', 'idempotency: {}, settle: { status: { 5xx: 0 } }')
    const answers: ((status: number) => void)[] = []
    await upstream.close()
    upstream = await startUpstream((_seen, res) => answers.push((status) => res.writeHead(status).end()))
    const app = await start(rules)
    const answered = async (...statuses: number[]) => {
      const sent = statuses.map(() => send(app, { key: 'k', path: '/others' }))
      await expect.poll(() => answers.length).toBe(statuses.length)
      for (const [i, answer] of answers.splice(0).entries()) answer(statuses[i] as number)
      await Promise.all(sent)
    }
    await answered(500, 500)
    await expect.poll(() => used(app)).toBe(0)
    await answered(500, 200)
    await sleep(50)
    expect(await used(app)).toBe(COST)
    await answered(200)
    expect(await used(app)).toBe(COST)
  })

  describe('where the response says what it cost', () => {
    const SETTLED = RULES.replace(
      'category: write, cost: 15, idempotency: {}',
      'category: write, cost: 20, settle: { header: X-Tokens, max: 50 }, idempotency: { replays: 9 }',
    )
    let answers: ((tokens: number) => void)[]
    beforeEach(async () => {
      answers = []
      await upstream.close()
      upstream = await startUpstream((_seen, res) => answers.push((tokens) => res.setHeader('X-Tokens', tokens).end()))
    })

    async function says(app: RunningApp, tokens: number) {
      const response = send(app, { key: 'k', path: '/others' })
      await expect.poll(() => answers.length).toBe(1)
      answers.shift()?.(tokens)
      return response
    }

    it.each(['sqlite', 'redis'] as const)(
      'a request that comes again with its key where the response says what it cost is charged once for any number of repetitions, and as much as the dearest of them: %s',
      async (kind) => {
        const redis = kind === 'redis' ? await sharedRedis() : null
        const store = redis === null ? '' : `store_options: { prefix: ${redis.prefix} }\n`
        const app = await start(store + SETTLED, redis?.url)
        const seen: (string | number | null)[][] = []
        for (const tokens of [5, 5, 3, 30, 30, 0]) {
          const response = await says(app, tokens)
          await expect.poll(() => app.requests().length).toBe(seen.length * 2 + 1)
          seen.push([replay(response), response.headers.get('x-tollgate-charged'), await used(app)])
        }
        expect(seen).toEqual([
          [null, null, 5],
          ['1', null, 5],
          ['1', null, 5],
          ['1', null, 30],
          ['1', null, 30],
          ['1', null, 30],
        ])
        const lines = app.requests().filter(({ category }) => category === 'write')
        expect(lines.map(({ charged }) => charged)).toEqual([5, 0, 0, 25, 0, 0])
        expect(tokensIn(app.observations)).toBe(30)
      },
    )

    it('a request that comes again with its key where the response says what it cost costs what it did also if a repetition under way at the same time is free, or dearer', async () => {
      const app = await start(SETTLED)
      for (const [own, other, total] of [
        [4, 0, 4],
        [8, 19, 19],
      ] as const) {
        const key = `k${own}`
        const sent = [0, 1].map(() => send(app, { key, path: '/others', user: key }))
        await expect.poll(() => answers.length).toBe(2)
        answers[0]?.(own)
        await Promise.race(sent)
        answers[1]?.(other)
        await Promise.all(sent)
        answers.length = 0
        await expect.poll(() => used(app, key)).toBe(total)
        const lines = () => app.requests().filter(({ user, category }) => user === key && category === 'write')
        await expect.poll(() => lines().reduce((sum, { charged, cost }) => sum + (charged ?? cost), 0)).toBe(total)
      }
    })

    it('a request that comes again with its key where the response says what it cost pays the difference if it hung up, and so paid the reserve alone, before it came again', async () => {
      const app = await start(SETTLED.replace('cost: 20', 'cost: 1'))
      const stop = new AbortController()
      const headers = { 'content-type': 'application/json', ...bearer('alice'), 'idempotency-key': 'k' }
      const first = fetch(`${app.url}/others`, { method: 'POST', headers, body: '{"n":1}', signal: stop.signal })
      await expect.poll(() => answers.length).toBe(1)
      stop.abort()
      await first.catch(() => {})
      await expect.poll(() => app.requests().length).toBe(1)
      answers.length = 0
      for (const _ of [1, 2, 3]) expect(replay(await says(app, 50))).toBe('1')
      await expect.poll(() => used(app)).toBe(50)
    })
  })

  it('a request that comes again with its key uses up none of its repetitions by those that reach nobody, which say that they are repetitions', async () => {
    const app = await start()
    const { port } = new URL(upstream.url)
    expect((await send(app, { key: 'k' })).status).toBe(200)
    await upstream.close()
    for (const _ of [1, 2, 3, 4]) {
      const response = await send(app, { key: 'k' })
      expect([response.status, replay(response)]).toEqual([502, '1'])
    }
    upstream = await startUpstream(undefined, Number(port))
    const [first, second, third] = [
      await send(app, { key: 'k' }),
      await send(app, { key: 'k' }),
      await send(app, { key: 'k' }),
    ]
    expect([replay(first), replay(second), replay(third), await used(app)]).toEqual(['1', '1', null, 2 * COST])
  })

  it.each([
    ['the global scope is switched off', { global: { enabled: false } }],
    ['a limit is set', { baselines: { personal: { write: { '1h': 100 } } } }],
  ])('a request that comes again with its key is the same request although %s meanwhile', async (_what, change) => {
    const app = await start()
    expect(replay(await send(app, { key: 'k' }))).toBeNull()
    const patched = await fetch(`${app.admin}/api/quota`, {
      method: 'PATCH',
      headers: { authorization: 'Bearer test-admin-token-0001', 'content-type': 'application/json' },
      body: JSON.stringify(change),
    })
    expect(patched.status).toBe(200)
    expect(replay(await send(app, { key: 'k' }))).toBe('1')
    expect(await used(app)).toBe(COST)
  })

  it('a request that comes again with its key is let through in shadow, whatever its body', async () => {
    const app = await start(`quota: { shadow: true }${RULES}`)
    await send(app, { key: 'k' })
    const other = await send(app, { key: 'k', body: 'another' })
    expect([other.status, other.headers.get('x-tollgate-shadow'), await used(app)]).toEqual([200, 'would-refuse', COST])
    const shadowed = app.observations.filter((seen) => seen.type === 'settled' && seen.kind === 'shadowed')
    expect(shadowed).toMatchObject([{ tokens: 0, refusedBy: 'key' }])
  })
})

describe('on two gateways with one store', () => {
  let redis: Awaited<ReturnType<typeof sharedRedis>>
  beforeAll(async () => {
    redis = await sharedRedis()
  })

  it('many at once are charged once, also if the reply of the store is lost', async () => {
    const proxy = await startFaultProxy(Number(new URL(redis.url).port))
    const more = `store_options: { prefix: ${redis.prefix}, deadline: 5s }${RULES.replace('replays: 2', 'replays: 100')}`
    const apps = [await start(more, redis.url), await start(more, redis.url.replace(/:\d+/, `:${proxy.port}`))] as const
    for (const key of ['a', 'b', 'c']) {
      const dropped = proxy.dropped
      proxy.dropReply({ containing: 'once:' })
      const sent = Array.from({ length: 40 }, (_, i) => send(apps[i % 2] as RunningApp, { key }))
      const responses = await Promise.all(sent)
      expect(responses.map(({ status }) => status)).toEqual(sent.map(() => 200))
      expect(responses.filter((response) => replay(response) === null)).toHaveLength(1)
      expect(proxy.dropped).toBeGreaterThan(dropped)
    }
    expect(upstream.seen).toHaveLength(3 * 40)
    expect(await used(apps[0])).toBe(3 * COST)
  })
})

/** Sends a request that asks whether its body is wanted. @returns all that came */
function expecting(app: RunningApp, key: string, body: string): Promise<string> {
  const { authorization } = bearer('alice')
  const head = [`Host: ${new URL(app.url).host}`, `Authorization: ${authorization}`, 'Content-Type: application/json']
  head.push(`Idempotency-Key: ${key}`, `Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close')
  return rawExchange(app.url, `POST /tickets HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`)
}
