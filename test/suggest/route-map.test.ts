import { describe, expect, it } from 'vitest'
import { parsePattern } from '../../src/config/pattern.ts'
import { JournalBuilder } from '../../src/replay/journal.ts'
import { pathRequest } from '../../src/replay/server-logs.ts'
import { createRouteTable, type RoutePattern } from '../../src/routing/route-table.ts'
import { canonicalTarget } from '../../src/routing/target.ts'
import { OPEN_PATHS } from '../../src/suggest/openness.ts'
import { rulesOf, type SuggestedRule } from '../../src/suggest/route-map.ts'
import { surveyOf } from '../../src/suggest/survey.ts'
import { randomNumbers } from './traffic.ts'

const FOLDING = { case: true, trailingSlash: true, trailingDots: false }

interface Asked {
  readonly method: string
  readonly path: string
}

function surveyed(asked: readonly Asked[]) {
  const builder = new JournalBuilder()
  for (const { method, path } of asked) {
    const reading = pathRequest({ at: 1, endedAt: 1, user: 'u', address: null, method, path, status: 200 })
    if (reading.kind === 'request') builder.add(reading.entry)
  }
  return surveyOf(builder.finish())
}

/** @param lines such as `GET /a` */
function suggested(lines: readonly string[], most = 32): string[] {
  const asked = lines.map((line) => {
    const [method = '', path = ''] = line.split(' ')
    return { method, path }
  })
  return rulesOf(surveyed(asked).tree, most).map(({ match, category }) => `${category} ${match}`)
}

function tableOf(rules: readonly SuggestedRule[]) {
  const patterns = rules.map(({ match }): RoutePattern => {
    const reading = parsePattern(match)
    if (!('value' in reading)) throw new Error(`${match}: ${reading.problem}`)
    return reading.value
  })
  return createRouteTable(patterns, FOLDING)
}

function many<T>(of: (i: number) => T, count = 40): T[] {
  return Array.from({ length: count }, (_, i) => of(i))
}

