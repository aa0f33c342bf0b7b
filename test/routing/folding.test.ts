import { expect, test } from 'vitest'
import { parsePattern } from '../../src/config/pattern.ts'
import { EXACT, type Folding } from '../../src/routing/folding.ts'
import { createRouteTable } from '../../src/routing/route-table.ts'
import { canonicalTarget } from '../../src/routing/target.ts'

const CASE: Folding = { ...EXACT, case: true }
const SLASH: Folding = { ...EXACT, trailingSlash: true }
const DOTS: Folding = { ...EXACT, trailingDots: true }
const ALL: Folding = { case: true, trailingSlash: true, trailingDots: true }
const ALLOWED = { encodedSlash: true, emptySegment: true, semicolon: true }

/** The rule that a request has, `null` for none, or why it is refused. */
function ask(rules: readonly string[], folding: Folding, written: string): string | null {
  const patterns = rules.map((text) => {
    const reading = parsePattern(text)
    if ('problem' in reading) throw new Error(reading.problem)
    return reading.value
  })
  const target = canonicalTarget(written, ALLOWED)
  if ('problem' in target) return target.code
  const found = createRouteTable(patterns, folding).lookup('POST', target.matched)
  if (found === null) return null
  if ('unclear' in found) return found.unclear
  return 'rule' in found ? found.rule.match : `405 ${found.allow.join()}`
}

const DEAR = 'POST /v1/charge'
const CHEAP = '* /v1/*'

test.each<[Folding, string]>([
  [CASE, '/v1/CHARGE'],
  [CASE, '/V1/charge'],
  [CASE, '/v1/%43harge'],
  [CASE, '/%561/ch%41rg%45'],
  [SLASH, '/v1/charge/'],
  [DOTS, '/v1/charge.'],
  [DOTS, '/v1/charge...'],
  [DOTS, '/v1./charge'],
  [DOTS, '/v1/charge%20'],
  [DOTS, '/v1/charge%20.%20'],
  [DOTS, '/v1/charge%2E'],
  [ALL, '/V1./CHARGE.%20/'],
])('a spelling with %o has the rule of the path that it is to the upstream: %s', (folding, path) => {
  expect(ask([DEAR, CHEAP], folding, path)).toBe(DEAR)
  expect(ask([DEAR, CHEAP], EXACT, path)).not.toBe(DEAR)
})

test.each<[Folding, string]>([
  [CASE, '/v1/charge/'],
  [CASE, '/v1/charge.'],
  [SLASH, '/v1/CHARGE'],
  [SLASH, '/v1/charge//'],
  [SLASH, '/v1/charge.'],
  [DOTS, '/v1/Charge'],
  [DOTS, '/v1/.charge'],
  [DOTS, '/v1/%20charge'],
  [DOTS, '/v1/charge+'],
  [ALL, '/v1/charge-'],
  [ALL, '/v1/charge/x'],
])('a spelling with %o is another path if it is one to the upstream: %s', (folding, path) => {
  expect(ask([DEAR, CHEAP], folding, path)).toBe(CHEAP)
})

test('a spelling has the rule of its path also if the rule has the odd spelling', () => {
  for (const written of ['POST /V1/CHARGE', 'POST /v1/charge/', 'POST /v1/charge.', 'POST /v1/%43harge%20']) {
    for (const path of ['/v1/charge', '/v1/Charge/', '/v1/charge.']) {
      expect(ask([written, CHEAP], ALL, path)).toBe(written)
    }
  }
})

test('a spelling has the rule of its path also if that has a parameter', () => {
  expect(ask(['POST /v1/:id/pay', CHEAP], ALL, '/V1/Bob./PAY/')).toBe('POST /v1/:id/pay')
  expect(ask(['POST /v1/:id', '* /*'], ALL, '/v1/Bob/')).toBe('POST /v1/:id')
  expect(ask(['POST /v1/:id', '* /*'], ALL, '/v1/')).toBe('* /*')
})

test('a slash at the end is the path without it, or else an empty rest', () => {
  expect(ask(['* /a', '* /a/*'], SLASH, '/a/')).toBe('* /a')
  expect(ask(['* /:x', '* /a/*'], SLASH, '/a/')).toBe('* /a/*')
  expect(ask(['* /a/*'], SLASH, '/a')).toBeNull()
  expect(ask(['GET /a', '* /*'], SLASH, '/a/')).toBe('* /*')
})

test('a slash at the end is all there is of the root', () => {
  expect(ask(['* /', '* /*'], SLASH, '/')).toBe('* /')
  expect(ask(['* /*'], SLASH, '/')).toBe('* /*')
})

test('a slash at the end behind another one is an empty segment', () => {
  expect(ask(['* /a', '* /*'], SLASH, '/a//')).toBe('* /*')
  expect(ask(['* /a', '* /*'], SLASH, '/a//b')).toBe('* /*')
  expect(ask(['* /a//', '* /*'], SLASH, '/a//')).toBe('* /a//')
})

test('a path that two services would fold differently is refused for a segment of dots and blanks only', () => {
  for (const path of ['/v1/.../charge', '/v1/charge/...', '/v1/%20/charge', '/v1/charge/%20.']) {
    expect(ask([DEAR, CHEAP], DOTS, path)).toBe('target_only_dots')
    expect(ask([DEAR, CHEAP], { ...ALL, trailingDots: false }, path)).toBe(CHEAP)
  }
})

test('a path that two services would fold differently is refused for a letter beyond ASCII if another rule has its other case', () => {
  const rules = ['POST /v1/caf\u00e9', 'POST /v1/kiss', CHEAP]
  expect(ask(rules, CASE, '/v1/CAF%C3%A9')).toBe(rules[0])
  expect(ask(rules, CASE, '/v1/caf%C3%89')).toBe('target_letter_case')
  // The Kelvin sign and the long s, which Python and find-my-way take for k and s.
  expect(ask(rules, CASE, '/v1/%E2%84%AAiss')).toBe('target_letter_case')
  expect(ask(rules, CASE, '/v1/ki%C5%BFs')).toBe('target_letter_case')
  expect(ask(rules, EXACT, '/v1/%E2%84%AAiss')).toBe(CHEAP)
})

test('a path that two services would fold differently is not refused for a letter that makes no difference', () => {
  expect(ask([DEAR, CHEAP], CASE, '/v1/%C3%89t%C3%A9')).toBe(CHEAP)
  expect(ask(['POST /v1/:name'], CASE, '/V1/%C3%89t%C3%A9')).toBe('POST /v1/:name')
})

test('two rules that are one path cannot stand in one table', () => {
  expect(() => ask(['POST /a', 'POST /A'], CASE, '/a')).toThrow('two rules')
  expect(() => ask(['POST /a', 'POST /a/'], SLASH, '/a')).toThrow('two rules')
  expect(() => ask(['POST /a', 'POST /a.'], DOTS, '/a')).toThrow('two rules')
  expect(() => ask(['POST /\u00e9', 'POST /\u00c9'], CASE, '/a')).toThrow('two rules')
  expect(ask(['POST /a', 'POST /A', 'POST /a/', 'POST /a.'], EXACT, '/a')).toBe('POST /a')
})

test('thousands of dots take no time that grows with their square', () => {
  expect(ask([DEAR, CHEAP], DOTS, `/v1/${'.'.repeat(60_000)}x`)).toBe(CHEAP)
  expect(ask([DEAR, CHEAP], DOTS, `/v1/${'%20.'.repeat(15_000)}x`)).toBe(CHEAP)
})
