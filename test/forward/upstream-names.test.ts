import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Asked, upstreamNames } from '../../src/forward/upstream-names.ts'
import { runs } from '../setup/runs.ts'

const BY_TLS: Asked = { scheme: 'https', authority: 'shop.example', host: 'shop.example', prefix: '' }

interface Options {
  readonly url?: string
  readonly host?: string | null
  readonly asked?: Asked
  readonly status?: number
}

/** What one field of a response becomes. The upstream is http://legacy:9000, and gets its own Host. */
function becomes(name: string, value: string, options: Options = {}): string {
  const { url = 'http://legacy:9000', host = 'legacy:9000', asked = BY_TLS, status = 302 } = options
  const { origin, pathname } = new URL(url)
  const names = upstreamNames({ origin: new URL(origin), base: pathname.replace(/\/$/, ''), host })
  const headers = ['X-Before', value, name, value]
  names.rewrite(status, headers, asked)
  expect(headers.slice(0, 2)).toEqual(['X-Before', value])
  return headers[3] as string
}

describe('what a proxy in front has taken off a path', () => {
  const asked = { ...BY_TLS, authority: 'shop.example:8443', prefix: '/api' }
  it.each([
    ['Location', 'http://legacy:9000/base/x?a', 'https://shop.example:8443/api/x?a'],
    ['Location', 'http://legacy:9000/base', 'https://shop.example:8443/api/'],
    ['Location', '/base/x', '/api/x'],
    ['Location', '/base/api/x', '/api/x'],
    ['Location', '/base/apix', '/api/apix'],
    ['Location', '/elsewhere', '/elsewhere'],
    ['Refresh', '0; url=http://legacy:9000/base/x', '0; url=https://shop.example:8443/api/x'],
    ['Set-Cookie', 'a=b; Path=/base/x', 'a=b; Path=/api/x'],
    ['Set-Cookie', 'a=b; Path=/base', 'a=b; Path=/api/'],
  ])('what a proxy in front has taken off a path stands in %s again: %s', (name, value, expected) => {
    expect(becomes(name, value, { url: 'http://legacy:9000/base', asked })).toBe(expected)
  })

  it('what a proxy in front has taken off a path is added only to addresses that name the upstream where it has no base path', () => {
    expect(becomes('Location', 'http://legacy:9000/x', { asked })).toBe('https://shop.example:8443/api/x')
    expect(becomes('Location', 'http://legacy:9000/api/x', { asked })).toBe('https://shop.example:8443/api/x')
    expect(becomes('Location', '/x', { asked })).toBe('/x')
  })

  it('what a proxy in front has taken off a path is taken off the Destination of WebDAV', () => {
    const names = upstreamNames({ origin: new URL('http://legacy:9000'), base: '/base', host: 'legacy:9000' })
    expect(names.destinationFor('https://shop.example:8443/api/z', asked)).toBe('http://legacy:9000/base/z')
    expect(names.destinationFor('/api/z', asked)).toBe('/base/z')
    expect(names.destinationFor('https://shop.example:8443/z', asked)).toBe('http://legacy:9000/base/z')
  })
})

it.each([
  ['http://legacy:9000/docs/?a#b', 'https://shop.example/docs/?a#b'],
  ['HTTP://LEGACY:9000', 'https://shop.example'],
  ['http://legacy:9000?q', 'https://shop.example?q'],
  ['//legacy:9000/x', '//shop.example/x'],
  // The scheme is what the upstream is told of the client.
  ['https://legacy:9000/x', 'https://shop.example/x'],
  ['http://legacy:9000//evil.test/', 'https://shop.example//evil.test/'],
  ['http://legacy:9000/\xe9', 'https://shop.example/\xe9'],
])('a Location that names the upstream names what the client asked: %s', (value, expected) => {
  expect(becomes('Location', value)).toBe(expected)
  expect(becomes('content-location', value, { status: 200 })).toBe(expected)
})

it.each([
  'http://legacy/x',
  'http://legacy:9001/x',
  'http://legacy:9000@evil.test/',
  'http://user@legacy:9000/',
  'http://legacy:9000.evil.test/',
  'http://legacy.evil.test:9000/',
  'http://legacy:9000\\@evil.test/',
  'http://legacy:9000\t.evil.test/',
  'http:/legacy:9000/x',
  'http:legacy:9000/x',
  'ftp://legacy:9000/x',
  'https://sso.test/?back=http://legacy:9000/x',
  'https://sso.test/#http://legacy:9000/x',
  '/x?back=http://legacy:9000/x',
  '?back=http://legacy:9000/x',
  'x',
  '',
])('a Location that does not surely name the upstream stays as it is: %j', (value) => {
  expect(becomes('Location', value)).toBe(value)
})

it('a Location names the host that the client asked for where a name of its own is sent to the upstream', () => {
  const options = { host: 'inner.test' }
  for (const value of [
    'http://inner.test/x',
    'https://inner.test/x',
    'http://inner.test:9000/x',
    'http://legacy:9000/x',
  ])
    expect(becomes('Location', value, options), value).toBe('https://shop.example/x')
  expect(becomes('Location', 'http://inner.test:81/x', options)).toBe('http://inner.test:81/x')
})

