import { describe, expect, test } from 'vitest'
import { cost, priceIn, type Request } from './asked.ts'

const RPC = priceIn('{ body: method, values: { eth_call: 2, eth_getLogs: 20 }, otherwise: 1, batch: 50 }')
const MCP = priceIn(
  '{ body: method, values: { tools/call: { body: params.name, values: { search: 5 }, otherwise: 2 } }, otherwise: 1, batch: 50 }',
)
const EXPORT = priceIn('{ query: limit, times: 0.1, min: 1, max: 500, missing: 100 }')
const ITEMS = priceIn('{ body: items, each: 2, max: 2000 }')
const FILES = priceIn('{ size: request, per: 1MiB, max: 500 }')
const UNITS = priceIn('{ header: X-Units, times: 2.5, max: 50 }')

const json = (value: unknown): Request => ({ body: JSON.stringify(value) })
const isRefused = expect.stringMatching(/^The /)

test.each([
  [{ method: 'eth_call' }, 2],
  [{ method: 'eth_getLogs' }, 20],
  [{ method: 'eth_chainId' }, 1],
  [{ id: 1, result: '0x1' }, 1],
  [{ method: null }, 1],
  [[{ method: 'eth_call' }, { method: 'eth_getLogs' }, { method: 'net_version' }], 23],
])(
  'a price with values and otherwise is that of the value, of any other, or the sum of a batch: %j',
  (body, tokens) => {
    expect(cost(RPC, json(body))).toBe(tokens)
  },
)

test.each([
  [{ method: 'tools/call', params: { name: 'search' } }, 5],
  [{ method: 'tools/call', params: { name: 'fetch' } }, 2],
  [{ method: 'tools/call', params: {} }, 2],
  [{ method: 'tools/call' }, 2],
  [{ method: 'tools/call', params: null }, 2],
  [{ method: 'initialize', params: { name: 'search' } }, 1],
  [[{ method: 'tools/call', params: { name: 'search' } }, { method: 'ping' }], 6],
])('a price with values may hold a further price, which reads deeper: %j', (body, tokens) => {
  expect(cost(MCP, json(body))).toBe(tokens)
})

test('a price with values reads a member whose name has dots where the path has it in brackets', () => {
  const price = priceIn('{ body: \'["odd.name"].x\', values: { a: 3 } }')
  expect(cost(price, json({ 'odd.name': { x: 'a' } }))).toBe(3)
  expect(cost(price, json({ odd: { name: { x: 'a' } } }))).toBe(
    'The body must have "[\\"odd.name\\"].x" with one of these values: a.',
  )
})

test.each(['', 'hello', 'no JSON, but words'])(
  'a price with values and otherwise has a price for %j, which is no JSON to anybody',
  (body) => {
    expect(cost(RPC, { body, type: 'text/plain' })).toBe(1)
    expect(cost(RPC, { body, type: '' })).toBe(1)
  },
)

test('a price with values is that of null for a member that is missing, where null has one', () => {
  const price = priceIn('{ body: mode, values: { "null": 9, fast: 3 }, otherwise: 1 }')
  expect([{}, { mode: null }, { mode: 'slow' }].map((body) => cost(price, json(body)))).toEqual([9, 9, 1])
})

