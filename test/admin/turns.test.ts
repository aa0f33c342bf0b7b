import { expect, test } from 'vitest'
import { breath } from '../../src/lib/steps.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { startAdmin } from './running.ts'

/** Lists that may read everything that is kept. */

test.each([
  ['readAudit', '/api/audit?'],
  ['readRefusals', '/api/refusals?'],
  ['scanHistory', '/api/usage?by=user&'],
] as const)('steps of %s take turns, however many pages and files are asked for at once', async (name, path) => {
  const store = closedAtEnd(openSqliteStore({ file: ':memory:' }))
  let [reads, underWay, most] = [0, 0, 0]
  const method = store[name] as (...asked: unknown[]) => Promise<unknown>
  async function counted(...asked: unknown[]): Promise<unknown> {
    reads++
    most = Math.max(most, ++underWay)
    // Long enough for the other requests to come.
    for (let turn = 0; turn < 100; turn++) await breath()
    return method(...asked).finally(() => underWay--)
  }
  const running = await startAdmin({ store, broken: { [name]: counted } })
  const formats = ['csv', 'csv', 'json', 'json']
  const replies = await Promise.all(formats.map((format) => running.call('GET', `${path}format=${format}`)))
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect([reads >= formats.length, most]).toEqual([true, 1])
})
