import { once } from 'node:events'
import net from 'node:net'
import fc from 'fast-check'
import { beforeAll, expect, it, vi } from 'vitest'
import { canonicalTarget } from '../../../src/routing/target.ts'
import { type RunningApp, startApp, yaml } from '../../e2e/harness.ts'
import { jwtOf } from '../../e2e/jwt.ts'
import { type RawUpstream, startRawUpstream } from '../../edge/raw-upstream.ts'
import { startNginx } from '../../setup/nginx.ts'
import { runs } from '../../setup/runs.ts'
import type { SystemProxy } from '../../setup/system-proxy.ts'

/**
 * nginx, as an upstream that many have, says which path a spelling is: the gateway must charge what that path costs, or
 * refuse. Whatever matches no rule is let through for nothing, so that every gap is a free ride.
 */
let nginx: SystemProxy
let upstream: RawUpstream
let app: RunningApp
beforeAll(async () => {
  nginx = await startNginx('default_type text/plain; location / { return 200 "$uri"; }')
  upstream = await startRawUpstream()
  app = await startApp(
    yaml(
      upstream.url,
      `
quota: { baselines: { personal: { read: { 1h: 1000000000 } }, global: { read: { 1h: 1000000000 } } } }
routes:
  - { match: GET /api/search, category: read, cost: 7 }
  - { match: GET /api/:name, category: read, cost: 5 }
  - { match: GET /api/*, category: read, cost: 3 }
  - { match: GET /api/open, public: true }
unmatched: forward`,
    ),
  )
})

/** The rules once more, on what nginx made of the path. */
function costOf(path: string): number {
  if (path === '/api/open') return 0
  if (path === '/api/search') return 7
  if (/^\/api\/[^/]+$/.test(path)) return 5
  return path.startsWith('/api/') ? 3 : 0
}

