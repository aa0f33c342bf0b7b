import { pipeline, Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeySetStore } from '../../src/control/kept-key-sets.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import {
  type Bench,
  bench,
  claims,
  ecKey,
  jwt,
  keySet,
  NOW,
  rsaKey,
  serve,
  serveJson,
  type TestServer,
} from './support.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const one = ecKey('one')
const two = ecKey('two')
let server: TestServer
let open: Bench[]

beforeEach(async () => {
  server = await serve(serveJson(keySet(one)))
  open = []
})
afterEach(async () => {
  for (const { auth } of open) auth.close()
})

/** Nothing is remembered of tokens here, so that each question reaches the keys. The tokens live for two days. */
async function start(url = server.url): Promise<Bench> {
  const gateway = await bench([{ keys: { kind: 'url', url } }], { cache: { max: 0, ttlMs: 0 } })
  open.push(gateway)
  return gateway
}

const token = (key = one, more = {}) => jwt({ key, payload: claims({ exp: NOW / 1000 + 48 * 3600, ...more }) })
const down = () => (server.answer = (_, response) => response.writeHead(500).end())

it('keys by URL are fetched once and used for ten minutes', async () => {
  const gateway = await start()
  for (let i = 0; i < 3; i++) expect(await gateway.outcome(token())).toBe('alice')
  gateway.time += 10 * MINUTE - 1
  expect(await gateway.outcome(token())).toBe('alice')
  expect(server.hits).toBe(1)
  gateway.time += 1
  expect(await gateway.outcome(token())).toBe('alice')
  expect(server.hits).toBe(2)
  expect(gateway.seen).toContainEqual({ type: 'jwks_fetched', issuer: 'https://id.example.org', keys: 1 })
}, 60_000)

it('keys by URL are fetched by a connection of its own each time, so that a change of the name is followed', async () => {
  const sockets = new Set<unknown>()
  server.answer = (request, response) => {
    sockets.add(request.socket)
    response.setHeader('Keep-Alive', 'timeout=600')
    serveJson(keySet(one))(request, response)
  }
  const gateway = await start()
  for (let i = 0; i < 3; i++) {
    expect(await gateway.outcome(token())).toBe('alice')
    gateway.time += 10 * MINUTE
  }
  expect(sockets.size).toBe(3)
})

it.each([
  ['max-age=3600', HOUR],
  ['public, MAX-AGE=3600, must-revalidate', HOUR],
  ['max-age="3600"', HOUR],
  ['max-age=0', MINUTE],
  ['max-age=1', MINUTE],
  ['max-age=99999999999999999999', 24 * HOUR],
  ['s-maxage=5', 10 * MINUTE],
  ['no-store', 10 * MINUTE],
])(
  'keys by URL are used for as long as Cache-Control: %s says, between a minute and a day',
  async (cacheControl, fresh) => {
    server.answer = serveJson(keySet(one), { 'cache-control': cacheControl })
    const gateway = await start()
    await gateway.outcome(token())
    gateway.time += fresh - 1
    await gateway.outcome(token())
    expect(server.hits).toBe(1)
    gateway.time += 1
    await gateway.outcome(token())
    expect(server.hits).toBe(2)
  },
)

it('keys by URL are shared by the audiences of one issuer', async () => {
  const keys = { kind: 'url', url: server.url } as const
  const gateway = await bench([{ keys, audiences: ['a'] }, { keys }])
  open.push(gateway)
  expect(await gateway.outcome(token())).toBe('alice')
  expect(server.hits).toBe(1)
})

it('keys by URL need not be there at the start: the gateway says 503 and asks again two seconds later', async () => {
  down()
  const gateway = await start()
  expect(await gateway.ask(token())).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '2' } })
  for (let i = 0; i < 20; i++) await gateway.ask(token())
  expect(server.hits).toBe(1)
  server.answer = serveJson(keySet(one))
  gateway.time += 2000
  expect(await gateway.outcome(token())).toBe('alice')
})

