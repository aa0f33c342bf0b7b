import http from 'node:http'
import https from 'node:https'

/** Posts to somebody else's server, which may do as it likes: it costs the deadline and a few hundred bytes at most. */

export interface PostRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** For the whole of it, in milliseconds. */
  readonly deadlineMs: number
  /** The beginning of the response's body that is kept, in bytes. */
  readonly keepBytes: number
  /** Ends it early. */
  readonly signal: AbortSignal
}

export interface PostResponse {
  readonly status: number
  /** The beginning of the body, in UTF-8. */
  readonly text: string
}

/** Responses that only announce one: a server can send them without end. */
const MOST_INTERIM = 8
/** Bytes of the response's head. */
const MAX_HEAD = 16_384
/** Bytes of its body that are received: whoever sends more is cut off. */
const MAX_BODY = 65_536

/**
 * Each request has a connection of its own. No redirect is followed. The status counts, so what goes wrong behind the head is no
 * error.
 * @throws Error with its cause, also if the time is over
 */
export async function post({ url, headers, body, deadlineMs, keepBytes, signal }: PostRequest): Promise<PostResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<PostResponse>()
  const deadline = setTimeout(() => request.destroy(new Error(`no response in ${deadlineMs / 1000} s`)), deadlineMs)
  const abort = (): void => void request.destroy(new Error('given up'))
  const request = (url.protocol === 'https:' ? https : http).request(url, {
    method: 'POST',
    agent: false,
    maxHeaderSize: MAX_HEAD,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
  })
  let interim = 0
  let hasHead = false
  request.on('error', (error) => hasHead || reject(error))
  request.on('information', () => {
    if (++interim > MOST_INTERIM) request.destroy(new Error('interim responses without end'))
  })
  request.on('upgrade', (_response, socket) => {
    socket.destroy()
    reject(new Error('it switched to another protocol'))
  })
  request.on('response', (response) => {
    hasHead = true
    const { statusCode: status = 0 } = response
    void beginningOf(response, keepBytes).then((text) => resolve({ status, text }))
  })
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  else request.end(body)
  return promise.finally(() => {
    clearTimeout(deadline)
    signal.removeEventListener('abort', abort)
    request.destroy()
  })
}

/** The beginning of what comes until it ends, is too much, or breaks off. Leaving the loop ends the connection. */
async function beginningOf(response: http.IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (bytes < most) chunks.push(Buffer.from(chunk.subarray(0, most - bytes)))
      bytes += chunk.length
      if (bytes > MAX_BODY) break
    }
  } catch {
    // It broke off, or the deadline is over.
  }
  return Buffer.concat(chunks).toString('utf8')
}
