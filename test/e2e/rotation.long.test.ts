import { renameSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { ecKey, jwt, type TestKey } from '../auth/support.ts'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate, makeCrl } from '../setup/openssl.ts'
import { freePort } from '../setup/redis.ts'
import { startUpstream, type Upstream } from './harness.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'

/**
 * Each secret and certificate is rotated as docs/upkeep.md says, under traffic with every kind of credential. The login and the
 * certificates of Redis are rotated in store-login.test.ts, the login of sentinels in sentinel-login.long.test.ts.
 */

const WAIT = { timeout: 60_000 }
const secretOf = (name: string) => name.padEnd(32, '-secret')
const webhookSecretOf = (name: string) => `whsec_${Buffer.from(secretOf(name)).toString('base64')}`

/** What the configuration names now. */
const settings = {
  admin: 'token: old-admin-token-of-32-characters',
  jwt: `secret: ${secretOf('old')}`,
  backend: 'old',
  introspection: 'old',
  webhook: webhookSecretOf('old'),
}
/** What the other sides take now. */
const taken = { backend: ['old'], introspection: ['old'], webhook: [webhookSecretOf('old')] }
/** What clients and administrators send now. */
const sent = { admin: 'old-admin-token-of-32-characters', secret: secretOf('old'), key: ecKey('old'), accessKey: '' }

let folder: string
let authorities: readonly [Certificate, Certificate]
let client: Certificate
/** Made before the traffic: while one is made, this process responds to nobody. */
let next: Readonly<Record<'renewed' | 'client' | 'server' | 'backend' | 'gateway', Certificate>>
/** Of both authorities: nobody is revoked, and the first certificate of the client is. */
let lists: Readonly<Record<'empty' | 'revoking', string>>
let backend: https.Server
let provider: http.Server
let hook: Upstream
let gateway: GatewayProcess
let url: string
let admin: string
let lanes: Promise<void>[]
let statuses: Record<string, number[]>
let isOver = false

const path = (name: string): string => join(folder, name)

function put(name: string, text: string): void {
  writeFileSync(path(`${name}.new`), text, { mode: 0o600 })
  renameSync(path(`${name}.new`), path(name))
}
const putPair = (name: string, { cert, key }: Certificate): void => {
  put(`${name}.crt`, cert)
  put(`${name}.key`, key)
}
const putKeys = (...keys: TestKey[]): void => put('keys.json', JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
const putClients = (...all: Certificate[]): void => put('clients.pem', all.map(({ cert }) => cert).join(''))

function putConfig(): void {
  const { port } = backend.address() as AddressInfo
  const tls = `{ ca: ${path('backends.pem')}, cert: ${path('gateway.crt')}, key: ${path('gateway.key')} }`
  put(
    'tollgate.yaml',
    `
listen: ${new URL(url).host}
tls: { cert: server.crt, key: server.key }
upstream: { url: "https://127.0.0.1:${port}", tls: ${tls}, connect_timeout: 1m, headers: { X-Backend-Secret: ${settings.backend} } }
store: sqlite:${path('quota.db')}
store_options: { deadline: 10s }
edge: { max_lag: 1m, headers_timeout: 1m }
admin: { listen: "${new URL(admin).host}", ${settings.admin} }
auth:
  jwt:
    - { issuer: "https://shared.test", audience: tollgate, ${settings.jwt}, algorithms: [HS256] }
    - { issuer: "https://keys.test", audience: tollgate, jwks: "file:keys.json", algorithms: [ES256] }
  introspection:
    - { url: "${urlOf(provider)}", client_id: gateway, client_secret: ${settings.introspection} }
  client_certificate: { ca: clients.pem, crl: revoked.pem, user: uri }
  credential_cache: { ttl: 0s }
quota:
  baselines:
    personal: { read: { 1h: 1000000 }, seldom: { 1h: 2 } }
    global: { read: { 1h: 10000000 }, seldom: { 1h: 1000 } }
routes: [{ match: "GET /x", category: read, cost: 1 }, { match: "GET /seldom", category: seldom, cost: 1 }]
alerts: [{ name: near, scope: personal, category: seldom, window: 1h, at: [50%], webhook: { url: "${hook.url}", secret: "${settings.webhook}" } }]
log: { requests: errors }
`,
  )
}

const urlOf = (server: http.Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const loads = (): number => gateway.lines().filter(({ msg }) => msg === 'configuration loaded').length

/** Changes the file, which the gateway reads by itself. */
async function reconfigure(changed: Partial<typeof settings>): Promise<void> {
  const before = loads()
  Object.assign(settings, changed)
  putConfig()
  await expect.poll(loads, WAIT).toBeGreaterThan(before)
}

/** For files that the configuration names. */
async function hangUp(): Promise<void> {
  const before = loads()
  gateway.child.kill('SIGHUP')
  await expect.poll(loads, WAIT).toBeGreaterThan(before)
}

/** Until each lane has had two more responses: what was under way before is over. */
async function rounds(): Promise<void> {
  const before = Object.entries(statuses).map(([name, { length }]) => [name, length] as const)
  const behind = () => before.filter(([name, length]) => (statuses[name]?.length ?? 0) < length + 2)
  await vi.waitFor(() => expect(behind()).toEqual([]), WAIT)
}

/** By a connection of its own. */
function ask(to: string, options: https.RequestOptions): Promise<{ status: number; certificate: string }> {
  return new Promise((resolve, reject) => {
    const ca = authorities.map(({ cert }) => cert)
    const request = https.get(to, { ca, agent: false, ...options }, (response) => {
      const certificate = String((response.socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN)
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, certificate }))
    })
    request.on('error', reject)
  })
}
const withBearer = (credential: string) => ({ headers: { authorization: `Bearer ${credential}` } })
const payload = (issuer: string, sub = 'alice') => ({
  iss: issuer,
  aud: 'tollgate',
  sub,
  exp: Math.floor(Date.now() / 1000) + 3600,
})
const sharedJwt = (key: string, sub?: string): string =>
  jwt({ alg: 'HS256', key, payload: payload('https://shared.test', sub) })
