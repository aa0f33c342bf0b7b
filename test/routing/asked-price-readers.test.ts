import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../setup/runs.ts'
import { cost, priceIn } from './asked.ts'

/** Prices by what a request asks for, beside a plain model of readers, which knows nothing of how the gateway reads. */

const RPC = priceIn('{ body: method, values: { eth_call: 2, eth_getLogs: 20 }, otherwise: 1, batch: 50 }')
const MCP = priceIn(
  '{ body: method, values: { tools/call: { body: params.name, values: { search: 5, 7: 9 }, otherwise: 2 } }, otherwise: 1, batch: 50 }',
)
const UNITS = priceIn('{ body: n, times: 0.3, min: 2, max: 70, missing: 9 }')
const ITEMS = priceIn('{ body: a.items, each: 3, min: 0, max: 40, missing: 5 }')

type Any = Record<string, unknown>
const isObject = (value: unknown): value is Any => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Own members only, as every reader has them. */
const at = (value: unknown, name: string) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined)

/** The model: what `JSON.parse` reads. */
function rpc(one: unknown): number {
  return { eth_call: 2, eth_getLogs: 20 }[String(at(one, 'method'))] ?? 1
}
function mcp(one: unknown): number {
  if (at(one, 'method') !== 'tools/call') return 1
  const name = at(at(one, 'params'), 'name')
  return name === 'search' ? 5 : name === 7 ? 9 : 2
}
const whole = (body: unknown, of: (one: unknown) => number) =>
  Array.isArray(body) ? body.reduce((sum, one) => sum + of(one), 0) : of(body)

const METHODS = fc.constantFrom('eth_call', 'eth_getLogs', 'net_version', 'tools/call', 'initialize', '')
const OTHERS = fc.dictionary(
  fc.constantFrom('id', 'jsonrpc', 'result', '__proto__', 'x'),
  fc.jsonValue({ maxDepth: 2 }),
)
const CALL = fc
  .record(
    {
      method: fc.option(METHODS),
      params: fc.option(fc.record({ name: fc.constantFrom('search', 'fetch', null, 7, 8) }, { requiredKeys: [] })),
    },
    { requiredKeys: [] },
  )
  .chain((call) => OTHERS.map((others) => ({ ...others, ...call })))
const BODY = fc.oneof(CALL, fc.array(CALL, { minLength: 1, maxLength: 50 }))

test('a clean body costs what the plain model says, alone and in a batch, however it is written', () => {
  fc.assert(
    fc.property(BODY, fc.constantFrom(0, 1, 3), fc.boolean(), (body, space, escaped) => {
      const plain = JSON.stringify(body, null, space)
      const text = escaped ? plain.replaceAll('"method"', '"m\\u0065thod"').replaceAll('search', 's\\u0065arch') : plain
      expect(cost(RPC, { body: text })).toBe(whole(body, rpc))
      expect(cost(MCP, { body: text })).toBe(whole(body, mcp))
    }),
    { numRuns: runs(500) },
  )
}, 60_000)

test('a clean body with a number or a list costs what exact arithmetic says', () => {
  const number = fc.oneof(
    fc.integer(),
    fc.integer({ min: 0, max: 300 }),
    fc.integer({ min: 0, max: 9999 }).map((n) => n / 100),
  )
  fc.assert(
    fc.property(fc.option(number), fc.option(fc.array(fc.jsonValue({ maxDepth: 1 }))), (n, items) => {
      // In hundredths, so that nothing is rounded on the way.
      const tokens = n === null ? 9 : Math.min(70, Math.max(2, Math.ceil((Math.round(n * 100) * 3) / 1000)))
      expect(cost(UNITS, { body: JSON.stringify({ n }) })).toBe(tokens)
      const body = JSON.stringify({ a: items === null ? {} : { items } })
      expect(cost(ITEMS, { body })).toBe(items === null ? 5 : Math.min(40, items.length * 3))
    }),
    { numRuns: runs(1000) },
  )
}, 60_000)

/** A member as a client writes it: the text of its name, and what some reader may find in it. */
interface Written {
  readonly name: string
  readonly value: string
}

const NAMES = fc.constantFrom(
  ...[
    'method',
    'Method',
    'm\\u0065thod',
    'METHOD',
    'method\\u0000',
    'me_thod',
    'params',
    'Params',
    'p\\u0061rams',
    'x',
  ],
  ...['params.name', 'name'],
)
const NAME_NAMES = fc.constantFrom('name', 'Name', 'n\\u0061me', 'na-me', 'name\\u0000x', 'y')
const NAME_VALUES = fc.constantFrom(
  ...[
    '"search"',
    '"SEARCH"',
    '" search"',
    '["search"]',
    '"sea\\u0072ch"',
    '"fetch"',
    '7',
    '"7"',
    '7.0',
    '7.5',
    '8',
    'null',
    'true',
    '{}',
  ],
)
const member = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Written> =>
  fc.record({ name, value })
const objectOf = (members: readonly Written[]) =>
  `{${members.map(({ name, value }) => `"${name}":${value}`).join(',')}}`
const PARAMS = fc
  .array(member(NAME_NAMES, NAME_VALUES), { maxLength: 3 })
  .chain((members) => fc.constantFrom(objectOf(members), `[${objectOf(members)}]`, 'null', '"search"'))
