import type { Pool } from 'undici'

/** The HTTP client of all that is not the data path. */

export interface HttpRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** For the whole of it, in milliseconds. */
  readonly deadlineMs: number
  /** Of the body, in bytes after decompression. */
  readonly maxBytes: number
  /** Ends it early. */
  readonly signal: AbortSignal
}

export interface HttpResponse {
  readonly status: number
  /** `null` without such a field. */
  readonly header: (name: string) => string | null
  /** In UTF-8; empty but for a 200, since the body of another status is not read. */
  readonly text: string
}

/**
 * Asks for a document. No redirect is followed: it could lead to plain http or to an inner address. Each request has a
 * connection of its own: a connection that is kept leads to where the name led before.
 * @throws Error with its cause, also if the time is over or the body too long
 */
export async function get({ url, headers, deadlineMs, maxBytes, signal }: HttpRequest): Promise<HttpResponse> {
  // A process that asks nobody does without the 11 MB of undici.
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
  /** The beginning of the response's body that is kept, in bytes. */
  readonly keepBytes: number
}

/** Responses that only announce one: a server can send them without end. */
const MOST_INTERIM = 8
/** Bytes of the response's head. */
const MAX_HEAD = 16_384
/** Bytes of its body that are received: whoever sends more is cut off. */
const MAX_BODY = 65_536

/**
 * Posts to somebody else's server, which may do as it likes: it costs the deadline and a few hundred bytes at most. Each request has a
 * connection of its own. No redirect is followed. The status counts, so what goes wrong behind the head is no error.
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

/** The beginning of what comes until it ends, is too much, or breaks off. */
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
    // It broke off, or the deadline is over.
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Posts to one address again and again, by connections that are kept. */
export interface Poster {
  /** @throws Error with its cause, also if the time is over or the body too long */
  post(body: string): Promise<HttpResponse>
  /** Posts under way end as they would have. */
  close(): Promise<void>
}

export interface PosterOptions extends Pick<HttpRequest, 'url' | 'headers' | 'deadlineMs' | 'maxBytes'> {
  /** Most connections; posts above it wait for one, as a part of their time. */
  readonly connections: number
}

/** So many on one connection, then a new one is made: a change of the name is followed. */
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
      // The peer has closed a free connection at the moment in which it was taken.
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