describe('the suggested route map', () => {
  it.each<[string, string[], string[]]>([
    ['a number is an id', ['GET /users/1', 'GET /users/2'], ['read GET /users/:id']],
    ['a UUID is one', ['GET /u/0b0c7a3e-8f5a-4c6b-9a51-1d1f0a2b3c4d'], ['read GET /u/:id']],
    ['a hash is one', ['GET /c/9f2ab41'], ['read GET /c/:id']],
    ['an id with a prefix is one', ['GET /charges/ch_3MmlLrLkdIwHu7ix'], ['read GET /charges/:id']],
    ['a version is none', ['GET /v1/users', 'GET /v2/users'], ['read GET /v1/users', 'read GET /v2/users']],
    [
      'ids behind ids have names of their own',
      ['GET /users/1/orders/2/items/3'],
      ['read GET /users/:id/orders/:id2/items/:id3'],
    ],
    ['a name beside ids stays one', ['GET /users/1', 'GET /users/me'], ['read GET /users/me', 'read GET /users/:id']],
    [
      'many names are values',
      many((i) => `GET /users/name${'abcdefgh'[i % 8]}${'stuvwx'[i % 6]}${'mnopqrtz'[(i * 3) % 5]}`),
      ['read GET /users/:name'],
    ],
    [
      'names that most requests have stay beside many values',
      [
        ...many(() => 'GET /users/me/settings', 60),
        ...many((i) => `GET /users/${'abcdefghij'[i % 10]}${'klmno'[Math.floor(i / 10)]}`),
      ],
      ['read GET /users/me/settings', 'read GET /users/:name'],
    ],
    [
      'methods that read and those that write have rules of their own',
      ['HEAD /a', 'OPTIONS /a', 'PUT /a', 'DELETE /a'],
      ['read GET /a', 'read OPTIONS /a', 'write DELETE|PUT /a'],
    ],
    [
      'paths that go on as they like have a rest',
      many((i) => `GET /files${many((k) => `/${i + k}`, 1 + (i % 4)).join('')}`),
      ['read GET /files/*'],
    ],
    ['one path in many spellings has one rule', ['GET /A/', 'GET /a', 'GET /a/'], ['read GET /A']],
    ['the root has a rule', ['GET /', 'GET /x'], ['read GET /', 'read GET /x']],
  ])('%s', (_title, lines, rules) => expect(suggested(lines)).toEqual(rules))

  it.each<[string, (user: string, i: number) => string, string[]]>([
    [
      'makes one parameter of names of which each user has one',
      (user) => `GET /api/users/${user}/orders`,
      ['read GET /api/users/:name/orders'],
    ],
    [
      'makes one of names at the root too, with paths behind them',
      (user) => `GET /${user}/cart`,
      ['read GET /:name/cart'],
    ],
    [
      'keeps names at the root that end there, and those that several users have',
      (_, i) => `GET ${['/home', '/about', '/help', '/a/x', '/a/y'][i % 5]}`,
      ['read GET /a/x', 'read GET /a/y', 'read GET /about', 'read GET /help', 'read GET /home'],
    ],
  ])('%s', (_title, lineOf, rules) => {
    const builder = new JournalBuilder()
    for (const i of many((i) => i)) {
      const user = `user${'abcd'[i % 4]}`
      const [method = '', path = ''] = lineOf(user, i).split(' ')
      const reading = pathRequest({ at: 1, endedAt: 1, user, address: null, method, path, status: 200 })
      if (reading.kind === 'request') builder.add(reading.entry)
    }
    const { tree } = surveyOf(builder.finish())
    expect(rulesOf(tree, 32).map(({ match, category }) => `${category} ${match}`)).toEqual(rules)
  })

  it('the suggested route map leaves out what the gateway never forwards, and says why', () => {
    const { requests, leftOut } = surveyed([
      { method: 'GET', path: '/a/../b' },
      { method: 'GET', path: '/a/../b' },
      { method: 'GET|POST', path: '/a' },
      { method: 'TRACE', path: '/a' },
      { method: 'GET', path: '/me/quota' },
      { method: 'HEAD', path: '/quota/' },
      { method: 'GET', path: '/a' },
    ])
    expect({ requests, leftOut: Object.fromEntries(leftOut) }).toEqual({
      requests: 1,
      leftOut: {
        path: { count: 2, examples: ['GET /a/../b'] },
        method: { count: 2, examples: ['GET|POST /a', 'TRACE /a'] },
        own: { count: 2, examples: ['GET /me/quota', 'HEAD /quota/'] },
      },
    })
  })

  it('the suggested route map keeps the names that a rule of our own log has', () => {
    const builder = new JournalBuilder()
    const reading = pathRequest({
      at: 1,
      endedAt: 1,
      user: 'u',
      address: null,
      method: 'GET',
      path: '',
      status: 200,
    })
    for (const text of ['GET /users/:user/files/*', '(unmatched)'])
      if (reading.kind === 'request') builder.add({ ...reading.entry, target: { kind: 'rule', text } })
    const { tree, leftOut } = surveyOf(builder.finish())
    expect(rulesOf(tree, 32).map(({ match }) => match)).toEqual(['GET /users/:user/files/*'])
    expect(leftOut.get('no_rule')?.count).toBe(1)
  })

  it.each(many((i) => i, 6))(
    'the suggested route map matches each path of the log, whatever they are: seed %d',
    (seed) => {
      const asked = randomPaths(seed + 1, 3000)
      const { tree, requests } = surveyed(asked)
      const rules = rulesOf(tree, 4 + seed * 8)
      const table = tableOf(rules)
      let matched = 0
      for (const { method, path } of asked) {
        const target = canonicalTarget(path, OPEN_PATHS)
        if ('problem' in target) continue
        expect(table.lookup(method, target.matched), `${method} ${path}`).toHaveProperty('rule')
        matched++
      }
      expect(matched).toBe(requests)
      expect(rules.length).toBeLessThanOrEqual(300)
    },
  )

  it('the suggested route map stays small whatever paths a stranger makes up', () => {
    const random = randomNumbers(5)
    const asked = many(() => {
      const words = many(() => `w${random(1e6).toString(36).replace(/\d/g, 'z')}`, 1 + random(12))
      return { method: 'GET', path: `/${words.join('/')}` }
    }, 12_000)
    const { tree } = surveyed(asked)
    expect(tree.size).toBeLessThanOrEqual(20_000)
    expect(rulesOf(tree, 32).length).toBeLessThanOrEqual(300)
  })
})

/** Of names, ids, odd characters and spellings, some of them refused. */
function randomPaths(seed: number, count: number): Asked[] {
  const random = randomNumbers(seed)
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T
  const segment = (): string => {
    const kind = random(12)
    if (kind < 5) return pick(['users', 'orders', 'Items', 'v1', 'files', 'search'])
    if (kind < 7) return `${random(5000)}`
    if (kind < 9) return many(() => pick(['a', 'b', 'c', 'd', 'e']), 1 + random(3)).join('')
    return pick([
      '%C3%A9t',
      'a:b',
      ':x',
      '*',
      'a*b',
      "o'k",
      '~me',
      'x'.repeat(70),
      'a+b',
      '.hidden',
      '%2e%2e',
      'a;b',
      '[1]',
      '',
      'c++',
      '$batch',
    ])
  }
  return many(
    () => ({
      method: pick(['GET', 'GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']),
      path: `/${many(segment, random(13)).join('/')}${pick(['', '', '/'])}`,
    }),
    count,
  )
}
