import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { canonicalLiteral, canonicalTarget, type PathAllowances, type Target } from '../../src/routing/target.ts'
import { runs } from '../setup/runs.ts'

const STRICT: PathAllowances = { encodedSlash: false, emptySegment: false, semicolon: false }
const LAX: PathAllowances = { encodedSlash: true, emptySegment: true, semicolon: true }

function read(url: string, allow: Partial<PathAllowances> = {}): Target {
  const target = canonicalTarget(url, { ...STRICT, ...allow })
  if ('problem' in target) throw new Error(`${url}: ${target.problem}`)
  return target
}

function problem(url: string, allow: Partial<PathAllowances> = {}): string | null {
  const target = canonicalTarget(url, { ...STRICT, ...allow })
  return 'problem' in target ? target.problem : null
}

describe('an ordinary target', () => {
  test.each([
    ['/', ''],
    ['/api/search', ''],
    ['/api/search/', ''],
    ['/v1/things:batch@x', ''],
    ["/a!$&'()*+,=~._-", ''],
    ['/.well-known/...', ''],
    ['/a..b/..c/d..', ''],
    ['/a?', '?'],
    ['/?x', '?x'],
    ['/a?b=/../c//d;e%2f?%zz', '?b=/../c//d;e%2f?%zz'],
  ])('%s passes unchanged', (url, query) => {
    const path = url.slice(0, url.length - query.length)
    expect(read(url)).toEqual({ path, matched: path, query })
  })
})

describe('a harmless other spelling', () => {
  test.each([
    ['/%61pi/%73earch', '/api/search'],
    ['/api%2Djs/a%7eb%5F', '/api-js/a~b_'],
    ['/file%2ejs', '/file.js'],
    ['/caf%c3%a9', '/caf%C3%A9'],
    ['/a%20b%3f%23', '/a%20b%3F%23'],
    ['/100%25', '/100%25'],
    ['/100%25x', '/100%25x'],
    ['/no%c2%a0break', '/no%C2%A0break'],
    ['/a[1]', '/a%5B1%5D'],
    ['/a%5b1%5D', '/a%5B1%5D'],
    ['/x^2|y', '/x%5E2%7Cy'],
    ['/[::1]/^', '/%5B::1%5D/%5E'],
  ])('%s is forwarded as it came, and matched as %s', (url, matched) => {
    expect(read(`${url}?%61`)).toEqual({ path: url, matched, query: '?%61' })
  })

  test('an escaped delimiter is matched as the delimiter and forwarded as the client wrote it', () => {
    expect(read('/v1/things%3abatch/c%2B%2B')).toMatchObject({
      path: '/v1/things%3abatch/c%2B%2B',
      matched: '/v1/things:batch/c++',
    })
  })
})