it('keys by URL are asked for once by many who wait together', async () => {
  server.answer = (request, response) => setTimeout(() => serveJson(keySet(one))(request, response), 50)
  const gateway = await start()
  const users = await Promise.all(
    Array.from({ length: 50 }, (_, i) => gateway.outcome(jwt({ key: one, payload: claims({ sub: `user-${i}` }) }))),
  )
  expect(new Set(users).size).toBe(50)
  expect(server.hits).toBe(1)
})

it('rotation is seen by the first token with a new kid', async () => {
  const gateway = await start()
  expect(await gateway.outcome(token(one))).toBe('alice')
  server.answer = serveJson(keySet(two))
  gateway.time += 30_000
  expect(await gateway.outcome(token(two))).toBe('alice')
  expect(await gateway.outcome(token(one))).toBe('unauthorized')
})

it('rotation takes a removed key out of use when the set is fetched again', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  server.answer = serveJson(keySet(two))
  gateway.time += 10 * MINUTE
  expect(await gateway.outcome(token(one))).toBe('unauthorized')
})

it('rotation that comes just after a fetch is seen at once too, and then by no token later than ten seconds', async () => {
  const gateway = await start()
  const keys = Array.from({ length: 5 }, (_, i) => ecKey(`key-${i}`))
  for (const key of keys.slice(0, 2)) {
    server.answer = serveJson(keySet(key))
    expect(await gateway.outcome(token(key))).toBe('alice')
  }
  server.answer = serveJson(keySet(keys[2] ?? one))
  expect(await gateway.ask(token(keys[2]))).toMatchObject({ user: 'alice' })
  server.answer = serveJson(keySet(keys[3] ?? one))
  expect(await gateway.ask(token(keys[3]))).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '10' } })
  gateway.time += 9999
  expect(await gateway.ask(token(keys[3]))).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '1' } })
  gateway.time += 1
  expect(await gateway.outcome(token(keys[3]))).toBe('alice')
  expect(server.hits).toBe(4)
})

it('rotation is looked for three times at once and each ten seconds, whatever flood of unknown kids comes, and no good token is refused', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  gateway.time += 30_000
  const flood = async (): Promise<Set<string>> => {
    const made = Array.from({ length: 100 }, (_, i) => token({ ...two, jwk: { kid: `unknown-${i}` } }))
    return new Set(await Promise.all(made.map((each) => gateway.outcome(each))))
  }
  for (const hits of [2, 3, 4]) {
    expect(await flood()).toEqual(new Set(['unauthorized']))
    expect(server.hits).toBe(hits)
  }
  // Nobody can know any more whether these are forged.
  expect(await flood()).toEqual(new Set(['overloaded']))
  for (const [ms, hits] of [
    [9999, 4],
    [1, 5],
    [9999, 5],
    [1, 6],
  ] as const) {
    gateway.time += ms
    await flood()
    expect(server.hits).toBe(hits)
    expect(await gateway.outcome(token(one))).toBe('alice')
  }
  server.answer = serveJson(keySet(one, two))
  expect(await gateway.outcome(token(two))).toBe('overloaded')
  gateway.time += 10_000
  expect(await gateway.outcome(token(two))).toBe('alice')
})

it('rotation lets those with a key that was taken out of use know that at once, also where the set may not be asked for now', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  server.answer = serveJson(keySet(two))
  expect(await gateway.outcome(token(two))).toBe('alice')
  for (let i = 0; i < 100; i++) expect(await gateway.outcome(token(one))).toBe('unauthorized')
  expect(server.hits).toBe(3)
  expect(await gateway.outcome(token(ecKey('three')))).toBe('overloaded')
})

it.each(['one', undefined])(
  'rotation under the same kid, %s, is seen by the first token that is signed with the new key',
  async (kid) => {
    const [before, after] = [ecKey(kid), ecKey(kid)]
    server.answer = serveJson(keySet(before))
    const gateway = await start()
    expect(await gateway.outcome(token(before))).toBe('alice')
    server.answer = serveJson(keySet(after))
    expect(await gateway.outcome(token(after))).toBe('alice')
    expect(await gateway.outcome(token(before))).toBe('unauthorized')
    expect(server.hits).toBe(3)
  },
)

