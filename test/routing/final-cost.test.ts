import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { namesOfPath } from '../../src/lib/json-path.ts'
import { JsonText } from '../../src/lib/json-text.ts'
import {
  type Amount,
  costByStatus,
  costByValue,
  type Found,
  freeBy,
  inFields,
  inJson,
  inSize,
  Said,
  type SettleRule,
} from '../../src/routing/final-cost.ts'

const namesOf = (path: string) => namesOfPath(path) ?? []
const jsonAt = (path: string) => ({ kind: 'json', paths: [namesOf(path)], sum: null, maxBody: 1000 }) as const
const HEADER = { kind: 'header', field: 'x-tokens-used' } as const

function rule(changes: Partial<SettleRule> & { readonly statuses?: Record<string, Amount> } = {}): SettleRule {
  const { statuses = {}, ...rest } = changes
  const status = new Map(Object.entries(statuses))
  return { status, source: HEADER, reading: { max: 500 }, otherwise: 'all', missing: 'all', ...rest }
}
const values = (list: Record<string, Amount>) => ({ values: new Map(Object.entries(list)) })

describe('the status of a response', () => {
  const statuses = { '4xx': 1, '5xx': 0, '404': 3, '2xx': 'all' } as const

  it.each([
    [200, 20],
    [400, 1],
    [404, 3],
    [503, 0],
  ])('%i comes before what else the response says, the status before its class', (status, tokens) => {
    expect(costByStatus(rule({ statuses }), status, 20)).toEqual({ tokens, source: 'response' })
  })

  it('the status of a response that the rule does not have leaves it to the field of the response, or is otherwise', () => {
    expect(costByStatus(rule({ statuses }), 302, 20)).toBe(null)
    const alone = rule({ statuses, source: null, otherwise: 2 })
    expect(costByStatus(alone, 302, 20)).toEqual({ tokens: 2, source: 'response' })
  })
})

it.each<[string[], SettleRule]>([
  [[], rule()],
  [['status.5xx', 'status.gateway'], rule({ statuses: { '4xx': 1, '5xx': 0, gateway: 0 } })],
  [['values.HIT', 'otherwise', 'missing'], rule({ reading: values({ HIT: 0, 1: 'all' }), otherwise: 0, missing: 0 })],
  [['otherwise'], rule({ statuses: { '2xx': 'all' }, source: null, otherwise: 0 })],
])('the responses that cost nothing have the keys %j', (keys, given) => {
  expect(freeBy(given)).toEqual(keys)
})

describe('the tokens that a response names', () => {
  it.each<[string, Found, number, string]>([
    ['are the cost', { text: '42' }, 42, 'response'],
    ['may be none', { text: '0' }, 0, 'response'],
    ['may be more than the reserve', { json: '500' }, 500, 'response'],
    ['are a number of JSON in any spelling', { json: '4.2e1' }, 42, 'response'],
    ['are none below 0', { json: '-0' }, 0, 'response'],
    ['above max count as max', { text: '501' }, 500, 'above_max'],
    ['far above max count as max', { json: '1e300' }, 500, 'above_max'],
    ['above what a double holds count as max', { text: '9007199254740993' }, 500, 'above_max'],
    ['of very many digits count as max', { text: '9'.repeat(400) }, 500, 'above_max'],
    ['are digits in a header: an exponent is none', { text: '1e1' }, 20, 'malformed'],
    ['below 0 are no number of tokens', { text: '-1' }, 20, 'malformed'],
    ['below 0 are none in JSON', { json: '-1' }, 20, 'malformed'],
    ['with a fraction are none', { text: '1.5' }, 20, 'malformed'],
    ['with a fraction are none in JSON', { json: '1.5' }, 20, 'malformed'],
    ['in words are none', { text: 'many' }, 20, 'malformed'],
    ['of nothing are none', { text: '' }, 20, 'malformed'],
    ['in hexadecimal are none', { text: '0x10' }, 20, 'malformed'],
    ['in a text of JSON are none', { json: '"42"' }, 20, 'malformed'],
    ['in a list are none', { json: '[42]' }, 20, 'malformed'],
    ['of null are none', { json: 'null' }, 20, 'malformed'],
  ])('%s', (_, found, tokens, source) => {
    expect(costByValue(rule(), found, 20)).toEqual({ tokens, source })
  })

  it.each<[Extract<Found, string>, number]>([
    ['missing', 0],
    ['malformed', 20],
    ['unread', 20],
    ['unsaid', 0],
    ['coded', 20],
  ])('the tokens that a response names that are %s leave %i of a reserve of 20 if missing is 0', (found, tokens) => {
    expect(costByValue(rule({ missing: 0 }), found, 20)).toEqual({ tokens, source: found })
  })

  it('the tokens that a response names never make it more than max or the reserve, whatever the response says', () => {
    const found = fc.oneof(
      fc.string().map((text) => ({ text })),
      fc.json().map((json) => ({ json })),
    )
    fc.assert(
      fc.property(found, fc.nat(1000), fc.nat(1000), (said, max, reserve) => {
        const { tokens } = costByValue(rule({ reading: { max } }), said, reserve)
        expect(Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= Math.max(max, reserve)).toBe(true)
      }),
    )
  }, 60_000)
})

