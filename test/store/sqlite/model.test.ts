import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, it } from 'vitest'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { agreesWithTheModel } from '../../quota/model.suite.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-model-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('the embedded store decides any history as the model does, through restarts and batches sent again', async () => {
  let files = 0
  await agreesWithTheModel(async () => {
    const file = join(folder, `${++files}.db`)
    let now = 0
    const open = () => openSqliteStore({ file, clock: () => now })
    let store = open()
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
          store = open()
        },
      ],
      close: () => store.close(),
    }
  })
})
