import { expect, it } from 'vitest'
import { undecided } from '../../src/gateway/settlement.ts'
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
