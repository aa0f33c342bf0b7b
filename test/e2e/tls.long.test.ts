import { execFile } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { tempFolder } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { type Certificate, makeCa, makeCertificate } from '../setup/openssl.ts'
import { freePort } from '../setup/redis.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer, jwtOf } from './jwt.ts'
import { type GatewayProcess, spawnGateway } from './process.ts'
import { rawExchange } from './raw.ts'

const run = promisify(execFile)

const certificates = tempFolder()
let ca: Certificate
let one: Certificate
let other: Certificate
beforeAll(() => {
  ca = makeCa(certificates, 'ca')
  one = makeCertificate(certificates, 'one', ca, 'IP:127.0.0.1', 400)
  other = makeCertificate(certificates, 'other', ca, 'IP:127.0.0.1', 5)
})

let folder: string
let backend: Upstream
beforeEach(async () => {
  folder = tempFolder()
  backend = await startUpstream()
  mount('v1', one)
})

/** Puts a pair in place as the kubelet does with a Secret. */
function mount(version: string, { cert }: Pick<Certificate, 'cert'>, { key }: Pick<Certificate, 'key'> = one): void {
  mkdirSync(join(folder, version))
  writeFileSync(join(folder, version, 'tls.crt'), cert)
  writeFileSync(join(folder, version, 'tls.key'), key, { mode: 0o400 })
  symlinkSync(version, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  if (version !== 'v1') return
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name))
}

const pair = (): string => `{ cert: "${join(folder, 'tls.crt')}", key: "${join(folder, 'tls.key')}" }`
const LIMITS = '{ 1h: 1000, 5h: 1000, 1d: 1000 }'
const QUOTA = `quota: { baselines: { personal: { read: ${LIMITS} }, global: { read: ${LIMITS} } } }`

function config(rest = '', encrypted = true, upstream = backend.url): string {
  const routes = 'routes: [{ match: "*  /*", category: read, cost: 1 }]'.replace('*  ', '* ')
  const text = yaml(upstream, `${QUOTA}\n${routes}\n${rest}`)
  return encrypted ? `${text.replace('token: test-', `tls: ${pair()}, token: test-`)}\ntls: ${pair()}\n` : text
}

const start = (text = config()): Promise<RunningApp> => startApp(text)

interface Got {
  readonly status: number | undefined
  readonly body: string
  readonly headers: http.IncomingHttpHeaders
  readonly socket: tls.TLSSocket
}

async function get(url: string, options: https.RequestOptions = {}): Promise<Got> {
  const req = https.get(url, { ca: ca.cert, agent: false, headers: bearer('alice'), ...options })
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  const socket = res.socket as tls.TLSSocket
  return { status: res.statusCode, body: Buffer.concat(await res.toArray()).toString(), headers: res.headers, socket }
}

/** The handshake of a client of its own kind: what was agreed on, or how it failed. */
async function greet(url: string, options: tls.ConnectionOptions = {}): Promise<Record<string, unknown>> {
  const { hostname: host, port } = new URL(url)
  const socket = tls.connect({ host, port: Number(port), ca: ca.cert, ...options })
  try {
    await once(socket, 'secureConnect')
    const { subject, fingerprint256 } = socket.getPeerCertificate()
    return { name: subject.CN, fingerprint256, protocol: socket.getProtocol(), alpn: socket.alpnProtocol }
  } catch (error) {
    return { failed: (error as { code?: string }).code }
  } finally {
    socket.destroy()
  }
}
const nameAt = async (url: string): Promise<unknown> => (await greet(url)).name

