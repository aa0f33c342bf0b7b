import { expect, test } from 'vitest'
import type { TokenResponse, UsersResponse } from '../../src/contract/api.ts'
import { factsOf } from '../../src/dashboard/logic/key-facts.ts'

const keyOf = (user: string, facts: Partial<TokenResponse> = {}): TokenResponse => ({
  id: user,
  user,
  name: 'laptop',
  createdAt: '2026-11-20T10:00:00Z',
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
  state: 'valid',
  ...facts,
})
const lineOf = (user: string, from: 'credential' | 'default', organisation?: string) =>
  ({ user, organisation, plan: { name: 'pro', from, unknown: null } }) as UsersResponse['users'][number]
const known = {
  keys: [keyOf('frank', { plan: 'gone', organisation: 'acme' }), keyOf('frank', { plan: 'pro' }), keyOf('gina')],
  lines: [lineOf('gina', 'credential', 'acme'), lineOf('bob', 'credential', 'globex'), lineOf('carol', 'default')],
  plans: ['pro'],
}

test('a new key has the organisation and the plan of the latest key of its user', () => {
  expect(factsOf('frank', known)).toEqual({ organisation: 'acme', plan: undefined })
  expect(factsOf('gina', known)).toEqual({ organisation: undefined, plan: undefined })
})

test('a user without a key has what the last credential named, and no plan that is the default', () => {
  expect(factsOf('bob', known)).toEqual({ organisation: 'globex', plan: 'pro' })
  expect(factsOf('carol', known)).toEqual({ organisation: undefined, plan: undefined })
  expect(factsOf('nobody', known)).toEqual({ organisation: undefined, plan: undefined })
  expect(factsOf('', known)).toEqual({})
})

test('a key that was revoked says nothing of its user', () => {
  const revoked = keyOf('bob', { organisation: 'left', revokedAt: '2026-11-21T10:00:00Z' })
  expect(factsOf('bob', { ...known, keys: [revoked] })).toEqual({ organisation: 'globex', plan: 'pro' })
})
