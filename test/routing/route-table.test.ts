import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRouteTable, type RoutePattern, type Segment } from '../../src/routing/route-table.ts'
import { runs } from '../setup/runs.ts'

/** `GET|POST /v1/:name/*` as the loader would read it. */
function rule(match: string): RoutePattern {
  const [methods = '', path = ''] = match.split(' ')
  return { match, methods: methods === '*' ? '*' : methods.split('|'), segments: path.slice(1).split('/').map(segment) }
}

function segment(text: string): Segment {
  if (text === '*') return { kind: 'rest' }
  return text.startsWith(':') ? { kind: 'param', name: text.slice(1) } : { kind: 'literal', text }
}

/** The rule that answers, the methods of a 405, or `null`. */
function ask(rules: readonly string[], request: string): string | readonly string[] | null {
  const [method = '', path = ''] = request.split(' ')
  const found = createRouteTable(rules.map(rule)).lookup(method, path)
  if (found === null || 'unclear' in found) return null
  return 'rule' in found ? found.rule.match : found.allow
}

describe('the paths of a pattern', () => {
  test.each([
    ['GET /', 'GET /', true],
    ['GET /', 'GET /a', false],
    ['GET /a', 'GET /a', true],
    ['GET /a', 'GET /A', false],
    ['GET /a', 'GET /a/', false],
    ['GET /a/', 'GET /a/', true],
    ['GET /a/', 'GET /a', false],
    ['GET /a/:x', 'GET /a/b', true],
    ['GET /a/:x', 'GET /a', false],
    ['GET /a/:x', 'GET /a/', false],
    ['GET /a/:x', 'GET /a/b/', false],
    ['GET /a/:x', 'GET /a/b/c', false],
    ['GET /:x/b', 'GET //b', false],
    ['GET /a/*', 'GET /a', false],
    ['GET /a/*', 'GET /a/', true],
    ['GET /a/*', 'GET /a/b', true],
    ['GET /a/*', 'GET /a/b/c', true],
    ['GET /*', 'GET /', true],
    ['GET /*', 'GET /a/b', true],
  ])('%s and the request %s: %s', (pattern, request, matches) => {
    expect(ask([pattern], request)).toBe(matches ? pattern : null)
  })

  test('literals are compared in canonical form', () => {
    expect(ask(['GET /café'], 'GET /caf%C3%A9')).toBe('GET /café')
    expect(ask(['GET /%61pi/things%3Abatch'], 'GET /api/things:batch')).toBe('GET /%61pi/things%3Abatch')
  })
})

describe('the rule that wins', () => {
  const MUSIC = [
    'GET /*',
    'GET /v1/*',
    'GET /v1/:user/music',
    'GET /v1/user/:what',
    'GET /v1/user/music',
    '* /v1/user/music',
  ]

  test.each([
    ['GET /v1/user/music', 'GET /v1/user/music'],
    ['PUT /v1/user/music', '* /v1/user/music'],
    ['GET /v1/user/films', 'GET /v1/user/:what'],
    ['GET /v1/alice/music', 'GET /v1/:user/music'],
    ['GET /v1/alice/films', 'GET /v1/*'],
    ['GET /v2/user/music', 'GET /*'],
  ])('%s is priced by %s, whatever the order of the rules', (request, winner) => {
    expect(ask(MUSIC, request)).toBe(winner)
    expect(ask(MUSIC.toReversed(), request)).toBe(winner)
  })

  test('the path decides before the method', () => {
    expect(ask(['* /a/b', 'GET /a/:x'], 'GET /a/b')).toBe('* /a/b')
  })

  test('the left segment decides before those to its right', () => {
    expect(ask(['GET /a/:x/*', 'GET /:y/b/c'], 'GET /a/b/c')).toBe('GET /a/:x/*')
  })

  test('a literal that leads nowhere does not hide a less specific rule', () => {
    expect(ask(['GET /a/b/c', 'GET /:x/b/d', 'GET /*'], 'GET /a/b/d')).toBe('GET /:x/b/d')
    expect(ask(['GET /a/b/c', 'GET /:x/b/d', 'GET /*'], 'GET /a/b/e')).toBe('GET /*')
  })

  test('a more specific path without the method gives way to one that has it', () => {
    expect(ask(['POST /a/b', 'GET /a/:x'], 'GET /a/b')).toBe('GET /a/:x')
    expect(ask(['POST /a/b', 'PUT /a/:x', 'GET /*'], 'GET /a/b')).toBe('GET /*')
  })
})

