import { readFileSync, rmSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLog } from '../../src/observe/log.ts'
import { listening } from '../setup/listening.ts'
import { type RunningApp, SECRET, startApp } from './harness.ts'
import { jwtOf } from './jwt.ts'
import { rawExchange, statusesIn } from './raw.ts'

/** A credential that the gateway reads is in nothing that it sends to the upstream, answers, observes or logs. */

const JWT = jwtOf('alice')
/** Forged: of the right shape, and nobody's. */
const BAD = `${JWT.slice(0, -8)}AAAAAAAA`
/** What no other text holds, also if a part of the credential were cut off. */
const MARKS = [JWT, BAD].flatMap((jwt) =>
  jwt
    .split('.')
    .slice(1)
    .map((part) => part.slice(10, 36)),
)

let seen: Buffer[]
let upstream: net.Server
let app: RunningApp
const logFile = join(tmpdir(), `tollgate-leaks-${process.pid}.log`)

beforeEach(async () => {
  seen = []
  upstream = net.createServer((socket) => {
    socket
      .on('error', () => {})
      .on('data', (piece: Buffer) => {
        seen.push(piece)
        const heads = piece.toString('latin1').split('\r\n\r\n').length - 1
        socket.write('HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nok'.repeat(heads))
      })
  })
  await listening(upstream)
})
afterEach(async () => {
  rmSync(logFile, { force: true })
})

async function start(url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`): Promise<void> {
  app = await startApp(`
listen: 127.0.0.1:0
upstream: { url: "${url}", connect_timeout: 500ms }
store: "sqlite::memory:"
admin: { listen: "127.0.0.1:0", token: test-admin-token-0001 }
auth:
  jwt: [{ issuer: "https://id.test", audience: tollgate, secret: ${SECRET}, algorithms: [HS256] }]
  from: [bearer, { header: X-API-Key }, { header: Authorization, scheme: Token }, { cookie: session }, { query: access_token }, { websocket_protocol: bearer }]
edge: { lenient: [underscore_names] }
log: { level: fatal, requests: none }
quota: { baselines: { personal: { read: { 1h: 60 } }, global: { read: { 1h: 100000 } } } }
routes:
  - { match: "* /a", category: read }
  - { match: "* /pub", public: true }
  - { match: "* /open", category: read, anonymous: true }`)
}

const pick = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)] as T
const anyCase = (text: string) => text.replace(/[a-z]/gi, (c) => pick([c.toLowerCase(), c.toUpperCase()]))
const anyEscape = (text: string) =>
  text.replace(/./g, (c) =>
    pick([c, c, c, `%${c.charCodeAt(0).toString(16)}`, `%${c.charCodeAt(0).toString(16).toUpperCase()}`]),
  )
const noise = () => pick(['', 'a=1&', '&', 'x=%20&', 'access_token2=y&', 'q=100%&'])

interface Asked {
  readonly target: string
  readonly fields: readonly string[]
}

/** One request with a credential, in some place and some spelling. */
function spelling(path: string, jwt: string): Asked {
  const query = () =>
    `${path}?${noise()}${anyEscape('access_token')}=${anyEscape(jwt)}${pick(['', '&', '&z', '&a=%zz'])}`
  const url = () => `https://api.test${query()}${pick(['', '#top'])}`
  const places: (() => Asked)[] = [
    () => ({ target: path, fields: [`${anyCase('Authorization')}: ${anyCase('Bearer')}${pick([' ', '  '])}${jwt}`] }),
    () => ({ target: path, fields: [`${anyCase('Authorization')}: ${anyCase('Token')} ${jwt}`] }),
    () => ({ target: path, fields: [`${anyCase('X-API-Key')}:${pick(['', ' ', '\t'])}${jwt}${pick(['', ' '])}`] }),
    () => ({ target: path, fields: [`X_Api-Key: ${jwt}`, `X-API-Key: ${jwt}`] }),
    () => ({
      target: path,
      fields: [
        `Cookie: ${pick(['', 'a=1; ', 'b=";', ' ;;'])}session${pick(['', ' '])}=${pick(['', ' ', '"'])}${jwt}${pick(['', '; c=2', '"'])}`,
      ],
    }),
    () => ({ target: path, fields: ['Cookie: a=1', `${anyCase('Cookie')}: session=${jwt}`, `cookie: session=${jwt}`] }),
    () => ({ target: query(), fields: [] }),
    () => ({ target: query(), fields: [`Referer: ${url()}`] }),
    () => ({ target: `https://api.test${query()}`, fields: [] }),
    () => ({
      target: path,
      fields: [`Sec-WebSocket-Protocol: bearer${pick([',', ' , '])}${jwt}${pick(['', ', chat'])}`],
    }),
    () => ({ target: path, fields: ['Sec-WebSocket-Protocol: chat, bearer', `Sec-WebSocket-Protocol: ${jwt}`] }),
  ]
  return pick(places)()
}

