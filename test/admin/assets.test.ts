import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { folderAssets } from '../../src/admin/assets.ts'
import { tempFolder } from '../setup/at-end.ts'
import { call, type Running, startAdmin } from './running.ts'

const INDEX = '<!doctype html><script type="module" src="/assets/index-4f2a.js"></script>'
const SCRIPT = `console.log("tollgate")\n`.repeat(200)
const browser = { authorization: '', accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

let folder: string
let running: Running
beforeEach(async () => {
  folder = tempFolder()
  running = await startAdmin({ assets: folderAssets(join(folder, 'dashboard')) })
})

function build(): void {
  mkdirSync(join(folder, 'dashboard/assets'), { recursive: true })
  writeFileSync(join(folder, 'dashboard/index.html'), INDEX)
  writeFileSync(join(folder, 'dashboard/favicon.svg'), '<svg/>')
  writeFileSync(join(folder, 'dashboard/assets/index-4f2a.js'), SCRIPT)
  writeFileSync(join(folder, 'secret.txt'), 'secret')
}

const get = (path: string, headers: Record<string, string> = browser) => call(running.url, 'GET', path, { headers })

test('a dashboard that is not built is reported with the cure, and is served as soon as it is built', async () => {
  const before = await get('/')
  expect(before.status).toBe(404)
  expect(before.headers['content-type']).toBe('text/plain; charset=utf-8')
  expect(before.text).toContain('npm run build')
  expect((await get('/users/alice')).text).toContain('npm run build')
  expect((await call(running.url, 'GET', '/api/quota')).status).toBe(200)
  build()
  expect((await get('/')).text).toBe(INDEX)
})

describe('the page', () => {
  beforeEach(build)

  test.each(['/', '/?x=1', '/users', '/users/a%2Fb', '/quota', '/users/alice.smith'])(
    'the page is at %s, without a credential',
    async (path) => {
      const { status, text, headers } = await get(path)
      expect([status, text]).toEqual([200, INDEX])
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['cache-control']).toBe('no-cache')
    },
  )

  test('the page of a link is there for programs too, which use the link up by nothing but its button', async () => {
    const { json } = await running.call('POST', '/api/tokens', {
      body: { user: 'bob', name: 'laptop', handover: true },
    })
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await call(running.url, method, '/handover', {
        headers: { authorization: '', accept: '*/*' },
      })
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    }
    const [, code] = json.handover.path.split('#')
    expect(
      (await running.call('POST', '/api/handover', { body: { code }, headers: { authorization: '' } })).status,
    ).toBe(200)
    const other = await get('/users/alice', { authorization: '', accept: '*/*' })
    expect([other.status, other.json.msg]).toEqual([404, 'There is nothing at this path.'])
  })

  test('the page runs no script but its own files, may not be framed, and sends nothing elsewhere', async () => {
    const policy = String((await get('/')).headers['content-security-policy'])
    expect(policy.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "font-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
    ])
  })

  test('the page is not sent again to a browser that has it, until it is built anew', async () => {
    const { etag = '' } = (await get('/')).headers
    const again = await get('/', { ...browser, 'if-none-match': etag })
    expect([again.status, again.text, again.headers['cache-control']]).toEqual([304, '', 'no-cache'])
    expect((await get('/', { ...browser, 'if-none-match': 'W/"sha-of-an-earlier-build"' })).text).toBe(INDEX)
  })

  test.each(['/api/nothing', '/assets/index-old.js', '/metrics/x'])(
    'the page is not what a browser gets at %s',
    async (path) => {
      expect(await get(path)).toMatchObject({ status: 404, json: { error: 'not_found' } })
    },
  )

  test('the page is not what a script gets at a path that is not there', async () => {
    expect(await get('/users', { authorization: '' })).toMatchObject({ status: 404, json: { error: 'not_found' } })
  })

  test('the page is not served to a host name that is not ours', async () => {
    expect(await get('/', { ...browser, host: 'rebound.example' })).toMatchObject({
      status: 403,
      json: { error: 'host_not_allowed' },
    })
  })

  test('the page is not there for other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect(await call(running.url, method, '/', { headers: browser })).toMatchObject({ status: 404 })
    expect(await call(running.url, 'HEAD', '/', { headers: browser })).toMatchObject({ status: 200, text: '' })
  })
})

describe('a file', () => {
  beforeEach(build)

  test('a file of a name that changes with its content is kept by browsers for good', async () => {
    const { text, headers } = await get('/assets/index-4f2a.js')
    expect(text).toBe(SCRIPT)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    })
    expect((await get('/favicon.svg?v=1')).headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'no-cache',
    })
  })

  test('a file is sent as it is if that is smaller, also to whoever takes it compressed', async () => {
    const response = await fetch(`${running.url}/favicon.svg`, { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBeNull()
    expect(await response.text()).toBe('<svg/>')
  })

  test('a file is sent compressed to whoever takes it so', async () => {
    const response = await fetch(`${running.url}/assets/index-4f2a.js`, { headers: { 'accept-encoding': 'gzip' } })
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(response.headers.get('vary')).toBe('accept-encoding')
    expect(await response.text()).toBe(SCRIPT)
    const assets = folderAssets(join(folder, 'dashboard'))
    const asset = await assets.read('assets/index-4f2a.js')
    expect(gunzipSync(asset?.gzipped ?? Buffer.alloc(0)).toString()).toBe(SCRIPT)
    expect(
      (await get('/assets/index-4f2a.js', { authorization: '', 'accept-encoding': 'identity' })).headers[
        'content-encoding'
      ],
    ).toBeUndefined()
  })

  test('a file is there as it was first read, also while the folder is built anew', async () => {
    const assets = folderAssets(join(folder, 'dashboard'))
    const before = await assets.read('index.html')
    rmSync(join(folder, 'dashboard'), { recursive: true })
    expect(before).not.toBeNull()
    expect(await assets.read('index.html')).toBe(before)
  })

  test.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/assets/../../secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '//secret.txt',
    '/link.txt',
  ])('a file outside of the folder is not served: %s', async (path) => {
    symlinkSync(join(folder, 'secret.txt'), join(folder, 'dashboard/link.txt'))
    const { status, text } = await get(path, { authorization: '' })
    expect([400, 404]).toContain(status)
    expect(text).not.toContain('secret\n')
    expect(text).not.toBe('secret')
  })
})