const fetchedJwt = (key: TestKey): string => jwt({ alg: 'ES256', key, payload: payload('https://keys.test') })
const askAdmin = (token: string, route = '/api/quota', init: RequestInit = {}) =>
  fetch(admin + route, { ...init, headers: { 'content-type': 'application/json', ...withBearer(token).headers } })

async function newAccessKey(name: string): Promise<{ token: string; id: string }> {
  const body = JSON.stringify({ user: 'bob', name })
  return (await askAdmin(sent.admin, '/api/tokens', { method: 'POST', body })).json() as never
}

const LANES: Record<string, () => Promise<number>> = {
  'shared secret': async () => (await ask(`${url}/x`, withBearer(sharedJwt(sent.secret)))).status,
  'key set': async () => (await ask(`${url}/x`, withBearer(fetchedJwt(sent.key)))).status,
  introspection: async () => (await ask(`${url}/x`, withBearer('opaque-to-everybody'))).status,
  'access key': async () => (await ask(`${url}/x`, withBearer(sent.accessKey))).status,
  'client certificate': async () => (await ask(`${url}/x`, { cert: client.cert, key: client.key })).status,
  admin: async () => (await askAdmin(sent.admin)).status,
}

function traffic(name: string, next: () => Promise<number>): Promise<void> {
  const of: number[] = []
  statuses[name] = of
  return (async () => {
    while (!isOver) {
      of.push(await next().catch(() => 0))
      await sleep(20)
    }
  })()
}

