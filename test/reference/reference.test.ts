import { mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fetch } from 'undici'
import { beforeEach, expect, test } from 'vitest'
import type { ReferenceConfig } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createReference } from '../../src/reference/reference.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, understood, yaml } from '../e2e/harness.ts'
import { bearer } from '../e2e/jwt.ts'
import { rawExchange, statusesIn } from '../e2e/raw.ts'
import { tempFolder } from '../setup/at-end.ts'

const QUOTA = `quota: { baselines: { personal: { read: { 1h: 10 }, write: { 1h: 0 } }, global: { read: { 1h: 99 }, write: { 1h: 9 } } } }
routes: [{ match: GET /items/*, category: read, cost: 4 }, { match: POST /w, category: write }, { match: "* /*", public: true }]`
const BLOCK = `reference: { path: /docs/api, services: [{ name: Charts, url: "http://charts.test:9002/c" }, { name: Two, url: "http://charts.test:9002/d" }] }`

let upstream: Upstream
let app: RunningApp | null
beforeEach(async () => {
  upstream = await startUpstream()
  app = null
})

async function start(block = BLOCK): Promise<string> {
  app = await startApp(yaml(upstream.url, `${QUOTA}\n${block}`))
  return app.url
}

const HTML = { accept: 'text/html' }

test.each(['/docs/api', '/docs/api/', '/docs/api?url=http://evil.test', '/d%6fcs/api'])(
  'the page of the API is at %s for everybody, and costs nothing',
  async (path) => {
    const url = await start()
    const response = await fetch(url + path, { headers: HTML })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const text = await response.text()
    expect(text).toContain('data-base="/docs/api/"')
    expect(text).not.toContain('"./')
    expect(upstream.seen).toEqual([])
    const observed = app?.observations.map(({ type }) => type) ?? []
    expect(observed).not.toContain('settled')
    expect(observed).not.toContain('credential_checked')
    expect(app?.requests()).toMatchObject([
      { outcome: 'answered', clientStatus: 200, httpStatus: null, user: null, route: null, category: null, cost: 0 },
    ])
  },
)

test('the page of the API reads no credential, not even one that is wrong', async () => {
  const url = await start()
  const response = await fetch(`${url}/docs/api`, { headers: { authorization: 'Bearer wrong' } })
  expect(response.status).toBe(200)
  expect(app?.observations.some(({ type }) => type === 'credential_checked')).toBe(false)
})

test('the page of the API has files of which each is there as the page names it', async () => {
  const url = await start()
  for (const page of ['index.html', 'frame.html']) {
    const text = await (await fetch(`${url}/docs/api/${page}`)).text()
    const names = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name ?? '')
    expect(names.length).toBeGreaterThan(1)
    for (const name of names) {
      const { status, headers } = await fetch(url + name)
      expect([name, status]).toEqual([expect.stringMatching(/^\/docs\/api\/assets\/[\w-]+-[\w-]{8}\.\w+$/), 200])
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  }
})

test('the page of the API may run nothing but its files and ask nobody but the services, and only the frame may be framed', async () => {
  const url = await start()
  const policy = async (path: string) =>
    String((await fetch(url + path)).headers.get('content-security-policy'))
      .split('; ')
      .sort()
  const both = [
    "base-uri 'none'",
    "connect-src 'self' http://charts.test:9002",
    "default-src 'none'",
    "form-action 'none'",
    "script-src 'self'",
    "style-src 'self'",
  ]
  expect(await policy('/docs/api')).toEqual(
    [...both, "frame-ancestors 'none'", "frame-src 'self'", "img-src 'self'"].sort(),
  )
  expect(await policy('/docs/api/frame.html')).toEqual(
    [...both, "frame-ancestors 'self'", "img-src 'self' data:"].sort(),
  )
  const { headers } = await fetch(`${url}/docs/api`)
  expect([headers.get('x-content-type-options'), headers.get('referrer-policy')]).toEqual(['nosniff', 'no-referrer'])
})

