import { skipToken, useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { Answered } from './client.ts'
import { look, NOTHING, pauseAfter, putSeen, readAgain, type Seen } from './queries.tsx'

export interface Polled<T> {
  /** The latest response, also of an earlier look at the page; `null` before the first. */
  readonly data: T | null
  readonly etag: string | null
  /** Why the last attempt failed; `null` if it did not. */
  readonly error: Error | null
  /** Asks now. */
  readonly reload: () => void
  /** Asks now, and is over when the response is here, or will not be soon. */
  readonly read: () => Promise<void>
  /** Has the response of a change: newer than anything that is under way. */
  readonly take: (response: Answered<T>) => void
}

/** So often a tab that nobody uses reads what is on it, in milliseconds. A change at run time is read at once all the same. */
const REST_MS = 120_000

/**
 * Asks again and again while the page is seen: after `everyMs`, later and later while there is no response, and at once when the bell
 * rings, the browser is online again or the page is looked at. All who read one path share its requests.
 * @param path `null` asks nothing
 * @param restMs the least pause while nobody uses the tab
 */
export function usePoll<T>(path: string | null, everyMs: number, restMs = REST_MS): Polled<T> {
  const { data: seen = NOTHING } = useQuery<Seen<T>>({
    queryKey: [path],
    queryFn: path === null ? skipToken : ({ signal }) => look<T>(path, signal),
    refetchInterval: ({ state }) => pauseAfter(state.data, { everyMs, restMs }),
  })
  const read = useCallback(async () => {
    if (path !== null) await readAgain(path)
  }, [path])
  const reload = useCallback(() => void read(), [read])
  const take = useCallback(
    (response: Answered<T>) => {
      if (path !== null) putSeen(path, response)
    },
    [path],
  )
  const { data, etag, error } = seen
  return { data, etag, error, reload, read, take }
}
