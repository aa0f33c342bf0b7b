import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { BUCKET_MS, BUCKETS, NOTHING } from '../../../src/failures/histogram.ts'
import { NO_RETENTION } from '../../../src/quota/history.ts'
import { createRecords } from '../../../src/store/records.ts'
import { sqliteControl } from '../../../src/store/sqlite/control.ts'
import { openDatabase, SqliteFile } from '../../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { alertStoreSuite } from '../../alerts/alert-store.suite.ts'
import {
  accessKeyChangeSuite,
  accessKeyStoreSuite,
  auditBoundSuite,
  controlStoreSuite,
} from '../../control/control-store.suite.ts'
import { guardStoreSuite } from '../../control/guard-store.suite.ts'
import { handoverStoreSuite } from '../../control/handover-store.suite.ts'
import { keySetStoreSuite } from '../../control/key-set-store.suite.ts'
import { sessionStoreSuite } from '../../control/session-store.suite.ts'
import { stagedOverridesSuite } from '../../control/staged-overrides.suite.ts'
import { failureHistorySuite, failureStoreSuite } from '../../failures/failure-store.suite.ts'
import { chargeOf } from '../../quota/charge-of.ts'
import { knownUserStoreSuite } from '../../quota/known-users.suite.ts'
import { membershipStoreSuite } from '../../quota/memberships.suite.ts'
import { limits, quotaStoreSuite } from '../../quota/quota-store.suite.ts'
import { usageStoreSuite } from '../../quota/usage.suite.ts'
import { replicaStoreSuite } from '../../replicas/replica.suite.ts'
import { usageLogSuite } from '../../usage/usage-log.suite.ts'
import { newFile } from './new-file.ts'

