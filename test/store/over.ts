import { openRedisStore } from '../../src/store/redis/redis-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { whenReady } from './redis/ready.ts'

export type StoreKind = 'sqlite' | 'redis'

/**
 * An empty store, which answers already.
 * @param place of those in Redis; one in SQLite is in memory
 * @param clock of one in SQLite. Default that of the machine
 */
export async function storeOver(
  kind: StoreKind,
  { url, prefix }: { readonly url: string; readonly prefix: string },
  clock?: () => number,
): Promise<Store> {
  if (kind === 'sqlite') return openSqliteStore({ file: ':memory:', ...(clock && { clock }) })
  const store = openRedisStore({ url, prefix, deadlineMs: 5000, observe: () => {} })
  await whenReady(store)
  return store
}
