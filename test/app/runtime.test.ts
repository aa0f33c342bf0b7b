import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createRuntime, type Runtime } from '../../src/app/runtime.ts'
import { ecKey } from '../auth/support.ts'
import { startApp, understood, yaml } from '../e2e/harness.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { makeCa } from '../setup/openssl.ts'

let folder: string
let made: Runtime[]
beforeEach(() => {
  folder = tempFolder()
  made = []
  writeKeys()
  makeCa(folder, 'ca')
})
afterEach(async () => {
  for (const { authenticator, forwarder } of made) {
    authenticator.close()
    await forwarder.destroy()
  }
})

function writeKeys(): void {
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [{ ...ecKey('a').jwk, alg: 'ES256' }] }))
}

async function make(old: Runtime | null, rest = '', headers = '{}'): Promise<Runtime> {
  const { config } = understood(`
upstream: { url: "https://127.0.0.1:1", tls: { ca: "${folder}/ca.crt" }, headers: ${headers} }
auth:
  jwt:
    - { issuer: "https://a.test", audience: t, jwks: "file:${folder}/keys.json", algorithms: [ES256] }
    - { issuer: "https://b.test", audience: t, jwks: "http://127.0.0.1:1/keys", algorithms: [ES256] }
${rest}`)
  const parts = await createRuntime(config, old, {
    tokens: { find: () => null, isImported: () => false },
    observe: () => {},
  })
  made.push(parts)
  return parts
}

it('a part with files is taken over with all it remembers, such as fetched keys, while the files hold the same', async () => {
  const before = await make(null)
  const after = await make(before, 'time_zone: Europe/Berlin')
  expect(after.authenticator).toBe(before.authenticator)
  expect(after.forwarder).toBe(before.forwarder)
})

it('the upstream gets the secret of the configuration in force, also after it was replaced', async () => {
  const before = await make(null, '', '{ X-Backend-Secret: one }')
  expect((await make(before, '', '{ X-Backend-Secret: one }')).forwarder).toBe(before.forwarder)
  expect((await make(before, '', '{ X-Backend-Secret: other }')).forwarder).not.toBe(before.forwarder)
})

it('proxies to trust are those of the configuration in force, for the same upstream too', async () => {
  const before = await make(null, 'edge: { trusted_proxies: [127.0.0.1] }')
  expect((await make(before)).forwarder).not.toBe(before.forwarder)
})

it('the kinds of credentials are those of the configuration in force', async () => {
  const before = await make(null, '  gateway_tokens: true')
  expect((await make(before, '  gateway_tokens: true')).authenticator).toBe(before.authenticator)
  expect((await make(before, '  gateway_tokens: false')).authenticator).not.toBe(before.authenticator)
})

it('no key server is asked if another part cannot be made', async () => {
  const asked: string[] = []
  const keys = createServer((req, res) => {
    asked.push(req.url ?? '')
    res.end('{"keys":[]}')
  })
  const port = await listening(keys)
  const from = (path: string, ca: string) => {
    const jwks = `http://127.0.0.1:${port}${path}`
    const { config } = understood(`
upstream: { url: "https://127.0.0.1:1", tls: { ca: "${join(folder, ca)}" } }
auth: { jwt: [{ issuer: "https://a.test", audience: t, jwks: "${jwks}", algorithms: [ES256] }] }`)
    return createRuntime(config, null, { tokens: { find: () => null, isImported: () => false }, observe: () => {} })
  }
  writeFileSync(join(folder, 'broken.crt'), 'no certificate')
  await expect(from('/first', 'broken.crt')).rejects.toThrow('broken.crt is not')
  made.push(await from('/second', 'ca.crt'))
  await expect.poll(() => asked).toContain('/second')
  expect(asked).not.toContain('/first')
  keys.close()
})

it('a part is made anew if one of its files holds something else', async () => {
  const first = await make(null)
  writeKeys()
  const second = await make(first)
  expect(second.authenticator).not.toBe(first.authenticator)
  expect(second.forwarder).toBe(first.forwarder)
  makeCa(folder, 'ca')
  const third = await make(second)
  expect(third.authenticator).toBe(second.authenticator)
  expect(third.forwarder).not.toBe(second.forwarder)
})