describe('otherwise is no way around a listed value', () => {
  test.each<[string, Request]>([
    ['another spelling of the name', json({ Method: 'eth_getLogs' })],
    ['the name twice', { body: '{"method":"net_version","method":"eth_getLogs"}' }],
    ['the name twice, once escaped', { body: '{"method":"net_version","m\\u0065thod":"eth_getLogs"}' }],
    ['another letter case of a value', json({ method: 'ETH_GETLOGS' })],
    ['a value with blanks', json({ method: ' eth_getLogs' })],
    ['a value with a zero byte', json({ method: 'eth_getLogs\u0000x' })],
    ['a value in full-width letters', json({ method: 'ｅth_getLogs' })],
    ['a list of the value', json({ method: ['eth_getLogs'] })],
    ['an object', json({ method: { toString: 'eth_getLogs' } })],
    ['a number for a text', json({ method: 5 })],
    ['a byte order mark', { body: '\ufeff{"method":"eth_getLogs"}' }],
    ['UTF-16', { body: Buffer.from('{"method":"eth_getLogs"}', 'utf16le') }],
    ['another type', { body: '{"method":"eth_getLogs"}', type: 'text/plain' }],
    ['no type', { body: '{"method":"eth_getLogs"}', type: '' }],
    ['two types', { body: '{"method":"eth_getLogs"}', fields: ['Content-Type', 'text/plain'] }],
    ['a content coding', { body: '{"method":"eth_getLogs"}', fields: ['Content-Encoding', 'gzip'] }],
    ['a comment', { body: '{/**/"method":"eth_getLogs"}' }],
    ['single quotes', { body: "{'method':'eth_getLogs'}" }],
    ['a comma too many', { body: '{"method":"eth_getLogs",}' }],
    ['an end too early', { body: '{"method":"eth_getLogs"' }],
    ['YAML', { body: 'method: eth_getLogs', type: 'application/yaml' }],
    ['a form', { body: 'method=eth_getLogs', type: 'application/x-www-form-urlencoded' }],
    ['JSON in a text', json(JSON.stringify({ method: 'eth_getLogs' }))],
    ['an array in an array', json([[{ method: 'eth_getLogs' }]])],
    ['an array with more than objects', json([{ method: 'eth_call' }, 'eth_getLogs'])],
    ['an empty array', json([])],
    ['too many in an array', json(Array(51).fill({ method: 'net_version' }))],
    ['one of an array that is refused', json([{ method: 'net_version' }, { METHOD: 'eth_getLogs' }])],
    ['the name in the query', { ...json({}), query: '?method=eth_getLogs' }],
  ])('otherwise is no way around a listed value: %s', (_what, request) => {
    expect(cost(RPC, request)).toEqual(isRefused)
  })

  test('a value that could be taken for a listed one is refused with a sentence that does not deny all other values', () => {
    const price = priceIn('{ body: method, values: { eth_call: 2 }, otherwise: 1 }')
    expect(cost(price, json({ method: 'ETH_CALL' }))).toBe(
      'The body must have "method" with one of these values: eth_call, or with one that cannot be taken for any of them.',
    )
  })

  test.each([
    { method: 'tools/call', params: [{ name: 'search' }] },
    { method: 'tools/call', params: ['search'] },
    { method: 'tools/call', params: '{"name":"search"}' },
    { method: 'tools/call', params: { Name: 'search' } },
    { method: 'tools/call', params: { name: ['search'] } },
    { method: 'tools/call', Params: { name: 'search' }, params: {} },
    { method: 'tools/call', 'params.name': 'search' },
    { method: 'tools/call', params: { name: 'fetch' }, 'params.name': 'search' },
  ])('otherwise is no way around a listed value at any level of a path: %j', (body) => {
    expect(cost(MCP, json(body))).toEqual(isRefused)
  })

  test.each([
    '"params":{},"params":{"name":"search"}',
    '"params":{"name":"fetch","name":"search"}',
    '"params":{"name":"fetch","n\\u0061me":"search"}',
  ])('otherwise is no way around a listed value with a name twice at any level: %s', (members) => {
    expect(cost(MCP, { body: `{"method":"tools/call",${members}}` })).toEqual(isRefused)
  })

  test.each(['?name=search', '?params[name]=search', '?params.name=search', '?params=x', '?METHOD=x', '??name=search'])(
    'otherwise is no way around a listed value by the query: %s',
    (query) => {
      expect(cost(MCP, { ...json({ method: 'tools/call' }), query })).toEqual(isRefused)
    },
  )

  test.each(['"2"', '2.5', '4294967298', '2.0000000000000001', '[2]', 'true', '1e400'])(
    'otherwise is no way around a listed number by %s, which somebody takes for it',
    (value) => {
      const price = priceIn('{ body: n, values: { 2: 10 }, otherwise: 1 }')
      expect(cost(price, { body: '{"n":7}' })).toBe(1)
      expect(cost(price, { body: `{"n":${value}}` })).toEqual(isRefused)
    },
  )

  test.each(['1', '"true"', '"yes"', '[]', '{}'])(
    'otherwise is no way around true by %s, which somebody takes for it',
    (value) => {
      const price = priceIn('{ body: stream, values: { true: 10 }, otherwise: 1 }')
      expect(cost(price, { body: '{"stream":false}' })).toBe(1)
      expect(cost(price, { body: `{"stream":${value}}` })).toEqual(isRefused)
    },
  )

  test.each(['02', '2.0', ' 2', '+2', '2abc', '%32%20', '"2"', '20e-1', '２'])(
    'otherwise is no way around a number in a query by %j',
    (value) => {
      const price = priceIn('{ query: n, values: { 2: 10, all: 50 }, otherwise: 1 }')
      const at = (text: string) => cost(price, { query: `?n=${text}` })
      expect([at('2'), at('%32'), at('7'), at('some'), cost(price, {})]).toEqual([10, 10, 1, 1, 1])
      expect(at(encodeURI(value).replaceAll('%25', '%'))).toEqual(isRefused)
    },
  )

  test.each(['f%2561st', 'slow,fast', 'slow%3Bfast', 'FAST', '%EF%BD%86ast', 'fa%ff'])(
    'otherwise is no way around a text in a query by %s, which somebody decodes or parts once more',
    (value) => {
      const price = priceIn('{ query: mode, values: { fast: 9 }, otherwise: 1 }')
      expect(['fast', 'slow', '%E6%85%A2'].map((text) => cost(price, { query: `?mode=${text}` }))).toEqual([9, 1, 1])
      expect(cost(price, { query: `?mode=${value}` })).toEqual(isRefused)
    },
  )

  test.each(['FAST', 'fast,slow', 'fast%', '"fast"', '\xef\xbd\x86ast', 'f\xe2\x80\x8bast', 'fa\xff'])(
    'otherwise is no way around a text in a header by %j, which somebody takes for it',
    (value) => {
      const price = priceIn('{ header: X-Mode, values: { fast: 9 }, otherwise: 1 }')
      expect(['fast', 'slow', '\xe6\x85\xa2'].map((text) => cost(price, { fields: ['X-Mode', text] }))).toEqual([
        9, 1, 1,
      ])
      expect(cost(price, { fields: ['X-Mode', value] })).toEqual(isRefused)
    },
  )
})