describe('a target that servers read differently', () => {
  test.each(['', 'a', '?a', '*', 'http://evil/api', 'HTTPS://evil', 'evil:80', '\\a', '#', '%2Fa'])(
    'a target that servers read differently is refused if it is not a path: %j',
    (url) => {
      expect(problem(url)).not.toBeNull()
      expect(problem(url, LAX)).not.toBeNull()
    },
  )

  test.each([
    '/a#b',
    '/a?b#c',
    '/a\\..\\b',
    '/a b',
    '/a\tb',
    '/a\nb',
    '/a\0',
    '/a\x7f',
    '/é',
    '/a?é',
    '/a?b c',
    '/a?\x7f',
    '/"',
    '/<',
    '/>',
    '/`',
    '/{',
    '/}',
  ])('a target that servers read differently is refused for a raw character that belongs nowhere: %j', (url) => {
    expect(problem(url, LAX)).toMatch(/percent-encoded/)
  })

  test.each(['/%', '/%2', '/%zz', '/%2g', '/a%', '/%%36', '/%u0041'])(
    'a target that servers read differently is refused for an invalid escape: %s',
    (url) => {
      expect(problem(url, LAX)).toMatch(/invalid percent escape/)
    },
  )

  test.each([
    '/a%5cb',
    '/a%5C',
    '/%00',
    '/a%0d%0ab',
    '/%1F',
    '/a%09',
    '/%7f',
    '/%7F',
    '/%c2%85',
    '/%C2%90',
    '/a%c2%9fb',
  ])('a target that servers read differently is refused for an encoded backslash or control character: %s', (url) => {
    expect(problem(url, LAX)).toMatch(/backslash or control/)
  })

  test.each([
    '/.',
    '/..',
    '/a/./b',
    '/a/../b',
    '/a/..',
    '/%2e',
    '/%2E%2e/a',
    '/a/.%2e/b',
    '/a/%2e./b',
    '/..?x',
    '/a/.?',
  ])('a target that servers read differently is refused for a dot segment: %s', (url) => {
    expect(problem(url, LAX)).toMatch(/"\." or "\.\."/)
  })

  test.each([
    '/x/..%2fapi',
    '/x%2f..%2fapi',
    '/x%2f%2e%2e',
    '/..;/a',
    '/a/..;x=y/b',
    '/a/..%3bx',
    '/a/.;',
    '/a%2f.;/b',
  ])(
    'a target that servers read differently is refused for a dot segment beside an encoded slash or a parameter, even if those are allowed: %s',
    (url) => {
      expect(problem(url, LAX)).toMatch(/"\." or "\.\."/)
    },
  )

  test.each(['/%252f', '/%255c', '/%252e%252e/a', '/%2500', '/api/%2573earch', '/%25%32%66', '/%25252f', '/%2525'])(
    'a target that servers read differently is refused if it is encoded twice: %s',
    (url) => {
      expect(problem(url, LAX)).toMatch(/twice/)
    },
  )

  test.each(['/%c0%af', '/%c0%ae%c0%ae/', '/%e0%80%af', '/%ff', '/%c3', '/%c3x', '/%ed%a0%80', '/%f4%90%80%80'])(
    'a target that servers read differently is refused for overlong or invalid UTF-8: %s',
    (url) => {
      expect(problem(url, LAX)).toMatch(/UTF-8/)
    },
  )
})

describe('a spelling that a route map may allow', () => {
  test.each([
    ['/group%2fproject', 'encodedSlash', /encoded slash/, '/group%2Fproject'],
    ['/a//b', 'emptySegment', /empty segment/, '/a//b'],
    ['//evil/x', 'emptySegment', /empty segment/, '//evil/x'],
    ['/a//', 'emptySegment', /empty segment/, '/a//'],
    ['/a;v=1/b', 'semicolon', /semicolon/, '/a;v=1/b'],
    ['/a%3bv', 'semicolon', /semicolon/, '/a;v'],
  ] as const)('%s is refused, and passes with %s', (url, allowance, refusal, matched) => {
    expect(problem(url)).toMatch(refusal)
    expect(problem(url, { ...LAX, [allowance]: false })).toMatch(refusal)
    expect(read(url, { [allowance]: true })).toEqual({ path: url, matched, query: '' })
  })

  test.each(['/;/a', '/a/;x/b', '/%3bx'])(
    'a spelling that a route map may allow counts as empty if a segment has parameters only: %s',
    (url) => {
      expect(problem(url, { semicolon: true })).toMatch(/empty segment/)
      expect(problem(url, { semicolon: true, emptySegment: true })).toBeNull()
    },
  )
})

