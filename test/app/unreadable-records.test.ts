import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { createUnreadableRecords } from '../../src/app/unreadable-records.ts'
import type { Observation } from '../../src/observe/observation.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'

test('a record that cannot be read is reported once, and once more when it was replaced or is gone', async () => {
  const folder = tempFolder()
  const file = join(folder, 'quota.db')
  const seen: Observation[] = []
  const unreadable = createUnreadableRecords(
    (one) => seen.push(one),
    (list, id) => store.isUnreadable(list, id),
    10,
  )
  const store = closedAtEnd(openSqliteStore({ file, observe: unreadable.observe }))
  const admin = new DatabaseSync(file)
  const spoil = (user: string): void => {
    admin.prepare("INSERT OR REPLACE INTO overrides VALUES (1, ?, 1, '{bad')").run(user)
  }
  try {
    for (const user of ['alice', 'bob']) spoil(user)
    for (let i = 0; i < 3; i++) await store.readControl()
    const of = (id: string) => ({ kind: 'override', list: 'overrides', id })
    expect(seen).toEqual(['alice', 'bob'].map((id) => ({ type: 'unreadable_record', ...of(id) })))
    admin.exec("DELETE FROM overrides WHERE user = 'bob'")
    const override = { limits: {}, bypassGlobal: false, shadow: false, reason: 'r', expiresAt: null }
    await store.change({ kind: 'override', user: 'alice', to: override }, { who: 'ann', why: null }, null)
    await expect
      .poll(() => seen.slice(2), { timeout: 30_000 })
      .toEqual(expect.arrayContaining(['alice', 'bob'].map((id) => ({ type: 'unreadable_record_over', ...of(id) }))))
    spoil('bob')
    await store.readControl()
    expect(seen.at(-1)).toEqual({ type: 'unreadable_record', ...of('bob') })
  } finally {
    unreadable.stop()
    admin.close()
  }
})
