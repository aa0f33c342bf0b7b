import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import type { Denial } from '../../errors.ts'
import { gather } from '../../lib/gathered-bytes.ts'
import { awaitsContinue, hasBody, SMALL } from '../../respond/announced-body.ts'
import { CUT_OFF, cutOffBy } from '../cut-off.ts'
import { slowBody, tooLarge } from '../denials.ts'

/** How long a small body that is read whole may take, in seconds. A long one must keep up a rate (slow-upload.ts). */
const WHOLE_BODY_S = 30
/**
 * Whether the body may be long in coming: of more than `SMALL` bytes, of unannounced length, or one that waits for
 * `100 Continue` and so is not read before it is forwarded.
 */
export function isLong(req: IncomingMessage): boolean {
  return hasBody(req) && !(Number(req.headers['content-length']) <= SMALL && !awaitsContinue(req))
}

/** Whether Node reads the connection of this request: it does not while too much of earlier responses waits there. */
export function isRead({ socket }: IncomingMessage): boolean {
  return !socket.isPaused()
}

/** Announced length above `max`, found before anything is read. */
function announcedTooLarge(req: IncomingMessage, max: number | null): Denial | null {
  return max !== null && Number(req.headers['content-length'] ?? 0) > max ? tooLarge(max) : null
}

/**
 * Whether a body is to be read whole although its price does not ask for it. One of unannounced length is, if its size
 * is bounded, so that 413 comes before any charge. A small one is, so that a client that sends it slowly holds no connection
 * to the upstream and pays nothing for what never arrives.
 */
export function isReadWhole(req: IncomingMessage, maxBody: number | null): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return maxBody !== null
  return !awaitsContinue(req) && hasBody(req) && announcedTooLarge(req, SMALL) === null
}

/** Reads a whole body of at most `max` bytes. Rejects when the client breaks off. */
export function readBody(req: IncomingMessage, res: ServerResponse | null, max: number): Promise<Buffer | Denial> {
  return read(req, res, max, () => tooLarge(max))
}

/**
 * Reads a body of unannounced length if it is short. Rejects when the client breaks off.
 * @param most bytes of a short one
 * @returns `null` if it is longer: then `req` has all of it still
 */
export function readIfShort(
  req: IncomingMessage,
  res: ServerResponse | null,
  most: number,
): Promise<Buffer | Denial | null> {
  return read(req, res, most, (beginning) => {
    // At once: behind its end nothing could be put back.
    req.pause()
    req.unshift(beginning())
    return null
  })
}

/** @param tooLong what comes of a body of more than `max` bytes, of which this is the beginning */
function read<T>(
  req: IncomingMessage,
  res: ServerResponse | null,
  max: number,
  tooLong: (beginning: () => Buffer) => T,
): Promise<Buffer | Denial | T> {
  const refused = announcedTooLarge(req, max)
  if (refused !== null) return Promise.resolve(refused)
  // One that can have none is destroyed from the beginning (`optimizeEmptyRequests`).
  if (!hasBody(req)) return Promise.resolve(EMPTY)
  // The close event is past for a client that left while its credential was looked at, and what had come is gone.
  if (req.destroyed) return Promise.reject(new ClientLeft())
  const cut = cutOffBy(req)
  if (cut !== null) return Promise.resolve(cut)
  askForBody(req, res)
  return new Promise((resolve, reject) => {
    const body = gather()
    let left = WHOLE_BODY_S
    const watch = isLong(req) ? undefined : setInterval(look, 1000)

    function onData(chunk: Buffer): void {
      if (body.add(chunk) <= max) return
      stop()
      resolve(tooLong(body.whole))
    }
    function onEnd(): void {
      done(body.whole())
    }
    function look(): void {
      if (isRead(req) && --left === 0) done(slowBody())
    }
    function onCutOff(): void {
      done(cutOffBy(req) as Denial)
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
      clearInterval(watch)
      req.off('data', onData).off('end', onEnd).off(CUT_OFF, onCutOff).off('close', onClose).off('error', onClose)
    }
    req.on('data', onData).on('end', onEnd).on(CUT_OFF, onCutOff).on('close', onClose).on('error', onClose)
  })
}

const EMPTY = Buffer.alloc(0)

/** Requests whose client was asked for the body that it holds back. */
const asked = new WeakSet<IncomingMessage>()

/** Asks once a client for its body that waits for that. @param res `null` for a handshake, which has none */
export function askForBody(req: IncomingMessage, res: ServerResponse | null): void {
  if (!awaitsContinue(req) || asked.has(req)) return
  asked.add(req)
  res?.writeContinue()
}

/**
 * Looks at as much of a streamed body as came in one read with its head. The parser calls for the head before it has seen
 * the rest of that read. @returns why it is refused; `null` for a body that is well-formed so far
 */
export async function beginningOf(req: IncomingMessage): Promise<Denial | null> {
  await turn()
  if (req.destroyed) throw new ClientLeft()
  return cutOffBy(req)
}

/** The client closed its connection before the request was complete. */
export class ClientLeft extends Error {
  constructor() {
    super('the client left')
    this.name = 'ClientLeft'
  }
}