beforeAll(async () => {
  folder = tempFolder()
  authorities = [makeCa(folder, 'authority-1'), makeCa(folder, 'authority-2')]
  client = makeCertificate(folder, 'client-1', authorities[0], 'URI:spiffe://test/carol')
  next = {
    renewed: makeCertificate(folder, 'client-1-renewed', authorities[0], 'URI:spiffe://test/carol'),
    client: makeCertificate(folder, 'client-2', authorities[1], 'URI:spiffe://test/carol'),
    server: makeCertificate(folder, 'server-2', authorities[1], 'IP:127.0.0.1'),
    backend: makeCertificate(folder, 'backend-2', authorities[1], 'IP:127.0.0.1'),
    gateway: makeCertificate(folder, 'gateway-2', authorities[1], 'DNS:gateway.test'),
  }
  const other = makeCrl(folder, authorities[1], [])
  lists = {
    empty: makeCrl(folder, authorities[0], []) + other,
    revoking: makeCrl(folder, authorities[0], [client]) + other,
  }
  url = `https://127.0.0.1:${await freePort()}`
  admin = `http://127.0.0.1:${await freePort()}`
  const server = makeCertificate(folder, 'backend-1', authorities[0], 'IP:127.0.0.1')
  const tls = { cert: server.cert, key: server.key, ca: [authorities[0].cert], requestCert: true }
  backend = https.createServer(tls, (req, res) => {
    res.statusCode = taken.backend.includes(String(req.headers['x-backend-secret'])) ? 200 : 403
    res.end()
  })
  provider = http.createServer((req, res) => {
    const known = taken.introspection.map((secret) => `Basic ${Buffer.from(`gateway:${secret}`).toString('base64')}`)
    res.statusCode = known.includes(String(req.headers.authorization)) ? 200 : 401
    res.setHeader('content-type', 'application/json')
    req.resume().on('end', () => res.end(JSON.stringify({ active: true, sub: 'ivan' })))
  })
  backend.keepAliveTimeout = 60_000
  for (const each of [backend, provider]) {
    await listening(each)
  }
  hook = await startUpstream(({ headers, body }, res) => {
    const isSigned = taken.webhook.some((secret) => {
      try {
        return new Webhook(secret).verify(body, headers as Record<string, string>) !== undefined
      } catch {
        return false
      }
    })
    res.writeHead(isSigned ? 204 : 401).end()
  })
  putPair('server', makeCertificate(folder, 'server-1', authorities[0], 'IP:127.0.0.1'))
  putPair('gateway', makeCertificate(folder, 'gateway-1', authorities[0], 'DNS:gateway.test'))
  put('backends.pem', authorities[0].cert)
  putClients(authorities[0])
  put('revoked.pem', lists.empty)
  putKeys(sent.key)
  putConfig()
  gateway = await spawnGateway(path('tollgate.yaml'), `${admin}/livez`)
  // Lines are written up to half a second late: the one of the start is none of a change.
  await vi.waitFor(() => expect(loads()).toBeGreaterThan(0), WAIT)
  await vi.waitFor(async () => expect((await fetch(`${admin}/readyz`)).status).toBe(200), WAIT)
  sent.accessKey = (await newAccessKey('first')).token
  // A new access key is known to each process within a second.
  await vi.waitFor(async () => expect(await LANES['access key']?.()).toBe(200), WAIT)
  statuses = {}
  lanes = Object.entries(LANES).map(([name, next]) => traffic(name, next))
  await rounds()
}, 180_000)
beforeEach(() => {
  for (const of of Object.values(statuses)) of.length = 0
})
afterEach(() => {
  const refused = Object.entries(statuses).map(([name, of]) => [name, of.filter((status) => status !== 200)])
  expect(refused, gateway.output().slice(-2000)).toEqual(Object.keys(LANES).map((name) => [name, []]))
})
afterAll(async () => {
  isOver = true
  await Promise.all(lanes ?? [])
  for (const each of [backend, provider]) each?.closeAllConnections()
  for (const each of [backend, provider]) each?.close()
})

const MINUTES = 180_000

it(
  'an admin token: the new one under another name, then without the old one',
  async () => {
    const next = 'new-admin-token-of-32-characters'
    const old = sent.admin
    await reconfigure({ admin: `${settings.admin}, tokens: [{ name: next, token: ${next} }]` })
    sent.admin = next
    await rounds()
    await reconfigure({ admin: `token: ${next}` })
    await rounds()
    expect((await askAdmin(old)).status).toBe(401)
  },
  MINUTES,
)

it(
  'a shared secret of JWTs: the old one as previous_secret, until its tokens have ended',
  async () => {
    const [old, next] = [sent.secret, secretOf('new')]
    await reconfigure({ jwt: `secret: ${next}, previous_secret: ${old}` })
    await rounds()
    sent.secret = next
    await rounds()
    await reconfigure({ jwt: `secret: ${next}` })
    await rounds()
    expect((await ask(`${url}/x`, withBearer(sharedJwt(old)))).status).toBe(401)
  },
  MINUTES,
)

it(
  'a key set file: both keys, then the new one alone',
  async () => {
    const [old, next] = [sent.key, ecKey('new')]
    putKeys(old, next)
    await hangUp()
    sent.key = next
    await rounds()
    putKeys(next)
    await hangUp()
    await rounds()
    expect((await ask(`${url}/x`, withBearer(fetchedJwt(old)))).status).toBe(401)
  },
  MINUTES,
)

