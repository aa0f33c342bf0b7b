import { expect, test } from 'vitest'
import { type ChargeReceipt, createReceipts, GOOD_MS } from '../../src/decisions/receipts.ts'

const RECEIPT: ChargeReceipt = {
  at: 1_795_000_000_000,
  payer: { user: 'ann', organisation: 'acme', plan: null },
  isVerified: true,
  route: 'POST /answers',
  requestId: '0198c1d2-5a3f-4c77-9b1e-2f6a7d8e9c01',
  key: null,
  meters: [
    {
      ...{ category: 'read', cost: 20, organisation: null },
      ...{ personal: [86_400, 1_795_000_000_000, 60], theirs: [], global: [] },
    },
  ],
}

test('an id is the receipt itself for an hour after its charge, to whoever has the token', () => {
  const receipts = createReceipts('token-of-the-services-0123456789abcdef')
  const id = receipts.idOf(RECEIPT)
  expect(receipts.read(id, RECEIPT.at + GOOD_MS)).toEqual(RECEIPT)
  expect(receipts.read(id, RECEIPT.at + GOOD_MS + 1)).toBeNull()
  expect(createReceipts('another-token-0123456789abcdef').read(id, RECEIPT.at)).toBeNull()
  expect(receipts.idOf(RECEIPT)).not.toBe(id)
})
