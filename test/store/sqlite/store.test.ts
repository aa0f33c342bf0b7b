import { describe } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { quotaStoreSuite } from '../../quota/store.suite.ts'

describe('the embedded store', () => {
  quotaStoreSuite(async () => {
    let now = Date.UTC(2026, 7, 6, 15)
    const store = openSqliteStore({ file: ':memory:', clock: () => now })
    return {
      store,
      pass: async (ms) => {
        now += ms
      },
      close: () => store.close(),
    }
  })
})
