import type { Charge } from '../../src/quota/charge.ts'
import { StoreError } from '../../src/quota/quota-store.ts'
import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import type { Store } from '../../src/store/store.ts'
import { PLENTY, type Running } from '../servers.ts'
import { until } from '../until.ts'

/** The gateway's own store fills Redis, so that Redis holds exactly what a gateway writes. */

export const WINDOWS = [
  { name: '1h', seconds: 3600 },
  { name: '5h', seconds: 18_000 },
  { name: '1d', seconds: 86_400 },
]
export const LIMITS = WINDOWS.map((window) => ({ window, limit: PLENTY }))

/** Of how many the charges go to the store at once. */
const BATCH = 250

/** Opens the store for an action, and closes it afterwards. @throws Error with the last failure of the store, if that is the cause */
export async function withStore<T>({ port }: Running, action: (store: Store) => Promise<T>): Promise<T> {
  const problems: string[] = []
  const store = openRedisStore({
    url: `redis://127.0.0.1:${port}`,
    deadlineMs: 10_000,
    observe: (seen) => {
      if (seen.type === 'store_failed') problems.push(seen.message)
    },
  })
  try {
    await until(() => store.ping())
    return await action(store)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new Error(`the store has failed: ${problems.at(-1) ?? String(error)}`, { cause: error })
  } finally {
    await store.close()
  }
}

/** Makes the charges of each of so many, from 0 on. */
export async function chargeEach(store: Store, count: number, chargesOf: (index: number) => Charge[]): Promise<void> {
  for (let from = 0, sequence = 1; from < count; from += BATCH, sequence++) {
    const indexes = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => from + i)
    await store.settle({ instance: 'bench', sequence, refunds: [], charges: indexes.flatMap(chargesOf) })
  }
}