test('HEAD is priced as GET if no rule names it', () => {
  expect(ask(['GET /a', '* /a'], 'HEAD /a')).toBe('GET /a')
  expect(ask(['GET /a', 'HEAD /a'], 'HEAD /a')).toBe('HEAD /a')
})

test('HEAD is priced by the rule of the same shape, not by a less specific one that names it', () => {
  expect(ask(['GET /a/b', 'HEAD /a/:x'], 'HEAD /a/b')).toBe('GET /a/b')
})

test('HEAD falls to any method if GET is not named', () => {
  expect(ask(['POST /a', '* /a'], 'HEAD /a')).toBe('* /a')
})

test('HEAD does not lend its rule to GET', () => {
  expect(ask(['HEAD /a'], 'GET /a')).toEqual(['HEAD'])
})

test('a denial of a known path with another method names the methods of every rule that matches the path', () => {
  expect(ask(['POST|PUT /a/b', 'GET /a/:x', 'DELETE /a/*', 'PATCH /b'], 'QUERY /a/b')).toEqual([
    'POST',
    'PUT',
    'GET',
    'HEAD',
    'DELETE',
  ])
})

test('a denial of a known path with another method names each method once', () => {
  expect(ask(['GET|HEAD /a/b', 'GET /a/:x'], 'POST /a/b')).toEqual(['GET', 'HEAD'])
})

describe('the rules of a table', () => {
  test('two rules for one method of one shape are an error that names both', () => {
    expect(() => createRouteTable([rule('GET|POST /a/:x'), rule('POST /a/:y')])).toThrow(
      'two rules for POST on one path: "GET|POST /a/:x" and "POST /a/:y"',
    )
    expect(() => createRouteTable([rule('* /a/*'), rule('* /a/*')])).toThrow('two rules')
    expect(() => createRouteTable([rule('GET /api'), rule('GET /%61pi')])).toThrow('two rules')
  })

  test('a star that is not last is an error', () => {
    expect(() => createRouteTable([rule('GET /a/*/b')])).toThrow('"*" must be the last segment')
  })

  test('the rules of a table names from the prototype of objects are ordinary names', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    for (const name of names) {
      expect(ask(['GET /a'], `GET /${name}`)).toBeNull()
      expect(ask(['GET /a'], `${name} /a`)).toEqual(['GET', 'HEAD'])
      expect(ask([`GET /${name}/${name}`], `GET /${name}/${name}`)).toBe(`GET /${name}/${name}`)
    }
  })

  test('ten thousand rules are found, each by its own path', () => {
    const rules = Array.from({ length: 10_000 }, (_, i) => rule(`GET /v1/tenant${i % 100}/:id/thing${i}`))
    const table = createRouteTable(rules)
    for (const [i, expected] of rules.entries()) {
      expect(table.lookup('GET', `/v1/tenant${i % 100}/x/thing${i}`)).toEqual({ rule: expected })
    }
    expect(table.lookup('GET', '/v1/tenant1/x/thing0')).toBeNull()
  }, 60_000)

  test('the rules of a table names that are the same, or nearly so, are found each below its own', () => {
    const names = Array.from({ length: 60 }, (_, i) => `n${10 + i}`)
    const rules = names.flatMap((a) => names.filter((b) => a !== b).map((b) => rule(`GET /${a}/${b}`)))
    const table = createRouteTable(rules)
    for (const a of names) {
      for (const b of names) {
        const found = table.lookup('GET', `/${a}/${b}`)
        expect(found).toEqual(a === b ? null : { rule: expect.objectContaining({ match: `GET /${a}/${b}` }) })
        for (const other of [`/${a}/${b}0`, `/${a}/m${b.slice(1)}`, `/${a}/${b}/${b}`, `/${b}`, `/${a}${b}`]) {
          expect(table.lookup('GET', other)).toBeNull()
        }
      }
    }
  }, 60_000)

  test('a path far deeper than any rule is looked up', () => {
    expect(ask(['GET /a/*'], `GET ${'/a'.repeat(8000)}`)).toBe('GET /a/*')
    expect(ask(['GET /a/b'], `GET ${'/a'.repeat(8000)}`)).toBeNull()
  })
})

