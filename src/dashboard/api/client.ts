import type { ErrorResponse } from '../../contract/api.ts'
import { isOwn } from './is-api-response.ts'

/** The one way to the admin API. The session is a cookie that the page cannot read; nothing is kept here. */

/** The API answered with 400 or above. */
export class ApiError extends Error {
  readonly status: number
  readonly response: ErrorResponse
  constructor(status: number, response: ErrorResponse) {
    super(response.msg)
    this.status = status
    this.response = response
  }
}

/** Nothing of the API's own came back: no connection, or somebody else in between answered. */
export class LostError extends Error {
  /** With which somebody in between answered; `null` if nobody did. */
  readonly status: number | null
  constructor(status: number | null, cause: unknown) {
    super('no answer', { cause })
    this.status = status
  }
}

/** The same for the answer to a change: it may have been made. */
export class UnknownError extends LostError {}

/** Whether something may have been changed though nobody said so: it is to be read again. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof UnknownError || (error instanceof ApiError && error.response.error === 'outcome_unknown')
}

export interface Answered<T> {
  readonly data: T
  /** The version, for If-Match. */
  readonly etag: string | null
  /** The field ETag as it came, for If-None-Match. */
  readonly tag: string | null
}

export interface Options {
  readonly body?: unknown
  readonly ifMatch?: string | null
  /** By which a change that is sent again is known as the one before. */
  readonly idempotencyKey?: string
  /** The last response of the same path: the API may say that it still is. */
  readonly known?: Answered<unknown> | undefined
  readonly signal?: AbortSignal
  /** How long to wait for the whole answer. */
  readonly patienceMs?: number
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** `again`: whoever polls should ask now, because of a new session or a mended connection. `unauthorized`: the session is over. */
export const bell = new EventTarget()
export function ring(what: 'again' | 'unauthorized'): void {
  bell.dispatchEvent(new Event(what))
}

/** Where one signs in and out, and asks who is signed in. */
export const SESSION = '/api/session'

/** Where a sign-in by the provider begins. */
export const PROVIDER = '/api/session/provider'

/** Who would be refused under a change. */
export const PREVIEW = '/api/quota/preview'

/** What a change would have met in the last 24 hours. */

function isChange(method: Method, path: string): boolean {
  return method !== 'GET' && ![SESSION, PROVIDER, PREVIEW].includes(path)
}

const PATIENCE_MS = 15_000

/** @throws ApiError, LostError, UnknownError; what the signal throws where the caller gave up */
export async function call<T>(method: Method, path: string, options: Options = {}): Promise<Answered<T>> {
  const { body, ifMatch, idempotencyKey, known, signal, patienceMs = PATIENCE_MS } = options
  const headers = new Headers({ accept: 'application/json' })
  if (body !== undefined) headers.set('content-type', 'application/json')
  if (ifMatch) headers.set('if-match', ifMatch)
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
  if (known?.tag) headers.set('if-none-match', known.tag)
  const timeout = AbortSignal.timeout(patienceMs)
  let status: number | null = null
  try {
    const response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    status = response.status
    const isSame = status === 304 && known !== undefined
    const said: unknown = isSame ? known.data : text === '' ? null : JSON.parse(text)
    if (!isSame && !isOwn(path, status, said)) throw new Error('the answer of somebody in between')
    hearClock(response)
    setLost(false)
    if (isSame) return known as Answered<T>
    if (response.ok) return { data: said as T, etag: versionOf(response), tag: response.headers.get('etag') }
    if (response.status === 401 && path !== SESSION) ring('unauthorized')
    throw new ApiError(response.status, said as ErrorResponse)
  } catch (error) {
    if (error instanceof ApiError) throw error
    signal?.throwIfAborted()
    setLost(true)
    throw new (isChange(method, path) ? UnknownError : LostError)(status, error)
  }
}

/**
 * The tag is of a version, not of bytes; but a proxy that compresses makes it weak, which If-Match never matches, or writes how behind
 * it (Apache's mod_deflate: `"7-gzip"`).
 */
function versionOf({ headers }: Response): string | null {
  const [, version] = /^(?:W\/)?"(\d+)/.exec(headers.get('etag') ?? '') ?? []
  return version === undefined ? null : `"${version}"`
}

/** How far the clock of the listener is ahead of ours, in milliseconds; to the second, as far as its last answer lets know. */
let ahead = 0

function hearClock({ headers }: Response): void {
  const at = Date.parse(headers.get('date') ?? '')
  if (!Number.isNaN(at)) ahead = at - Date.now()
}

/** Milliseconds since the epoch, by the clock of the listener: that of a browser may be wrong by hours. */
export function serverNow(): number {
  return Date.now() + ahead
}

let lost = false
const watchers = new Set<() => void>()

function setLost(next: boolean): void {
  if (lost === next) return
  lost = next
  for (const watcher of watchers) watcher()
  if (!lost) ring('again')
}

export const connection = {
  isLost: () => lost,
  subscribe(watcher: () => void): () => void {
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  },
}