it('rotation without a kid is no "no" either while the set may not be asked for', async () => {
  const [before, after] = [ecKey(), ecKey()]
  server.answer = serveJson(keySet(before))
  const gateway = await start()
  for (let i = 0; i < 3; i++) await gateway.outcome(token(ecKey(), { jti: `${i}` }))
  server.answer = serveJson(keySet(after))
  expect(await gateway.ask(token(after))).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '10' } })
  gateway.time += 10_000
  expect(await gateway.outcome(token(after))).toBe('alice')
})

it('rotation is looked for as seldom whatever flood of bad signatures comes, and these are refused', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  const forger = ecKey('one')
  const flood = () =>
    Promise.all(Array.from({ length: 100 }, (_, i) => gateway.outcome(token(forger, { jti: `${i}` }))))
  for (const [ms, hits] of [
    [30_000, 2],
    [0, 3],
    [0, 4],
    [9999, 4],
    [1, 5],
  ] as const) {
    gateway.time += ms
    expect(new Set(await flood())).toEqual(new Set(['unauthorized']))
    expect(server.hits).toBe(hits)
  }
  expect(await gateway.outcome(token(one))).toBe('alice')
})

it('rotation that cannot be looked for is no reason to doubt a bad signature', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  down()
  gateway.time += 30_000
  expect(await gateway.outcome(token(ecKey('one')))).toBe('unauthorized')
  expect(await gateway.outcome(token(one))).toBe('alice')
})

it('rotation is not looked for on behalf of a token that is refused anyway', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  gateway.time += 30_000
  for (const changes of [{ exp: 1 }, { aud: 'other' }, { iss: 'other' }, { sub: '' }]) {
    expect(await gateway.outcome(jwt({ key: two, payload: claims(changes) }))).toBe('unauthorized')
  }
  expect(server.hits).toBe(1)
})

it('rotation is still looked for after the clock was set back', async () => {
  const gateway = await start()
  await gateway.outcome(token(one))
  server.answer = serveJson(keySet(one, two))
  gateway.time -= HOUR
  expect(await gateway.outcome(token(two))).toBe('alice')
})

const long = { exp: NOW / 1000 + 60 * 86_400 }
async function startAhead(): Promise<Bench> {
  const gateway = await start()
  expect(await gateway.outcome(token(one, long))).toBe('alice')
  gateway.time += 30 * 24 * HOUR
  expect(await gateway.outcome(token(one, long))).toBe('alice')
  expect(server.hits).toBe(2)
  return gateway
}

it('keys that came while the clock was ahead are due when it is right again, so that a key which was taken out of use is no good', async () => {
  const gateway = await startAhead()
  server.answer = serveJson(keySet(two))
  gateway.time = NOW + HOUR
  expect(await gateway.outcome(token(one, long))).toBe('unauthorized')
  expect(server.hits).toBe(3)
})

it('keys that came while the clock was ahead are used for 24 hours from then on where the provider fails', async () => {
  const gateway = await startAhead()
  down()
  gateway.time = NOW + HOUR
  expect(await gateway.outcome(token(one, long))).toBe('alice')
  gateway.time += 24 * HOUR - 1
  expect(await gateway.outcome(token(one, long))).toBe('alice')
  gateway.time += 1
  expect(await gateway.outcome(token(one, long))).toBe('overloaded')
})