it('a listener with a certificate takes requests by TLS, and the upstream learns that they came by it', async () => {
  const app = await start()
  expect(app.url).toMatch(/^https:/)
  const { status, body } = await get(`${app.url}/x`)
  expect([status, body]).toEqual([200, 'ok'])
  expect(backend.seen[0]?.headers).toMatchObject({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' })
  expect((await get(`${app.url}/x`, { headers: {} })).status).toBe(401)
})

it('a listener with a certificate speaks TLS 1.3, and 1.2 with authenticated encryption, and HTTP/1.1 alone', async () => {
  const { url, admin } = await start()
  for (const listener of [url, admin]) {
    const old = { maxVersion: 'TLSv1.2' } as const
    expect(await greet(listener)).toMatchObject({ protocol: 'TLSv1.3' })
    expect(await greet(listener, old)).toMatchObject({ protocol: 'TLSv1.2' })
    expect(await greet(listener, { ALPNProtocols: ['h2', 'http/1.1'] })).toMatchObject({ alpn: 'http/1.1' })
    const refused: tls.ConnectionOptions[] = [
      { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' },
      { ...old, ciphers: 'ECDHE-ECDSA-AES128-SHA' },
      { ...old, ciphers: 'ECDHE-ECDSA-AES128-SHA256' },
      { ALPNProtocols: ['h2'] },
    ]
    for (const options of refused) expect(await greet(listener, options)).toEqual({ failed: expect.any(String) })
  }
})

it('a listener with a certificate shakes hands once for each connection, also after its certificate was replaced', async () => {
  const { url, admin } = await start()
  const renegotiated = async (listener: string): Promise<unknown> => {
    const { hostname: host, port } = new URL(listener)
    const socket = tls.connect({ host, port: Number(port), ca: ca.cert, maxVersion: 'TLSv1.2' })
    await once(socket, 'secureConnect')
    socket.on('error', () => {})
    const response = new Promise((resolve) => {
      socket.once('close', () => resolve('closed'))
      socket.renegotiate({}, (error) => resolve(error === null ? 'again' : 'refused'))
    })
    return response.finally(() => socket.destroy())
  }
  for (const listener of [url, admin]) expect(await renegotiated(listener)).not.toBe('again')
  mount('v2', other, other)
  for (const listener of [url, admin]) {
    await expect.poll(() => nameAt(listener), { timeout: 30_000 }).toBe('other')
    expect(await renegotiated(listener)).not.toBe('again')
  }
})

it('a listener with a certificate refuses a connection that speaks HTTP in the clear, so that its client can read it, and without a charge', async () => {
  const { url, admin, observations } = await start()
  for (const listener of [url, admin]) {
    const clear = listener.replace('https', 'http')
    const response = await rawExchange(
      clear,
      `GET /x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${jwtOf('a')}\r\n\r\n`,
    )
    expect(response).toMatch(/^HTTP\/1\.1 400 [\s\S]*This port speaks TLS only/)
  }
  expect(backend.seen).toEqual([])
  expect(observations.filter((o) => o.type === 'bad_connection')).toEqual([
    expect.objectContaining({ code: 'tls', status: 400 }),
  ])
  expect((await get(`${url}/x`)).status).toBe(200)
})

it('a listener with a certificate holds to half_close where a client ends its side: it is answered, or taken for gone', async () => {
  const slow = await startUpstream((_seen, res) => void setTimeout(() => res.end('late'), 200))
  const ask = `GET /x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${jwtOf('alice')}\r\n\r\n`
  for (const [halfClose, response, outcome] of [
    ['answer', /^HTTP\/1\.1 200 [\s\S]*late$/, 'forwarded'],
    ['abort', /^$/, 'aborted'],
  ] as const) {
    const app = await start(config(`edge: { half_close: ${halfClose} }`, true, slow.url))
    const { hostname: host, port } = new URL(app.url)
    const socket = tls.connect({ host, port: Number(port), ca: ca.cert })
    socket.end(ask)
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(response)
    await expect.poll(() => app.requests().map((request) => request.outcome)).toEqual([outcome])
  }
})

it('a listener with a certificate lets WebSockets through', async () => {
  const server = http.createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (ws) => ws.on('message', (data) => ws.send(`echo ${data}`)))
  const app = await start(config('', true, `http://127.0.0.1:${await listening(server)}`))
  const ws = new WebSocket(`${app.url.replace('https', 'wss')}/live`, { headers: bearer('alice'), ca: ca.cert })
  await once(ws, 'open')
  const large = 'x'.repeat(300_000)
  for (const text of ['hello', large]) {
    ws.send(text)
    const [data] = await once(ws, 'message')
    expect(String(data)).toBe(`echo ${text}`)
  }
  ws.close()
  await once(ws, 'close')
  await expect.poll(() => app.requests().map(({ httpStatus }) => httpStatus)).toEqual([101])
})

it('a listener with a certificate gives up a client that does not finish its handshake, and before that for another of an address that has all it may', async () => {
  const { url, observations } = await start(config('edge: { headers_timeout: 300ms, max_connections_per_address: 2 }'))
  const port = Number(new URL(url).port)
  const silent = [net.connect(port, '127.0.0.1'), net.connect(port, '127.0.0.1')]
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  const closes = silent.map((socket) => once(socket.resume(), 'close'))
  expect(await greet(url)).toMatchObject({ name: 'one' })
  await Promise.all(closes)
  const codes = observations.flatMap((o) => (o.type === 'bad_connection' ? o.code : []))
  expect(codes).toEqual(['made_room', 'tls'])
  // Those that are closed count no more.
  for (let i = 0; i < 5; i++) await expect.poll(async () => (await get(`${url}/x`)).status).toBe(200)
})

it('a listener with a certificate of the administrators gives up such a client as well', async () => {
  const { admin } = await start()
  const silent = net.connect(Number(new URL(admin).port), '127.0.0.1').resume()
  await expect.poll(() => silent.closed, { timeout: 30_000 }).toBe(true)
})

it('a listener with a certificate finishes what is under way when it stops', async () => {
  const responses: (() => void)[] = []
  const slow = await startUpstream((_seen, res) => void responses.push(() => res.end('late')))
  const app = await startApp(config('', true, slow.url))
  const agent = new https.Agent({ keepAlive: true, ca: ca.cert })
  const pending = get(`${app.url}/x`, { agent })
  await expect.poll(() => responses.length).toBe(1)
  const stopped = app.stop()
  responses[0]?.()
  expect(await pending).toMatchObject({ status: 200, body: 'late' })
  await stopped
  agent.destroy()
})

it('a listener with a certificate answers bytes of attackers as one in the clear does', async () => {
  const [clear, encrypted] = [await start(config('', false)), await start()]
  const POST = `POST /x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${jwtOf('alice')}\r\n`
  const GET = POST.replace('POST', 'GET')
  const attacks = [
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${GET}\r\n`,
    `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab${GET}\r\n`,
    `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${GET}\r\n`,
    `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n${GET}\r\n`,
    `${POST}Content-Length: +3\r\n\r\nabc${GET}\r\n`,
    `${GET}Host: b\r\n\r\n${GET}\r\n`,
    'GET /x HTTP/1.1\r\n\r\n',
    `${GET}X-Folded: a\r\n b\r\n\r\n`,
    `${GET.replaceAll('\r\n', '\n')}\n`,
    `${GET}X\u0000: a\r\n\r\n`,
    `${GET}X : a\r\n\r\n`,
    `${GET}X: ${'a'.repeat(20_000)}\r\n\r\n`,
    `${GET}${'a:b\r\n'.repeat(1100)}\r\n`,
    `${GET.replace('/x', '/a/%2e%2e/x')}\r\n`,
    `${GET.replace('/x', 'http://other/x')}\r\n`,
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`,
    `${GET}Connection: close\r\n\r\n${GET}\r\n`,
    '\u0016\u0003\u0001 not HTTP\r\n\r\n',
  ]
  const strip = (response: string): string => response.replace(/^(x-request-id|date|x-quota-reset): .*$/gim, '$1')
  const statuses = (text: string): (string | undefined)[] => text.match(/HTTP\/1\.1 \d{3}/g) ?? []
  for (const attack of attacks) {
    const [expected, response] = [await rawExchange(clear.url, attack), await rawExchange(encrypted.url, attack)]
    expect([attack.slice(0, 300), statuses(strip(response))]).toEqual([attack.slice(0, 300), statuses(strip(expected))])
  }
  const codes = (app: RunningApp) =>
    app.observations.flatMap((o) =>
      o.type === 'bad_connection' ? o.code : o.type === 'request' ? (o.error ?? 'none') : [],
    )
  expect(codes(encrypted).sort()).toEqual(codes(clear).sort())
  expect(codes(clear)).toContain('bad_request')
}, 120_000)

describe('a certificate that is replaced', () => {
  it('a certificate that is replaced is for new connections, and those that are open go on', async () => {
    const app = await start()
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca: ca.cert })
    const first = await get(`${app.url}/x`, { agent })
    expect([await nameAt(app.url), await nameAt(app.admin)]).toEqual(['one', 'one'])
    mount('v2', other, other)
    for (const url of [app.url, app.admin]) await expect.poll(() => nameAt(url), { timeout: 30_000 }).toBe('other')
    const again = await get(`${app.url}/x`, { agent })
    expect([again.status, again.socket]).toEqual([200, first.socket])
    agent.destroy()
    // Each looks at two files, and tells of a pair once.
    const loaded = app.observations.flatMap((o) => (o.type === 'certificate_loaded' ? o.listener : []))
    expect(loaded.sort()).toEqual(['admin', 'admin', 'gateway', 'gateway'])
  })

  it('a certificate that is replaced is looked at no more once the gateway has stopped', async () => {
    const app = await startApp(config())
    await app.stop()
    const before = app.observations.length
    mount('v2', other, other)
    // Looks are a second apart.
    await sleep(1500)
    expect(app.observations.slice(before)).toEqual([])
  })

  it('a certificate that is replaced is told where everybody on the machine can read its key', async () => {
    const key = join(folder, 'v1', 'tls.key')
    const warnings = (app: RunningApp) => app.observations.filter((o) => o.type === 'config_warning')
    chmodSync(key, 0o604)
    const problem = 'everybody on this machine can read this key: give it the mode 0400, or 0440 for a group'
    const warning = { type: 'config_warning', file: join(folder, 'tls.key'), problem }
    expect(warnings(await start())).toEqual([warning, warning])
    chmodSync(key, 0o440)
    expect(warnings(await start())).toEqual([])
  })

  it('a certificate that is replaced by files that are no pair is told, and the old one stays until there is a good one', async () => {
    const app = await start()
    const refused = () =>
      app.observations.flatMap((o) => (o.type === 'certificate_refused' ? `${o.listener}: ${o.problem}` : []))
    mount('v2', other, one)
    const crt = join(folder, 'tls.crt')
    const key = join(folder, 'tls.key')
    const noPair = `the key in ${key} is not that of the first certificate in ${crt}: replace both together`
    await expect
      .poll(refused, { timeout: 30_000 })
      .toEqual(expect.arrayContaining([`gateway: ${noPair}`, `admin: ${noPair}`]))
    mount('v3', { cert: 'nonsense' }, { key: 'a secret that nobody may read' })
    await expect.poll(refused, { timeout: 30_000 }).toContain(`gateway: ${crt} is not a certificate in PEM: replace it`)
    rmSync(join(folder, 'v3'), { recursive: true })
    await expect
      .poll(refused, { timeout: 30_000 })
      .toContain(`gateway: ${crt} cannot be read (ENOENT): check the path and the permissions`)
    expect(refused().join()).not.toContain('a secret that nobody may read')
    expect([await nameAt(app.url), await nameAt(app.admin)]).toEqual(['one', 'one'])
    mount('v4', other, other)
    await expect.poll(() => nameAt(app.url), { timeout: 30_000 }).toBe('other')
  })

  it('one file after the other is in force with the second', async () => {
    const app = await start()
    mount('v2', other, one)
    await expect
      .poll(() => app.observations.some(({ type }) => type === 'certificate_refused'), { timeout: 30_000 })
      .toBe(true)
    rmSync(join(folder, 'v2', 'tls.key'))
    writeFileSync(join(folder, 'v2', 'tls.key'), other.key)
    for (const url of [app.url, app.admin]) await expect.poll(() => nameAt(url), { timeout: 30_000 }).toBe('other')
  })

  it('a certificate that is replaced is told with its end: as a metric, and as a warning 14 days before', async () => {
    const app = await start()
    const soon = () => app.observations.flatMap((o) => (o.type === 'certificate_expires' ? o : []))
    const ends = async () => {
      const { body } = await get(`${app.admin}/metrics`)
      return body.match(/^tollgate_tls_certificate_expiry_timestamp_seconds\{.*$/gm)
    }
    const samples = (of: Certificate) => {
      const seconds = new X509Certificate(of.cert).validToDate.getTime() / 1000
      return ['admin', 'gateway'].map(
        (listener) =>
          `tollgate_tls_certificate_expiry_timestamp_seconds{listener="${listener}",file="${join(folder, 'tls.crt')}"} ${seconds}`,
      )
    }
    expect((await ends())?.toSorted()).toEqual(samples(one))
    expect(soon()).toEqual([])
    mount('v2', other, other)
    await expect.poll(async () => (await ends())?.toSorted(), { timeout: 30_000 }).toEqual(samples(other))
    expect(
      soon()
        .map(({ listener, leftMs }) => [listener, Math.ceil(leftMs / 86_400_000)])
        .sort(),
    ).toEqual([
      ['admin', 5],
      ['gateway', 5],
    ])
  })
})

it('the administrators’ listener by TLS has probes, and sessions that a browser never sends in the clear', async () => {
  const { admin } = await start()
  for (const path of ['/livez', '/readyz', '/metrics']) expect((await get(admin + path)).status).toBe(200)
  const req = https.request(`${admin}/api/session`, {
    method: 'POST',
    ca: ca.cert,
    agent: false,
    headers: { 'content-type': 'application/json' },
  })
  req.end(JSON.stringify({ token: 'test-admin-token-0001' }))
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  res.resume()
  expect([res.statusCode, res.headers['set-cookie']?.[0]]).toEqual([200, expect.stringMatching(/; Secure$/)])
})

describe('a gateway as a process', () => {
  let gateway: GatewayProcess | null

  async function written(text: string): Promise<{ file: string; url: string; admin: string }> {
    const [port, adminPort] = [await freePort(), await freePort()]
    const file = join(folder, 'tollgate.yaml')
    const placed = text
      .replace('listen: 127.0.0.1:0', `listen: 127.0.0.1:${port}`)
      .replace('"127.0.0.1:0"', `"127.0.0.1:${adminPort}"`)
      .replace('sqlite::memory:', `sqlite:${join(folder, 'quota.db')}`)
      .replace('level: fatal', 'level: info')
    writeFileSync(file, placed)
    return { file, url: `https://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}` }
  }

  it('a gateway as a process of several workers has the new certificate in all of them', async () => {
    gateway = null
    const text = `${config('workers: 2', false)}\ntls: ${pair()}\n`
    const { file, url, admin } = await written(text)
    gateway = await spawnGateway(file, `${admin}/livez`)
    await expect.poll(async () => (await fetch(`${admin}/readyz`)).status, { timeout: 30_000 }).toBe(200)
    expect((await get(`${url}/x`)).status).toBe(200)
    mount('v2', other, other)
    const loaded = () => gateway?.lines().filter(({ msg }) => msg === 'certificate loaded') ?? []
    await expect
      .poll(
        () =>
          loaded()
            .map(({ worker }) => worker)
            .sort(),
        { timeout: 30_000 },
      )
      .toEqual([1, 1, 2, 2])
    for (let i = 0; i < 6; i++) expect(await nameAt(url)).toBe('other')
    expect(gateway.lines().filter(({ msg }) => msg === 'the certificate ends soon')).toMatchObject([
      { level: 40, days: 4 },
      { level: 40, days: 4 },
    ])
    expect(await gateway.end('SIGTERM')).toBe(0)
  }, 120_000)

  it('a gateway as a process is found alive by the health check, which asks as the listener speaks', async () => {
    const onlyAdmin = config('', false).replace('token: test-', `tls: ${pair()}, token: test-`)
    const { file, url } = await written(onlyAdmin)
    const healthcheck = () =>
      run(process.execPath, ['src/main.ts', 'healthcheck', '-c', file]).then(
        ({ stdout }) => stdout,
        ({ stderr }) => stderr as string,
      )
    expect(await healthcheck()).toMatch(/^not alive: https:/)
    gateway = await spawnGateway(file, `${url.replace('https', 'http')}/none`)
    // The first who asks waits until the listener is loaded.
    await expect.poll(healthcheck, { timeout: 60_000 }).toMatch(/^alive: https:/)
  }, 120_000)

  it('a gateway as a process does not start with files that are no pair, and check tells of them', async () => {
    gateway = null
    mount('v2', one, other)
    const { file, admin } = await written(config())
    const problem = ` tls: the key in ${join(folder, 'tls.key')} is not that of the first certificate in`
    const check = run(process.execPath, ['src/main.ts', 'check', '-c', file])
    await expect(check).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(problem) })
    await expect(check).rejects.toMatchObject({ stderr: expect.stringMatching(/tollgate\.yaml:\d+:\d+ tls: the key/) })
    await expect(spawnGateway(file, admin)).rejects.toThrow(problem)
  }, 120_000)

  it('a gateway as a process is warned of by check where a certificate has ended', async () => {
    gateway = null
    const signed = ['-signkey', one.keyFile, '-days', '-1']
    const { stdout: cert } = await run('openssl', ['x509', '-in', one.certFile, ...signed])
    mount('v2', { cert }, one)
    const { file } = await written(config())
    const { stdout, stderr } = await run(process.execPath, ['src/main.ts', 'check', '-c', file])
    expect(stderr).toMatch(/tollgate\.yaml:\d+:\d+ tls: warning: the certificate in .*tls\.crt has ended \(20/)
    expect(stderr).toMatch(/tollgate\.yaml:\d+:\d+ admin\.tls: warning: the certificate/)
    expect(stdout).toContain(': ok (')
  }, 120_000)

  it('a gateway as a process names a file that is not there by its key of the configuration', async () => {
    gateway = null
    const { file } = await written(config())
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('tls.key', 'none.key'))
    const check = run(process.execPath, ['src/main.ts', 'check', '-c', file])
    await expect(check).rejects.toMatchObject({
      stderr: expect.stringMatching(/admin\.tls\.key.*none\.key" cannot be read[\s\S]* tls\.key/),
    })
  }, 120_000)
})
