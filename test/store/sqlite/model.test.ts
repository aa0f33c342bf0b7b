import { it } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { calendarSuite } from '../../quota/calendar.suite.ts'
import { agreesWithTheModel, type ClockedStore } from '../../quota/model.suite.ts'
import { newFile } from './new-file.ts'

async function open(): Promise<ClockedStore> {
  const file = newFile()
  let now = 0
  const reopen = () => openSqliteStore({ file, clock: () => now })
  let store = reopen()
  let last: Promise<unknown> = Promise.resolve()
  return {
    settle: (batch, at) => {
      now = at
      const settled = store.settle(batch)
      last = settled
      return settled
    },
    reset: async (change, at) => {
      await last
      now = at
      const changed = await store.change(change, { who: 'ann', why: null }, null)
      return changed.done ? (changed.entry.from as Record<string, number>) : {}
    },
    upsets: [
      async () => {
        await last
        await store.close()
        store = reopen()
      },
    ],
    close: () => store.close(),
  }
}

it.each([
  ['windows of seconds', 1],
  ['windows of a calendar', 'calendar'],
] as const)(
  'the embedded store decides any history of %s as the model does, through restarts and batches sent again',
  async (_, unit) => agreesWithTheModel(open, unit),
)

calendarSuite(open)