describe('when the provider fails', () => {
  it('old keys are used for 24 hours more, with an observation of each fetch', async () => {
    const gateway = await start()
    await gateway.outcome(token())
    down()
    gateway.time += 10 * MINUTE
    expect(await gateway.outcome(token())).toBe('alice')
    expect(await gateway.outcome(token())).toBe('alice')
    expect(server.hits).toBe(2)
    expect(gateway.failures()).toEqual([expect.stringMatching(/: answered 500$/)])
    gateway.time += 24 * HOUR - 1
    expect(await gateway.outcome(token())).toBe('alice')
    expect(server.hits).toBe(3)
    gateway.time += 1
    expect(await gateway.outcome(token())).toBe('overloaded')
  })

  it('nobody is told to wait for an hour because the clock was set back by one during the fetch', async () => {
    server.answer = (_, response) => {
      gateway.time -= HOUR
      response.writeHead(500).end()
    }
    const gateway = await start()
    expect(await gateway.ask(token())).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '1' } })
  })

  it('a token with an unknown kid is not called bad: its key may be new', async () => {
    const gateway = await start()
    await gateway.outcome(token())
    down()
    gateway.time += 30_000
    expect(await gateway.ask(token(two))).toMatchObject({ code: 'overloaded', headers: { 'Retry-After': '5' } })
    expect(await gateway.outcome(token(one))).toBe('alice')
    server.answer = serveJson(keySet(one, two))
    gateway.time += 5000
    expect(await gateway.outcome(token(two))).toBe('alice')
    expect(await gateway.outcome(token(ecKey('three')))).toBe('unauthorized')
  })

  it('a token that other rules of its issuer refuse is not called bad either', async () => {
    down()
    const byUrl = { keys: { kind: 'url', url: server.url } } as const
    const other = await serve(serveJson(keySet(ecKey('one'))))
    const byOther = { keys: { kind: 'url', url: other.url } } as const
    for (const issuers of [
      [byUrl, byOther],
      [byOther, byUrl],
    ]) {
      const gateway = await bench(issuers)
      open.push(gateway)
      expect(await gateway.outcome(token())).toBe('overloaded')
    }
  })

  it.each([
    ['no JSON', '<html>\n', /: answered what is no JSON \(.*\): name the address of the key set itself under jwks$/],
    ['JSON without keys', '{"error":"x"}', /not a JSON Web Key Set/],
    ['nothing', '', /: answered what is no JSON/],
  ])('when the provider fails by answering %s, the keys held stay in use', async (_, body, message) => {
    const gateway = await start()
    await gateway.outcome(token())
    server.answer = (_, response) => response.end(body)
    gateway.time += 10 * MINUTE
    expect(await gateway.outcome(token())).toBe('alice')
    expect(gateway.failures()).toEqual([expect.stringMatching(message)])
  })

  it('when the provider fails by refusing connections, the address is told without its query, and the cause', async () => {
    const other = await serve(serveJson(keySet(one)))
    await other.close()
    const gateway = await start(`${other.url}?key=CANARY`)
    expect(await gateway.outcome(token())).toBe('overloaded')
    expect(gateway.failures()).toEqual([expect.stringContaining('ECONNREFUSED')])
    expect(gateway.failures()[0]).toContain(`${other.url}: `)
  })

  it('when the provider fails by redirecting, nobody follows', async () => {
    const target = await serve(serveJson(keySet(one)))
    server.answer = (_, response) => response.writeHead(302, { location: target.url }).end()
    const gateway = await start()
    expect(await gateway.outcome(token())).toBe('overloaded')
    expect(gateway.failures()).toEqual([expect.stringMatching(/: answered 302$/)])
    expect(target.hits).toBe(0)
  })

  it('when the provider fails by sending 100 MB, it is cut off after 256 KiB', async () => {
    let sent = 0
    async function* body() {
      for (; sent < 100 * 1024 * 1024; sent += 64 * 1024) yield Buffer.alloc(64 * 1024, ' ')
    }
    server.answer = (_, response) => pipeline(Readable.from(body()), response, () => {})
    const gateway = await start()
    expect(await gateway.outcome(token())).toBe('overloaded')
    expect(gateway.failures()).toEqual([expect.stringMatching(/: answered more than 256 KiB$/)])
    expect(sent).toBeLessThan(50 * 1024 * 1024)
  })

  it('when the provider fails by sending its answer without end, it is given five seconds', async () => {
    server.answer = (_, response) => {
      const drip = setInterval(() => response.write(' '), 100)
      response.on('close', () => clearInterval(drip))
    }
    const gateway = await start()
    expect(await gateway.outcome(token())).toBe('overloaded')
    expect(gateway.failures()).toEqual([expect.stringMatching(/timeout/)])
  }, 60_000)

  it.each([
    ['there are no keys yet', 500, false],
    ['the kid is unknown', 100, true],
  ])(
    'when the provider fails by answering nothing where %s, %i requests wait for it and the others are told so',
    async (_, most, known) => {
      const before = known ? await start() : null
      await before?.outcome(token())
      const waiting: (() => void)[] = []
      server.answer = (request, response) => waiting.push(() => serveJson(keySet(two))(request, response))
      const asking = before ?? (await start())
      if (known) asking.time += MINUTE
      const fresh = (i: number) => jwt({ key: two, payload: claims({ jti: String(i) }) })
      const responses: string[] = []
      const all = Array.from({ length: 700 }, (_, i) =>
        asking.outcome(fresh(i)).then((outcome) => responses.push(outcome)),
      )
      await expect.poll(() => [responses.length, waiting.length]).toEqual([700 - most, 1])
      expect(new Set(responses)).toEqual(new Set(['overloaded']))
      waiting[0]?.()
      await Promise.all(all)
      expect(responses.filter((answer) => answer === 'alice').length).toBe(most)
      expect(await asking.outcome(fresh(700))).toBe('alice')
    },
  )

  it('when the provider fails by answering nothing when its keys are due, 100 requests wait for it and the others go on with the keys held', async () => {
    const gateway = await start()
    await gateway.outcome(token())
    const waiting: (() => void)[] = []
    server.answer = (request, response) => waiting.push(() => serveJson(keySet(one))(request, response))
    gateway.time += 10 * MINUTE
    // Anybody can write the like: all that it takes is public.
    const forged = (jti: number) => token(one, { jti }).replace(/[^.]+$/, 'A'.repeat(86))
    const forgeries = Array.from({ length: 100 }, (_, i) => gateway.outcome(forged(i)))
    const honest = Array.from({ length: 100 }, () => gateway.outcome(token()))
    expect(new Set(await Promise.all(honest))).toEqual(new Set(['alice']))
    await expect.poll(() => waiting.length).toBe(1)
    waiting[0]?.()
    expect(new Set(await Promise.all(forgeries))).toEqual(new Set(['unauthorized']))
  }, 60_000)

  it('when the provider fails by answering nothing, the keys held are used without waiting for it each time', async () => {
    const gateway = await start()
    await gateway.outcome(token())
    down()
    gateway.time += 10 * MINUTE
    await gateway.outcome(token())
    const waiting: (() => void)[] = []
    server.answer = (request, response) => waiting.push(() => serveJson(keySet(two))(request, response))
    gateway.time += 30_000
    expect(await gateway.outcome(token())).toBe('alice')
    while (waiting.length === 0) await new Promise(setImmediate)
    server.answer = serveJson(keySet(two))
    waiting[0]?.()
    // What it says in the end is in force from then on.
    while ((await gateway.outcome(token())) === 'alice') await new Promise(setImmediate)
    expect(await gateway.outcome(token(two))).toBe('alice')
    expect(server.hits).toBe(4)
  })

  it('when the provider fails by serving weak keys among good ones, those are left out and told', async () => {
    const weak = rsaKey('weak', 1024)
    server.answer = serveJson(keySet(one, weak))
    const gateway = await start()
    expect(await gateway.outcome(token())).toBe('alice')
    expect(gateway.refusedKeys()).toEqual([expect.stringMatching(/^key 2: RSA key of 1024 bits/)])
  })

  it('when the provider fails by serving no key at all, its tokens are refused and that is told', async () => {
    server.answer = serveJson(keySet())
    const gateway = await start()
    expect(await gateway.outcome(token())).toBe('unauthorized')
    expect(gateway.refusedKeys()).toEqual([expect.stringMatching(/^the set has no key that can be used.*401: publish/)])
  })

  it('when the provider fails by serving the secret of an HMAC, it is no key', async () => {
    const k = Buffer.alloc(32, 7)
    server.answer = serveJson({ keys: [one.jwk, { kty: 'oct', kid: 'mac', alg: 'HS256', k: k.toString('base64url') }] })
    const gateway = await start()
    const forged = jwt({ header: { alg: 'HS256', kid: 'mac' }, signAs: 'HS256', key: k.toString('latin1') })
    expect(await gateway.outcome(token())).toBe('alice')
    expect(await gateway.outcome(forged)).toBe('unauthorized')
    expect(gateway.refusedKeys()).toEqual([expect.stringMatching(/^key 2: a symmetric key/)])
  })
})

