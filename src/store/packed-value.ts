import type { Counter } from '../quota/counter.ts'
import { READ, read48 } from './numbers.ts'

/**
 * A counter as SQLite keeps it: one big-endian value with 16 bytes for each window. They are the length in seconds (4
 * bytes), the start in milliseconds since the epoch (6) and the used tokens (6). So all windows are read and written at
 * once. Redis has another encoding, which suits its script.
 */
const ENTRY = 16

export function pack(counter: Counter): Buffer {
  const bytes = Buffer.allocUnsafe(counter.length * ENTRY)
  counter.forEach(({ seconds, startedAt, used }, i) => {
    const at = i * ENTRY
    bytes.writeUInt32BE(seconds, at)
    bytes.writeUIntBE(startedAt, at + 4, 6)
    bytes.writeUIntBE(used, at + 10, 6)
  })
  return bytes
}

/** A value that is not a whole number of entries was not written by us, so it is ignored and overwritten. */
export function unpack(bytes: Uint8Array | null | undefined): Counter {
  const counter: Counter = []
  if (bytes === null || bytes === undefined) return counter
  eachPackedWindow(bytes, (seconds, startedAt, used) => counter.push({ seconds, startedAt, used }))
  return counter
}

/** Calls `visit` for each window of such a value. A value that somebody else has written, such as a text, is ignored. */
export function eachPackedWindow(
  bytes: Uint8Array,
  visit: (seconds: number, startedAt: number, used: number) => void,
): void {
  if (!(bytes instanceof Uint8Array) || bytes.length % ENTRY !== 0) return
  for (let at = 0; at < bytes.length; at += ENTRY) {
    visit(READ.I4(bytes, at), read48(bytes, at + 4), read48(bytes, at + 10))
  }
}
