import { describe, expect, test } from 'vitest'
import { isOwn } from '../../src/dashboard/api/is-api-response.ts'
import { QUOTA } from './quota.ts'

describe('a response of the API itself', () => {
  test.each([
    ['/api/quota', 200, QUOTA],
    ['/api/in-force', 200, { ...QUOTA, storeOutage: {} }],
    ['/api/in-force/users?query=', 200, { users: [], total: 0 }],
    ['/api/in-force/users/alice', 200, { user: 'alice', limits: {}, override: null }],
    ['/api/users?query=a&limit=25', 200, { users: [], next: null }],
    ['/api/users/alice', 200, { user: 'alice', windows: {}, override: null }],
    ['/api/users/preview/override', 200, { version: 1, limits: {}, reason: 'why' }],
    ['/api/users/alice/override', 200, { ends: {} }],
    ['/api/organisations/acme/override', 200, { ends: {} }],
    ['/api/quota/scheduled/7d1be9d64f81', 200, { ends: {} }],
    ['/api/users/alice/reset', 204, null],
    ['/api/tokens', 200, { tokens: [] }],
    ['/api/tokens', 201, { id: 'a', user: 'ann', state: 'valid', token: 'gw_a' }],
    ['/api/now', 401, { error: 'unauthorized', msg: 'Sign in.' }],
  ])('a response of the API itself is recognised at %s with the status %i', (path, status, said) => {
    expect(isOwn(path, status, said)).toBe(true)
  })
})

describe('a response of somebody in between', () => {
  test.each([
    ['/api/quota', 200, { status: 'ok' }],
    ['/api/users', 200, []],
    ['/api/users', 200, 'up'],
    ['/api/now', 200, null],
    ['/api/now', 204, { at: 'now' }],
    ['/api/tokens', 201, { tokens: [] }],
    ['/api/now', 401, null],
    ['/api/now', 403, { message: 'Forbidden' }],
    ['/api/now', 404, { error: { code: 404 }, msg: 'no' }],
    ['/api/users/alice', 200, { ends: {} }],
    ['/elsewhere', 200, { users: [], next: null }],
  ])('a response of somebody in between is not taken for one of the API: %s %i %j', (path, status, said) => {
    expect(isOwn(path, status, said)).toBe(false)
  })
})
