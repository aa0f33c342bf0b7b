import { expect, test } from 'vitest'
import { mintToken } from '../../src/control/access-key-record.ts'
import { plainError, scrub } from '../../src/lib/scrub.ts'

const gateway = mintToken({ user: 'alice', name: 'phone', expiresAt: null }, 0).token
const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

test.each([
  ['an access key', `bad token ${gateway}, sorry`, 'bad token gw_[hidden], sorry'],
  ['a JWT', `no key for ${jwt}.`, 'no key for [hidden JWT]'],
  [
    'a bearer credential of any shape',
    'got "authorization: Bearer abc.def/ghi=="',
    'got "authorization: Bearer [hidden]"',
  ],
  ['a password for HTTP', 'Authorization: basic YWxpY2U6c2VjcmV0', 'Authorization: basic [hidden]'],
  ['the beginning of an access key', 'bad token gw_0a1B2c3D', 'bad token gw_[hidden]'],
  [
    'the password of a URL',
    'connect rediss://app:p4ss:w0rd@db.example:6379/2 failed',
    'connect rediss://[hidden]@db.example:6379/2 failed',
  ],
  ['a password with an @', 'REDIS://app:p4ss@w0rd@db.example failed', 'REDIS://[hidden]@db.example failed'],
])('%s is hidden', (_what, text, hidden) => expect(scrub(text)).toBe(hidden))

test.each([
  'no key with kid "eyJ"',
  'https://id.example.org/.well-known/jwks.json',
  'mail to a@b.example',
  'forward://',
])('ordinary text stays as it is: %s', (text) => expect(scrub(text)).toBe(text))

test('an error keeps type, message, code, stack and causes, and loses every other property', () => {
  const cause = Object.assign(new Error(`AUTH failed for redis://u:secret@h`), {
    code: 'ECONNREFUSED',
    command: { args: ['hunter2'] },
  })
  const plain = plainError(new TypeError('no store', { cause }))
  expect(plain).toMatchObject({
    type: 'TypeError',
    message: 'no store',
    cause: { code: 'ECONNREFUSED', message: 'AUTH failed for redis://[hidden]@h' },
  })
  expect(plain.stack).toContain('scrub.test.ts')
  expect(plain.cause).not.toHaveProperty('cause')
  expect(JSON.stringify(plain)).not.toMatch(/secret|hunter2/)
})

test('an error that causes itself has an end', () => {
  const error = new Error('loop')
  error.cause = error
  expect(JSON.stringify(plainError(error)).match(/"message"/g)).toHaveLength(6)
})

test('something thrown that is no error is reported by its type', () => {
  expect(plainError('oops')).toEqual({ type: 'string', message: 'oops' })
  expect(plainError(`bad ${gateway}`)).toEqual({ type: 'string', message: 'bad gw_[hidden]' })
})