describe('the embedded store', () => {
  async function open(file = ':memory:') {
    let now = Date.UTC(2026, 7, 6, 15)
    let retention = NO_RETENTION
    const store = openSqliteStore({ file, clock: () => now, retention: () => retention })
    return {
      store,
      keep: (days: number) => {
        retention = { ...NO_RETENTION, longestSeconds: days * 86_400 }
      },
      pass: async (ms: number) => {
        now += ms
      },
      close: () => store.close(),
    }
  }
  it('the embedded store reports no change that was not made to those who follow changes', async () => {
    const { store, close } = await open()
    let heard = 0
    store.onChange(() => heard++)
    const change = { kind: 'settings', to: { mode: 'loose' } } as const
    expect((await store.change(change, { who: 'ann', why: null }, 7)).done).toBe(false)
    expect(heard).toBe(0)
    expect((await store.change(change, { who: 'ann', why: null }, 0)).done).toBe(true)
    expect(heard).toBe(1)
    await close()
  })

  describe('as a store of what guards count', () => guardStoreSuite(() => open()))
  describe('as a store of sessions that were signed out', () => sessionStoreSuite(() => open()))
  describe('as a store of keys to be handed over', () => handoverStoreSuite(() => open()))

  describe('as a store of key sets', () => keySetStoreSuite(() => open()))

  describe('as a quota store', () => {
    quotaStoreSuite(open)

    it('the embedded store as a quota store writes nothing for refusals, also to users who have used nothing', async () => {
      const file = newFile()
      const { store, close } = await open(file)
      const of = limits([5, 5], [5, 5])
      const charge = (user: string, cost: number) => ({ user, organisation: null, category: 'read', cost, limits: of })
      const settle = (sequence: number, ...charges: ReturnType<typeof charge>[]) =>
        store.settle({ instance: 'test', sequence, refunds: [], charges })
      await settle(1, charge('alice', 3))
      const reader = new DatabaseSync(file, { readOnly: true })
      const version = () => reader.prepare('PRAGMA data_version').get()
      const before = version()
      const refused = await settle(2, charge('alice', 3), charge('bob', 9))
      expect(refused.map(({ accepted }) => accepted)).toEqual([false, false])
      expect(version()).toEqual(before)
      await settle(3, charge('bob', 1))
      expect(version()).not.toEqual(before)
      reader.close()
      await close()
    })

    it('the embedded store as a quota store writes no page of an index for a charge whose windows run on', async () => {
      const file = newFile()
      const { store, pass, close } = await open(file)
      let sequence = 0
      const charge = chargeOf({ limits: limits([99, 99], [99, 99]) })
      /** Pages that one more charge adds to the log. Each has 24 bytes before it. */
      const pagesOfCharge = async (): Promise<number> => {
        const before = statSync(`${file}-wal`).size
        await store.settle({ instance: 'test', sequence: ++sequence, refunds: [], charges: [charge] })
        return (statSync(`${file}-wal`).size - before) / (4096 + 24)
      }
      await pagesOfCharge()
      expect(await pagesOfCharge()).toBe(1)
      const { at } = await store.readUsage('alice', ['read'])
      const ends = () => {
        const reader = new DatabaseSync(file, { readOnly: true })
        const rows = reader.prepare('SELECT ends FROM counters').all() as { ends: number }[]
        reader.close()
        return rows.map((row) => row.ends - at)
      }
      const DAY_MS = 86_400_000
      expect(ends()).toEqual([DAY_MS, DAY_MS])
      // A later run ends later: that is in the index.
      await pass(DAY_MS + 1)
      expect(await pagesOfCharge()).toBe(2)
      expect(ends()).toEqual([2 * DAY_MS + 1, 2 * DAY_MS + 1])
      await close()
    })
  })
  describe('as a store of alerts', () => {
    alertStoreSuite(async () => {
      let now = Date.UTC(2026, 7, 6, 15)
      const file = newFile()
      const store = openSqliteStore({ file, clock: () => now })
      const other = openSqliteStore({ file, clock: () => now })
      return {
        store,
        other,
        now: () => now,
        pass: async (ms) => {
          now += ms
        },
        close: async () => void (await Promise.all([store.close(), other.close()])),
      }
    })
  })
  describe('as a failure store', () => {
    failureStoreSuite(open)
    failureHistorySuite(open)

    it('the embedded store as a failure store holds no more half hours than it lists', async () => {
      const file = newFile()
      const { store, pass, close } = await open(file)
      for (let i = 0; i < BUCKETS + 5; i++) {
        await store.addTally({ ...NOTHING, total: 1 })
        await pass(BUCKET_MS)
      }
      expect(rowsOf(file, 'failures')).toBe(BUCKETS)
      await close()
    })
  })
  describe('as a store of series and refusals', () =>
    usageLogSuite(async () => {
      const file = newFile()
      return { ...(await open(file)), heldHalfHours: async () => rowsOf(file, 'series') }
    }))
  describe('as a token store', () => accessKeyStoreSuite(open))
  describe('as a store of access keys that cannot write one of its tables', () =>
    accessKeyChangeSuite(async () => {
      const file = newFile()
      const { store, close } = await open(file)
      const admin = new DatabaseSync(file)
      return {
        store,
        refuse: async (what) => {
          const table = what === 'record' ? 'tokens' : 'audit'
          admin.exec(
            `CREATE TRIGGER refusal BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'refused for a test'); END`,
          )
        },
        allow: async () => admin.exec('DROP TRIGGER refusal'),
        close: async () => {
          admin.close()
          await close()
        },
      }
    }))
  describe('as a usage store', () => usageStoreSuite(open))
  describe('as a store of known users', () => knownUserStoreSuite(open))
  describe('as a store of plans of users', () => membershipStoreSuite(open))
  describe('as a replica store', () =>
    replicaStoreSuite(async () => {
      const file = newFile()
      return { ...(await open(file)), held: async () => rowsOf(file, 'replicas') }
    }))
  describe('as a control store', () => {
    async function openTwo() {
      const file = newFile()
      const [store, other] = [openSqliteStore({ file }), openSqliteStore({ file })]
      return { store, other, close: async () => void (await Promise.all([store.close(), other.close()])) }
    }
    controlStoreSuite(openTwo)
    stagedOverridesSuite(openTwo)
    auditBoundSuite(async (bounds) => {
      const database = openDatabase(':memory:')
      return {
        store: sqliteControl(
          new SqliteFile(database),
          createRecords(() => {}),
          { clock: Date.now, bounds },
        ),
        close: async () => database.close(),
      }
    })
  })
})

function rowsOf(file: string, table: string): number {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database.prepare(`SELECT * FROM ${table}`).all().length
  } finally {
    database.close()
  }
}
