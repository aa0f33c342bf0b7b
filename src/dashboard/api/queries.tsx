import { notifyManager, type Query, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { backoffMs } from '../logic/backoff.ts'
import { ApiError, bell, call, type Fetched, SESSION } from './client.ts'
import { isAtRest } from './rest.ts'

/** What was read from the API, by path, and when to read it again. */

/** The latest response of a path, and the attempts since then. */
export interface Seen<T> {
  readonly data: T | null
  readonly etag: string | null
  readonly tag: string | null
  /** Why the last attempt failed; `null` if it succeeded, and before the first attempt. */
  readonly error: Error | null
  /** How many consecutive attempts failed. */
  readonly failures: number
}

export const NOTHING: Seen<never> = { data: null, etag: null, tag: null, error: null, failures: 0 }

/** How long a response is kept while no page uses it, so that somebody who comes back sees it at once. */
const KEPT_MS = 30 * 60_000

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      gcTime: KEPT_MS,
      // Whether the gateway can be reached does not depend on the internet.
      networkMode: 'always',
      refetchOnReconnect: 'always',
      refetchOnWindowFocus: 'always',
      retry: false,
    },
  },
})

// Readers learn of a response in a microtask and not in a later task, so that all that it changes is drawn together.
notifyManager.setScheduler(queueMicrotask)

export function Queries({ children }: { readonly children: ReactNode }) {
  return <QueryClientProvider client={queries}>{children}</QueryClientProvider>
}

/** Resolves when reading may go on; `null` while nothing stops it. */
let held: PromiseWithResolvers<void> | null = null

/**
 * Stops all reading except of the session, until `readOn` is called. Requests under way are cancelled, and new ones wait, so that nothing
 * is read after a sign-out that would be refused, even while the pages are still shown.
 */
export async function stopReading(): Promise<void> {
  held ??= Promise.withResolvers()
  await queries.cancelQueries({ predicate: isOfSession })
}

/** Goes on reading, after somebody signed in or could not sign out. */
export function readOn(): void {
  held?.resolve()
  held = null
}

function isOfSession({ queryKey }: Query): boolean {
  return queryKey[0] !== SESSION
}

/** Reads a path. A failure is part of the result, beside the last values. @throws the reason of the signal if the reading is cancelled */
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
  /** Milliseconds between two readings while the tab is used. */
  readonly everyMs: number
  /** The pause while nobody uses the tab, if it is longer. */
  readonly restMs: number
}

/** Milliseconds until a path is read again by itself; `false` if it waits for the bell, because there is no session. */
export function pauseAfter(seen: Seen<unknown> | undefined, { everyMs, restMs }: Pace): number | false {
  if (seen === undefined || seen.error === null) return isAtRest() ? Math.max(everyMs, restMs) : everyMs
  if (seen.error instanceof ApiError && seen.error.status === 401) return false
  return backoffMs(seen.failures)
}

/** Reads a path now, in place of an attempt under way. Resolves when the response has come, or when the attempt failed or was cancelled. */
export async function readAgain(path: string): Promise<void> {
  const only = { queryKey: [path], exact: true }
  void queries.cancelQueries(only)
  await queries.refetchQueries(only)
}

/** Stores the response to a change, which is newer than anything under way. */
export function putSeen<T>(path: string, { data, etag, tag }: Fetched<T>): void {
  void queries.cancelQueries({ queryKey: [path], exact: true })
  queries.setQueryData<Seen<T>>([path], { data, etag, tag, error: null, failures: 0 })
}

/** Drops all responses except the session's and cancels what is under way, for a sign-out. */
export function forget(): void {
  queries.removeQueries({ predicate: isOfSession })
}

bell.addEventListener('again', hurry)

/** Reads at once all paths that the page uses. A path that failed a moment ago waits, so that the bell never causes a storm of failing attempts. */
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
