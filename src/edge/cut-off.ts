import type { IncomingMessage } from 'node:http'
import type { Denial } from '../errors.ts'

/**
 * Requests that are refused while their body is still to come, because it is malformed or comes too slowly. The listener
 * learns it. Whoever serves the request asks before each step that cannot be taken back.
 */
const denials = new WeakMap<IncomingMessage, Denial>()
const forwarded = new WeakSet<IncomingMessage>()

/** Event of a request that is cut off. */
export const CUT_OFF = Symbol('cut off')

/** The first reason stands. */
export function cutOff(req: IncomingMessage, denial: Denial): void {
  if (denials.has(req)) return
  denials.set(req, denial)
  req.emit(CUT_OFF)
}

/** @returns why it is refused, or `null` while it is not */
export function cutOffBy(req: IncomingMessage): Denial | null {
  return denials.get(req) ?? null
}

/**
 * Marks a request of which the upstream gets a part from now on: nobody refuses it in its turn any more.
 * @returns as `cutOffBy`; if it is refused already, it is not marked
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
