import { inSlices } from '../lib/slices.ts'
import { type Episode, MOST_EPISODES, type Place, type RefusalFilter } from './episodes.ts'
import type { UsageLogStore } from './usage-log-store.ts'

/** How many episodes are read at once. */
const PAGE = 1000

/**
 * All kept episodes that fit the filter, page by page, with other work of the process in between.
 * @throws StoreError, or the reason of the signal
 */
export async function* episodePages(
  store: Pick<UsageLogStore, 'readRefusals'>,
  filter: RefusalFilter,
  signal?: AbortSignal,
): AsyncGenerator<readonly Episode[]> {
  const slices = inSlices(0)
  let cursor: Place | null = null
  for (let read = 0; read < MOST_EPISODES; read += PAGE) {
    signal?.throwIfAborted()
    const { episodes, next } = await store.readRefusals(filter, { cursor, limit: PAGE })
    yield episodes
    cursor = next
    if (next === null) return
    await slices.next()
  }
}
