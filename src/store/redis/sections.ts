import type { Counter } from '../../quota/counter.ts'

/**
 * What lies under a key: the counters of one user (or of everybody) in all categories, a section each. `charge.lua`
 * tells the bytes and alone writes them.
 */

/** A section's first byte holds both numbers, so these are the longest name and the most windows that fit. */
export const LONGEST_NAME = 32
export const MOST_WINDOWS = 8

/** The windows of one category. What follows the last whole section was not written by us and counts as nothing. */
export function readCounter(bytes: Uint8Array | null | undefined, category: string): Counter {
  const counter: Counter = []
  if (bytes === null || bytes === undefined) return counter
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = 0; at < buffer.length; ) {
    const first = buffer[at] as number
    const name = at + 1
    const seconds = name + (first % 32) + 1
    const windows = Math.floor(first / 32) + 1
    const numbers = seconds + 4 * windows
    at = numbers + 12 * windows
    if (at > buffer.length) break
    if (buffer.toString('latin1', name, seconds) !== category) continue
    for (let i = 0; i < windows; i++) {
      const length = buffer.readUInt32BE(seconds + 4 * i)
      const startedAt = read48(buffer, numbers + 6 * i)
      if (startedAt === 0 || counter.some((entry) => entry.seconds === length)) continue
      counter.push({ seconds: length, startedAt, used: read48(buffer, numbers + 6 * (windows + i)) })
    }
  }
  return counter
}

/** A whole number of 6 bytes, big-endian. A quarter of the time of `readUIntBE`. */
export function read48(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
  const low =
    ((bytes[at + 2] as number) << 24) |
    ((bytes[at + 3] as number) << 16) |
    ((bytes[at + 4] as number) << 8) |
    (bytes[at + 5] as number)
  return high * 2 ** 32 + (low >>> 0)
}
