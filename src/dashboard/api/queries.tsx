import { notifyManager, type Query, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { backoffMs } from '../logic/backoff.ts'
import { type Answered, ApiError, bell, call, SESSION } from './client.ts'
import { isAtRest } from './rest.ts'

/** What was read from the API, by path, and when it is read again. */

/** The latest response of a path, and what became of the attempts since. */
export interface Seen<T> {
  readonly data: T | null
  readonly etag: string | null
  readonly tag: string | null
  /** Why the last attempt failed; `null` if it did not. */
  readonly error: Error | null
  /** Attempts in a row that failed. */
  readonly failures: number
}

export const NOTHING: Seen<never> = { data: null, etag: null, tag: null, error: null, failures: 0 }

/** For a page that one comes back to while there are no responses. */
const KEPT_MS = 30 * 60_000

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      gcTime: KEPT_MS,
      // Whether the gateway can be reached is no question of the internet.
      networkMode: 'always',
      refetchOnReconnect: 'always',
      refetchOnWindowFocus: 'always',
      retry: false,
    },
  },
})

// What a change sets beside its response is drawn with it, not before it.
notifyManager.setScheduler(queueMicrotask)

export function Queries({ children }: { readonly children: ReactNode }) {
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>
}

/** Over when reading may go on; `null` if it may now. */
let held: PromiseWithResolvers<void> | null = null

/**
 * Until somebody signs in nothing is read but who is signed in: what is under way is given up, and what is due waits. So a session that
 * ends has no reading that it would be refused to, also in the moment before its pages are gone.
 */
export async function stopReading(): Promise<void> {
  held ??= Promise.withResolvers()
  await queries.cancelQueries({ predicate: isOfSession })
}

/** Reading goes on: somebody signed in, or could not sign out. */
export function readOn(): void {
  held?.resolve()
  held = null
}

function isOfSession({ queryKey }: Query): boolean {
  return queryKey[0] !== SESSION
}

/** Reads a path. A failure is part of the result, beside the last values. @throws what the signal throws if nobody wants to know any more */
export async function look<T>(path: string, signal: AbortSignal): Promise<Seen<T>> {
  try {
    if (path !== SESSION) await held?.promise
    signal.throwIfAborted()
    const before = queries.getQueryData<Seen<T>>([path])
    const known = before === undefined || before.data === null ? undefined : before
    const { data, etag, tag } = await call<T>('GET', path, { signal, known })
    return { data, etag, tag, error: null, failures: 0 }
  } catch (error) {
    signal.throwIfAborted()
    const before = queries.getQueryData<Seen<T>>([path]) ?? NOTHING
    return { ...before, error: error as Error, failures: before.failures + 1 }
  }
}

export interface Pace {
  /** Milliseconds between two readings, while the tab is used. */
  readonly everyMs: number
  /** While nobody uses it, if that is longer. */
  readonly restMs: number
}

/** Milliseconds until a path is read again by itself; `false` if only the bell makes that worth it: there is no session. */
export function pauseAfter(seen: Seen<unknown> | undefined, { everyMs, restMs }: Pace): number | false {
  if (seen === undefined || seen.error === null) return isAtRest() ? Math.max(everyMs, restMs) : everyMs
  if (seen.error instanceof ApiError && seen.error.status === 401) return false
  return backoffMs(seen.failures)
}

/** Reads a path now, in the place of an attempt that is under way; over when the response is here, or will not be soon. */
export async function readAgain(path: string): Promise<void> {
  const only = { queryKey: [path], exact: true }
  void queries.cancelQueries(only)
  await queries.refetchQueries(only)
}

/** Has the response of a change: newer than anything that is under way. */
export function putSeen<T>(path: string, { data, etag, tag }: Answered<T>): void {
  void queries.cancelQueries({ queryKey: [path], exact: true })
  queries.setQueryData<Seen<T>>([path], { data, etag, tag, error: null, failures: 0 })
}

/** Of one who signs out nothing stays, nor comes later. */
export function forget(): void {
  queries.removeQueries({ predicate: isOfSession })
}

bell.addEventListener('again', hurry)

/** Reads what is shown now. What failed a moment ago is given that moment: the bell never makes a storm of attempts that fail. */
function hurry(): void {
  if (document.hidden) return
  for (const { queryKey, state } of queries.getQueryCache().findAll({ type: 'active' })) {
    setTimeout(() => void readIfDue(queryKey), Math.max(0, tooEarlyMs(state)))
  }
}

async function readIfDue(queryKey: readonly unknown[]): Promise<void> {
  const state = queries.getQueryState<Seen<unknown>>(queryKey)
  if (state === undefined || tooEarlyMs(state) > 0) return
  await queries.refetchQueries({ queryKey, exact: true, type: 'active' }, { cancelRefetch: false })
}

function tooEarlyMs({ data, dataUpdatedAt }: { readonly data: unknown; readonly dataUpdatedAt: number }): number {
  const hasFailed = (data as Seen<unknown> | undefined)?.error != null
  return hasFailed ? dataUpdatedAt + backoffMs(1) - Date.now() : 0
}
