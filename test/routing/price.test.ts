import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AskedPrice } from '../../src/inputs/price.ts'
import { priceOf, queryFault } from '../../src/routing/price.ts'
import { runs } from '../setup/runs.ts'

const VALUES = new Map([
  ['2', 10],
  ['3', 15],
  ['5', 25],
])

interface Priced {
  readonly fields?: readonly string[]
  readonly values?: ReadonlyMap<string, number>
  readonly maxBody?: number
}

/** By a field of the body. */
function charge({ fields = ['chargeId'], values = VALUES, maxBody = 1000 }: Priced = {}): AskedPrice {
  const prices = new Map([...values].map(([value, cost]) => [value, { kind: 'fixed', cost } as const]))
  const reading = { kind: 'values', values: prices } as const
  return { kind: 'asked', source: { kind: 'body', path: [fields] }, reading, otherwise: null, batch: null, maxBody }
}

function ask(body: string | Buffer, more: Priced, type: string | undefined, coding?: string) {
  const bytes = Buffer.from(body)
  const rawHeaders = [
    ...(type === undefined ? [] : ['Content-Type', type]),
    ...(coding === undefined ? [] : ['Content-Encoding', coding]),
  ]
  return priceOf(charge(more), { body: bytes, query: '', rawHeaders, length: bytes.length })
}

/** The cost, or the code of the refusal. */
function price(body: string | Buffer, more: Priced = {}, type: string | undefined = 'application/json') {
  const response = ask(body, more, type)
  return 'cost' in response ? response.cost : response.code
}

function sentence(body: string, more: Priced = {}): string | null {
  const response = ask(body, more, 'application/json')
  return 'cost' in response ? null : response.msg
}

/** A name as all its spellings have it. */
function foldedAtOnce(name: string): string {
  const [visible = ''] = name.split('\0', 1)
  const without = (text: string) => text.replace(/[\p{M}\p{C}\s_-]/gu, '')
  return without(without(visible).normalize('NFKD')).toUpperCase().toLowerCase()
}

test.each([
  ['{"chargeId":2}', 10],
  ['{"chargeId":2.0}', 10],
  ['{"chargeId":2e0}', 10],
  ['{"chargeId":20e-1}', 10],
  [' {\n"x" : [1], "chargeId" : 5 ,"y":{"chargeId":2}}', 25],
  ['{"\\u0063hargeId":3}', 15],
])('the price of a body is that of the value of its field: %s', (body, cost) => {
  expect(price(body)).toBe(cost)
})

test('the price of a body may hang on true, false and null, and on text', () => {
  const values = new Map([
    ['true', 7],
    ['null', 8],
    ['full', 9],
  ])
  expect(price('{"chargeId":true}', { values })).toBe(7)
  expect(price('{"chargeId":null}', { values })).toBe(8)
  expect(price('{"chargeId":"full"}', { values })).toBe(9)
  expect(price('{"chargeId":false}', { values })).toBe('bad_request')
})

test('the price of a body hangs on the type too: the number 2 and the text "2" are two values', () => {
  const values = new Map([
    ['2', 7],
    ['"2"', 8],
    ['02', 9],
    ['"true"', 10],
  ])
  expect(price('{"chargeId":2}', { values })).toBe(7)
  expect(price('{"chargeId":"2"}', { values })).toBe(8)
  expect(price('{"chargeId":"\\u0032"}', { values })).toBe(8)
  expect(price('{"chargeId":"02"}', { values })).toBe(9)
  expect(price('{"chargeId":"true"}', { values })).toBe(10)
  expect(price('{"chargeId":true}', { values })).toBe('bad_request')
  expect(sentence('{"chargeId":1}', { values })).toMatch(/one of these values: 2, "2", 02, "true"\.$/)
})

test('the price of a body may be zero', () => {
  expect(price('{"chargeId":1}', { values: new Map([['1', 0]]) })).toBe(0)
})

