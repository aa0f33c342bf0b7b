import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withFields } from '../../src/respond/header-lines.ts'

test('a head is its first line and a line for each field, in their order', () => {
  expect(withFields('GET / HTTP/1.1', [])).toBe('GET / HTTP/1.1')
  expect(withFields('GET / HTTP/1.1', ['Host', 'a', 'X-Empty', '', 'x-twice', '1', 'x-twice', '2'])).toBe(
    'GET / HTTP/1.1\r\nHost: a\r\nX-Empty: \r\nx-twice: 1\r\nx-twice: 2',
  )
})

test('names are written as they are spelt, each time', () => {
  const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,120}$/)
  const value = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) })
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (fields) => {
      const lines = fields.map(([name, value]) => `\r\n${name}: ${value}`).join('')
      expect(withFields('HTTP/1.1 200 OK', fields.flat())).toBe(`HTTP/1.1 200 OK${lines}`)
    }),
  )
})