it('closing gives up a fetch under way, silently, and starts no other', async () => {
  const waiting: (() => void)[] = []
  server.answer = (request, response) => waiting.push(() => serveJson(keySet(one))(request, response))
  const gateway = await start()
  const answer = gateway.outcome(token())
  while (waiting.length === 0) await new Promise(setImmediate)
  gateway.auth.close()
  waiting[0]?.()
  expect(await answer).toBe('overloaded')
  gateway.time += HOUR
  expect(await gateway.outcome(token())).toBe('overloaded')
  expect(gateway.failures()).toEqual([])
  expect(server.hits).toBe(1)
})

describe('key sets that are kept for other gateways', () => {
  /** As a store has them, with the moment of the clock at which each was fetched. */
  const stored = new Map<string, { readonly text: string; readonly at: number }>()
  let at = NOW
  let isAway = false
  const keySets: KeySetStore = {
    keepKeySet: async (id, text, ageMs) => {
      if (isAway) throw new StoreError('away', 'connection', 'no')
      if ((stored.get(id)?.at ?? 0) <= at - ageMs) stored.set(id, { text, at: at - ageMs })
    },
    readKeySet: async (id) => {
      const found = stored.get(id)
      return found === undefined ? null : { text: found.text, ageMs: at - found.at }
    },
  }
  beforeEach(() => {
    stored.clear()
    at = NOW
    isAway = false
  })
  /** A gateway that starts so many milliseconds after the first ones. */
  async function startLater(ms: number, url = server.url): Promise<Bench> {
    at = NOW + ms
    const options = { cache: { max: 0, ttlMs: 0 }, keySets, now: () => at }
    const gateway = await bench([{ keys: { kind: 'url', url } }], options)
    open.push(gateway)
    return gateway
  }
  const keptKeys = () => [...stored.values()].map(({ text }) => JSON.parse(text) as unknown)

  it('key sets that are kept for other gateways are what a gateway begins with while the provider is away, and it says so', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toEqual([keySet(one)])
    down()
    const later = await startLater(3 * HOUR)
    await expect.poll(() => later.outcome(token())).toBe('alice')
    expect(later.seen).toContainEqual({
      type: 'jwks_recalled',
      issuer: 'https://id.example.org',
      keys: 1,
      ageMs: 3 * HOUR,
    })
    expect([later.auth.isIncomplete(), later.auth.withoutKeys()]).toEqual([false, []])
  })

  it('key sets that are kept for other gateways are none where the provider sends more than is kept: nobody begins with the keys of before', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toEqual([keySet(one)])
    // 240 KB as they are sent, and a megabyte as they are written anew.
    const padding = Array(48_000).fill('1e20').join()
    server.answer = (_, response) => response.end(JSON.stringify(keySet(two)).replace('{', `{"padding":[${padding}],`))
    const fetching = await startLater(2 * HOUR)
    await expect.poll(() => fetching.auth.withoutKeys()).toEqual([])
    await expect.poll(keptKeys).toEqual([keySet()])
  })

  it('key sets that are kept for other gateways are used by a gateway at once while the provider is silent, without a wait for its fetch', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toHaveLength(1)
    server.answer = () => {}
    const later = await startLater(HOUR)
    await expect.poll(() => later.auth.isIncomplete()).toBe(false)
    expect(await later.outcome(token())).toBe('alice')
    expect(later.failures()).toEqual([])
  })

  it('key sets that are kept for other gateways give way to what the gateway fetches itself, and do not say that a key is unknown', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toHaveLength(1)
    down()
    const later = await startLater(HOUR)
    await expect.poll(() => later.outcome(token())).toBe('alice')
    expect(await later.outcome(token(two))).toBe('overloaded')
    server.answer = serveJson(keySet(two))
    at += MINUTE
    expect(await later.outcome(token(two))).toBe('alice')
    expect(await later.outcome(token(one))).toBe('unauthorized')
    await expect.poll(keptKeys).toEqual([keySet(two)])
  })

  it('key sets that are kept for other gateways stay those that the provider sent last when a gateway brings older ones whose store was away', async () => {
    isAway = true
    const first = await startLater(0)
    await expect.poll(() => first.auth.withoutKeys()).toEqual([])
    isAway = false
    server.answer = serveJson(keySet(two))
    await startLater(HOUR)
    await expect.poll(keptKeys).toEqual([keySet(two)])
    await first.auth.prepare()
    expect(keptKeys()).toEqual([keySet(two)])
  })

  it('key sets that are kept for other gateways are as old as a cache on the way says', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toEqual([keySet(one)])
    server.answer = (_, response) => response.setHeader('Age', '600').end(JSON.stringify(keySet(two)))
    const later = await startLater(5 * MINUTE)
    await expect.poll(() => later.outcome(token(two))).toBe('alice')
    expect(keptKeys()).toEqual([keySet(one)])
  })

  it('key sets that are kept for other gateways are no good a day after they were fetched', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toHaveLength(1)
    down()
    const soon = await startLater(24 * HOUR - 1)
    await expect.poll(() => soon.outcome(token())).toBe('alice')
    at += 1
    expect(await soon.outcome(token())).toBe('overloaded')
    const late = await startLater(24 * HOUR)
    expect(await late.outcome(token())).toBe('overloaded')
    expect(late.auth.isIncomplete()).toBe(true)
  })

  it('key sets that are kept for other gateways have no keys either once the provider has none', async () => {
    await startLater(0)
    server.answer = serveJson(keySet())
    await startLater(HOUR)
    await expect.poll(keptKeys).toEqual([keySet()])
    down()
    const later = await startLater(2 * HOUR)
    await expect.poll(() => later.auth.isIncomplete()).toBe(false)
    expect(later.auth.withoutKeys()).toEqual(['https://id.example.org'])
  })

  it('key sets that are kept for other gateways are those of the same issuer at the same address only, and what is no key set counts as none', async () => {
    await startLater(0)
    await expect.poll(keptKeys).toHaveLength(1)
    down()
    const elsewhere = await startLater(0, `${server.url}?other`)
    expect(await elsewhere.outcome(token())).toBe('overloaded')
    for (const id of stored.keys()) stored.set(id, { text: '{"keys":', at })
    const broken = await startLater(0)
    expect(await broken.outcome(token())).toBe('overloaded')
  })
})