describe('against a list searched from the most specific rule down', () => {
  const methods = fc.constantFrom('GET', 'POST', 'HEAD', 'GET|POST', 'HEAD|PUT', '*')
  const name = fc.constantFrom('a', 'b', ':x')
  const path = fc
    .tuple(fc.array(name, { maxLength: 3 }), fc.constantFrom('', 'a', '*', ':x'))
    .map(([names, last]) => `/${[...names, last].join('/')}`)
  const patterns = fc.uniqueArray(
    fc.tuple(methods, path).map(([m, p]) => `${m} ${p}`),
    { maxLength: 14 },
  )
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'DELETE'),
    segments: fc
      .tuple(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }), fc.constantFrom('', 'a', 'c'))
      .map(([names, last]) => [...names, last]),
  })

  test('every request gets the same rule', () => {
    fc.assert(
      fc.property(patterns, fc.array(request, { minLength: 10, maxLength: 20 }), (written, requests) => {
        const rules = withoutConflicts(written.map(rule))
        const table = createRouteTable(rules)
        for (const { method, segments } of requests) {
          const found = table.lookup(method, `/${segments.join('/')}`)
          const response =
            found !== null && 'rule' in found
              ? found.rule.match
              : found && 'allow' in found
                ? new Set(found.allow)
                : null
          expect(response).toEqual(modelResponse(rules, method, segments))
        }
      }),
      { numRuns: runs(1000) },
    )
  }, 60_000)

  function withoutConflicts(rules: readonly RoutePattern[]): RoutePattern[] {
    const taken = new Set<string>()
    return rules.filter(({ methods: named, segments }) => {
      const claims = [...(named === '*' ? ['*'] : named)].map((method) => `${method} ${JSON.stringify(segments)}`)
      if (claims.some((claim) => taken.has(claim))) return false
      for (const claim of claims) taken.add(claim)
      return true
    })
  }

  function modelResponse(rules: readonly RoutePattern[], method: string, path: readonly string[]) {
    const onPath = rules
      .filter(({ segments }) => matches(segments, path))
      .sort((a, b) => shapeRank(a).localeCompare(shapeRank(b)) || methodRank(a, method) - methodRank(b, method))
    const winner = onPath.find((candidate) => methodRank(candidate, method) < 3)
    if (winner !== undefined) return winner.match
    const allow = onPath.flatMap(({ methods: named }) => [...named])
    return allow.length === 0 ? null : new Set(allow.flatMap((m) => (m === 'GET' ? ['GET', 'HEAD'] : [m])))
  }

  function matches(segments: readonly Segment[], path: readonly string[]): boolean {
    const rest = segments.at(-1)?.kind === 'rest'
    const fixed = rest ? segments.slice(0, -1) : segments
    if (rest ? path.length <= fixed.length : path.length !== fixed.length) return false
    return fixed.every((s, i) => (s.kind === 'literal' ? s.text === path[i] : path[i] !== ''))
  }

  function shapeRank({ segments }: RoutePattern): string {
    return segments.map(({ kind }) => (kind === 'literal' ? '0' : kind === 'param' ? '1' : '2')).join('')
  }

  function methodRank({ methods: named }: RoutePattern, method: string): number {
    if (named === '*') return 2
    if (named.includes(method)) return 0
    return method === 'HEAD' && named.includes('GET') ? 1 : 3
  }
})