test.each([
  ['', 100],
  ['?limit=1', 1],
  ['?limit=30', 3],
  ['?limit=31', 4],
  ['?limit=4999', 500],
  ['?limit=5001', 500],
  ['?limit=0', 1],
  ['?limit=-7', 1],
  [`?limit=${'9'.repeat(90)}`, 500],
  ['?offset=5&limit=20', 2],
  ['?l%69mit=%320', 2],
])('a price by a number in the query %j is its product, rounded up, within min and max', (query, tokens) => {
  expect(cost(EXPORT, { query })).toBe(tokens)
})

test.each([
  ...[
    '?limit=',
    '?limit',
    '?limit=ten',
    '?limit=1e3',
    '?limit=5e-1',
    '?limit=2.5',
    '?limit=05',
    '?limit=0x10',
    '?limit=+5',
  ],
  ...[
    '?limit=1&limit=1',
    '?limit=1&limit=900',
    '?limit[]=5',
    '?limit[0]=5',
    '?limit=1&limit[]=900',
    '?Limit=5',
    '?LIMIT=5',
  ],
  ...[
    '?limit=1;a=b',
    '?a=b;limit=900',
    '?limit=1&a=b;limit=900',
    '?limit%00=5',
    '?limit=1&%6Cimit=900',
    '?limit=%EF%BC%95',
  ],
  ...['?limit=1,900', '?limit=1%2C900', `?limit=${'9'.repeat(200)}`, '?%20limit=5', '??limit=5', '?lim%C4%B1t=5'],
])('a price by a number in the query %j is refused: it has two readings, or is no number', (query) => {
  expect(cost(EXPORT, { query })).toEqual(isRefused)
})