describe('a value without a price', () => {
  test.each([
    '4',
    '2.5',
    '2e1',
    '-2',
    '"2"',
    '"\\u0032"',
    '"2.0"',
    '" 2"',
    '"02"',
    'null',
    'true',
    '[2]',
    '{"2":2}',
    '2.0000000000000000001',
  ])('the value %s is refused', (value) => {
    expect(price(`{"chargeId":${value}}`)).toBe('bad_request')
  })

  test('a value without a price is refused with the values that have one', () => {
    expect(sentence('{"chargeId":4}')).toBe('The body must have "chargeId" with one of these values: 2, 3, 5.')
    expect(sentence('{}', { fields: ['chargeId', 'id'] })).toBe(
      'The body must have "chargeId" or "id" with one of these values: 2, 3, 5.',
    )
  })

  test('a value without a price is refused if it is a list or an object, whatever the map holds', () => {
    const values = new Map([
      ['[]', 1],
      ['{}', 1],
    ])
    for (const value of ['[]', '{}', '[2]', '{"2":2}']) {
      expect(price(`{"chargeId":${value}}`, { values })).toBe('bad_request')
    }
  })

  test('a value without a price is not found on the prototype of anything', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'size']) {
      expect(price(`{"chargeId":"${name}"}`)).toBe('bad_request')
      expect(price(`{"${name}":2}`)).toBe('bad_request')
    }
    expect(price('{"__proto__":2}', { fields: ['__proto__'] })).toBe(10)
    expect(price('{"__proto__":{"chargeId":2}}')).toBe('bad_request')
  })
})

