import { describe, expect, it } from 'vitest'
import { readParameter, urlWithoutParameters, withoutParameters } from '../../src/lib/query-parameters.ts'

const KEY = ['key']

describe('a parameter', () => {
  it.each([
    ['?key=1', ['1']],
    ['?a=2&key=1&key=%31', ['1', '%31']],
    ['?%6bey=1&k%65%79=2&%6Bey', ['1', '2', '']],
    ['?key==1', ['=1']],
    ['?key2=2&xkey=3&a=key&key%zz=5&[key]=6&%256bey=7&a=;b', []],
    ['', []],
    ['?', []],
  ])('in %s has the values %j', (query, values) => {
    expect(readParameter(query, 'key', 'key')).toEqual({ values, isUnclear: false })
  })

  it.each([
    ...[
      '?KEY=1',
      '?key=1&Key=2',
      '?key[]=1',
      '?key%5B0%5D=1',
      '?key%00x=1',
      '?+key=1',
      '?%20key=1',
      '?%0Akey=1',
      '??key=1',
    ],
    ...['?x;key=1', '?key=1;x', '?key=1;key=2', '?a=1;%6Bey=2', '?a&b;KEY'],
  ])('a parameter has another reading to some service in %s', (query) => {
    expect(readParameter(query, 'key', 'key').isUnclear).toBe(true)
    expect(withoutParameters(query, KEY)).not.toMatch(/(?:key|%6Bey)(?!s)/i)
  })

  it.each(['?api.key=1', '?api%20key=1', '?api+key=1', '?api[key=1', '?api%5bkey=1', '?API_KEY=1'])(
    'a parameter of PHP is api_key in %s',
    (query) => {
      expect(readParameter(query, 'api_key', 'api_key')).toEqual({ values: [], isUnclear: true })
      expect(withoutParameters(query, ['api_key'])).toBe('')
    },
  )

  it.each([
    ['?key=1', ''],
    ['?key=1&a=%2f', '?a=%2f'],
    ['?a=+&&k%65y=1&b=%zz&', '?a=+&&b=%zz&'],
    ['?key&key&', '?'],
    ['?a=1;key=2;b=3&KEY', '?a=1;b=3'],
    ['?a;key=1;b=2&c', '?a;b=2&c'],
    ['?a;key=1', '?a'],
    ['?key=1;b=2&c', '?c'],
    ['?a&Key=1', '?a'],
    ['?a=;&b', '?a=;&b'],
    ['?a', '?a'],
    ['?', '?'],
    ['', ''],
  ])('a parameter is taken out of %s, which leaves %s', (query, rest) => {
    expect(withoutParameters(query, KEY)).toBe(rest)
  })

  it.each([
    ['https://a.test/p?a=1&key=2#key=3', 'https://a.test/p?a=1#key=3'],
    ['/p?key=2', '/p'],
    ['/key=2#?key=1', '/key=2#?key=1'],
    ['a\n?key=1', 'a\n'],
  ])('a parameter is taken out of the URL %s', (url, rest) => {
    expect(urlWithoutParameters(url, KEY)).toBe(rest)
  })
})