it('a Location keeps the client’s own Host, and loses the port of the upstream that a server puts behind it', () => {
  const options = { host: null }
  expect(becomes('Location', 'http://shop.example:9000/docs/', options)).toBe('https://shop.example/docs/')
  for (const value of [
    'http://shop.example/x',
    'https://shop.example/x',
    'http://shop.example:81/x',
    'http://legacy:9000/x',
  ])
    expect(becomes('Location', value, options), value).toBe(value)
  const samePort: Asked = { scheme: 'https', authority: 'shop.example:9000', host: 'shop.example:9000', prefix: '' }
  expect(becomes('Location', 'http://shop.example:9000/x', { host: null, asked: samePort })).toBe(
    'http://shop.example:9000/x',
  )
})

it('a Location is a path alone for a client that names no host', () => {
  const asked: Asked = { scheme: 'http', authority: '', host: '', prefix: '' }
  for (const host of [null, 'legacy:9000']) {
    expect(becomes('Location', 'http://legacy:9000/x', { host, asked })).toBe('/x')
    expect(becomes('Location', 'http://legacy:9000', { host, asked })).toBe('/')
    expect(becomes('Location', 'http://legacy:9000//evil.test/', { host, asked })).toBe('/.//evil.test/')
  }
})

it.each([
  ['/base/x?y', '/x?y'],
  ['/base', '/'],
  ['/base?y', '/?y'],
  ['/basement', '/basement'],
  ['/other', '/other'],
  ['/base//evil.test/', '/.//evil.test/'],
  ['/base/\\evil.test/', '/./\\evil.test/'],
  ['/base/\t/evil.test/', '/./\t/evil.test/'],
  ['http://legacy:9000/base/x', 'https://shop.example/x'],
  ['http://legacy:9000/other', 'http://legacy:9000/other'],
  ['http://legacy:9000', 'http://legacy:9000'],
])('a Location loses the path of the URL of the upstream: %s', (value, expected) => {
  expect(becomes('Location', value, { url: 'http://legacy:9000/base' })).toBe(expected)
  const kept = value.replace('http://legacy:9000', 'https://shop.example')
  const own = expected.replace('http://legacy:9000', 'https://shop.example')
  expect(becomes('Location', kept, { url: 'http://legacy:9000/base', host: null })).toBe(own)
})

describe('other fields', () => {
  it.each([
    ['5; url=http://legacy:9000/x', '5; url=https://shop.example/x'],
    ['0;URL="http://legacy:9000"', '0;URL="https://shop.example"'],
    ["0, url = 'http://legacy:9000/x' more", "0, url = 'https://shop.example/x' more"],
    ['0; http://legacy:9000/x', '0; https://shop.example/x'],
    ['5', '5'],
    ['0; url=https://sso.test/?u=http://legacy:9000/x', '0; url=https://sso.test/?u=http://legacy:9000/x'],
  ])('Refresh: %s', (value, expected) => {
    expect(becomes('Refresh', value, { status: 200 })).toBe(expected)
  })

  it.each([
    ['s=http://legacy:9000; Domain=legacy; Path=/', 's=http://legacy:9000; Domain=shop.example; Path=/'],
    ['s=1;domain=.LEGACY', 's=1;domain=shop.example'],
    ['s=domain=legacy; HttpOnly', 's=domain=legacy; HttpOnly'],
    ['s=1; Domain=other.legacy; Secure', 's=1; Domain=other.legacy; Secure'],
    ['s=1; Domain=shop.example', 's=1; Domain=shop.example'],
  ])('Set-Cookie: %s', (value, expected) => {
    expect(becomes('Set-Cookie', value, { status: 200 })).toBe(expected)
  })

  it.each(['localhost:8080', '127.0.0.1', '[::1]:80'])('a cookie has no Domain towards %s', (host) => {
    const asked: Asked = { scheme: 'http', authority: host, host, prefix: '' }
    expect(becomes('Set-Cookie', 's=1; Domain=legacy; Path=/', { asked })).toBe('s=1; Path=/')
  })

  it.each([
    ['s=/base; Path=/base', 's=/base; Path=/'],
    ['s=1; path=/base/a; Secure', 's=1; path=/a; Secure'],
    ['s=1; Path=/', 's=1; Path=/'],
    ['s=1; Path=/basement', 's=1; Path=/basement'],
  ])('the Path of a cookie loses that of the URL: %s', (value, expected) => {
    for (const host of [null, 'legacy:9000'])
      expect(becomes('Set-Cookie', value, { url: 'http://legacy:9000/base', host })).toBe(expected)
  })
})

it('no browser is led to another host by what is rewritten', () => {
  const piece = fc.constantFrom(
    ...[
      'http:',
      'https:',
      '//',
      '/',
      '\\',
      'legacy',
      'legacy:9000',
      'shop.example',
      ':9000',
      '@',
      '.',
      '?',
      '#',
      '%2f',
    ],
    ...['evil.test', '/base', '/base/', '\t', ' ', 'x', '[::1]', ':', '..', 'LEGACY:9000', 'inner.test'],
  )
  const value = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
  const hostOf = (text: string) => URL.parse(text, 'https://shop.example/at/')?.host
  let changed = 0
  fc.assert(
    fc.property(
      value,
      fc.constantFrom(null, 'legacy:9000', 'inner.test'),
      fc.constantFrom('', '/base'),
      (text, host, base) => {
        const after = becomes('Location', text, { url: `http://legacy:9000${base}`, host })
        if (after === text) return
        changed++
        expect(['legacy:9000', 'inner.test', 'inner.test:9000', 'shop.example', 'shop.example:9000']).toContain(
          hostOf(text),
        )
        expect(hostOf(after)).toBe('shop.example')
      },
    ),
    { numRuns: runs(20_000) },
  )
  expect(changed).toBeGreaterThan(runs(20_000) / 100)
})