test.each([
  ['twice', '"chargeId":2,"chargeId":5'],
  ['twice alike', '"chargeId":2,"chargeId":2'],
  ['once escaped', '"chargeId":2,"\\u0063hargeId":5'],
  ['in another case', '"chargeId":2,"ChargeId":5'],
  ['in another case, escaped', '"chargeId":2,"CHARGEI\\u0044":5'],
  ['with an underscore', '"chargeId":2,"charge_id":5'],
  ['with a hyphen', '"chargeId":2,"Charge-Id":5'],
  ['with a space', '"chargeId":2,"charge Id":5'],
  ['with a zero byte', '"chargeId":2,"chargeId\\u0000x":5'],
  ['with a lone surrogate', '"chargeId":2,"chargeId\\ud800":5'],
  ['with an invisible character', '"chargeId":2,"charge\\u200bId":5'],
  ['with a mark', '"chargeId":2,"charg\u0301eId":5'],
  ['with a letter that has a mark', '"chargeId":2,"charg\u00e9Id":5'],
  ['with full-width letters', '"chargeId":2,"ｃhargeId":5'],
  ['with a dotted I', '"chargeId":2,"chargeİd":5'],
  ['with a dotless i', '"chargeId":2,"chargeıd":5'],
])('a field that parsers find differently is refused: %s', (_, members) => {
  const [first, second] = members.split(/,(?=")/)
  expect(price(`{${members}}`)).toBe('bad_request')
  expect(price(`{${second},${first}}`)).toBe('bad_request')
  expect(sentence(`{${members}}`)).toMatch(/only once, in one spelling/)
})

test('a field that parsers find differently is refused if it is there in another spelling only', () => {
  expect(price('{"ChargeId":2}')).toBe('bad_request')
  expect(price('{"charge_id":2}')).toBe('bad_request')
})

test('a field that parsers find differently is refused under two of its names, and accepted under any one', () => {
  const fields = ['chargeId', 'charge_id', 'id']
  expect(price('{"chargeId":2}', { fields })).toBe(10)
  expect(price('{"charge_id":2}', { fields })).toBe(10)
  expect(price('{"id":2}', { fields })).toBe(10)
  expect(price('{"chargeId":2,"id":2}', { fields })).toBe('bad_request')
  expect(price('{"chargeId":2,"charge_id":2}', { fields })).toBe('bad_request')
  expect(price('{"chargeId":2,"ID":5}', { fields })).toBe('bad_request')
})

test('a field that parsers find differently knows that a long s and a Kelvin sign are letters in another case', () => {
  expect(price('{"size":2,"\u017fize":5}', { fields: ['size'] })).toBe('bad_request')
  expect(price('{"kind":2,"\u212aind":5}', { fields: ['kind'] })).toBe('bad_request')
})

test('a field that parsers find differently is found behind any number of marks, which cost no more than letters', () => {
  // Normalising sorts a run of marks, one by one.
  const marks = ['\u0345', '\u0315', '\u0300', '\u0323'].map((mark) => mark.repeat(7500)).join('')
  const before = process.cpuUsage()
  for (let i = 0; i < 5; i++) {
    expect(price(`{"chargeId":2,"charge${marks}Id":5}`, { maxBody: 64 * 1024 })).toBe('bad_request')
  }
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(1000)
})

test('a field that parsers find differently is found behind characters of which nothing is left, however many and in any row', () => {
  for (const nothing of ['\u00a8', '_', '\ud800', '\u200b', '\u0301', '\u00b4\u2017']) {
    const name = ['charge', 'Id'].join(nothing.repeat(3000))
    expect(price(JSON.stringify({ chargeId: 2, [name]: 5 }), { maxBody: 64 * 1024 })).toBe('bad_request')
  }
})

test('a field that parsers find differently is not looked for in more of a name than the field is long: one character may stand for 18', () => {
  const body = `{"${'\ufdfa'.repeat(21_000)}":0,"chargeId":2}`
  const normalize = vi.spyOn(String.prototype, 'normalize')
  onTestFinished(() => normalize.mockRestore())
  expect(price(body, { maxBody: 64 * 1024 })).toBe(10)
  const normalized = normalize.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0)
  expect(normalized).toBeLessThan(100)
})

test('a field that parsers find differently is not looked for in more of a name than one of the fields begins with', () => {
  let char = 0xac00
  const hangul = () => String.fromCharCode(...Array.from({ length: 8 }, () => char++))
  const members = Array.from({ length: 690 }, () => `"${hangul()}":0,"Char${hangul()}":0`)
  const normalize = vi.spyOn(String.prototype, 'normalize')
  onTestFinished(() => normalize.mockRestore())
  expect(price(`{${members.join()},"chargeId":2}`, { maxBody: 64 * 1024 })).toBe(10)
  expect(normalize).toHaveBeenCalledTimes('chargeId'.length + 'C'.length + 2 * members.length)
})

test('a field that parsers find differently leaves other members alone', () => {
  expect(price('{"chargeId":2,"x":1,"X":2,"@chargeId":5,"chargeIds":5}')).toBe(10)
})

describe('a body that is not one JSON object in UTF-8', () => {
  test.each([
    '',
    ' ',
    '2',
    '"chargeId"',
    'null',
    'true',
    '[{"chargeId":2}]',
    '["chargeId",2]',
    '{"chargeId":2',
    '{"chargeId":2}{}',
    "{'chargeId':2}",
    '{"chargeId":2,}',
    '{/**/"chargeId":2}',
    '{"chargeId":02}',
    '{"chargeId":+2}',
    'chargeId=2',
    '\ufeff{"chargeId":2}',
    '{"a\nb":1,"chargeId":2}',
    '{"chargeId":2}\0',
  ])('%j is refused, and called so', (body) => {
    expect(price(body)).toBe('bad_request')
    expect(sentence(body)).toBe('The body of this request must be a JSON object.')
  })

  test('a body that is not one JSON object in UTF-8 is refused in an invalid or another encoding', () => {
    expect(price(Buffer.from([...Buffer.from('{"chargeId":2,"x":"'), 0xff, ...Buffer.from('"}')]))).toBe('bad_request')
    expect(price(Buffer.from([...Buffer.from('{"chargeId":2,"x":"'), 0xc0, 0xa2, ...Buffer.from('"}')]))).toBe(
      'bad_request',
    )
    expect(price(Buffer.from('{"chargeId":2}', 'utf16le'))).toBe('bad_request')
  })

  test('a body that is not one JSON object in UTF-8 is refused with more than 10000 members, whether the rest of it is JSON or not', () => {
    const maxBody = 1024 * 1024
    const members = Array.from({ length: 9_999 }, (_, i) => `"k${i}":{"chargeId":5,"a":[1,2]}`).join()
    expect(price(`{${members},"chargeId":2}`, { maxBody })).toBe(10)
    const msg = 'The JSON object of this request may have at most 10000 members.'
    expect(sentence(`{${members},"x":0,"chargeId":2}`, { maxBody })).toBe(msg)
    expect(sentence(`{${members},"x":0,"chargeId":2,,`, { maxBody })).toBe(msg)
    expect(sentence(`[${'"a",'.repeat(10_001)}1]`, { maxBody })).toBe('The body of this request must be a JSON object.')
  })

  test('a body that is not one JSON object in UTF-8 is judged alike at any depth of its values', () => {
    const maxBody = 1_000_000
    const deep = '['.repeat(400_000) + ']'.repeat(400_000)
    expect(price(`{"x":${deep},"chargeId":2}`, { maxBody })).toBe(10)
  })

  test('a body that is not one JSON object in UTF-8 is refused when it is larger than the limit, and not when it is as large', () => {
    const body = '{"chargeId":2}'
    expect(price(body, { maxBody: body.length })).toBe(10)
    expect(price(body, { maxBody: body.length - 1 })).toBe('payload_too_large')
  })
})

describe('the type of the body', () => {
  test.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json\t;\tcharset=utf-8',
  ])('%s is read', (type) => {
    expect(price('{"chargeId":2}', {}, type)).toBe(10)
  })

  test.each([
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/problem+json',
    'application/jsonx',
    'application/json; charset=utf-16',
    'application/json; charset=utf-7',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; x=y',
    'application/json, text/xml',
  ])('the type %j of a body is refused', (type) => {
    expect(price('{"chargeId":2}', {}, type)).toBe('bad_request')
  })

  test('the type of the body is refused if it is missing, and with any content coding', () => {
    const body = '{"chargeId":2}'
    expect(ask(body, {}, undefined)).toMatchObject({ code: 'bad_request' })
    for (const coding of ['gzip', 'identity', '']) {
      expect(ask(body, {}, 'application/json', coding)).toMatchObject({ code: 'bad_request' })
    }
  })
})

