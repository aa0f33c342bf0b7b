import { expect, test } from 'vitest'
import type { TokenResponse } from '../../src/contract/api.ts'
import { foundKeys, keyWishOf, stateOfKey } from '../../src/dashboard/logic/access-keys.ts'

const NOW = Date.parse('2026-11-20T10:00:00Z')
const EARLIER = '2026-11-20T09:59:59Z'

function key(name: string, rest: Partial<TokenResponse> = {}): TokenResponse {
  return { id: name, user: 'bob', name, createdAt: EARLIER, expiresAt: null, revokedAt: null, ...rest }
}

const KEYS = [
  key('Phone'),
  key('old', { expiresAt: EARLIER }),
  key('lost', { revokedAt: EARLIER, expiresAt: EARLIER }),
  key('robot', { user: 'Carol', expiresAt: '2026-11-20T10:00:01Z' }),
]
const namesOf = (fields: Record<string, string>) => foundKeys(KEYS, keyWishOf(fields), NOW).map(({ name }) => name)

test('a key is valid until its end, and revoked once it was revoked, expired or not', () => {
  expect(KEYS.map((each) => stateOfKey(each, NOW))).toEqual(['valid', 'expired', 'revoked', 'valid'])
  expect(stateOfKey(key('now', { expiresAt: '2026-11-20T10:00:00Z' }), NOW)).toBe('expired')
})

test('keys are found by a part of the user or name in any letters, by the beginning of the id, and by their state', () => {
  expect(namesOf({})).toEqual(['Phone', 'old', 'lost', 'robot'])
  expect(namesOf({ query: ' caRol' })).toEqual(['robot'])
  expect(namesOf({ query: 'phone' })).toEqual(['Phone'])
  expect(foundKeys([key('a', { id: '3f2a-9c' })], { query: '3F2a', state: '' }, NOW)).toHaveLength(1)
  expect(foundKeys([key('a', { id: '3f2a-9c' })], { query: '9c', state: '' }, NOW)).toEqual([])
  expect(namesOf({ state: 'valid', query: 'bob' })).toEqual(['Phone'])
  expect(namesOf({ state: 'revoked' })).toEqual(['lost'])
  expect(namesOf({ state: 'wrong' })).toEqual(['Phone', 'old', 'lost', 'robot'])
})
