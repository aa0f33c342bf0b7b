import { skipToken, useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { Fetched } from './client.ts'
import { look, NOTHING, pauseAfter, putSeen, readAgain, type Seen } from './queries.tsx'

export interface Polled<T> {
  /** The latest response, perhaps from an earlier visit; `null` before the first. */
  readonly data: T | null
  readonly etag: string | null
  /** Why the last attempt failed; `null` if it succeeded, and before the first attempt. */
  readonly error: Error | null
  /** Reads now. */
  readonly reload: () => void
  /** Reads now. Resolves when the response has come, or when the attempt failed or was cancelled. */
  readonly read: () => Promise<void>
  /** Stores the response to a change, which is newer than anything under way. */
  readonly take: (response: Fetched<T>) => void
}

/** How often an unused tab reads what it shows, in milliseconds. For an operator the status line still notices changes at run time. */
const REST_MS = 120_000

/**
 * Reads repeatedly while the page is visible: after `everyMs`, later and later without a response, and at once when the bell rings,
 * the browser is online again or the page is looked at. All readers of one path share its requests.
 * @param path `null` reads nothing
 * @param restMs the least pause while nobody uses the tab. Default 120 s
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
    (response: Fetched<T>) => {
      if (path !== null) putSeen(path, response)
    },
    [path],
  )
  const { data, etag, error } = seen
  return { data, etag, error, reload, read, take }
}
