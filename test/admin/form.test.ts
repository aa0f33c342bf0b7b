import { once } from 'node:events'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { beforeEach, expect, test } from 'vitest'
import { inForm } from '../../src/admin/form.ts'
import { refusal } from '../../src/admin/http.ts'
import { type Running, startAdmin, TOKEN } from './running.ts'

let running: Running
beforeEach(async () => {
  running = await startAdmin()
})

async function get(path: string, more: Record<string, string> = {}, method = 'GET') {
  const headers = { authorization: `Bearer ${TOKEN}`, ...more }
  const sent = request(new URL(path, running.url), { method, agent: false, headers })
  sent.end()
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) }
}

const GZIP = { 'accept-encoding': 'gzip' }

test('JSON of the admin API is compressed for whoever takes gzip, and plain for whoever does not', async () => {
  const plain = await get('/api/routes')
  const gzipped = await get('/api/routes', { 'accept-encoding': 'br, gzip;q=0.5' })
  expect(gzipped.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(gzipped.bytes.length),
    vary: 'accept-encoding',
  })
  expect(gunzipSync(gzipped.bytes)).toEqual(plain.bytes)
  expect(gzipped.bytes.length).toBeLessThan(plain.bytes.length / 2)
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding', 'content-length': String(plain.bytes.length) })
  for (const accepted of ['', 'identity', 'gzip;q=0', 'gzip; q=0.0, deflate']) {
    const { headers, bytes } = await get('/api/routes', { 'accept-encoding': accepted })
    expect([accepted, headers['content-encoding'], bytes.length]).toEqual([accepted, undefined, plain.bytes.length])
  }
})

test('a response of less than half a KiB is sent as it is, without a tag', async () => {
  const { status, headers } = await get('/api/session', { 'accept-encoding': 'gzip' })
  expect(status).toBe(200)
  expect([headers.vary, headers.etag, headers['content-encoding']]).toEqual([undefined, undefined, undefined])
})

test('whoever has the response already gets 304 without a body, until something in it is another', async () => {
  const first = await get('/api/routes', { 'accept-encoding': 'gzip' })
  const etag = String(first.headers.etag)
  expect(etag).toMatch(/^W\/"sha-[\w-]{22}"$/)
  expect((await get('/api/routes')).headers.etag).toBe(etag)
  for (const known of [etag, `"7", ${etag}`]) {
    const again = await get('/api/routes', { 'accept-encoding': 'gzip', 'if-none-match': known })
    expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, etag])
    expect(again.headers['content-length']).toBeUndefined()
  }
  expect((await get('/api/routes', { 'if-none-match': 'W/"sha-other"' })).status).toBe(200)
  await running.call('POST', '/api/tokens', { body: { user: 'bob', name: 'x'.repeat(64) } })
  for (let i = 0; i < 4; i++) await running.call('POST', '/api/tokens', { body: { user: 'bob', name: `key ${i}` } })
  const keys = await get('/api/tokens')
  const known = { 'if-none-match': String(keys.headers.etag) }
  expect((await get('/api/tokens', known)).status).toBe(304)
  await running.call('POST', '/api/tokens', { body: { user: 'bob', name: 'another' } })
  expect((await get('/api/tokens', known)).status).toBe(200)
})

test('what has a version keeps it as its tag, and is sent each time, since tokens are used without a new version', async () => {
  const { headers } = await get('/api/quota')
  expect(headers.etag).toBe('"0"')
  const again = await get('/api/quota', { 'if-none-match': '"0"', 'accept-encoding': 'gzip' })
  expect([again.status, again.headers.etag, again.headers['content-encoding']]).toEqual([200, '"0"', undefined])
})

test('a HEAD has the fields of the GET, and no body', async () => {
  const { headers } = await get('/api/routes', { 'accept-encoding': 'gzip' })
  const head = await get('/api/routes', { 'accept-encoding': 'gzip' }, 'HEAD')
  expect(head.bytes.length).toBe(0)
  expect(head.headers).toMatchObject({ etag: headers.etag, 'content-encoding': 'gzip' })
})

test('a document that never changes is compressed once, however many ask for it', async () => {
  const response = { status: 200, body: { text: 'x'.repeat(2000) }, isConstant: true } as const
  const [first, second] = [await inForm(response, GZIP), await inForm(response, GZIP)]
  expect(second.body).toBe(first.body)
  expect((await inForm({ status: 200, body: response.body }, GZIP)).body).not.toBe(first.body)
})

test('an error has no tag and is not compressed, however long it is', async () => {
  const error = refusal('not_found', 'x'.repeat(2000))
  expect(await inForm(error, { 'accept-encoding': 'gzip' })).toEqual(error)
})