test('a price by a number in the query is refused beside a body, which many frameworks read as one with the query', () => {
  expect(cost(EXPORT, { query: '?limit=1', body: 'limit=900' })).toEqual(isRefused)
  expect(cost(EXPORT, { query: '?limit=1', length: null })).toEqual(isRefused)
})

test.each([
  [['X-Units', '3'], 8],
  [['x-units', '0'], 1],
  [['X-UNITS', '1000'], 50],
])('a price by a number in a header %j is its product, rounded up, within min and max', (fields, tokens) => {
  expect(cost(UNITS, { fields })).toBe(tokens)
})

test.each([[[]], [['X-Units', '3', 'X-Units', '3']], [['X-Units', '3, 40']], [['X-Units', 'x']], [['X-Units', '']]])(
  'a price by a number in a header %j is refused: it is missing, has two readings, or is no number',
  (fields) => {
    expect(cost(UNITS, { fields })).toMatch(/^The request must have the header X-Units /)
  },
)

test.each([
  ['1', 3],
  ['1.0', 3],
  ['2e0', 6],
  ['0.5', 2],
  ['5e-1', 2],
  ['1e400', 90],
  ['-1e400', 1],
  ['1e-400', 1],
  ['0e999999', 1],
])('a price by a number in the body is the same in every spelling of the number: %s', (value, tokens) => {
  expect(cost(priceIn('{ body: n, times: 3, max: 90 }'), { body: `{"n":${value}}` })).toBe(tokens)
})

test.each(['"5"', 'true', '[5]', '{"n":5}', `1${'0'.repeat(200)}`, 'null'])(
  'a price by a number in the body is refused for %s, and for none',
  (value) => {
    const price = priceIn('{ body: n, times: 3, max: 90 }')
    expect(cost(price, { body: `{"n":${value}}` })).toBe('The body must have "n" as a number.')
    expect(cost(price, { body: '{}' })).toBe('The body must have "n" as a number.')
  },
)

test.each([
  [[], 1],
  [['a'], 2],
  [[[1, 2], { a: [3, 4] }, '],[', null], 8],
  [Array(1000).fill(0), 2000],
  [Array(2000).fill(0), 2000],
])('a price by a list is so much for each element, within min and max (%#)', (items, tokens) => {
  expect(cost(ITEMS, json({ items }))).toBe(tokens)
})

test.each(['"a,b"', '{"0":1}', '7', 'null'])('a price by a list is refused for %s', (items) => {
  expect(cost(ITEMS, { body: `{"items":${items}}` })).toBe('The body must have "items" as a list.')
})

test.each([
  [0, 1],
  [1, 1],
  [1024 ** 2, 1],
  [1024 ** 2 + 1, 2],
  [1024 ** 4, 500],
  [null, 500],
])('a price by the length of the body counts each unit that is begun: %s bytes', (length, tokens) => {
  expect(cost(FILES, { length })).toBe(tokens)
})

test('a body of 64 KiB is priced in little time, however deep it is, and whatever its names and values are made of', () => {
  const bodies = [
    `{"method":"tools/call","params":${'{"params":'.repeat(6000)}1${'}'.repeat(6000)}}`,
    `{"method":"tools/call","params":{${'"\ufdfa":0,'.repeat(7000)}"name":"fetch"}}`,
    `{"method":"${'t'.repeat(65_000)}"}`,
    `[${'{"method":"ping"},'.repeat(3000)}{}]`,
    `{"method":"tools/call","params":{"name":"${'s\u0301'.repeat(20_000)}"}}`,
  ]
  const before = process.cpuUsage()
  for (const body of bodies) for (let i = 0; i < 5; i++) cost(MCP, { body })
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(2000)
})
