import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/** What a decision was read from is what the upstream gets, or the request is refused. */

let upstream: Upstream
let app: RunningApp
beforeAll(async () => {
  upstream = await startUpstream()
  app = await startApp(
    yaml(
      upstream.url,
      `quota: { baselines: { personal: { read: { 1h: 1000000 } }, global: { read: { 1h: 1000000 } } } }
edge: { lenient: [underscore_names] }
cors: { origins: [https://app.test] }
routes:
  - { match: POST /once, category: read, cost: 10, idempotency: { header: Idempotency-Key, for: 1h, replays: 5 } }
  - { match: GET /mine, category: read, cost: 1 }`,
    ).replace(
      'gateway_tokens: true',
      'gateway_tokens: true\n  unverified_keys: { header: X-API-Key }\n  anonymous: { by: address }',
    ),
  )
})
afterAll(async () => {
  await app.stop()
  await upstream.close()
})

const used = () => app.observations.reduce((sum, o) => sum + (o.type === 'tokens_charged' ? o.cost : 0), 0)

async function send(line: string, ...fields: string[]): Promise<number[]> {
  return statusesIn(
    await rawExchange(app.url, `${line} HTTP/1.1\r\n${['Host: a', ...fields].join('\r\n')}\r\n\r\n`, 50),
  )
}

describe('a field that Connection names', () => {
  it('is none of those that the configuration decides by: six effects are not to be had for one charge', async () => {
    const before = [upstream.seen.length, used()]
    const key = ['Idempotency-Key: k1', `Authorization: Bearer ${jwtOf('alice')}`, 'Content-Length: 0']
    for (let i = 0; i < 6; i++) {
      expect(await send('POST /once', 'Connection: keep-alive, Idempotency-Key', ...key)).toEqual([400])
    }
    expect([upstream.seen.length, used()]).toEqual(before)
    expect(await send('POST /once', ...key)).toEqual([200])
    expect(upstream.seen.at(-1)?.headers['idempotency-key']).toBe('k1')
  })

  it('is no key that only the upstream can check, by which a caller without one would be a user each time', async () => {
    expect(await send('GET /mine', 'X-API-Key: r1', 'Connection: close, X-API-Key')).toEqual([400])
    expect(await send('GET /mine', 'X-API-Key: r1')).toEqual([200])
    expect(upstream.seen.at(-1)?.headers['x-api-key']).toBe('r1')
  })

  it('is not one of more than 256 octets', async () => {
    expect(await send('GET /mine', `Connection: ${'a,'.repeat(200)}`)).toEqual([400])
  })
})

it('the name of a field that decides has no underscore, where other names may', async () => {
  expect(await send('POST /once', 'Idempotency_Key: k2', 'Content-Length: 0')).toEqual([400])
  expect(await send('GET /mine', 'x_api_key: r2')).toEqual([400])
  expect(await send('GET /mine', 'x_other: 1')).toEqual([200])
  expect(upstream.seen.at(-1)?.headers.x_other).toBe('1')
})

const FIELDS: readonly (readonly [name: string, value: string])[] = [
  ['Idempotency-Key', 'k-property'],
  ['X-API-Key', 'key-property'],
  ['Origin', 'https://app.test'],
]

it('each is forwarded as it was judged, however it is spelt and whatever Connection names, or the request is 400', async () => {
  const spelling = (name: string) =>
    fc.constantFrom(name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_'), ` ${name}`.trim())
  const request = fc.constantFrom(...FIELDS).chain(([name, value]) =>
    fc.record({
      name: fc.constant(name),
      value: fc.constant(value),
      written: spelling(name),
      isTwice: fc.boolean(),
      nominated: fc.option(spelling(name), { nil: null }),
      among: fc.constantFrom('', 'keep-alive, ', 'close,', 'x-a ,\t'),
    }),
  )
  await fc.assert(
    fc.asyncProperty(request, async ({ name, value, written, isTwice, nominated, among }) => {
      const before = upstream.seen.length
      const fields = [`${written}: ${value}`, ...(isTwice ? [`${name}: ${value}`] : [])]
      if (nominated !== null) fields.push(`Connection: ${among}${nominated}`)
      const [status] = await send('POST /once', ...fields, 'Content-Length: 0')
      const seen = upstream.seen.slice(before)
      if (status === 400 || status === 401) expect(seen).toEqual([])
      else expect([seen.length, String(seen[0]?.headers[name.toLowerCase()]).split(', ')[0]]).toEqual([1, value])
    }),
    { numRuns: 150 },
  )
}, 60_000)
