import type { IncomingMessage } from 'node:http'
import type { Arrived } from '../../node/short-pieces.ts'
import { isLong, isRead } from './read-body.ts'

export interface UploadRule {
  /** In bytes per second. */
  readonly minRate: number
  /** How long a body may be slower than that, in milliseconds. */
  readonly graceMs: number
}

export interface UploadWatch {
  /**
   * Calls `tooSlow` once if the client sends the body of this request more slowly than the rule demands. Only bytes of the body
   * count, so chunk extensions, which can have up to 16 KiB each, gain no time.
   */
  watch(req: IncomingMessage, body: Arrived, tooSlow: () => void): void
  stop(): void
}

interface Upload {
  readonly req: IncomingMessage
  readonly body: Arrived
  readonly tooSlow: () => void
  /** Bytes of the body at the last look. */
  bytes: number
  /** Milliseconds for which the client may still be silent. Data of the client fills this time up again. */
  patience: number
}

const EVERY_MS = 100

/**
 * Ends long uploads that are too slow, so that slow clients cannot hold the connections to the upstream. Short bodies are
 * read whole before a connection is taken, and have a deadline of their own (read-body.ts).
 *
 * Time counts only while somebody reads and nothing has arrived. A slow upstream, responses that are still to go out, and the
 * time before admission are not the client's fault.
 */
export function createUploadWatch(rule: () => UploadRule): UploadWatch {
  const uploads = new Set<Upload>()
  let timer: NodeJS.Timeout | undefined
  let lookedAt = 0

  function watch(req: IncomingMessage, body: Arrived, tooSlow: () => void): void {
    if (!isLong(req)) return
    uploads.add({ req, body, tooSlow, bytes: body.bytes, patience: rule().graceMs })
    if (timer !== undefined) return
    lookedAt = performance.now()
    timer = setInterval(look, EVERY_MS).unref()
  }

  function look(): void {
    const now = performance.now()
    // If the event loop itself was late, unread bytes may have arrived.
    const elapsed = Math.min(now - lookedAt, 2 * EVERY_MS)
    lookedAt = now
    for (const upload of uploads) {
      if (upload.req.complete || upload.req.destroyed) uploads.delete(upload)
      else judge(upload, elapsed)
    }
    if (uploads.size === 0) stop()
  }

  function judge(upload: Upload, elapsed: number): void {
    const { minRate, graceMs } = rule()
    const sent = upload.body.bytes - upload.bytes
    upload.bytes = upload.body.bytes
    if (isWaitedFor(upload.req)) upload.patience -= elapsed
    upload.patience = Math.min(graceMs, upload.patience + (1000 * sent) / minRate)
    if (upload.patience > 0) return
    uploads.delete(upload)
    upload.tooSlow()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return { watch, stop }
}

function isWaitedFor(req: IncomingMessage): boolean {
  const isWanted = req.readableFlowing === true || req.listenerCount('readable') > 0
  return isWanted && req.readableLength === 0 && isRead(req)
}
