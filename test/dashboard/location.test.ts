import { expect, test } from 'vitest'
import { hashOf, placeOf } from '../../src/dashboard/logic/location.ts'

test.each([
  ['', { page: 'overview', rest: null, fields: {} }],
  ['#/users', { page: 'users', rest: null, fields: {} }],
  ['#/users/a%2Fb%3F', { page: 'users', rest: 'a/b?', fields: {} }],
  ['#/users?order=tokens&query=b%20o', { page: 'users', rest: null, fields: { order: 'tokens', query: 'b o' } }],
  ['#/users/bob?at=1', { page: 'users', rest: 'bob', fields: { at: '1' } }],
  ['#/nonsense/x', { page: 'overview', rest: 'x', fields: {} }],
  ['#/users/%E0%A4%A', { page: 'users', rest: null, fields: {} }],
])('the address %s names its place', (hash, place) => {
  expect(placeOf(hash)).toEqual(place)
})

test('a place is written as it is read', () => {
  const fields = { query: '& =?#', order: 'tokens' }
  expect(placeOf(hashOf('users', 'Zoë {x}?', fields))).toEqual({ page: 'users', rest: 'Zoë {x}?', fields })
})

test.each(['alice', 'a/b', 'üser 1', '<img src=x onerror=alert(1)>', '100%', '..'])(
  'the place of user %s is found again',
  (user) => {
    expect(placeOf(hashOf('users', user))).toEqual({ page: 'users', rest: user, fields: {} })
  },
)