const METHOD_VALUES = fc.constantFrom(
  ...['"tools/call"', '"Tools/Call"', '["tools/call"]', '"tools/call "', '"tools\\/call"', '"ping"', 'null', '3'],
)
const MEMBER = member(NAMES, fc.oneof(METHOD_VALUES, PARAMS, NAME_VALUES))

/** A name or a value as the most lenient reader takes it. */
const folded = (text: string) =>
  (text.split('\0')[0] ?? '')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s_-]/g, '')

/** What readers take for a member: the first one or the last, in any spelling. */
function found(members: readonly Written[], name: string): string[] {
  return members.filter((each) => folded(JSON.parse(`"${each.name}"`)) === name).map(({ value }) => value)
}

/** All that readers make of a scalar: a list of one is its element, a text may be a number. */
function readings(json: string): string[] {
  const value: unknown = JSON.parse(json)
  const one = Array.isArray(value) && value.length === 1 ? value[0] : value
  return isObject(one) ? [] : [folded(String(one)), String(Math.trunc(Number(one)))]
}

/** The members of an object as it is written, each by itself, also two of one name. */
function membersOf(json: string): Written[] {
  const inner = json.replace(/^\[?\{/, '').replace(/\}\]?$/, '')
  return inner === '' || inner === json
    ? []
    : inner.split(/,(?=")/).map((pair) => {
        const [, name = '', value = ''] = /^"([^"]*)":(.*)$/s.exec(pair) ?? []
        return { name, value }
      })
}

/** The dearest that some reader could take a body for. */
function dearestReading(members: readonly Written[]): number {
  const methods = found(members, 'method').flatMap(readings)
  if (!methods.includes('tools/call')) return 1
  const names = [
    ...found(members, 'params').flatMap((params) => found(membersOf(params), 'name')),
    ...found(members, 'params.name'),
  ].flatMap(readings)
  return names.includes('7') ? 9 : names.includes('search') ? 5 : 2
}

const FORMS: readonly ((text: string) => string | Buffer)[] = [
  (text) => text,
  (text) => `\ufeff${text}`,
  (text) => Buffer.from(text, 'utf16le'),
  (text) => text.replace(/\}$/, ',}'),
  (text) => text.replaceAll('"', "'"),
  (text) => `${text} // x`,
  (text) => `[${text}]`,
  (text) => `[[${text}]]`,
  (text) => JSON.stringify(text),
]
const QUERIES = [
  '',
  '?name=search',
  '?METHOD=tools/call',
  '?params[name]=search',
  '?a=1;name=search',
  '?n%61me=search',
  '?q=1',
]

test('whatever a client writes is refused, or costs no less than any lenient reader takes it for', () => {
  let priced = 0
  fc.assert(
    fc.property(
      fc.array(MEMBER, { maxLength: 4 }),
      fc.constantFrom(...FORMS),
      fc.constantFrom('application/json', 'application/json', 'text/plain', ''),
      fc.constantFrom('', ...QUERIES),
      (members, form, type, query) => {
        const tokens = cost(MCP, { body: form(objectOf(members)), type, query })
        if (typeof tokens !== 'number') return
        priced++
        expect(tokens).toBeGreaterThanOrEqual(dearestReading(members))
        expect(query).toBeOneOf(['', '?q=1'])
      },
    ),
    { numRuns: runs(20_000) },
  )
  expect(priced).toBeGreaterThan(runs(20_000) / 200)
}, 120_000)

test('whatever a query says is refused, or costs no less than any reader of queries takes it for', () => {
  const price = priceIn('{ query: limit, times: 1, max: 1000, missing: 40 }')
  const pieces = [
    'limit',
    'Limit',
    'l%69mit',
    'lim',
    '=',
    '=5',
    '=900',
    '&',
    '&',
    ';',
    '[]',
    '[0]',
    '%00',
    '%20',
    '+',
    ',',
    'a=1',
    '?',
    '-',
    '.',
  ]
  const query = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => `?${parts.join('')}`)
  let priced = 0
  fc.assert(
    fc.property(query, (text) => {
      const tokens = cost(price, { query: text })
      if (typeof tokens !== 'number') return
      priced++
      for (const limit of limitsIn(text)) expect(tokens).toBeGreaterThanOrEqual(Math.min(1000, limit))
    }),
    { numRuns: runs(20_000) },
  )
  expect(priced).toBeGreaterThan(runs(20_000) / 100)
}, 120_000)

/** What frameworks read: parted by `&` alone or by `;` too, lists, the first value or the last, in any letter case. */
function limitsIn(query: string): number[] {
  const texts = [query.slice(1), query.slice(1).replaceAll(';', '&'), query.slice(query.lastIndexOf('?') + 1)]
  return texts.flatMap((text) =>
    [...new URLSearchParams(text)].flatMap(([name, value]) => {
      const [plain = ''] = name.split('\0')
      const isLimit = plain.trim().toLowerCase().replace(/^\?*/, '').replace(/\[.*/s, '') === 'limit'
      const number = Number.parseInt(value, 10)
      return isLimit && !Number.isNaN(number) ? [number] : []
    }),
  )
}
