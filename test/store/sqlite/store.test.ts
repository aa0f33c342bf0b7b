import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { sqliteControl } from '../../../src/store/sqlite/control.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { replicaStoreSuite } from '../../control/replicas.suite.ts'
import { auditBoundSuite, controlStoreSuite, tokenStoreSuite } from '../../control/store.suite.ts'
import { failureHistorySuite, failureStoreSuite } from '../../failures/store.suite.ts'
import { quotaStoreSuite } from '../../quota/store.suite.ts'
import { usageStoreSuite } from '../../quota/usage.suite.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-suite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

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
  describe('as a usage store', () => usageStoreSuite(open))
  describe('as a replica store', () => replicaStoreSuite(open))
  describe('as a control store', () => {
    let files = 0
    controlStoreSuite(async () => {
      const file = join(folder, `${++files}.db`)
      const [store, other] = [openSqliteStore({ file }), openSqliteStore({ file })]
      return { store, other, close: async () => void (await Promise.all([store.close(), other.close()])) }
    })
    auditBoundSuite(async (maxAudit) => {
      const database = openDatabase(':memory:')
      return { store: sqliteControl(database, { clock: Date.now, maxAudit }), close: async () => database.close() }
    })
  })
})
