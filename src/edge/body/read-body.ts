import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import type { Denial } from '../../errors.ts'
import { gather } from '../../lib/gathered-bytes.ts'
import { awaitsContinue, hasBody, SMALL } from '../../respond/announced-body.ts'
import { CUT_OFF, cutOffBy } from '../cut-off.ts'
import { slowBody, tooLarge } from '../denials.ts'

/** How long reading a whole small body may take, in seconds. A long body must keep up a rate instead (slow-upload.ts). */
const WHOLE_BODY_S = 30
/**
 * Whether the body may take long to arrive: it has more than `SMALL` bytes or an unknown length, or the client waits for
 * `100 Continue` before it sends the body.
 */
export function isLong(req: IncomingMessage): boolean {
  return hasBody(req) && !(Number(req.headers['content-length']) <= SMALL && !awaitsContinue(req))
}

/** Whether the connection of this request is read. It is paused, for example, while too much of earlier responses waits to be sent. */
export function isRead({ socket }: IncomingMessage): boolean {
  return !socket.isPaused()
}

/** Refuses an announced length above `max` before anything is read. */
function announcedTooLarge(req: IncomingMessage, max: number | null): Denial | null {
  return max !== null && Number(req.headers['content-length'] ?? 0) > max ? tooLarge(max) : null
}

/**
 * Whether a body is read whole although its price does not need it. A body of unknown length is read whole if its size is
 * bounded, so that a 413 comes before any charge. A small body is read whole, unless the client waits for `100 Continue`,
 * so that a slow client neither holds a connection to the upstream nor pays for a body that never arrives.
 */
export function isReadWhole(req: IncomingMessage, maxBody: number | null): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return maxBody !== null
  return !awaitsContinue(req) && hasBody(req) && announcedTooLarge(req, SMALL) === null
}

/**
 * Reads a whole body of at most `max` bytes. Rejects with `ClientLeft` if the client breaks off.
 * @returns the body, or why the request is refused, for example because the body is too long or comes too slowly
 */
export function readBody(req: IncomingMessage, res: ServerResponse | null, max: number): Promise<Buffer | Denial> {
  return read(req, res, max, () => tooLarge(max))
}

/**
 * Reads a body of unknown length if it is short. Rejects with `ClientLeft` if the client breaks off.
 * @param most the most bytes of a short body
 * @returns `null` for a longer body, which can then still be read from its beginning in `req`
 */
export function readIfShort(
  req: IncomingMessage,
  res: ServerResponse | null,
  most: number,
): Promise<Buffer | Denial | null> {
  return read(req, res, most, (beginning) => {
    // The beginning is put back at once, because nothing can be put back after the end of the body.
    req.pause()
    req.unshift(beginning())
    return null
  })
}

/** @param tooLong gives the result for a body of more than `max` bytes. Its argument returns the part that has come */
function read<T>(
  req: IncomingMessage,
  res: ServerResponse | null,
  max: number,
  tooLong: (beginning: () => Buffer) => T,
): Promise<Buffer | Denial | T> {
  const refused = announcedTooLarge(req, max)
  if (refused !== null) return Promise.resolve(refused)
  // A request without a body is destroyed from the start (`optimizeEmptyRequests`).
  if (!hasBody(req)) return Promise.resolve(EMPTY)
  // If the client left while its credential was checked, the close event has passed and the data is gone.
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

/** Requests whose client was asked for the body. */
const asked = new WeakSet<IncomingMessage>()

/** Asks the client to send the body, once, if the client waits for `100 Continue`. @param res `null` for a handshake, which asks for nothing */
export function askForBody(req: IncomingMessage, res: ServerResponse | null): void {
  if (!awaitsContinue(req) || asked.has(req)) return
  asked.add(req)
  res?.writeContinue()
}

/**
 * Checks the part of a streamed body that came in the same read as its head. The parser reports the head before it has
 * seen the rest of that read. Rejects with `ClientLeft` if the client breaks off.
 * @returns why the request is refused; `null` if the body is well-formed so far
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
