import { useCallback, useEffect, useRef, useState } from 'react'
import { backoffMs } from '../logic/backoff.ts'
import { type Answered, ApiError, bell, call, SESSION } from './client.ts'

export interface Polled<T> {
  /** The latest answer, also of an earlier look at the page, while later ones fail; `null` before the first. */
  readonly data: T | null
  readonly etag: string | null
  /** Why the last attempt failed; `null` if it did not. */
  readonly error: Error | null
  /** Asks now. */
  readonly reload: () => void
  /** Asks now, and is over when the answer is here, or will not be soon. */
  readonly read: () => Promise<void>
  /** Has what a change answered: newer than anything that is on its way. */
  readonly take: (response: Answered<T>) => void
}

type Seen<T> = Pick<Polled<T>, 'data' | 'etag' | 'error'> & { readonly path: string }

/**
 * Asks again and again while the page is seen: after `everyMs`, later and later while there is no answer, and at once when
 * the bell rings, the browser is online again or the page is looked at.
 * @param path `null` asks nothing
 */
export function usePoll<T>(path: string | null, everyMs: number): Polled<T> {
  const [seen, setSeen] = useState<Seen<T> | null>(null)
  const [turn, setTurn] = useState<Turn>({ pause: false })
  const polling = useRef<AbortController | null>(null)

  useEffect(() => {
    if (path === null) return
    const stop = new AbortController()
    polling.current = stop
    void poll<T>(path, everyMs, turn, stop.signal, (outcome) =>
      setSeen((before) => {
        if (!(outcome instanceof Error)) return { path, ...outcome, error: null }
        const { data, etag } = before?.path === path ? before : (recall<T>(path) ?? NOTHING)
        return { path, data, etag, error: outcome }
      }),
    )
    return () => stop.abort()
  }, [path, everyMs, turn])

  const reload = useCallback(() => setTurn({ pause: false }), [])
  const take = useCallback(
    ({ data, etag }: Answered<T>) => {
      if (path === null) return
      polling.current?.abort()
      remember(path, { data, etag })
      setSeen({ path, data, etag, error: null })
      setTurn({ pause: true })
    },
    [path],
  )
  const read = useCallback(async () => {
    try {
      if (path !== null) take(await call<T>('GET', path))
    } catch {
      reload()
    }
  }, [path, take, reload])
  const { data, etag, error } = seen !== null && seen.path === path ? seen : { data: null, etag: null, error: null }
  return { data, etag, error, reload, read, take }
}

const NOTHING = { data: null, etag: null }

/** By path, the last asked for at the end: for a page that is come back to while there are no answers. */
const remembered = new Map<string, Answered<unknown>>()
const REMEMBERED = 50

function remember(path: string, response: Answered<unknown>): void {
  if (path === SESSION) return
  remembered.delete(path)
  remembered.set(path, response)
  for (const oldest of remembered.keys()) if (remembered.size > REMEMBERED) remembered.delete(oldest)
}

function recall<T>(path: string): Answered<T> | null {
  return (remembered.get(path) as Answered<T> | undefined) ?? null
}

/** Of one who signs out nothing stays. */
export function forget(): void {
  remembered.clear()
}

/** Starts the loop anew, with a pause where there is an answer already. */
interface Turn {
  readonly pause: boolean
}

async function poll<T>(
  path: string,
  everyMs: number,
  turn: Turn,
  stop: AbortSignal,
  report: (outcome: Answered<T> | Error) => void,
): Promise<void> {
  let failures = 0
  if (turn.pause) await pause(everyMs, stop)
  while (!stop.aborted) {
    try {
      const response = await call<T>('GET', path, { signal: stop })
      remember(path, response)
      failures = 0
      if (!stop.aborted) report(response)
    } catch (error) {
      if (stop.aborted) return
      failures++
      report(error as Error)
      // Without a session only the bell makes it worth asking again.
      if (error instanceof ApiError && error.status === 401) await pause(FOREVER, stop)
    }
    // The bell hurries the next attempt, and never makes a storm of attempts that fail.
    if (failures > 0) await pause(backoffMs(1), stop, false)
    await pause(failures === 0 ? everyMs : backoffMs(failures) - backoffMs(1), stop)
    while (document.hidden && !stop.aborted) await pause(FOREVER, stop)
  }
}

const FOREVER = Number.POSITIVE_INFINITY

/** Ends after the time, or earlier by what makes an answer likely. */
function pause(ms: number, stop: AbortSignal, hurried = true): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController()
    const timer = ms === FOREVER ? undefined : setTimeout(end, ms)
    function end(): void {
      clearTimeout(timer)
      done.abort()
      resolve()
    }
    const { signal } = done
    stop.addEventListener('abort', end, { signal })
    if (stop.aborted) return end()
    if (!hurried) return
    bell.addEventListener('again', end, { signal })
    window.addEventListener('online', end, { signal })
    document.addEventListener('visibilitychange', end, { signal })
  })
}
