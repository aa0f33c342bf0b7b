import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { rawRequest, send, startService } from './service.ts'

/** The first day behind a gateway: a trial, or a log, and then the file that is offered, as it is. */

const SOON = { timeout: 90_000, interval: 25 }
const MAIN = resolve('src/main.ts')
const LONG = 180_000

const folder = tempFolder()
let service: Server
let upstream: number
const children: ChildProcess[] = []
beforeAll(async () => {
  ;({ server: service, port: upstream } = await startService())
})
afterAll(async () => {
  for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  service.close()
})

interface Running {
  readonly child: ChildProcess
  output(): string
  readonly ended: Promise<number | null>
}

function tollgate(...args: string[]): Running {
  const env = { ...process.env, TMPDIR: folder, NO_COLOR: '1' }
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, output: () => output, ended }
}

async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listening(server)
  server.close()
  await once(server, 'close')
  return port
}

const jwtOf = (sub: string): string =>
  [{ alg: 'none' }, { sub }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
    .concat('.x')

/** Half of the users have JWTs, the others keys. */
const credentialOf = (user: string, i: number): string => (i % 2 === 0 ? jwtOf(user) : `key-of-${user}`)

/** What eight users do, some of it without a credential. @param field of a user's credential */
function traffic(field: (user: string, i: number) => string): string[] {
  const users = Array.from({ length: 8 }, (_, i) => `u${i + 1}`)
  return [
    ...users.flatMap((user, i) => {
      const own = [field(user, i)]
      return [
        rawRequest('GET /', own),
        rawRequest(`GET /api/users/${user}/orders?page=1`, own),
        rawRequest(`GET /api/users/${user}/orders?page=2`, own),
        rawRequest(`POST /api/users/${user}/orders`, [...own, 'Content-Type: application/json'], '{"a":1}'),
        rawRequest(`GET /api/products/${i}`, own),
        rawRequest(`PATCH /api/products/${i}`, own, 'x'),
        rawRequest(`GET /search?q=${i}`, own),
        rawRequest('GET /static/a.css', []),
        rawRequest('GET /old', own),
        rawRequest('GET /private', []),
        rawRequest('GET /nope', own),
        rawRequest('GET /boom', own),
      ]
    }),
    rawRequest('POST /login', [], 'user=a'),
    rawRequest('GET /files/a%2Fb', []),
    rawRequest('GET //double//slash', []),
    rawRequest('GET /calc/a;v=1', []),
    rawRequest('PROPFIND /dav', []),
    rawRequest('OPTIONS /api/products/1', ['Origin: https://a.example', 'Access-Control-Request-Method: PATCH']),
    rawRequest('GET /zipped', []),
    rawRequest('GET /stream', []),
  ]
}

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

/** All that came, and what never came before. */
function laterRequests(field: (user: string, i: number) => string): string[] {
  const ninth = [field('u9', 8)]
  return [
    ...traffic(field),
    rawRequest('GET /api/users/u9/orders', ninth),
    rawRequest('POST /api/users/u9/orders', ninth, '{}'),
    rawRequest('GET /api/users/u9/orders', []),
    rawRequest('GET /static/b.css', []),
    rawRequest('GET /static/b.js', ['Cookie: session=1; theme=dark']),
    rawRequest('GET /healthz', []),
    rawRequest('HEAD /healthz', []),
    rawRequest('GET /unknown/path', []),
    rawRequest('DELETE /api/products/77', ninth),
    rawRequest('PUT /api/products/77', ninth, 'x'),
    rawRequest('GET /api/products/7', ['Authorization: Basic dTpw']),
    rawRequest('GET /api/products/7', ['Authorization: Bearer one', 'X-API-Key: other']),
    rawRequest('GET /api/products/7?access_token=secret&x=%zz', []),
    rawRequest('GET /API/Products/7/', []),
    rawRequest('GET /files/a%5Cb', []),
    rawRequest('GET /files/a%252Fb', []),
    rawRequest('GET /files/x//y;z=1', []),
    rawRequest('GET /caf%E9', []),
    rawRequest('PROPFIND /dav/other', []),
    rawRequest('PURGE /static/a.css', []),
    rawRequest('GET http://shop.example.org/static/a.css', []),
    rawRequest('GET /healthz', ['api_key: one']),
    rawRequest('GET /live', UPGRADE),
    rawRequest('OPTIONS /new', []),
  ]
}

/** What the gateway adds. */
const ADDED = /^(?:x-request-id|ratelimit(?:-policy)?|x-tollgate-[a-z-]+):/i

async function expectSameResponses(gateway: number, requests: readonly string[]): Promise<void> {
  for (const request of requests) {
    const [direct, through] = [await send(upstream, request), await send(gateway, request)]
    const line = request.slice(0, request.indexOf('\r'))
    const own = new Set(direct.fields)
    const fields = through.fields.filter((field) => own.has(field) || !ADDED.test(field))
    expect({ line, ...through, fields }).toEqual({ line, ...direct })
  }
}

/** Serves a file as it is, on ports of its own. */
async function serve(file: string): Promise<{ readonly running: Running; readonly port: number }> {
  const [port, admin] = [await freePort(), await freePort()]
  const served = join(folder, `served-${port}.yaml`)
  const text = readFileSync(file, 'utf8')
  writeFileSync(
    served,
    `${text}\nlisten: 127.0.0.1:${port}\nadmin: { listen: 127.0.0.1:${admin} }\nstore: sqlite:${served}.db\n`,
  )
  const checked = tollgate('check', '-c', served)
  expect([await checked.ended, checked.output()]).toEqual([0, expect.stringContaining(': ok (')])
  const running = tollgate('serve', '-c', served)
  const isReady = () =>
    fetch(`http://127.0.0.1:${admin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await vi.waitUntil(() => isReady(), SOON)
  return { running, port }
}

async function end({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
}

/** @returns the file that the trial offers */
async function trialOf(name: string, key: string, requests: readonly string[]): Promise<string> {
  const trial = tollgate(
    'try',
    `http://127.0.0.1:${upstream}`,
    '--listen',
    '127.0.0.1:0',
    '--admin',
    '127.0.0.1:0',
    '--key',
    key,
  )
  await vi.waitUntil(() => trial.output().includes('Press Ctrl-C') || trial.child.exitCode !== null, SOON)
  const [, port] = /send requests to +http:\/\/127\.0\.0\.1:(\d+)/.exec(trial.output()) ?? []
  if (port === undefined) throw new Error(trial.output())
  await expectSameResponses(Number(port), requests)
  trial.child.kill('SIGINT')
  expect(await trial.ended).toBe(0)
  const command = /tollgate (suggest .*)$/m.exec(trial.output())?.[1]?.trim().split(' ') ?? []
  const out = join(folder, `${name}.yaml`)
  const suggested = tollgate(...command.slice(0, command.indexOf('--out')), '--out', out)
  expect([await suggested.ended, suggested.output()]).toEqual([0, `${out}: written\n`])
  return out
}

/** With `#` before those that are comments. */
function routesIn(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/^ {2}(# )?- \{ match: (.*?),/gm)
  return [...found].map(([, mark = '', match]) => `${mark}${match}`)
}

const FOLDED = [
  'GET /api/users/:name/orders',
  'POST /api/users/:name/orders',
  'GET /static/a.css',
  '# GET /boom',
  '# GET /nope',
  '# GET /private',
]

/** As a server would log a request. */
function logLine(request: string, i: number): string {
  const [, line = ''] = /^(.*)\r\n/.exec(request) ?? []
  const [, user = '-'] = /X-API-Key: key-of-(\w+)/.exec(request) ?? []
  const status = /\/(?:nope|boom|private) /.test(line) ? 404 : 200
  const second = String(i % 60).padStart(2, '0')
  return `192.0.2.${i % 9} - ${user} [26/Nov/2026:10:00:${second} +0000] "${line}" ${status} 12 "-" "curl"\n`
}

test.each([
  ['Authorization', (user: string, i: number) => `Authorization: Bearer ${credentialOf(user, i)}`],
  ['X-API-Key', (user: string) => `X-API-Key: key-of-${user}`],
])(
  'the file that a trial offers, served as it is, gives each later request of callers by %s the response that the service gives',
  async (key, field) => {
    const file = await trialOf(key, key, traffic(field))
    expect(routesIn(file)).toEqual(expect.arrayContaining(FOLDED))
    const { running, port } = await serve(file)
    await expectSameResponses(port, laterRequests(field))
    await end(running)
  },
  LONG,
)

test(
  'the file that suggest writes from a log of the service, served as it is, gives each later request the response of the service',
  async () => {
    const field = (user: string): string => `X-API-Key: key-of-${user}`
    const log = join(folder, 'access.log')
    const out = join(folder, 'from-log.yaml')
    writeFileSync(log, traffic(field).map(logLine).join(''))
    const suggested = tollgate('suggest', '--log', log, '--upstream', `http://127.0.0.1:${upstream}`, '--out', out)
    expect([await suggested.ended, suggested.output()]).toEqual([0, `${out}: written\n`])
    expect(routesIn(out)).toEqual(expect.arrayContaining(FOLDED))
    const { running, port } = await serve(out)
    await expectSameResponses(port, laterRequests(field))
    await end(running)
  },
  LONG,
)
