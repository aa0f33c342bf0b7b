import { DatabaseSync } from 'node:sqlite'
import { describe } from 'vitest'
import { NO_RETENTION } from '../../../src/quota/history.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { grantsSuite } from '../../quota/grants.suite.ts'
import { historyStoreSuite, type OpenHistory } from '../../quota/history.suite.ts'
import { type KeptUnderTest, keptSuite } from '../../quota/kept.suite.ts'
import { invoiceSuite } from '../../usage/invoice.suite.ts'
import { newFile } from './new-file.ts'

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

async function openKept(now: number): Promise<KeptUnderTest> {
  const [file, scopes] = [newFile(), { personal: 0, organisation: 2 }]
  let [time, kept] = [now, NO_RETENTION]
  const store = openSqliteStore({ file, toWrite: true, clock: () => time, retention: () => kept })
  return {
    async settle(batch, at) {
      time = at
      await store.settle(batch)
      time = now
    },
    history: store,
    keep(retention) {
      kept = retention
    },
    async stored(scope, id) {
      const database = new DatabaseSync(file, { readOnly: true })
      const ask = (sql: string) => Object.values(database.prepare(sql).get(scopes[scope], id) ?? {})[0]
      const bytes = ask('SELECT length(runs) FROM history WHERE scope = ? AND user = ?')
      const ends = ask('SELECT max(ends) FROM counters WHERE scope = ? AND user = ?')
      database.close()
      return { bytes: Number(bytes ?? 0), counterEnds: Number(ends ?? 0) }
    },
    close: () => store.close(),
  }
}

describe('what the embedded store keeps', () => keptSuite(openKept))
describe('histories in the embedded store', () => historyStoreSuite(open))
describe('grants in the embedded store', () => grantsSuite(open))
describe('invoices from the embedded store', () => invoiceSuite(open))
