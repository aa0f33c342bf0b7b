import { expect, test } from 'vitest'
import type { TokenResponse } from '../../src/contract/api.ts'
import { foundKeys, keyWishOf } from '../../src/dashboard/logic/access-keys.ts'

const NOW = Date.parse('2026-11-20T10:00:00Z')
const EARLIER = '2026-11-20T09:59:59Z'

const NEW = { expiresAt: null, revokedAt: null, lastUsedAt: null, state: 'valid' } as const

function key(name: string, rest: Partial<TokenResponse> = {}): TokenResponse {
  return { id: name, user: 'bob', name, createdAt: EARLIER, ...NEW, ...rest }
}

const KEYS = [
  key('Phone'),
  key('old', { expiresAt: EARLIER, state: 'expired' }),
  key('lost', { revokedAt: EARLIER, expiresAt: EARLIER, state: 'revoked' }),
  key('robot', { user: 'Carol', expiresAt: '2026-11-20T10:00:01Z' }),
]
const namesOf = (fields: Record<string, string>) => foundKeys(KEYS, keyWishOf(fields), NOW).map(({ name }) => name)

test('keys are found by a part of the user or name in any letters, by the beginning of the id, and by their state', () => {
  expect(namesOf({})).toEqual(['Phone', 'old', 'lost', 'robot'])
  expect(namesOf({ query: ' caRol' })).toEqual(['robot'])
  expect(namesOf({ query: 'phone' })).toEqual(['Phone'])
  const byId = (query: string) => foundKeys([key('a', { id: '3f2a-9c' })], keyWishOf({ query }), NOW)
  expect([byId('3F2a').length, byId('9c').length]).toEqual([1, 0])
  expect(namesOf({ state: 'valid', query: 'bob' })).toEqual(['Phone'])
  expect(namesOf({ state: 'revoked' })).toEqual(['lost'])
  expect(namesOf({ state: 'wrong' })).toEqual(['Phone', 'old', 'lost', 'robot'])
})

test('keys that nobody has used for some days are found, and those made since are not', () => {
  const daysAgo = (days: number) => new Date(NOW - days * 86_400_000).toISOString()
  const keys = [
    key('fresh', { createdAt: daysAgo(1) }),
    key('never', { createdAt: daysAgo(40) }),
    key('used', { createdAt: daysAgo(400), lastUsedAt: daysAgo(2) }),
    key('rests', { createdAt: daysAgo(400), lastUsedAt: daysAgo(30) }),
  ]
  const unusedFor = (unused: string) => foundKeys(keys, keyWishOf({ unused }), NOW).map(({ name }) => name)
  expect(unusedFor('30')).toEqual(['never', 'rests'])
  expect(unusedFor('90')).toEqual([])
  expect(unusedFor('5')).toHaveLength(4)
})