describe('whatever the body', () => {
  const name = fc.constantFrom('chargeId', 'ChargeId', 'charge_id', '\\u0063hargeId', 'a', 'b', '__proto__')
  const value = fc.constantFrom('2', '3', '"5"', '2.0', '4', 'null', '[2]', '{"chargeId":2}', '"a,\\"chargeId\\":2"')
  const members = fc.array(fc.tuple(name, value), { maxLength: 5 })

  test('a price is given only where every parser finds that very value: the first or the last one, in this case or any', () => {
    fc.assert(
      fc.property(members, (written) => {
        const cost = price(`{${written.map(([n, v]) => `"${n}":${v}`).join(',')}}`)
        if (typeof cost !== 'number') return
        const readings = readingsOf(written)
        expect(readings).not.toHaveLength(0)
        for (const found of readings) expect(VALUES.get(String(found))).toBe(cost)
      }),
      { numRuns: runs(2000) },
    )
  }, 60_000)

  test('a body that every parser reads alike is priced', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'charge', '__proto__'), fc.jsonValue()), (others) => {
        const text = JSON.stringify({ ...others, chargeId: 3 })
        expect(price(text, { maxBody: 1_000_000 })).toBe(15)
      }),
    )
  }, 60_000)

  test('a short name is another spelling of the field if the whole of both, folded at once, is one', () => {
    const pieces = fc.constantFrom(
      ...'chargeIdCHARGEID_- .ıİſKσςΣßﬁéÅ½',
      '\0',
      '\u00a8',
      '\u0301',
      '\ud800',
      '\udc00',
      '\u200b',
      '\ufdfa',
      '𝐜',
      '각',
    )
    const spelling = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''))
    const letters = 'chargeId'
      .split('')
      .map((letter) => fc.constantFrom(letter, letter.toUpperCase(), `${letter}_`, `\u00a8${letter}`))
    fc.assert(
      fc.property(
        fc.oneof(
          spelling,
          fc.tuple(...letters).map((parts) => parts.join('')),
        ),
        (name) => {
          const expected = foldedAtOnce(name) === 'chargeid' ? 'bad_request' : 10
          expect(price(`{"chargeId":2,${JSON.stringify(name)}:3}`)).toBe(expected)
        },
      ),
      { numRuns: runs(3000) },
    )
  }, 60_000)

  /** Every value that some backend could take for the field. */
  function readingsOf(written: readonly (readonly [string, string])[]): unknown[] {
    return written
      .filter(
        ([n]) =>
          String(JSON.parse(`"${n}"`))
            .toLowerCase()
            .replace('_', '') === 'chargeid',
      )
      .map(([, v]) => JSON.parse(v))
  }
})