test('the page of the API is sent small to who takes it so, and not at all to who has it', async () => {
  const url = await start()
  const raw = await rawResponse(url, 'Accept-Encoding: br;q=1, gzip\r\n')
  expect(raw.head).toMatch(/\r\ncontent-encoding: gzip\r\n/i)
  expect(gunzipSync(raw.body).toString()).toContain('<!doctype html>')
  for (const encoding of ['', 'Accept-Encoding: gzip;q=0, br\r\n', 'Accept-Encoding: xgzip\r\n']) {
    expect((await rawResponse(url, encoding)).body.toString()).toContain('<!doctype html>')
  }
  const etag = /\r\netag: (.*)\r\n/i.exec(raw.head)?.[1] ?? ''
  const known = await rawResponse(url, `If-None-Match: "x", ${etag}\r\n`)
  expect(known.head).toMatch(/^HTTP\/1\.1 304 /)
  expect(known.body.length).toBe(0)
  expect((await rawResponse(url, `If-None-Match: "x"\t ,\t${etag} ,\r\n`)).head).toMatch(/^HTTP\/1\.1 304 /)
  const head = await fetch(`${url}/docs/api`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(200)
})

test('the page of the API costs no more for a header that is nearly all blanks', async () => {
  const url = await start()
  const before = process.cpuUsage()
  for (let i = 0; i < 40; i++) await rawResponse(url, `If-None-Match: a${' '.repeat(15_000)}b\r\n`)
  const { user, system } = process.cpuUsage(before)
  // 4 seconds where each run of blanks is looked through from each of its places.
  expect((user + system) / 1000).toBeLessThan(1000)
})

test('the page of the API is not there for other methods, other paths, and for an upgrade', async () => {
  const url = await start(BLOCK)
  expect(await (await fetch(`${url}/docs/api`, { method: 'POST' })).text()).toBe('ok')
  for (const path of ['/docs', '/docs/apis', '/docs/api/nothing.js', '/docs/api/..%2f', '/docs/API']) {
    await (await fetch(url + path)).text()
  }
  expect(upstream.seen.map((seen) => `${seen.method} ${seen.url}`)).toEqual([
    'POST /docs/api',
    'GET /docs',
    'GET /docs/apis',
    'GET /docs/api/nothing.js',
    'GET /docs/API',
  ])
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
  expect((await rawResponse(url, upgrade, '')).body.toString()).toBe('ok')
})

test('the page of the API is off unless the configuration has it, and follows a reload', async () => {
  const url = await start('')
  expect(await (await fetch(`${url}/docs/api`)).text()).toBe('ok')
  await app?.reload(yaml(upstream.url, `${QUOTA}\nreference: { path: /r, title: "<b>Ours" }`))
  expect(await (await fetch(`${url}/docs/api`)).text()).toBe('ok')
  expect(await (await fetch(`${url}/r/services.json`)).json()).toEqual({
    title: '<b>Ours',
    services: [{ name: 'Gateway', url: '/', document: '/r/gateway.json' }],
  })
  await app?.reload(yaml(upstream.url, QUOTA))
  expect(await (await fetch(`${url}/r`)).text()).toBe('ok')
})

test('the page of the API tells of each service where it is and where its document is', async () => {
  const url = await start()
  const { services } = (await (await fetch(`${url}/docs/api/services.json`)).json()) as { services: object[] }
  expect(services[1]).toEqual({
    name: 'Charts',
    url: 'http://charts.test:9002/c',
    document: 'http://charts.test:9002/c/openapi.json',
  })
})

test('the page of the API is explained to administrators as what it is', async () => {
  await start()
  const ask = async (path: string) => {
    const response = await fetch(`${app?.admin}/api/explain?user=alice&method=GET&path=${path}`, {
      headers: { authorization: 'Bearer test-admin-token-0001' },
    })
    return ((await response.json()) as { why: string }).why
  }
  expect(await ask('/docs/api')).toBe('The gateway answers this itself, with the page of the API, for everybody.')
  expect(await ask('/docs')).toContain('public')
})

/** Without a client that decodes or asks for more. */
async function rawResponse(
  url: string,
  headers: string,
  close = 'Connection: close\r\n',
): Promise<{ head: string; body: Buffer }> {
  const { hostname, port } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  socket.write(`GET /docs/api HTTP/1.1\r\nHost: x\r\n${headers}${close}\r\n`)
  const bytes = Buffer.concat(await socket.toArray())
  const end = bytes.indexOf('\r\n\r\n')
  return { head: bytes.subarray(0, end + 2).toString(), body: bytes.subarray(end + 4) }
}

test('a page that is not built is told with the cure, and is there after a reload', async () => {
  const folder = tempFolder()
  const config: ReferenceConfig = { path: '/r', title: 'x', openapi: null, document: null, services: [] }
  const make = () => createReference({ config, document: {}, folder: join(folder, 'page') })
  expect((await make()).response('/r', {})).toMatchObject({
    status: 404,
    body: expect.stringContaining('npm run build'),
  })
  mkdirSync(join(folder, 'page'))
  writeFileSync(join(folder, 'page/index.html'), '<script src="./x.js">')
  expect(String((await make()).response('/r', {})?.body)).toBe('<script src="/r/x.js">')
})

test('the document of the gateway describes the answers that the gateway really gives', async () => {
  const url = await start()
  // biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
  const document = (await (await fetch(`${url}/docs/api/gateway.json`)).json()) as any
  const ajv = new Ajv2020({ strict: false, validateFormats: false, schemas: [{ $id: 'gateway', ...document }] })
  const problems = (name: string, value: unknown) => {
    const validate = ajv.getSchema(`gateway#/components/schemas/${name}`)
    return validate?.(value) === true ? [] : (validate?.errors ?? [name])
  }
  const get = (path: string, headers: Record<string, string>, method = 'GET') => fetch(url + path, { method, headers })
  for (const headers of [bearer('alice')]) await (await get('/items/1', headers)).text()
  const status = await (await get('/me/quota', bearer('alice'))).json()
  expect(problems('TollgateQuotaStatus', status)).toEqual([])
  const denied = await get('/items/1', {})
  expect(problems('TollgateError', await denied.json())).toEqual([])
  const refused = await get('/w', bearer('alice'), 'POST')
  expect(refused.status).toBe(429)
  expect(problems('TollgateQuotaExceeded', await refused.json())).toEqual([])
  const problem = await get('/w', { ...bearer('alice'), accept: 'application/problem+json' }, 'POST')
  expect(problems('TollgateQuotaProblem', await problem.json())).toEqual([])
  expect(problems('TollgateQuotaStatus', { windows: { read: [] } })).not.toEqual([])
  for (const [response, code] of [
    [refused, 429],
    [denied, 401],
  ] as const) {
    const name = document.paths['/items/{rest}'].get.responses[code].$ref.split('/').at(-1)
    for (const header of Object.keys(document.components.responses[name].headers)) {
      expect([header, response.headers.has(header)]).toEqual([header, true])
    }
  }
})

test('the document of the gateway has the answers of a gateway that cannot forward, at each operation that it may give them for', async () => {
  app = await startApp(yaml('http://127.0.0.1:1', `${QUOTA}\n${BLOCK}\nedge: { max_body: 10B }`))
  const { url } = app
  // biome-ignore lint/suspicious/noExplicitAny: the document is judged here, not trusted
  const document = (await (await fetch(`${url}/docs/api/gateway.json`)).json()) as any
  const { host } = new URL(url)
  const statusOf = async (path: string, more = '') =>
    statusesIn(await rawExchange(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`))
  const authorization = `Authorization: ${bearer('alice').authorization}\r\n`
  for (const [path, at, more, status] of [
    ['/items/1', '/items/{rest}', authorization, 502],
    ['/items/1', '/items/{rest}', 'Content-Length: 11\r\n', 413],
    ['/items/1', '/items/{rest}', 'Expect: more\r\n', 417],
    ['/items/1', '/items/{rest}', 'a_b: c\r\n', 400],
    ['/other', '/{rest}', '', 502],
    ['/other', '/{rest}', `Long: ${'x'.repeat(100_000)}\r\n`, 431],
    ['/me/quota', '/me/quota', 'a_b: c\r\n', 400],
  ] as const) {
    expect([path, await statusOf(path, more)]).toEqual([path, [status]])
    const name = document.paths[at].get.responses[status].$ref.split('/').at(-1)
    expect(document.components.responses[name].content['application/json'].schema.$ref).toMatch(/TollgateError$/)
  }
  expect(document.info.description).toMatch(/405 to other methods.*404/)
})

test('the document of the gateway is made of the file that the configuration names, and again at a reload', async () => {
  const folder = tempFolder()
  const file = join(folder, 'tollgate.yaml')
  const write = (summary: string) =>
    writeFileSync(
      join(folder, 'api.json'),
      JSON.stringify({ openapi: '3.1.0', paths: { '/items/{id}': { get: { summary } } } }),
    )
  writeFileSync(file, yaml(upstream.url, `${QUOTA}\nreference: { path: /r, openapi: api.json }`))
  const url = await start('')
  for (const summary of ['One', 'Two']) {
    write(summary)
    const loaded = await loadConfig(file, {})
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    await app?.app.reload(loaded.config, loaded.hash)
    const { paths } = (await (await fetch(`${url}/r/gateway.json`)).json()) as { paths: object }
    expect(paths).toMatchObject({ '/items/{id}': { get: { summary } } })
  }
  expect(understood(yaml(upstream.url, QUOTA)).config.reference).toBeNull()
})
