import fc from 'fast-check'
import { expect, it } from 'vitest'
import { encodeFact } from '../../src/forward/client-info.ts'
import { trustedText } from '../../src/inputs/trusted-text.ts'

it.each([
  ['alice', 'alice'],
  ['J%C3%BCrgen', 'J\u00fcrgen'],
  ['a%20b', 'a b'],
  ['%e2%82%ac', '\u20ac'],
  ['100%25', '100%'],
  ['a+b', 'a+b'],
  ['a%2Cb', 'a,b'],
  ['', ''],
])('what a trusted proxy says percent-encoded is decoded once: %s', (value, text) => {
  expect(trustedText(value, 'percent')).toBe(text)
})

it.each([
  ['encoded twice', 'J%25C3%25BCrgen'],
  ['encoded twice by half', '%2541lice'],
  ['a percent sign by itself', '100%'],
  ['an escape that is cut off', 'alice%4'],
  ['an escape of other digits', 'a%zz'],
  ['an escape of more than two digits, as of JavaScript', '%u00fc'],
  ['bytes that are not encoded', 'J\u00c3\u00bcrgen'],
  ['a blank', 'a b'],
  ['bytes that are no UTF-8', '%FC'],
  ['a character that is cut off', '%C3'],
  ['an overlong form of a slash', '%C0%AF'],
  ['an overlong form of zero', '%C0%80'],
  ['half of a pair of UTF-16', '%ED%A0%80'],
  ['a byte order of its own above Unicode', '%F4%90%80%80'],
])('what a trusted proxy says percent-encoded is refused where it is %s', (_what, value) => {
  expect(trustedText(value, 'percent')).toBeNull()
})

it('what a trusted proxy says percent-encoded is what another Tollgate writes of any id, except one that looks encoded itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (id) => {
      fc.pre(id.isWellFormed() && !/%[0-9a-f]{2}/i.test(id))
      expect(trustedText(encodeFact(id), 'percent')).toBe(id)
    }),
  )
}, 60_000)

it('what a trusted proxy says percent-encoded has one text at most that is read of two values, and that is the same caller', () => {
  expect(trustedText('%61lice', 'percent')).toBe(trustedText('alice', 'percent'))
})

it('what is not encoded is UTF-8 as it is, in which a percent sign is one', () => {
  expect(trustedText('J%C3%BCrgen', 'none')).toBe('J%C3%BCrgen')
  expect(trustedText('J\u00c3\u00bcrgen', 'none')).toBe('J\u00fcrgen')
  expect(trustedText('J\u00fcrgen', 'none')).toBeNull()
})