it('a part is not made if one of its files is gone', async () => {
  const before = await make(null)
  rmSync(join(folder, 'keys.json'))
  await expect(make(before)).rejects.toThrow('keys.json')
})

it('a part that was replaced lets its connections to the upstream go', async () => {
  const sockets: Socket[] = []
  // Kept for ten minutes, as far as the upstream is concerned.
  const server = createServer({ keepAliveTimeout: 600_000 }, (_req, res) => res.end('ok'))
  server.on('connection', (socket: Socket) => sockets.push(socket))
  await listening(server)
  const config = (more: string): string =>
    yaml(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      'routes: [{ match: GET /*, public: true }]',
      undefined,
      more,
    )
  const app = await startApp(config('response_timeout: 30s'))
  expect(await (await fetch(`${app.url}/x`)).text()).toBe('ok')
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false])
  await app.reload(config('response_timeout: 31s'))
  await expect.poll(() => sockets.map(({ destroyed }) => destroyed)).toEqual([true])
})

it('parts of a configuration that comes when the gateway ends wait for no key server', async () => {
  // It takes questions and never answers: five seconds until that is given up.
  // Its connections tell nothing: fetch makes a new one for a question that is given up, and keeps it idle for four seconds.
  const open = new Set<ServerResponse>()
  const server = createServer((_req, res) => {
    open.add(res)
    res.once('close', () => open.delete(res))
  })
  const keys = `jwks: "http://127.0.0.1:${await listening(server)}/keys", algorithms: [ES256]`
  const before = yaml('http://127.0.0.1:1', '')
  const next = before.replace(/secret: .*, algorithms: \[HS256\]/, keys)
  const [during, after] = await Promise.all([startApp(before), startApp(before)])
  // It is still at the many keys of another issuer when the gateway has ended.
  const many = Array.from({ length: 1000 }, (_, i) => ({ ...ecKey('a').jwk, kid: `${i}`, alg: 'ES256' }))
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: many }))
  const other = `{ issuer: "https://a.test", audience: t, jwks: "file:${folder}/keys.json", algorithms: [ES256] }`
  const reloading = during.reload(next.replace('jwt: [', `jwt: [${other}, `))
  await Promise.all([during.stop(), reloading, after.stop()])
  await after.reload(next)
  // For questions that are on their way.
  await sleep(200)
  await expect.poll(() => open.size, { timeout: 2000 }).toBe(0)
})

it('a route is charged in its own category and its own cost', async () => {
  const { rules } = await make(
    null,
    `
quota:
  windows: { 1h: 1h }
  baselines:
    personal: { read: { 1h: 10 }, write: { 1h: 10 } }
    global: { read: { 1h: 10 }, write: { 1h: 10 } }
routes:
  - { match: "GET /a", category: read, cost: 1 }
  - { match: "GET /b", category: read, cost: 2 }
  - { match: "GET /c", category: write, cost: 1 }
  - { match: "GET /d", category: read, cost: 1 }
  - { match: "POST /a", category: read, cost: { body: n, values: { "1": 1 } } }
  - { match: "POST /b", category: read, cost: { body: n, values: { "1": 5 } } }
  - { match: "GET /e", public: true }`,
  )
  const charged = (method: string, path: string): unknown => {
    const found = rules.routes.lookup(method, path)
    return found !== null && 'rule' in found && found.rule.tariff
  }
  const one = { settle: null, others: null, fields: [], isAsked: false, maxBody: null, mayChange: false }
  const fixed = (category: string, cost: number) => ({ category, price: { kind: 'fixed', cost }, ...one })
  const byBody = (cost: number) => ({
    category: 'read',
    price: { reading: { values: new Map([['1', { kind: 'fixed', cost }]]) } },
    isAsked: true,
    maxBody: 65_536,
  })
  expect(charged('GET', '/a')).toEqual(fixed('read', 1))
  expect(charged('GET', '/b')).toEqual(fixed('read', 2))
  expect(charged('GET', '/c')).toEqual(fixed('write', 1))
  expect(charged('GET', '/d')).toEqual(fixed('read', 1))
  expect(charged('POST', '/a')).toMatchObject(byBody(1))
  expect(charged('POST', '/b')).toMatchObject(byBody(5))
  expect(charged('GET', '/e')).toBeNull()
})