describe('a query beside a priced body', () => {
  const faultIn = (query: string, fields: readonly string[] = ['chargeId']) => queryFault(charge({ fields }), query)
  const inQuery = (query: string, fields?: readonly string[]) => faultIn(query, fields) === 'named'

  test.each([
    '?chargeId=5',
    '?chargeId',
    '?a=1&chargeId=5',
    '?a=1;chargeId=5',
    '?CHARGEID=5',
    '?charge_id=5',
    '?charge-id=5',
    '?charge.id=5',
    '?charge+id=5',
    '?charge%49d=5',
    '?%63hargeId=5',
    '?chargeId[]=5',
    '?chargeId%5B0%5D=5',
    '?charge[id]=5',
    '?charge%C4%B1d=5',
    '?charge%EF%BC%A9d=5',
    '?chargeId%00x=5',
  ])('%s has the name of the field, to some framework', (query) => {
    expect(inQuery(query)).toBe(true)
  })

  test.each(['', '?', '?charge=5', '?id=5', '?a=chargeId', '?chargeIdentity=5', '?x[chargeId]=5', '?%zz=1'])(
    '%j has the name of the field to no framework',
    (query) => {
      expect(inQuery(query)).toBe(false)
    },
  )

  test('a query beside a priced body is looked at for each name of the field', () => {
    expect(inQuery('?ticket=2', ['chargeId', 'ticket'])).toBe(true)
    expect(inQuery('?a.b=2', ['a.b'])).toBe(true)
  })

  test('a query beside a priced body is refused where it has more than 32 names that are escaped, or one of more than 128 octets, wherever they stand', () => {
    const names = (count: number) => Array.from({ length: count }, (_, i) => `x%CC%81${i}=1`).join('&')
    expect(faultIn(`?${names(32)}`)).toBeNull()
    expect(faultIn(`?${names(33)}`)).toBe('unclear')
    expect(faultIn(`?a=1&x${'%CC%81'.repeat(21)}`)).toBeNull()
    expect(faultIn(`?a=1&x${'%CC%81'.repeat(22)}`)).toBe('unclear')
  })

  test('a query beside a priced body may have any number of plain names, and any text behind them', () => {
    expect(faultIn(`?${'&'.repeat(8000)}`)).toBeNull()
    expect(faultIn(`?${'a&'.repeat(4000)}`)).toBeNull()
    expect(faultIn(`?a=${'%CC%81'.repeat(1300)}`)).toBeNull()
    expect(faultIn(`?${'a'.repeat(8000)}`)).toBeNull()
  })

  test('a query beside a priced body has the name of the field if one of its pairs, decoded each by itself, has it', () => {
    const pieces = [
      ...'&&&;;==+.[]-_',
      'charge',
      'chargeId',
      'Id',
      'id',
      '%49d',
      '%69',
      '%',
      '%C4%B1',
      '%00',
      '\xc4\xb1',
    ]
    const query = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => `?${parts.join('')}`)
    fc.assert(
      fc.property(query, fc.constantFrom(['chargeId'], ['_'], ['charge.id', 'x']), (text, fields) => {
        const known = fields.map((field) => foldedAtOnce(field.replaceAll('.', '')))
        const names = namesIn(text).map((name) => foldedAtOnce(name.replaceAll('.', '')))
        expect(inQuery(text, fields)).toBe(text !== '?' && names.some((name) => known.includes(name)))
      }),
      { numRuns: runs(3000) },
    )
  }, 60_000)

  /** Of each pair, in the readings of several frameworks. */
  function namesIn(query: string): string[] {
    return query
      .slice(1)
      .split(/[&;]/)
      .flatMap((pair) => {
        const written = pair.replace(/=.*/s, '').replace(/\+/g, ' ')
        const bytes = written.replace(/%(?=[0-9A-Fa-f]{2})(..)/g, (_, hex) => String.fromCharCode(Number(`0x${hex}`)))
        const name = Buffer.from(bytes, 'latin1').toString()
        return [name.replace(/\[.*/s, ''), name.replace(/[[\]]/g, '')]
      })
  }
})