const OTHERS = {
  audiences: ['others'],
  keys: { kind: 'secret', secret: 'y'.repeat(32) },
  algorithms: ['HS256'],
} as const
const ours = () => ({ keys: { kind: 'url', url: server.url } }) as const
const uncached = { cache: { max: 0, ttlMs: 0 } }

it('a next configuration goes on with the keys that were fetched, while the identity provider is out', async () => {
  const before = await start()
  expect(await before.outcome(token())).toBe('alice')
  down()
  const after = await bench([ours(), OTHERS], uncached, before)
  open.push(after)
  before.auth.close(after.auth)
  expect(await after.outcome(token())).toBe('alice')
  expect(server.hits).toBe(1)
})

it('a next configuration is told of keys that change from then on', async () => {
  const before = await start()
  await before.outcome(token())
  const after = await bench([ours(), OTHERS], uncached, before)
  open.push(after)
  before.auth.close(after.auth)
  server.answer = serveJson(keySet(two))
  before.time += HOUR
  expect(await after.outcome(token(two))).toBe('alice')
})

it('a next configuration that is refused leaves the keys to the one in force', async () => {
  const before = await start()
  await before.outcome(token())
  await expect(bench([ours(), { algorithms: [] }], uncached, before)).rejects.toThrow('algorithms: is empty')
  server.answer = serveJson(keySet(two))
  before.time += HOUR
  expect(await before.outcome(token(two))).toBe('alice')
})
