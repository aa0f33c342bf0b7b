import http from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'

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
  /** Between two signs of life on the connection. */
  readonly readTimeout: number
  readonly maxResponse: number
}

export interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * Why there is no whole answer: no connection, or one that broke; too slow; an answer that is not HTTP or too large; or
 * nobody who waits for it any more.
 */
export interface Failure {
  readonly failed: 'connection' | 'timeout' | 'response' | 'left'
}

/** The reason with which a signal ends what took too long. */
export class TooSlow extends Error {
  override readonly name = 'TooSlow'
}

class TooLarge extends Error {}

/**
 * Sends a request and reads the whole answer.
 * @param signal ends it: as a timeout where its reason is TooSlow, otherwise because nobody waits any more
 */
export async function exchange(outgoing: Outgoing, limits: Limits, signal: AbortSignal): Promise<Reply | Failure> {
  try {
    return await new Promise((resolve, reject) => send(outgoing, limits, signal, { resolve, reject }))
  } catch (error) {
    return { failed: failureOf(error, signal) }
  }
}

interface Waiting {
  resolve(reply: Reply): void
  /** The first reason holds. */
  reject(error: unknown): void
}

function send(outgoing: Outgoing, limits: Limits, signal: AbortSignal, { resolve, reject }: Waiting): void {
  signal.throwIfAborted()
  const { method, url, headers, body } = outgoing
  const isTls = url.startsWith('https:')
  // A connection that was kept alive may break for reasons of its own, and a push is never repeated.
  const request = (isTls ? https : http).request(url, { method, headers, agent: false })
  const giveUp = (error: unknown) => {
    reject(error)
    request.destroy()
  }
  const leave = () => giveUp(signal.reason)
  const connecting = setTimeout(() => giveUp(new TooSlow('connect')), limits.connectTimeout)
  signal.addEventListener('abort', leave)
  let hasAnswered = false
  request.on('close', () => {
    clearTimeout(connecting)
    signal.removeEventListener('abort', leave)
    // A 101 that nobody asked for is neither an answer nor an error to Node: it closes the connection and says no more.
    if (!hasAnswered) reject(new Error('closed without an answer'))
  })
  request.on('socket', (socket: Socket) => {
    socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(connecting))
  })
  request.setTimeout(limits.readTimeout, () => giveUp(new TooSlow('read')))
  // A server that answers early may reset what we still send; its answer counts.
  request.on('error', (error) => hasAnswered || reject(error))
  request.on('response', async (response) => {
    hasAnswered = true
    const { statusCode: status = 0, headers } = response
    await bodyOf(response, limits.maxResponse).then((bytes) => resolve({ status, headers, body: bytes }), reject)
    request.destroy()
  })
  request.end(body)
}

async function bodyOf(response: http.IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    size += chunk.length
    if (size > limit) throw new TooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function failureOf(error: unknown, signal: AbortSignal): Failure['failed'] {
  if (error instanceof TooSlow) return 'timeout'
  if (signal.aborted) return 'left'
  const isNoHttp = String((error as NodeJS.ErrnoException).code).startsWith('HPE_')
  return isNoHttp || error instanceof TooLarge ? 'response' : 'connection'
}
