import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'

/** A small HTTP client: one connection for each request, hard limits, and no redirect is ever followed. */

export interface Outgoing {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Times in milliseconds, sizes in bytes. */
export interface Limits {
  readonly connectTimeout: number
  /** The longest silence on the connection. */
  readonly readTimeout: number
  readonly maxResponse: number
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * Why there is no whole response: the connection was not made, or broke; the response was too slow, is not HTTP, or is too large;
 * or nobody waits for it any more.
 */
export interface Failure {
  readonly failed: 'connection' | 'timeout' | 'response' | 'left'
}

/** The request took too long: the reason of its signal, or the error of a connection that was silent. */
export class TooSlow extends Error {
  override readonly name = 'TooSlow'
}

/** The response is not HTTP, or too large. */
class BadResponse extends Error {}

/**
 * Sends a request and reads the whole response.
 * @param signal ends the request: as a timeout if its reason is TooSlow, otherwise because nobody waits any more
 */
export async function exchange(outgoing: Outgoing, limits: Limits, signal: AbortSignal): Promise<Reply | Failure> {
  try {
    signal.throwIfAborted()
    return await send(outgoing, limits, signal)
  } catch (error) {
    return { failed: failureOf(error, signal) }
  }
}

async function send({ url, ...outgoing }: Outgoing, limits: Limits, signal: AbortSignal): Promise<Reply> {
  // The library is loaded when a platform is first asked.
  const { buildConnector, Client } = await import('undici')
  const { origin, pathname, search } = new URL(url)
  const line = new Line(buildConnector({ timeout: limits.connectTimeout, allowH2: false }), limits.readTimeout)
  // The timeout of the socket measures silence. The client's own timeouts are off, since a long body takes time to send.
  const client = new Client(origin, { connect: line.open, allowH2: false, headersTimeout: 0, bodyTimeout: 0 })
  try {
    // `reset`: a connection that was kept alive may break for other reasons, and a push is never repeated.
    const options = { ...outgoing, body: outgoing.body ?? null, path: `${pathname}${search}`, signal, reset: true }
    const { statusCode: status, headers, body } = await client.request(options).catch(rethrow)
    return { status, headers, body: await bodyOf(body, limits.maxResponse) }
  } finally {
    line.close()
    // The exchange ends with the response, even if the request has not been sent whole.
    void client.destroy()
  }
}

/** The one connection of a request. */
class Line {
  readonly #connector: buildConnector.connector
  readonly #readTimeout: number
  #socket: Socket | undefined

  constructor(connector: buildConnector.connector, readTimeout: number) {
    this.#connector = connector
    this.#readTimeout = readTimeout
  }

  readonly open: buildConnector.connector = (options, callback) => {
    this.#connector(options, (...result) => {
      const [error, socket] = result
      if (error === null) this.#watch(socket)
      callback(...result)
    })
  }

  close(): void {
    this.#socket?.destroy()
  }

  #watch(socket: Socket): void {
    this.#socket = socket
    socket.setTimeout(this.#readTimeout, () => socket.destroy(new TooSlow('read')))
  }
}

async function bodyOf(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > limit) throw new BadResponse()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Recognises a head that is not HTTP. A body that breaks off later means a broken connection. */
function rethrow(error: NodeJS.ErrnoException): never {
  const isNoHttp = error.name === 'HTTPParserError' || error.code === 'UND_ERR_HEADERS_OVERFLOW'
  throw isNoHttp ? new BadResponse() : error
}

function failureOf(error: unknown, signal: AbortSignal): Failure['failed'] {
  if (error instanceof TooSlow || (error as NodeJS.ErrnoException).code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout'
  if (signal.aborted) return 'left'
  return error instanceof BadResponse ? 'response' : 'connection'
}