it(
  'the secret for introspection: the provider takes both meanwhile',
  async () => {
    taken.introspection.push('new')
    await reconfigure({ introspection: 'new' })
    await rounds()
    taken.introspection.shift()
    await rounds()
  },
  MINUTES,
)

it(
  'the secret for the upstream: it takes both meanwhile',
  async () => {
    taken.backend.push('new')
    await reconfigure({ backend: 'new' })
    await rounds()
    taken.backend.shift()
    await rounds()
  },
  MINUTES,
)

it(
  'an access key: one in its place, and the old one ends after the grace or is revoked',
  async () => {
    const old = sent.accessKey
    const { tokens } = (await (await askAdmin(sent.admin, '/api/tokens')).json()) as {
      tokens: { id: string; name: string }[]
    }
    const path = `/api/tokens/${tokens.find(({ name }) => name === 'first')?.id}`
    const rotated = await askAdmin(sent.admin, `${path}/rotate`, { method: 'POST', body: '{ "grace": "24h" }' })
    const { token } = (await rotated.json()) as { token: string }
    await expect.poll(async () => (await ask(`${url}/x`, withBearer(token))).status, WAIT).toBe(200)
    await rounds()
    sent.accessKey = token
    await rounds()
    expect((await askAdmin(sent.admin, path, { method: 'DELETE' })).ok).toBe(true)
    await rounds()
    await expect.poll(async () => (await ask(`${url}/x`, withBearer(old))).status, WAIT).toBe(401)
  },
  MINUTES,
)

it(
  'a client certificate: the new one, then a revocation list with the old one',
  async () => {
    const old = client
    client = next.renewed
    await rounds()
    put('revoked.pem', lists.revoking)
    await expect.poll(async () => (await ask(`${url}/x`, { cert: old.cert, key: old.key })).status, WAIT).toBe(401)
    await rounds()
  },
  MINUTES,
)

it(
  'the authority of client certificates: both in the file, then the new one alone',
  async () => {
    const old = client
    putClients(...authorities)
    const status = async ({ cert, key }: Certificate) => (await ask(`${url}/x`, { cert, key })).status
    await expect.poll(() => status(next.client), WAIT).toBe(200)
    client = next.client
    await rounds()
    putClients(authorities[1])
    await expect.poll(() => status(old), WAIT).toBe(401)
    await rounds()
  },
  MINUTES,
)

it(
  'the certificate of a listener: put in place',
  async () => {
    putPair('server', next.server)
    const shown = async () => (await ask(`${url}/x`, withBearer(sharedJwt(sent.secret)))).certificate
    await expect.poll(shown, WAIT).toBe('server-2')
    await rounds()
  },
  MINUTES,
)

it(
  'certificates to and of the upstream: each side trusts both authorities meanwhile',
  async () => {
    const [first, second] = authorities.map(({ cert }) => cert) as [string, string]
    put('backends.pem', first + second)
    await hangUp()
    const { cert, key } = next.backend
    backend.setSecureContext({ cert, key, ca: [first, second] })
    putPair('gateway', next.gateway)
    await hangUp()
    await rounds()
    put('backends.pem', second)
    backend.setSecureContext({ cert, key, ca: [second] })
    await hangUp()
    await rounds()
  },
  MINUTES,
)

it(
  'the secret of a webhook: its receiver takes both meanwhile',
  async () => {
    const raise = (user: string) => ask(`${url}/seldom`, withBearer(sharedJwt(sent.secret, user)))
    await raise('dave')
    await expect.poll(() => hook.seen.length, WAIT).toBe(1)
    const next = webhookSecretOf('new')
    taken.webhook.push(next)
    await reconfigure({ webhook: next })
    taken.webhook.shift()
    await raise('erin')
    await expect.poll(() => hook.seen.length, WAIT).toBe(2)
    const given = async () => await (await fetch(`${admin}/metrics`)).text()
    await expect.poll(given, WAIT).toMatch(/^tollgate_alert_events_total\{alert="near",event="delivered"\} 2$/m)
    expect(await given()).not.toContain('event="failed"')
  },
  MINUTES,
)
