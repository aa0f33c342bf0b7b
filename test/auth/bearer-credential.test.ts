import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readBearer as read } from '../../src/auth/bearer-credential.ts'
import type { Denial } from '../../src/errors.ts'

const MAX = 8192
const readBearer = (authorization: string | undefined) => read(authorization, MAX)

function challenge(authorization: string | undefined): string {
  return (readBearer(authorization) as Denial).headers?.['WWW-Authenticate'] ?? ''
}

it.each(['Bearer abc', 'bearer abc', 'BEARER abc', 'bEaReR abc', 'Bearer   abc'])(
  'the Authorization header yields the credential of %j',
  (header) => {
    expect(readBearer(header)).toBe('abc')
  },
)

it.each([undefined, ''])('the Authorization header is missing where it is %j', (header) => {
  expect(readBearer(header)).toMatchObject({ code: 'unauthorized', reason: 'no Authorization header' })
})

it('the Authorization header takes every character of a b64token, and equals signs at its end only', () => {
  expect(readBearer('Bearer aZ09-._~+/==')).toBe('aZ09-._~+/==')
  expect(readBearer('Bearer a=b')).toMatchObject({ code: 'unauthorized' })
  expect(readBearer('Bearer =')).toMatchObject({ code: 'unauthorized' })
})

it.each([
  'Bearer',
  'Bearer ',
  'Bearer\tabc',
  'Bearer \tabc',
  'Bearer a b',
  'Bearer abc ',
  'Bearer abc,def',
  'Bearer abc, Bearer def',
  'Bearer abc, Basic eHg6eHg=',
  'Bearer Bearer abc',
  'Bearer "abc"',
  'Bearer token=abc def',
  'Bearer {"payload":"e30"}',
  'Bearer abc\r\nX: y',
  'Bearer abc\n',
  'Bearer äöü',
  'Bearer: abc',
  'Bearer,abc',
])('the Authorization header refuses %j as malformed', (header) => {
  expect(readBearer(header)).toMatchObject({ code: 'unauthorized' })
  expect(challenge(header)).toMatch(/^Bearer realm="tollgate", error="invalid_token", error_description="[^"\\]+"$/)
})

it.each([undefined, '', 'Basic eHg6eHg=', 'Bot-Token abc', 'Bearerabc', 'Bearer-x abc', ' Bearer abc', 'abc'])(
  'the Authorization header answers %j with the plain challenge, which has no error code',
  (header) => {
    expect(readBearer(header)).toMatchObject({ code: 'unauthorized' })
    expect(challenge(header)).toBe('Bearer realm="tollgate"')
  },
)

it.each([`Bearer ${'a'.repeat(MAX + 1)}`, `Bearer ${'a'.repeat(1_000_000)}`, `Bearer${' '.repeat(9000)}abc`])(
  'the Authorization header refuses a header that is longer than any credential with 431, which has no client get another one',
  (header) => {
    expect(readBearer(header)).toEqual({
      code: 'headers_too_large',
      msg: `The credential may have at most ${MAX} characters.`,
      reason: 'Authorization header too long',
    })
    expect(readBearer(`Bearer ${'a'.repeat(MAX)}`)).toBe('a'.repeat(MAX))
  },
)

it('the Authorization header never throws, and gives nothing away of what it refuses', () => {
  const header = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .tuple(
        fc.constantFrom('Bearer', 'bearer', 'Basic', ''),
        fc.string({ unit: fc.constantFrom(' ', '\t', 'canary', ',', '=') }),
      )
      .map((t) => t.join('')),
  )
  fc.assert(
    fc.property(header, (text) => {
      const response = readBearer(text)
      if (typeof response === 'string') expect(text.toLowerCase().replace(/^bearer +/, '')).toBe(response.toLowerCase())
      else expect(JSON.stringify(response)).not.toContain('canary')
    }),
  )
}, 60_000)

it('the Authorization header accepts whatever the grammar of RFC 6750 makes', () => {
  const characters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/']
  const token = fc.string({ unit: fc.constantFrom(...characters), minLength: 1 })
  fc.assert(
    fc.property(token, fc.nat(3), fc.integer({ min: 1, max: 5 }), (text, pads, spaces) => {
      const credential = text + '='.repeat(pads)
      expect(readBearer(`bearer${' '.repeat(spaces)}${credential}`)).toBe(credential)
    }),
  )
}, 60_000)