describe('whatever is sent', () => {
  const PIECES = [
    'a',
    'api',
    '/',
    '/',
    '.',
    '..',
    '%',
    '%2',
    '2',
    '5',
    'f',
    'F',
    'e',
    'c',
    '%25',
    '%2e',
    '%2F',
    '%5c',
    '%41',
    '%c3%a9',
    '%c0',
    ';',
    '%3b',
    '?',
    '#',
    '\\',
    ' ',
    ':',
    '%3A',
    '+',
  ]
  const url = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`)
  const allowances = fc.record({ encodedSlash: fc.boolean(), emptySegment: fc.boolean(), semicolon: fc.boolean() })

  test('the form that is matched is canonical: reading it again changes nothing, and what is forwarded came so', () => {
    fc.assert(
      fc.property(url, allowances, (text, allow) => {
        const first = canonicalTarget(text, allow)
        if ('problem' in first) return
        expect(first.path + first.query).toBe(text)
        expect(canonicalTarget(first.matched, allow)).toEqual({
          path: first.matched,
          matched: first.matched,
          query: '',
        })
      }),
      { numRuns: runs(3000) },
    )
  }, 60_000)

  test('an upstream that decodes, strips parameters, merges slashes and resolves dots sees the segments that were matched', () => {
    fc.assert(
      fc.property(url, (text) => {
        const target = canonicalTarget(text, STRICT)
        if ('problem' in target) return
        const matched = target.matched.slice(1).split('/').map(decodeURIComponent)
        expect(upstreamView(target.path)).toEqual(matched)
      }),
      { numRuns: runs(3000) },
    )
  }, 60_000)

  /** The most obliging backend: decodes as long as there is something to decode, and tidies up after each time. */
  function upstreamView(path: string): string[] {
    let text = path
    for (let i = 0; i < 4; i++) text = text.replace(/%[0-9a-fA-F]{2}(?:%[89abAB][0-9a-fA-F])*/g, decodeOrKeep)
    const segments: string[] = []
    const parts = text.replaceAll('\\', '/').split('/').slice(1)
    for (const [i, part] of parts.entries()) {
      const name = part.split(';')[0] ?? ''
      if (name === '..') segments.pop()
      else if (name !== '.' && (name !== '' || i === parts.length - 1)) segments.push(name)
    }
    return segments
  }

  function decodeOrKeep(escapes: string): string {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes
    }
  }

  test('any string at all is read or refused', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(canonicalTarget(text, LAX)).toBeTypeOf('object')
      }),
    )
  }, 60_000)

  test('characters that browsers leave raw are no escapes to be looked at: 8 KiB of them take no work for each', () => {
    const fromCharCode = vi.spyOn(String, 'fromCharCode')
    const encode = vi.spyOn(globalThis, 'encodeURIComponent')
    onTestFinished(() => void vi.restoreAllMocks())
    const target = canonicalTarget(`/%41%3a${'[]^|'.repeat(2000)}`, STRICT)
    expect(target).toMatchObject({ matched: `/A:${'%5B%5D%5E%7C'.repeat(2000)}` })
    expect(fromCharCode.mock.calls.length + encode.mock.calls.length).toBeLessThan(10)
  })

  test('a raw bracket, caret or bar is read as its escape', () => {
    const pieces = fc.constantFrom(...PIECES, ...'[]^|', '%5b', '%5D', '%7c', '%5E', '%')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), allowances, (parts, allow) => {
        const path = `/${parts.join('')}`.replace(/[?#].*/s, '')
        const escaped = path.replace(/[[\]^|]/g, encodeURIComponent)
        const { path: _written, ...read } = { path: '', ...canonicalTarget(path, allow) }
        expect(canonicalTarget(escaped, allow)).toMatchObject(read)
      }),
      { numRuns: runs(3000) },
    )
  }, 60_000)

  test('a path of 16 KB that nearly fits is judged without running away', () => {
    expect(problem(`/${'a.'.repeat(8000)}\\`)).not.toBeNull()
    expect(problem(`${'/a'.repeat(8000)}//`)).not.toBeNull()
    expect(problem(`/${'%2e'.repeat(5000)}/..`)).not.toBeNull()
  })
})

describe('a literal of the route map', () => {
  test.each([
    ['search', 'search'],
    ['%73earch', 'search'],
    ['things%3Abatch', 'things:batch'],
    ['café', 'caf%C3%A9'],
    ['caf%c3%a9', 'caf%C3%A9'],
    ['a b', 'a%20b'],
    ['group%2fproject', 'group%2Fproject'],
    ['%', '%'],
    ['\ud800', '%EF%BF%BD'],
    ['', ''],
  ])('%j is compared as %j', (text, form) => {
    expect(canonicalLiteral(text)).toBe(form)
  })

  test('any segment that passes is found by the literal of its own text, whichever way it is spelt', () => {
    const segment = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.isWellFormed())
    fc.assert(
      fc.property(segment, (text) => {
        const target = canonicalTarget(`/${encodeURIComponent(text)}`, LAX)
        if ('problem' in target) return
        expect(target.matched).toBe(`/${canonicalLiteral(encodeURIComponent(text))}`)
        if (!text.includes('%') && !text.includes('/')) expect(target.matched).toBe(`/${canonicalLiteral(text)}`)
      }),
    )
  }, 60_000)
})