/** One request on a connection of its own. @returns the status, 0 where none came, and the body */
async function ask(port: number, target: string, fields = ''): Promise<{ status: number; body: string }> {
  const socket = net.connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: a\r\n${fields}Connection: close\r\n\r\n`, 'latin1'))
  await once(socket, 'close')
  const text = Buffer.concat(chunks).toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), body: text.slice(end + 4) }
}

const RUNS = runs(1500)
const CREDENTIAL = `Authorization: Bearer ${jwtOf('alice')}\r\n`

/** What the gateway makes of a spelling: the cost and the forwarded target, or the status of its refusal. */
async function throughGateway(target: string): Promise<{ refused: number } | { cost: number; forwarded: string }> {
  const [seen, recorded] = [upstream.lines.length, app.observations.length]
  const { status } = await ask(Number(new URL(app.url).port), target, CREDENTIAL)
  const record = () => app.observations.slice(recorded).find((o) => o.type === 'request')
  // The client has its answer a moment before it is recorded.
  if (status === 200) await vi.waitUntil(record, { interval: 1, timeout: 20_000 })
  const done = record()
  app.observations.length = 0
  const lines = upstream.lines.slice(seen)
  upstream.lines.length = 0
  if (status !== 200 || done?.type !== 'request') return { refused: lines.length === 0 ? status : -1 }
  return { cost: done.cost, forwarded: lines[0]?.split(' ')[1] ?? '' }
}

/** @returns whether it was charged */
async function expectNoFreeRide(target: string): Promise<boolean> {
  const ours = await throughGateway(target)
  if ('refused' in ours) {
    expect([400, 404]).toContain(ours.refused)
    return false
  }
  const theirs = await ask(nginx.port, target)
  // Where nginx refuses there is no route to be priced.
  if (theirs.status === 200) expect({ target, cost: ours.cost }).toEqual({ target, cost: costOf(theirs.body) })
  const again = canonicalTarget(ours.forwarded, { encodedSlash: false, emptySegment: false, semicolon: false })
  expect(again).toMatchObject({ path: ours.forwarded.replace(/\?.*$/, '') })
  const forwarded = await ask(nginx.port, ours.forwarded)
  expect({ target, ...forwarded }).toEqual({ target, ...theirs })
  return ours.cost > 0
}

const KNOWN = [
  '//api/search',
  '/api//search',
  '/api/./search',
  '/x/../api/search',
  '/x/%2e%2e/api/search',
  '/x/..%2fapi/search',
  '/x%2f..%2fapi/search',
  '/api%2fsearch',
  '/api/%73earch',
  '/%61pi/search',
  '/api/search#x',
  'http://evil/api/search',
  '/%2e/api/search',
  '/api/open/../search',
  '/api/search?/../open',
  '/api/search%3f',
  '/api/search;a=b',
  '/api/..;/search',
  '/api/search/',
  '/api/search.',
  '/api/search%20',
  '/api/search%00',
  '/api/search%0d%0a',
  '/API/search',
  '/api/%2573earch',
  '/api/%c0%aesearch',
  '/api/%e2%80%8bsearch',
  '/api/\u017fearch',
  '/api\\search',
  '/api%5csearch',
  '/api/%zz',
  '/api/search%',
  '/',
  '/api',
  '/api/',
]

it.each(KNOWN)('%s costs what nginx takes it for, or is refused', async (target) => {
  await expectNoFreeRide(target)
})

const escaped = (text: string, upper: boolean): string =>
  [...Buffer.from(text, 'latin1')]
    .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
    .map((text) => (upper ? text.toUpperCase() : text))
    .join('')

/** Pieces that servers fold away, or trip over. */
const PIECE = fc.oneof(
  fc.constantFrom(
    ...[
      '/',
      '//',
      '/./',
      '/../',
      '/x/../',
      '/x/%2e%2e/',
      '/%2e/',
      '/.%2e/',
      '/..%2f',
      '%2f',
      '%2F',
      '%5c',
      '\\',
      '..\\',
    ],
    ...[
      ';',
      ';a=b',
      '/..;/',
      '%3b',
      '.',
      '..',
      '%2e',
      '%20',
      '%09',
      '%00',
      '%0a',
      '#',
      '#/',
      '?',
      '?a=/../',
      '%3f',
      '%23',
      '%25',
      '%',
    ],
    ...[
      '%c0%af',
      '%c0%ae',
      '%e0%80%af',
      '%ef%bc%8f',
      '%u002f',
      '%zz',
      '+',
      '*',
      ':',
      '@',
      '~',
      "'",
      'api',
      'open',
      'search',
      'x',
    ],
  ),
  fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  fc
    .tuple(fc.integer({ min: 0, max: 255 }), fc.boolean())
    .map(([code, upper]) => escaped(String.fromCharCode(code), upper)),
)

type Change = (path: string) => string

const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.nat(40), PIECE).map(
    ([at, piece]) =>
      (path: string) =>
        path.slice(0, at) + piece + path.slice(at),
  ),
  fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 3 }), fc.boolean()).map(
    ([at, length, upper]) =>
      (path: string) =>
        path.slice(0, at) + escaped(path.slice(at, at + length), upper) + path.slice(at + length),
  ),
  // Escaped once more.
  fc.nat(3).map((nth) => (path: string) => {
    let seen = 0
    return path.replace(/%/g, (sign) => (seen++ === nth ? '%25' : sign))
  }),
  fc
    .nat(40)
    .map((at) => (path: string) => path.slice(0, at) + path.slice(at, at + 1).toUpperCase() + path.slice(at + 1)),
  fc
    .constantFrom('http://evil', 'https://a', '//evil', '/.', '/x/..', '')
    .map((prefix) => (path: string) => prefix + path),
)

const SPELLING = fc
  .tuple(
    fc.constantFrom('/api/search', '/api/open', '/api/items', '/api/items/1', '/open', '/api/', '/api'),
    fc.array(CHANGE, { maxLength: 4 }),
  )
  .map(([path, changes]) => changes.reduce<string>((text, change) => change(text), path))
  // These end the request line, which is another matter.
  .filter((target) => !/[\0\r\n ]/.test(target))

it('no spelling of a path is cheaper than the path that nginx takes it for', async () => {
  let charged = 0
  const property = fc.asyncProperty(SPELLING, async (target) => {
    if (await expectNoFreeRide(target)) charged++
  })
  await fc.assert(property, { numRuns: RUNS })
  // Or it says nothing.
  expect(charged).toBeGreaterThan(RUNS / 10)
}, 120_000)
