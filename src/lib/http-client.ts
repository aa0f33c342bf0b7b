import type { Pool } from 'undici'

/** The HTTP client for everything but the data path. */

export interface HttpRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The time for the whole request, in milliseconds. */
  readonly deadlineMs: number
  /** The most bytes of the body after decompression. */
  readonly maxBytes: number
  /** Ends the request early. */
  readonly signal: AbortSignal
}

export interface HttpResponse {
  readonly status: number
  /** The value of a field; `null` without such a field. */
  readonly header: (name: string) => string | null
  /** The body in UTF-8. It is empty for any status but 200, because other bodies are not read. */
  readonly text: string
}

/**
 * Asks for a document. No redirect is followed, because it could lead to plain http or to an inner address. Each
 * request has its own connection, because a kept connection would lead to the former address of the name.
 * @throws Error with its cause, also if the time is over or the body too long
 */
export async function get({ url, headers, deadlineMs, maxBytes, signal }: HttpRequest): Promise<HttpResponse> {
  // A process that makes no request saves the 11 MB of undici.
  const { fetch } = await import('undici')
  const response = await fetch(url, {
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]),
    headers: { ...headers, connection: 'close' },
  })
  const { status } = response
  const header = (name: string): string | null => response.headers.get(name)
  if (status === 200) return { status, header, text: await textOf(response.body ?? [], maxBytes) }
  await response.body?.cancel()
  return { status, header, text: '' }
}

async function textOf(body: AsyncIterable<Uint8Array> | [], maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`answered more than ${maxBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export interface PostRequest extends Omit<HttpRequest, 'maxBytes'> {
  readonly body: string
  /** Bytes of the beginning of the response's body that are kept. */
  readonly keepBytes: number
}

/** The most interim responses. A server can send them without end. */
const MOST_INTERIM = 8
/** The most bytes of the response's head. */
const MAX_HEAD = 16_384
/** The most bytes of the body that are received. A server that sends more is cut off. */
const MAX_BODY = 65_536

/**
 * Posts to a server of somebody else, which may behave in any way. So time, head, body and interim responses all have a bound. Each request
 * has its own connection. No redirect is followed. Only the status counts, so an error after the head is ignored.
 * @returns the status, and the beginning of the body in UTF-8
 * @throws Error with its cause, also if the time is over
 */
export async function post({ url, headers, body, deadlineMs, keepBytes, signal }: PostRequest) {
  const { Client } = await import('undici')
  const client = new Client(url.origin, { maxHeaderSize: MAX_HEAD, connectTimeout: deadlineMs })
  const end = new AbortController()
  const deadline = setTimeout(() => end.abort(new Error(`no response in ${deadlineMs / 1000} s`)), deadlineMs)
  let interim = 0
  try {
    const response = await client.request({
      ...{ path: `${url.pathname}${url.search}`, method: 'POST', headers, body },
      signal: AbortSignal.any([signal, end.signal]),
      onInfo: () => {
        if (++interim > MOST_INTERIM) end.abort(new Error('interim responses without end'))
      },
    })
    return { status: response.statusCode, text: await beginningOf(response.body, keepBytes) }
  } finally {
    clearTimeout(deadline)
    await client.destroy()
  }
}

/** The beginning of a body, until it ends, is too long, or breaks off. */
async function beginningOf(body: AsyncIterable<Buffer>, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      if (bytes < most) chunks.push(chunk.subarray(0, most - bytes))
      bytes += chunk.length
      if (bytes > MAX_BODY) break
    }
  } catch {
    // The body broke off, or the deadline is over.
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Posts to one address again and again, over connections that are kept. */
export interface Poster {
  /** @throws Error with its cause, also if the time is over or the body too long */
  post(body: string): Promise<HttpResponse>
  /** Closes after the posts under way have ended. */
  close(): Promise<void>
}

export interface PosterOptions extends Pick<HttpRequest, 'url' | 'headers' | 'deadlineMs' | 'maxBytes'> {
  /** The most connections. Further posts wait for one, and that wait counts as part of their time. */
  readonly connections: number
}

/** After this many posts a connection is replaced, so that a new address of the name comes into use. */
const MOST_ON_CONNECTION = 1000

export function openPoster({ url, headers, deadlineMs, maxBytes, connections }: PosterOptions): Poster {
  const options = { connections, maxRequestsPerClient: MOST_ON_CONNECTION, allowH2: false, connectTimeout: deadlineMs }
  let opened: Promise<Pool> | null = null

  function open(): Promise<Pool> {
    opened ??= import('undici').then((undici) => new undici.Pool(url.origin, options))
    return opened
  }

  async function post(body: string): Promise<HttpResponse> {
    const signal = AbortSignal.timeout(deadlineMs)
    const pool = await open()
    try {
      return await send(pool, body, signal)
    } catch (error) {
      // The peer has closed a free connection at the moment of its use.
      if (!isStale(error) || signal.aborted) throw error
      return await send(pool, body, signal)
    }
  }

  async function send(pool: Pool, body: string, signal: AbortSignal): Promise<HttpResponse> {
    const path = `${url.pathname}${url.search}`
    const response = await pool.request({ path, method: 'POST', headers, body, signal })
    const header = (name: string): string | null => response.headers[name.toLowerCase()]?.toString() ?? null
    const status = response.statusCode
    if (status === 200) return { status, header, text: await textOf(response.body, maxBytes) }
    await response.body.dump({ limit: maxBytes })
    return { status, header, text: '' }
  }

  return { post, close: async () => (await opened)?.close() }
}

const STALE: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function isStale(error: unknown): boolean {
  return error instanceof Error && 'code' in error && STALE.has(error.code)
}