const UPGRADE = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']

function bytes({ target, fields }: Asked, { isLast = true, isUpgrade = false, method = 'GET' } = {}): string {
  const connection = isUpgrade ? ['Connection: Upgrade', ...UPGRADE] : isLast ? ['Connection: close'] : []
  return [`${method} ${target} HTTP/1.1`, 'Host: api.test', ...fields, ...connection, '', ''].join('\r\n')
}

/** However a part of it is encoded. */
function expectNoCredential(what: string, text: string): void {
  const plain = text.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  for (const mark of MARKS) {
    expect(text.includes(mark) || plain.includes(mark), `${what} holds a credential: ${text.slice(0, 2000)}`).toBe(
      false,
    )
  }
}

async function logged(): Promise<string> {
  const log = createLog({ level: 'trace', destination: logFile })
  for (const observation of app.observations) log.observer(observation)
  await log.close()
  return readFileSync(logFile, 'utf8')
}

async function expectNowhere(): Promise<void> {
  expectNoCredential('the upstream', Buffer.concat(seen).toString('latin1'))
  expectNoCredential('an observation', JSON.stringify(app.observations))
  expectNoCredential('the log', await logged())
  expectNoCredential('a metric', await (await fetch(`${app.admin}/metrics`)).text())
}

it('no credential leaves the gateway in 100 spellings, good and bad, on charged, public, open and unknown paths, also used up', async () => {
  await start()
  const statuses = new Map<number, number>()
  for (let i = 0; i < 100; i++) {
    const asked = spelling(pick(['/a', '/a', '/pub', '/open', '/none']), pick([JWT, JWT, BAD]))
    const response = await rawExchange(
      app.url,
      Buffer.from(bytes(asked, { method: pick(['GET', 'POST', 'HEAD']) }), 'latin1'),
      150,
    )
    const [status = 0] = statusesIn(response)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    expectNoCredential(`the response to ${JSON.stringify(asked)}`, response)
  }
  for (const status of [302, 401, 404]) expect(statuses.get(status) ?? 0, `${status}`).toBeGreaterThan(3)
  await expectNowhere()
}, 240_000)

it('no credential of a handshake leaves the gateway, whatever becomes of it', async () => {
  await start()
  for (let i = 0; i < 30; i++) {
    const asked = spelling(pick(['/a', '/pub', '/open']), pick([JWT, BAD]))
    expectNoCredential('the response', await rawExchange(app.url, bytes(asked, { isUpgrade: true }), 150))
  }
  expect(seen.length).toBeGreaterThan(5)
  await expectNowhere()
}, 240_000)

it('no credential leaves the gateway of requests that one connection sends without waiting, each of its own user', async () => {
  await start()
  const bob = jwtOf('bob')
  const pipeline = [
    { target: `/a?access_token=${JWT}`, fields: [] },
    { target: '/a', fields: [`X-API-Key: ${bob}`] },
    { target: '/a', fields: [`Cookie: session=${JWT}`] },
    { target: '/open', fields: [] },
    { target: '/a', fields: [`Authorization: Token ${bob}`] },
  ]
  const text = pipeline.map((asked, i) => bytes(asked, { isLast: i === pipeline.length - 1 })).join('')
  expect(statusesIn(await rawExchange(app.url, text))).toEqual([302, 302, 302, 302, 302])
  expect(app.requests().map(({ user }) => user)).toEqual(['alice', 'bob', 'alice', 'address:127.0.0.1', 'bob'])
  expectNoCredential('the upstream', Buffer.concat(seen).toString('latin1'))
  expect(Buffer.concat(seen).toString('latin1')).not.toContain(bob.split('.')[2])
  await expectNowhere()
})

it('no credential leaves the gateway if the upstream cannot be reached, or is no HTTP', async () => {
  await start('http://127.0.0.1:1')
  for (let i = 0; i < 20; i++) {
    const response = await rawExchange(app.url, Buffer.from(bytes(spelling('/a', JWT)), 'latin1'), 150)
    expect([502, 400, 401]).toContain(statusesIn(response)[0])
    expectNoCredential('the response', response)
  }
  await expectNowhere()
}, 120_000)
