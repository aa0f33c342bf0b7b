import fc from 'fast-check'
import { expect, it } from 'vitest'
import { userFrom } from '../../score/identity.ts'

it('userFrom reads back any user of 1 to 256 bytes', () => {
  const user = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((u) => Buffer.byteLength(u) <= 256)
  fc.assert(
    fc.property(user, (name) => {
      expect(userFrom(encodeURIComponent(name))).toBe(name)
    }),
  )
})

it('userFrom counts the length in decoded bytes', () => {
  expect(userFrom(encodeURIComponent('雪'.repeat(85)))).toBe('雪'.repeat(85))
  expect(userFrom(encodeURIComponent('雪'.repeat(86)))).toBeNull()
  expect(userFrom('a'.repeat(256))).toBe('a'.repeat(256))
  expect(userFrom('a'.repeat(257))).toBeNull()
})

it.each([
  [undefined],
  [['a', 'b']],
  [''],
  ['%'],
  ['%zz'],
  ['%ff'],
  ['%ed%a0%80'],
  ['%c0%80'],
  ['jos\u00e9'],
  [' a'],
  ['a\t'],
])('userFrom refuses %j', (header) => expect(userFrom(header)).toBeNull())

it('userFrom does not merge two spellings of the same letter', () => {
  expect(userFrom(encodeURIComponent('e\u0301'))).not.toBe(userFrom(encodeURIComponent('\u00e9')))
})
