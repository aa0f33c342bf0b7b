import type { ErrorResponse } from '../../contract/api.ts'

/** The only way to the admin API. The session is a cookie that the page cannot read, so no credential is kept here. */

/** The API responded with 400 or above. */
export class ApiError extends Error {
  readonly status: number
  readonly response: ErrorResponse
  constructor(status: number, response: ErrorResponse) {
    super(response.msg)
    this.status = status
    this.response = response
  }
}

/** The API did not respond: there was no connection, no response in time, or somebody in between responded. */
export class LostError extends Error {
  /** The status with which somebody in between responded; `null` without a response. */
  readonly status: number | null
  constructor(status: number | null, cause: unknown) {
    super('no answer', { cause })
    this.status = status
  }
}

/** The response to a change is missing, so the change may have been made. */
export class UnknownError extends LostError {}

/** Whether it is unknown if a change was made, so that the changed thing has to be read again. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof UnknownError || (error instanceof ApiError && error.response.error === 'outcome_unknown')
}

export interface Fetched<T> {
  readonly data: T
  /** The version, for If-Match. */
  readonly etag: string | null
  /** The ETag field as it came, for If-None-Match. */
  readonly tag: string | null
}

export interface Options {
  readonly body?: unknown
  readonly ifMatch?: string | null
  /** The key that identifies a change which is sent again. */
  readonly idempotencyKey?: string
  /** The last response of the same path, which may still be valid. */
  readonly known?: Fetched<unknown> | undefined
  readonly signal?: AbortSignal
  /** How long to wait for the whole response. Default 15 s. */
  readonly patienceMs?: number
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * `again`: polls should ask now, because of a new session, a restored connection, a change or a person who is back at the tab.
 * `unauthorized`: the session is over.
 */
export const bell = new EventTarget()
export function ring(what: 'again' | 'unauthorized'): void {
  bell.dispatchEvent(new Event(what))
}

/** Signs in and out, and says who is signed in. */
export const SESSION = '/api/session'

/** Begins a sign-in at the provider. */
export const PROVIDER = '/api/session/provider'

/** Says who would be refused after a change. */
export const PREVIEW = '/api/quota/preview'

function isChange(method: Method, path: string): boolean {
  return method !== 'GET' && ![SESSION, PROVIDER, PREVIEW].includes(path)
}

const PATIENCE_MS = 15_000

/** @throws ApiError, LostError, UnknownError, or the reason of the signal if the caller gave up */
export async function call<T>(method: Method, path: string, options: Options = {}): Promise<Fetched<T>> {
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
    // Some proxies drop the listener's field from a 304. Only the API sends a 304, since nobody else knows the ETag.
    const isSame = status === 304 && known !== undefined
    if (!isSame && !isOwn(response)) throw new Error('the response of somebody in between')
    const said: unknown = text === '' ? null : JSON.parse(text)
    hearClock(response)
    setLost(false)
    if (isSame) return known as Fetched<T>
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

/** Whether a response is the API's, and not a proxy's sign-in, a maintenance page, or another service's at the same address. */
function isOwn({ headers }: Response): boolean {
  return headers.get('x-tollgate-listener') === 'admin'
}

/**
 * The version in the ETag of the API, for If-Match; `null` if there is none. A proxy that compresses makes an ETag weak, so that If-Match
 * never matches it, or adds the coding to it (Apache's mod_deflate: `"7-gzip"`). Both are removed.
 */
function versionOf({ headers }: Response): string | null {
  const [, version] = /^(?:W\/)?"(\d+)/.exec(headers.get('etag') ?? '') ?? []
  return version === undefined ? null : `"${version}"`
}

/** Milliseconds by which the listener's clock is ahead of the browser's, from its last response, to the second. */
let ahead = 0

function hearClock({ headers }: Response): void {
  const at = Date.parse(headers.get('date') ?? '')
  if (!Number.isNaN(at)) ahead = at - Date.now()
}

/** Milliseconds since the epoch by the listener's clock, because a browser's clock may be wrong by hours. */
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
