import { describe, expect, it } from 'vitest'
import { parameterValues, urlWithoutParameters, withoutParameters } from '../../src/lib/query-parameters.ts'

const KEY = new Set(['key'])

describe('a parameter', () => {
  it.each([
    ['?key=1', ['1']],
    ['?a=2&key=1&key=%31', ['1', '%31']],
    ['?%6bey=1&k%65%79=2&%6Bey', ['1', '2', '']],
    ['?key==1', ['=1']],
    ['?key2=2&xkey=3&a=key&key%zz=5&[key]=6&%256bey=7', []],
    ['?KEY=1&key[]=2&key%00x=3&+key=4&key[a]=5', ['1', '2', '3', '4', '5']],
    ['?x;key=1&key=2;a=3', ['1', '2;a=3']],
    ['?key=1;key=2', ['1;key=2', '2']],
    ['', []],
    ['?', []],
  ])('in %s has the values %j', (query, values) => {
    expect(parameterValues(query, 'key')).toEqual(values)
  })

  it.each([
    ['?key=1', ''],
    ['?key=1&a=%2f', '?a=%2f'],
    ['?a=+&&k%65y=1&b=%zz&', '?a=+&&b=%zz&'],
    ['?key&key&', '?'],
    ['?a;key=1;b=2&c', '?a;b=2&c'],
    ['?a;key=1', '?a'],
    ['?key=1;b=2&c', '?c'],
    ['?a&Key=1', '?a'],
    ['?a', '?a'],
    ['?', '?'],
    ['', ''],
  ])('is taken out of %s, which leaves %s', (query, rest) => {
    expect(withoutParameters(query, KEY)).toBe(rest)
  })

  it.each([
    ['https://a.test/p?a=1&key=2#key=3', 'https://a.test/p?a=1#key=3'],
    ['/p?key=2', '/p'],
    ['/key=2#?key=1', '/key=2#?key=1'],
    ['a\n?key=1', 'a\n'],
  ])('is taken out of the URL %s', (url, rest) => {
    expect(urlWithoutParameters(url, KEY)).toBe(rest)
  })
})
