import { describe, expect, it } from 'vitest'
import { parameterValues, urlWithoutParameters, withoutParameters } from '../../src/lib/query-parameters.ts'

const KEY = new Set(['key'])

describe('a parameter', () => {
  it.each([
    ['?key=1', ['1']],
    ['?a=2&key=1&key=%31', ['1', '%31']],
    ['?%6bey=1&k%65%79=2&%6Bey', ['1', '2', '']],
    ['?key==1', ['=1']],
    ['?KEY=1&key2=2&xkey=3&a=key&key%00=4&key%zz=5&[key]=6&%256bey=7', []],
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
