import { expect, test } from 'vitest'
import { Login } from '../../src/admin/login.ts'

const RIGHT = { name: 'admin', role: 'admin', token: 'right' } as const
const RIGHT_ONLY = [RIGHT]
const loginAt = (now: () => number) => new Login({ credentials: () => RIGHT_ONLY, now })
const status = (response: object) => ('status' in response ? response.status : 'in')
const guess = (login: Login, address: string) => status(login.bearer('Bearer wrong', address))

test('addresses are counted apart', () => {
  const login = loginAt(() => 0)
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  expect(guess(login, '192.0.2.1')).toBe(429)
  expect(guess(login, '192.0.2.2')).toBe(401)
  expect(login.bearer('Bearer right', '192.0.2.2')).toEqual({ name: 'admin', role: 'admin', expiresAt: null })
})

test('an IPv6 network of 64 bits counts as one, for its owner has all of its addresses', () => {
  const login = loginAt(() => 0)
  for (let i = 0; i < 10; i++) expect(guess(login, `2001:db8::${i}`)).toBe(401)
  expect(guess(login, '2001:db8::ffff')).toBe(429)
  expect(guess(login, '2001:db8:0:1::1')).toBe(401)
})

test('the minute begins with the first wrong token and does not grow', () => {
  let now = 0
  const login = loginAt(() => now)
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  now = 59_999
  expect(login.bearer('Bearer wrong', '192.0.2.1')).toMatchObject({ headers: { 'retry-after': '1' } })
  now = 60_000
  expect(guess(login, '192.0.2.1')).toBe(401)
})

test('the right token is let in whatever came from its address before', () => {
  const login = loginAt(() => 0)
  for (let i = 0; i < 20; i++) guess(login, '192.0.2.1')
  expect(status(login.bearer('Bearer right', '192.0.2.1'))).toBe('in')
  expect(guess(login, '192.0.2.1')).toBe(429)
})

test('a clock that is set back keeps nobody waiting for longer', () => {
  let now = 3_600_000
  const login = loginAt(() => now)
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  expect(guess(login, '192.0.2.1')).toBe(429)
  now = 0
  for (let i = 0; i < 10; i++) expect(guess(login, '192.0.2.1')).toBe(401)
  expect(guess(login, '192.0.2.1')).toBe(429)
})

test('addresses without end do not fill the memory: the oldest is forgotten', () => {
  const login = loginAt(() => 0)
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  for (let i = 0; i < 10_000; i++) guess(login, `10.0.${i >> 8}.${i & 255}`)
  expect(guess(login, '192.0.2.1')).toBe(401)
})

test('guesses by the header and at the sign-in count together', () => {
  const login = loginAt(() => 0)
  for (let i = 0; i < 5; i++) guess(login, '192.0.2.1')
  for (let i = 0; i < 5; i++) expect(status(login.check('wrong', '192.0.2.1'))).toBe(401)
  expect(status(login.check('wrong', '192.0.2.1'))).toBe(429)
})

test('each token has the name and role of its own', () => {
  const credentials = [RIGHT, { name: 'desk', role: 'viewer', token: 'other' } as const]
  const login = new Login({ credentials: () => credentials, now: () => 0 })
  expect(login.bearer('Bearer other', '192.0.2.1')).toEqual({ name: 'desk', role: 'viewer', expiresAt: null })
  expect(login.bearer('Bearer right', '192.0.2.1')).toEqual({ name: 'admin', role: 'admin', expiresAt: null })
})

test('tokens that change are in force at once, and those that are gone are wrong', () => {
  let credentials: readonly { name: string; role: 'admin'; token: string }[] = [RIGHT]
  const login = new Login({ credentials: () => credentials, now: () => 0 })
  const statuses = () => ['right', 'next'].map((token) => status(login.bearer(`Bearer ${token}`, '192.0.2.1')))
  expect(statuses()).toEqual(['in', 401])
  credentials = [RIGHT, { ...RIGHT, name: 'next', token: 'next' }]
  expect(statuses()).toEqual(['in', 'in'])
  credentials = [{ ...RIGHT, token: 'next' }]
  expect(statuses()).toEqual([401, 'in'])
  credentials = []
  expect(statuses()).toEqual([403, 403])
})
