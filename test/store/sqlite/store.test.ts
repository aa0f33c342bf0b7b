import { describe } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { tokenStoreSuite } from '../../control/store.suite.ts'
import { failureHistorySuite, failureStoreSuite } from '../../failures/store.suite.ts'
import { quotaStoreSuite } from '../../quota/store.suite.ts'

describe('the embedded store', () => {
  async function open() {
    let now = Date.UTC(2026, 7, 6, 15)
    const store = openSqliteStore({ file: ':memory:', clock: () => now })
    return {
      store,
      pass: async (ms: number) => {
        now += ms
      },
      close: () => store.close(),
    }
  }
  describe('as a quota store', () => quotaStoreSuite(open))
  describe('as a failure store', () => {
    failureStoreSuite(open)
    failureHistorySuite(open)
  })
  describe('as a token store', () => tokenStoreSuite(open))
})
