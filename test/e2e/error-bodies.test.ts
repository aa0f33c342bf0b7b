import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type App, createApp } from '../../src/app/app.ts'
import { type LoadResult, loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { tempFolder } from '../setup/at-end.ts'
import { startUpstream, type Upstream, yaml } from './harness.ts'
import { bearer } from './jwt.ts'
import { rawExchange } from './raw.ts'

/** Bodies of the operator's for the gateway's own refusals, from files beside the configuration. */

let folder: string
let upstream: Upstream
let app: App | null = null
let url = ''
beforeEach(async () => {
  folder = tempFolder()
  upstream = await startUpstream()
})
afterEach(async () => {
  await app?.stop()
  app = null
})

const put = (name: string, text: string | Buffer): void => writeFileSync(join(folder, name), text)

function load(errors: string): Promise<LoadResult> {
  const rest = `quota: { baselines: { personal: { read: { 1h: 1 } }, global: { read: { 1h: 1000 } } } }
routes: [{ match: GET /items/*, category: read }]
errors: ${errors}`
  put('tollgate.yaml', yaml(upstream.url, rest))
  return loadConfig(join(folder, 'tollgate.yaml'), {})
}

async function loaded(errors: string) {
  const result = await load(errors)
  if (!result.ok) throw new Error(formatProblems(result.problems))
  return result
}

async function start(errors: string): Promise<void> {
  const { config, hash } = await loaded(errors)
  app = await createApp({ config, hash, version: 'test', observe: () => {} })
  url = (await app.start()).gateway
}

async function problems(errors: string): Promise<string> {
  const result = await load(errors)
  return result.ok ? '' : formatProblems(result.problems).replaceAll(`${folder}/`, '')
}

const QUOTA_BODY = `{ "errors": [{ "status": "{{status}}", "code": {{error}}, "id": {{request_id}}, "title": "Sorry: {{msg}}",
  "meta": { "limit": {{limit}}, "used": {{used}}, "requested": {{requested}}, "retry": {{retry_after}}, "window": {{window}},
  "scope": {{scope}}, "category": {{category}}, "at": [{{reset_at}}, {{retry_at}}, {{time_zone}}], "who": {{user}}, "what": "{{method}} {{path}}" } }] }`

test('a body of the operator’s says what the gateway would have said, with its headers, and is read again by a reload', async () => {
  put('429.json', QUOTA_BODY)
  await start('{ quota_exceeded: { body: 429.json, content_type: application/vnd.api+json } }')
  const user = { headers: bearer('alice') }
  expect((await fetch(`${url}/items/1`, user)).status).toBe(200)
  const response = await fetch(`${url}/items/1?a=b`, user)
  const { headers } = response
  expect([response.status, headers.get('content-type')]).toEqual([429, 'application/vnd.api+json'])
  expect(headers.get('ratelimit')).toContain('"personal-read-1h"')
  const [{ title, meta, ...error }] = ((await response.json()) as { errors: [Record<string, unknown>] }).errors
  expect(error).toEqual({ status: '429', code: 'quota_exceeded', id: headers.get('x-request-id') })
  expect(title).toMatch(/^Sorry: Personal 1-hour read quota is used up\. /)
  expect(meta).toEqual({
    limit: 1,
    used: 1,
    requested: 1,
    retry: Number(headers.get('retry-after')),
    window: '1h',
    scope: 'Personal',
    category: 'read',
    at: [headers.get('x-quota-reset'), expect.stringMatching(/^\d{4}-/), 'Asia/Shanghai'],
    who: 'alice',
    what: 'GET /items/1',
  })
  // Others have the usual one.
  expect(await (await fetch(`${url}/items/1`)).json()).toMatchObject({
    error: 'unauthorized',
    msg: expect.any(String),
  })

  put('429.json', '{{msg}}')
  const { config, hash } = await loaded('{ quota_exceeded: { body: 429.json } }')
  await app?.reload(config, hash)
  const again = await fetch(`${url}/items/1`, user)
  expect(again.headers.get('content-type')).toBe('application/json')
  expect(await again.json()).toMatch(/^Personal 1-hour/)
})

test('a body of the operator’s gives way to a problem if the client accepts one, unless it is one', async () => {
  put('429.json', '{ "own": true }')
  await start('{ quota_exceeded: { body: 429.json } }')
  const user = { headers: { ...bearer('alice'), accept: 'application/problem+json' } }
  await fetch(`${url}/items/1`, user)
  expect(await (await fetch(`${url}/items/1`, user)).json()).toMatchObject({
    'violated-policies': ['personal-read-1h'],
  })
  const { config, hash } = await loaded(
    '{ quota_exceeded: { body: 429.json, content_type: application/problem+json } }',
  )
  await app?.reload(config, hash)
  const own = await fetch(`${url}/items/1`, user)
  expect([own.headers.get('content-type'), await own.json()]).toEqual(['application/problem+json', { own: true }])
})

test('a body of the operator’s is filled so that neither a path nor a user id can be markup in it, also for what never came as a request', async () => {
  put('page.html', '<!doctype html><title>{{status}}</title><p>{{msg}}<p>{{user}}, {{method}} {{path}}, {{request_id}}')
  const page = '{ body: page.html, content_type: text/html }'
  await start(
    `{ quota_exceeded: ${page}, no_route: ${page}, bad_request: ${page}, headers_too_large: ${page}, unauthorized: ${page} }`,
  )
  const eve = { headers: bearer('<img src=x onerror=alert(1)>') }
  await fetch(`${url}/items/1`, eve)
  const refused = await fetch(`${url}/items/1`, eve)
  expect(refused.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const text = await refused.text()
  expect(text).toContain('&#60;img src=x onerror=alert(1)&#62;')
  expect(text).not.toContain('<img')
  for (const path of ['/"><script>alert(1)</script>', "/items/<b>'`&"]) {
    const response = await rawExchange(url, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(response).toMatch(/^HTTP\/1\.1 40[0-4] /)
    expect(response).toContain('Content-Type: text/html; charset=utf-8')
    expect(response).not.toMatch(/<script|<b>|">/)
  }
  for (const target of ['http://a/nope', 'HTTP://a/nope?b=c', '/nope?b=c'])
    expect(await rawExchange(url, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)).toContain(', GET /nope, ')
  const tooLarge = await rawExchange(url, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'<b>'.repeat(8000)}\r\n\r\n`)
  expect(tooLarge).toMatch(/^HTTP\/1\.1 431 [\s\S]*<title>431<\/title>/)
  expect(tooLarge).not.toContain('<b>')
  const head = await fetch(`${url}/items/1`, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
    401,
    'text/html; charset=utf-8',
    '',
  ])
})

test('what is wrong with one is a problem at its key, with the cure', async () => {
  put('typo.json', '{ "a": {{limt}} }')
  put('broken.json', '{ "a": {{msg}}, }')
  put('attribute.html', '<p>\n<a href="{{path}}">')
  put('large.txt', 'x'.repeat(64 * 1024 + 1))
  put('latin1.txt', Buffer.from([0xe9]))
  expect(await problems('{ quota_exceeded: { body: typo.json } }')).toMatch(
    /errors\.quota_exceeded\.body: "typo\.json" line 1: \{\{limt\}\} is no placeholder; did you mean "limit"\?$/,
  )
  expect(await problems('{ unauthorized: { body: typo.json } }')).toContain(
    'the placeholders here are error, msg, status, request_id, retry_after, method, path, user',
  )
  expect(await problems('{ internal: { body: broken.json } }')).toContain('is no JSON once it is filled: line 1')
  expect(await problems('{ internal: { body: attribute.html, content_type: text/html } }')).toContain(
    'line 2: {{path}} stands within a tag',
  )
  expect(await problems('{ internal: { body: large.txt, content_type: text/plain } }')).toContain(
    'is larger than 64 KiB: shorten it',
  )
  expect(await problems('{ internal: { body: latin1.txt, content_type: text/plain } }')).toContain('is not UTF-8')
  expect(await problems('{ internal: { body: missing.json } }')).toContain(
    '"missing.json" cannot be read (ENOENT): check the path',
  )
  expect(await problems('{ internal: { body: . } }')).toContain('is not a regular file')
})

test('what is wrong with one changes the hash by which replicas are compared if a file holds something else', async () => {
  put('a.json', '{}')
  const { hash } = await loaded('{ internal: { body: a.json } }')
  put('a.json', '[]')
  expect((await loaded('{ internal: { body: a.json } }')).hash).not.toBe(hash)
})
