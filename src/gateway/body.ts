import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Denial, denial } from '../errors.ts'

/** How long a client may pause while a body that we need whole comes in. */
const IDLE_MS = 10_000

/** Whether the request announces a body. */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length']
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** Announced length above `max`, found before anything is read. */
export function announcedTooLarge(req: IncomingMessage, max: number | null): Denial | null {
  return max !== null && Number(req.headers['content-length'] ?? 0) > max ? tooLarge(max) : null
}

function tooLarge(max: number): Denial {
  return denial('payload_too_large', `The body of this request may have at most ${max} bytes.`)
}

/** Reads a whole body of at most `max` bytes. Rejects when the client breaks off. */
export function readBody(req: IncomingMessage, res: ServerResponse | null, max: number): Promise<Buffer | Denial> {
  const refused = announcedTooLarge(req, max)
  if (refused !== null) return Promise.resolve(refused)
  if (req.headers.expect !== undefined) res?.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const idle = setTimeout(() => done(denial('request_timeout', 'The body of this request came too slowly.')), IDLE_MS)

    function onData(chunk: Buffer): void {
      size += chunk.length
      chunks.push(chunk)
      if (size > max) done(tooLarge(max))
      else idle.refresh()
    }
    function onEnd(): void {
      done(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size))
    }
    function onClose(): void {
      stop()
      reject(new ClientLeft())
    }
    function done(result: Buffer | Denial): void {
      stop()
      resolve(result)
    }
    function stop(): void {
      clearTimeout(idle)
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
      req.pause()
    }
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
  })
}

/** The client closed its connection before the request was complete. */
export class ClientLeft extends Error {
  constructor() {
    super('the client left')
    this.name = 'ClientLeft'
  }
}
