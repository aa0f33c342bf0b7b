import { describe } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { historyStoreSuite, type OpenHistory } from '../../quota/history.suite.ts'
import { invoiceSuite } from '../../usage/invoice.suite.ts'

const open: OpenHistory = async (retention) => {
  let now = 0
  const store = openSqliteStore({ file: ':memory:', clock: () => now, retention: () => retention })
  return {
    settle: (batch, at) => {
      now = at
      return store.settle(batch)
    },
    change: async (change, at) => {
      now = at
      await store.change(change, { who: 'ann', why: null }, null)
    },
    history: store,
    close: () => store.close(),
  }
}

describe('histories in the embedded store', () => historyStoreSuite(open))
describe('invoices from the embedded store', () => invoiceSuite(open))
