import { expect, test } from 'vitest'
import { addressGroup, createLogin } from '../../src/admin/login.ts'

const guess = (login: ReturnType<typeof createLogin>, address: string) => login('Bearer wrong', address)?.status

test('addresses are counted apart', () => {
  const login = createLogin({ token: 'right', now: () => 0 })
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  expect(guess(login, '192.0.2.1')).toBe(429)
  expect(guess(login, '192.0.2.2')).toBe(401)
  expect(login('Bearer right', '192.0.2.2')).toBeNull()
})

test('an IPv6 network of 64 bits counts as one, for its owner has all of its addresses', () => {
  const login = createLogin({ token: 'right', now: () => 0 })
  for (let i = 0; i < 10; i++) expect(guess(login, `2001:db8::${i}`)).toBe(401)
  expect(guess(login, '2001:db8::ffff')).toBe(429)
  expect(guess(login, '2001:db8:0:1::1')).toBe(401)
})

test('the minute begins with the first wrong token and does not grow', () => {
  let now = 0
  const login = createLogin({ token: 'right', now: () => now })
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  now = 59_999
  expect(login('Bearer right', '192.0.2.1')?.headers?.['retry-after']).toBe('1')
  now = 60_000
  expect(login('Bearer right', '192.0.2.1')).toBeNull()
  expect(guess(login, '192.0.2.1')).toBe(401)
})

test('addresses without end do not fill the memory: the oldest is forgotten', () => {
  const login = createLogin({ token: 'right', now: () => 0 })
  for (let i = 0; i < 10; i++) guess(login, '192.0.2.1')
  for (let i = 0; i < 10_000; i++) guess(login, `10.0.${i >> 8}.${i & 255}`)
  expect(guess(login, '192.0.2.1')).toBe(401)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts as %s', (address, group) => expect(addressGroup(address)).toBe(group))