describe('a value that a response has', () => {
  const ofJson = rule({ reading: values({ 1: 'all', '"1"': 5, HIT: 0 }), otherwise: 2, missing: 2 })

  it.each<[string, Found, number]>([
    ['1 is that number', { json: '1' }, 15],
    ['1.0 is the same number', { json: '1.0' }, 15],
    ['"1" is a text', { json: '"1"' }, 5],
    ['"HIT" is a text', { json: '"HIT"' }, 0],
    ['HIT in a header too', { text: 'HIT' }, 0],
    ['1 in a header is the number', { text: '1' }, 15],
    ['5004 is none of the values', { json: '5004' }, 2],
    ['a list is none of them', { json: '[1]' }, 2],
  ])('%s', (_, found, tokens) => {
    expect(costByValue(ofJson, found, 15)).toEqual({ tokens, source: 'response' })
  })
})

describe('what is read of a response', () => {
  it.each<[string[], Found]>([
    [[], 'missing'],
    [[' 42 '], { text: '42' }],
    [['42', '42'], { text: '42' }],
    [['42', '43'], 'malformed'],
  ])('in fields of %j is %j', (lines, found) => {
    expect(inFields(lines)).toEqual(found)
  })

  it.each<[string, Found]>([
    ['{"usage":{"total":42}}', { json: '42' }],
    [' \n{"usage":{"total":7}} ', { json: '7' }],
    ['{"usage.total":7}', 'missing'],
    ['[{"usage":{"total":7}},{"usage":{"total":42}},{"usage":{}}]', { json: '42' }],
    ['{"usage":{}}', 'missing'],
    ['{"usage":{"total":null}}', 'missing'],
    ['{"usage":{"total":1,"total":2}}', 'malformed'],
    ['{"usage":{"total":1},"usage":{"total":1}}', 'malformed'],
    ['{"usage":{"total":1,"\\u0074otal":2}}', 'malformed'],
    ['{"usage":{"total":42}', 'missing'],
    ['[1]', 'missing'],
    ['', 'missing'],
    ['<html>', 'missing'],
  ])('in the body %s is %j', (body, found) => {
    expect(inJson(new JsonText(body, body.length), jsonAt('usage.total'), { max: 500 })).toEqual(found)
  })
})

it.each<[string, string, Found]>([
  ['["usage.total"]', '{"usage.total":7,"usage":{"total":8}}', { json: '7' }],
  ['x["a.b"].c', '{"x":{"a.b":{"c":3},"a":{"b":{"c":4}}}}', { json: '3' }],
  ['["a\\"b"]', '{"a\\"b":5}', { json: '5' }],
  ['["a.b"]', '{"a.b":1,"a\\u002eb":2}', 'malformed'],
])('the path %s of the body %s has %j', (path, body, found) => {
  expect(inJson(new JsonText(body, body.length), jsonAt(path), { max: 500 })).toEqual(found)
})

describe('a sum of members', () => {
  const said = (members: Record<string, number>, paths: readonly string[], texts: readonly string[]) => {
    const sum = Object.entries(members).map(([path, weight]) => ({ path: namesOf(path), weight }))
    const all = new Said({ kind: 'json', paths: paths.map(namesOf), sum, maxBody: 1000 }, { max: 500 })
    const news = texts.map((text) => all.hear(new JsonText(text, text.length)))
    return { found: all.found, news }
  }

  it.each<[string, Record<string, number>, string[], Found]>([
    ['each with its weight', { a: 1, b: 4 }, ['{"u":{"a":3,"b":2}}'], { json: '11' }],
    ['rounded up in the end', { a: 0.1, b: 0.1 }, ['{"u":{"a":3,"b":8}}'], { json: '2' }],
    ['as a person reads it: 70 x 1.1 is 77', { a: 1.1 }, ['{"u":{"a":70}}'], { json: '77' }],
    ['without one that is not there', { a: 1, b: 4 }, ['{"u":{"b":2}}'], { json: '8' }],
    ['without one that is null', { a: 1, b: 4 }, ['{"u":{"a":null,"b":2}}'], { json: '8' }],
    ['of members of members', { 'c.d': 2 }, ['{"u":{"c":{"d":5}}}'], { json: '10' }],
    ['of names in another spelling', { a: 1 }, ['{"\\u0075":{"\\u0061":5}}'], { json: '5' }],
    ['of names that JSON escapes', { 'a/b': 1, '["c\\"d"]': 1 }, ['{"u":{"a\\/b":5,"c\\"d":1}}'], { json: '6' }],
    ['of none is missing', { a: 1, b: 4 }, ['{"u":{}}', '{"u":null}', 'a'], 'missing'],
    ['of a text is none', { a: 1, b: 4 }, ['{"u":{"a":"3","b":2}}'], 'malformed'],
    ['of one that is there twice is none', { a: 1, b: 4 }, ['{"u":{"a":3,"b":2,"a":3}}'], 'malformed'],
    ['of the last value of each', { a: 1, b: 4 }, ['{"u":{"a":3,"b":1}}', '{"u":{"b":2}}', '{}'], { json: '11' }],
  ])('a sum is read %s', (_, members, texts, found) => {
    expect(said(members, ['u'], texts).found).toEqual(found)
  })

  it('each text has its members in the first place that it has, and without a place at its top', () => {
    const texts = ['{"m":{"u":{"a":25,"b":1}}}', '{"u":{"b":15},"m":{"u":{"b":1}}}', '{"t":1}']
    expect(said({ a: 1, b: 2 }, ['u', 'm.u'], texts)).toEqual({ found: { json: '55' }, news: [true, true, false] })
    expect(said({ a: 1, t: 2 }, [], texts)).toEqual({ found: { json: '2' }, news: [false, false, true] })
  })
})

it.each([
  [0, '1'],
  [1, '1'],
  [1000, '1'],
  [1001, '2'],
])('a body of %i bytes has begun %s times 1000 bytes, and the first with its head', (bytes, text) => {
  expect(inSize(bytes, { kind: 'size', per: 1000 })).toEqual({ text })
})
