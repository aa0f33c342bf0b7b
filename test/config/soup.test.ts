// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the file, not of JavaScript
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { parseConfig } from '../../src/config/load.ts'
import { runs } from '../setup/runs.ts'

/** A result of the right form, whatever the input. */
function expectResponse(text: string): void {
  const result = parseConfig(text, 'tollgate.yaml', { NAME: 'value', NUMBER: '7' })
  if (result.ok) {
    expect(result.config.upstream.url).toMatch(/^https?:/)
    return
  }
  expect(result.problems.length).toBeGreaterThan(0)
  for (const { line, column, path, message } of result.problems) {
    expect(line).toBeGreaterThanOrEqual(1)
    expect(column).toBeGreaterThanOrEqual(1)
    expect(path).not.toBe('')
    // One problem is one line for whoever reads them.
    expect(`${path}${message}`).not.toMatch(/[\r\n]/)
  }
}

const PIECES = [
  ...[
    'upstream',
    'url',
    'http://127.0.0.1:9000',
    'routes',
    'match',
    'GET /a',
    'cost',
    'values',
    'quota',
    'windows',
    '1h',
    '2',
  ],
  ...[
    ': ',
    ':',
    '\n',
    '\n  ',
    '\n    ',
    '- ',
    '? ',
    '{',
    '}',
    '[',
    ']',
    ', ',
    '"',
    "'",
    '|\n',
    '>\n',
    '#',
    '&a ',
    '*a',
    '<<',
  ],
  ...[
    '!!str ',
    '!x ',
    '%YAML 1.1\n',
    '---\n',
    '...\n',
    '\t',
    '\ufeff',
    '${NAME}',
    '${NUMBER}',
    '${',
    '$${',
    '~',
    'null',
    '.inf',
  ],
]

test('any bytes are understood or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => expectResponse(Buffer.from(bytes).toString('latin1'))),
  )
}, 60_000)

test('any soup of YAML is understood or refused', () => {
  const soup = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''))
  fc.assert(fc.property(soup, expectResponse), { numRuns: runs(1000) })
}, 60_000)

test('any document is understood or refused', () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => expectResponse(stringify(value))))
}, 60_000)

const anything = fc.oneof(
  fc.constantFrom<unknown>(
    'refuse',
    'GET /a',
    '* /*',
    '1h',
    '64KiB',
    '10%',
    '${NAME}',
    '${NUMBER}',
    'file:x',
    'read',
    null,
    {},
    [],
    // Keys that code in between takes for something else.
    { length: {} },
    { size: 1, constructor: {} },
    JSON.parse('{"__proto__":{"then":1}}'),
  ),
  fc.jsonValue({ maxDepth: 2 }),
)
const section = (...keys: string[]) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, anything])), { requiredKeys: [] })
const or = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof({ weight: 4, arbitrary }, { weight: 1, arbitrary: anything })

test('any values under the right keys are understood or refused', () => {
  const limits = or(
    fc.dictionary(
      fc.constantFrom('read', 'write', '1h'),
      or(fc.dictionary(fc.constantFrom('1h', '1d', 'x'), or(fc.nat()))),
    ),
  )
  const scopes = or(fc.record({ personal: limits, global: limits }))
  const cost = or(fc.oneof(fc.nat(), section('body', 'values', 'max_body')))
  const route = fc.record({ match: anything, category: anything, cost, public: anything }, { requiredKeys: ['match'] })
  const issuer = section('issuer', 'audience', 'jwks', 'secret', 'algorithms', 'typ')
  const file = fc.record(
    {
      listen: anything,
      upstream: or(section('url', 'connect_timeout', 'headers', 'tls')),
      store: anything,
      admin: or(section('listen', 'token', 'hosts')),
      auth: or(fc.record({ jwt: or(fc.array(issuer)), gateway_tokens: anything })),
      quota: or(
        fc.record(
          { mode: anything, windows: anything, baselines: scopes, custom: scopes, store_outage: anything },
          { requiredKeys: [] },
        ),
      ),
      routes: or(fc.array(or(route))),
      unmatched: or(section('category', 'cost')),
      edge: or(section('max_body', 'allow_in_path', 'trusted_proxies')),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(file, (value) => expectResponse(stringify(value))),
    { numRuns: runs(300) },
  )
}, 60_000)
