import type { IncomingMessage } from 'node:http'
import type { Denial } from '../errors.ts'

/**
 * Why requests are refused while their body is incomplete, for example because the body is malformed or too slow. The
 * connection notices that. The code that serves the request asks before each step that cannot be undone.
 */
const denials = new WeakMap<IncomingMessage, Denial>()
const forwarded = new WeakSet<IncomingMessage>()

/** The event of a request that is cut off. */
export const CUT_OFF = Symbol('cut off')

/** Only the first reason counts. */
export function cutOff(req: IncomingMessage, denial: Denial): void {
  if (denials.has(req)) return
  denials.set(req, denial)
  req.emit(CUT_OFF)
}

/** @returns why the request is refused; `null` while it is not */
export function cutOffBy(req: IncomingMessage): Denial | null {
  return denials.get(req) ?? null
}

/**
 * Marks an incomplete request that is about to be forwarded. From then on the connection breaks it off at once instead of
 * refusing it in its turn. A request that is refused already is not marked.
 * @returns why the request is refused; `null` if it may be forwarded
 */
export function forwardUnlessCutOff(req: IncomingMessage): Denial | null {
  if (req.complete) return null
  const denial = cutOffBy(req)
  if (denial === null) forwarded.add(req)
  return denial
}

export function isForwarded(req: IncomingMessage): boolean {
  return forwarded.has(req)
}
