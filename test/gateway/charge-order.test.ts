import { expect, it } from 'vitest'
import { shadowScopeOf, undecided } from '../../src/gateway/charge-order.ts'
import { LedgerFull } from '../../src/quota/ledger/ledger-contract.ts'
import { StoreError } from '../../src/quota/quota-store.ts'

it('a charge that nobody decided is 503 where too many wait or the store is out, and anything else is a fault of ours', () => {
  const soon = { headers: { 'Retry-After': '1' } }
  expect(undecided(new LedgerFull(10_000))).toMatchObject({
    code: 'overloaded',
    reason: 'charges',
    msg: expect.stringContaining('charges waiting'),
    ...soon,
  })
  expect(undecided(new StoreError('down', 'timeout', 'no'))).toMatchObject({
    code: 'store_unavailable',
    reason: 'timeout',
    ...soon,
  })
  expect(() => undecided(new TypeError('a bug'))).toThrow('a bug')
})

it('a refusal in shadow counts for the scope of the window that a 429 would name', () => {
  const at = Date.UTC(2026, 7, 6, 14, 36, 26)
  const limits = (limit: number) => [{ window: { name: '1h', seconds: 3600 }, limit }]
  const charge = {
    user: 'alice',
    organisation: null,
    category: 'read',
    cost: 4,
    limits: { personal: limits(10), organisation: null, global: limits(3) },
  }
  const decision = { accepted: false, at, personal: [{ startedAt: at - 1_800_000, used: 8 }], organisation: null }
  const global = [{ startedAt: at - 1000, used: 3 }]
  expect(shadowScopeOf(charge, { ...decision, global })).toBe('global')
  expect(shadowScopeOf({ ...charge, limits: { ...charge.limits, global: null } }, { ...decision, global: null })).toBe(
    'personal',
  )
})
