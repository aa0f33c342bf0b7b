import { expect, it } from 'vitest'
import { type Copyable, copyStore } from '../../src/store/copy.ts'
import { addRuns } from '../../src/store/packed-history.ts'
import { openRedisCopyable } from '../../src/store/redis/copy.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteCopyable } from '../../src/store/sqlite/copy.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { sharedRedis } from '../setup/redis.ts'
import { whenReady } from './redis/ready.ts'
import { newFile } from './sqlite/new-file.ts'

const redis = await sharedRedis()

const HOUR = 3_600_000
let places = 0
const PLACES = {
  sqlite() {
    const file = newFile()
    return { copyable: () => openSqliteCopyable(file), store: () => openSqliteStore({ file }) }
  },
  redis() {
    const prefix = `${redis.prefix}-history-${++places}`
    return {
      copyable: () => openRedisCopyable({ url: redis.url, prefix }),
      store: () => openRedisStore({ url: redis.url, prefix, deadlineMs: 20_000, observe: () => {} }),
    }
  },
}

async function using<T extends Store | Copyable, R>(one: T, use: (one: T) => Promise<R>): Promise<R> {
  try {
    await whenReady(one)
    return await use(one)
  } finally {
    await one.close()
  }
}

it.each([
  ['sqlite', 'redis'],
  ['redis', 'sqlite'],
  ['redis', 'redis'],
] as const)(
  'a copy from %s to %s has the histories, also of who has no counters, and runs that are over',
  async (from, to) => {
    const [one, other] = [PLACES[from](), PLACES[to]()]
    const now = Date.now()
    const ended = (at: number, used: number) => ({ seconds: 3600, startedAt: now - at, used, keptSeconds: 86_400 })
    const history = addRuns(
      addRuns(Buffer.alloc(0), 'read', [ended(9 * HOUR, 5)], now),
      'read',
      [ended(4 * HOUR, 7)],
      now,
    )
    const over = new Map([['read', [{ seconds: 3600, startedAt: now - 2 * HOUR, used: 3 }]]])
    await using(one.copyable(), async (copyable) => {
      const refill = await copyable.refill()
      await refill.clear()
      const ends = now + 22 * HOUR
      const owners = [
        { scope: 'personal' as const, id: 'alice', counters: over, history, ends },
        { scope: 'personal' as const, id: 'bob', counters: new Map(), history, ends },
        { scope: 'organisation' as const, id: 'bob', counters: over, ends },
      ]
      await refill.put({ kind: 'counters', entries: owners })
      await refill.done()
    })
    await using(one.copyable(), (source) =>
      using(other.copyable(), (target) => copyStore({ from: source, to: target, force: false, progress: () => {} })),
    )
    const found = await using(other.store(), async (store) => {
      const all: Record<string, number[][]> = {}
      for (const scope of ['personal', 'organisation'] as const) {
        for (const { id, eachRun } of (await store.scanHistory(scope, null)).owners) {
          const runs: number[][] = []
          eachRun(0, 2 ** 48, (_category, _seconds, startedAt, tokens) => runs.push([now - startedAt, tokens]))
          all[`${scope} ${id}`] = runs
        }
      }
      return all
    })
    const before = [
      [9 * HOUR, 5],
      [4 * HOUR, 7],
    ]
    expect(found).toEqual({
      'personal alice': [...before, [2 * HOUR, 3]],
      'personal bob': before,
      'organisation bob': [[2 * HOUR, 3]],
    })
  },
)
