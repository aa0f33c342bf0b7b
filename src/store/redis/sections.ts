import { isBook } from '../../quota/books.ts'
import type { Counter } from '../../quota/counter.ts'
import { MAX_LIMIT } from '../../quota/policy.ts'
import { StoreError } from '../../quota/quota-store.ts'
import { type Limit, MOST_WINDOWS } from '../../quota/window.ts'

/**
 * What lies under a key: the counters of one user (or of everybody) in all categories, a section each. `sections.lua`
 * describes the bytes. `charge.lua` and `control.lua` write them, and so does whoever copies a whole store.
 */

/** A section's first byte holds the number of windows less 1 in 3 bits (`MOST_WINDOWS`), and the length of its name less 1 in 5. */
const LONGEST_NAME = 32

/** Seconds. */
const HOUR = 3600

/** The windows of one category. What follows the last whole section was not written by us and counts as nothing. */
export function readCounter(bytes: Uint8Array | null | undefined, category: string): Counter {
  const counter: Counter = []
  const buffer = asBuffer(bytes)
  for (let section = sectionAt(buffer, 0); section !== null; section = sectionAt(buffer, section.end)) {
    if (section.category === category) addWindows(counter, buffer, section)
  }
  return counter
}

/** The windows of each category that has any. */
export function readCounters(bytes: Uint8Array | null | undefined): Map<string, Counter> {
  const counters = new Map<string, Counter>()
  const buffer = asBuffer(bytes)
  for (let section = sectionAt(buffer, 0); section !== null; section = sectionAt(buffer, section.end)) {
    const counter = counters.get(section.category) ?? []
    addWindows(counter, buffer, section)
    if (counter.length > 0) counters.set(section.category, counter)
  }
  return counters
}

/**
 * The bytes of these counters, in the form that builds before the short one read too: nobody knows which build comes
 * next. The first charge brings them into the form that it wants. @throws StoreError if a category cannot be named here
 */
export function packCounters(counters: ReadonlyMap<string, Counter>): Buffer {
  const sections: Buffer[] = []
  for (const [category, counter] of counters) {
    checkName(category)
    const windows = counter.toSorted((a, b) => a.seconds - b.seconds)
    for (let i = 0; i < windows.length; i += MOST_WINDOWS) {
      sections.push(packSection(category, windows.slice(i, i + MOST_WINDOWS)))
    }
  }
  return Buffer.concat(sections)
}

/** Whether their lengths are hours of one byte. */
function areInHours(windows: readonly { readonly seconds: number }[]): boolean {
  return windows.every(({ seconds }) => seconds % HOUR === 0 && seconds <= 255 * HOUR)
}

/**
 * Whether a section may have the short form, which marks the second letter of its name and counts up to 2^40. A counter
 * that stays there is above every limit that it is asked for, and the books of a day end there.
 */
export function fitsShort(category: string, limits: readonly Limit[]): boolean {
  return (
    category.length >= 2 &&
    limits.every(({ window, limit }) => limit <= MAX_LIMIT || isBook(window)) &&
    areInHours(limits.map((l) => l.window))
  )
}

function packSection(category: string, windows: Counter): Buffer {
  const inHours = areInHours(windows)
  const lengths = 1 + category.length
  const numbers = lengths + (inHours ? 1 : 4) * windows.length
  const bytes = Buffer.alloc(numbers + 12 * windows.length)
  bytes[0] = (windows.length - 1) * 32 + category.length - 1
  bytes.write(category, 1, 'ascii')
  if (inHours) bytes[1] = (bytes[1] as number) + 128
  windows.forEach(({ seconds, startedAt, used }, i) => {
    if (inHours) bytes[lengths + i] = seconds / HOUR
    else bytes.writeUInt32BE(seconds, lengths + 4 * i)
    bytes.writeUIntBE(startedAt, numbers + 6 * i, 6)
    bytes.writeUIntBE(used, numbers + 6 * (windows.length + i), 6)
  })
  return bytes
}

/** The configuration allows no other categories; a section has no room for them. */
export function checkName(category: string): void {
  const bytes = Buffer.byteLength(category)
  if (bytes === category.length && bytes >= 1 && bytes <= LONGEST_NAME) return
  throw new StoreError(`a category has 1 to ${LONGEST_NAME} ASCII characters: ${category}`, 'other', 'no')
}

interface Section {
  readonly category: string
  readonly windows: number
  /** Whether the lengths are hours of one byte, not seconds of four. */
  readonly inHours: boolean
  readonly isShort: boolean
  /** Where the lengths of the windows begin, then their numbers, then the next section. */
  readonly lengths: number
  readonly numbers: number
  readonly end: number
}

function asBuffer(bytes: Uint8Array | null | undefined): Buffer {
  return bytes === null || bytes === undefined ? NOTHING : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

const NOTHING = Buffer.alloc(0)

/** `null` if no whole section is. */
function sectionAt(buffer: Buffer, at: number): Section | null {
  if (at >= buffer.length) return null
  const first = buffer[at] as number
  const name = at + 1
  const lengths = name + (first % 32) + 1
  const windows = Math.floor(first / 32) + 1
  const inHours = ((buffer[name] ?? 0) & 128) !== 0
  const isShort = inHours && lengths > name + 1 && ((buffer[name + 1] ?? 0) & 128) !== 0
  const numbers = lengths + (inHours ? 1 : 4) * windows
  const end = numbers + numbersSize(windows, isShort)
  if (end > buffer.length) return null
  // ASCII leaves the high bit out.
  return { category: buffer.toString('ascii', name, lengths), windows, inHours, isShort, lengths, numbers, end }
}

/** Without those that have not started, and those that are there already. */
function addWindows(counter: Counter, buffer: Buffer, { windows, inHours, isShort, lengths, numbers }: Section): void {
  for (let i = 0; i < windows; i++) {
    const length = inHours ? HOUR * (buffer[lengths + i] as number) : buffer.readUInt32BE(lengths + 4 * i)
    const startedAt = startAt(buffer, numbers, i, isShort)
    if (startedAt === 0 || counter.some((entry) => entry.seconds === length)) continue
    counter.push({ seconds: length, startedAt, used: usedAt(buffer, numbers, windows, i, isShort) })
  }
}

/** How many bytes the numbers of a section take. */
export function numbersSize(windows: number, isShort: boolean): number {
  return isShort ? 9 * windows + 2 : 12 * windows
}

/** The start of the window `i`, counted from 0. @param numbers where the numbers of its section begin */
export function startAt(bytes: Uint8Array, numbers: number, i: number, isShort: boolean): number {
  if (!isShort) return read48(bytes, numbers + 6 * i)
  return read48(bytes, numbers) + (i === 0 ? 0 : read32(bytes, numbers + 2 + 4 * i))
}

/** The used tokens of the window `i`. */
export function usedAt(bytes: Uint8Array, numbers: number, windows: number, i: number, isShort: boolean): number {
  if (!isShort) return read48(bytes, numbers + 6 * (windows + i))
  return read40(bytes, numbers + 2 + 4 * windows + 5 * i)
}

/** Five bytes, as `read48` reads six. */
function read40(bytes: Uint8Array, at: number): number {
  const high = bytes[at] as number
  const low = read32(bytes, at + 1)
  return high === 0 && low >= 0 ? low : high * 2 ** 32 + (low >>> 0)
}

/** With a sign. */
function read32(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  )
}

/**
 * A whole number of 6 bytes, big-endian. A quarter of the time of `readUIntBE`. Small ones are spared the multiplication,
 * for its result lies on V8's heap: 16 bytes for each of the nine counts of an accepted charge.
 */
export function read48(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
  const low = read32(bytes, at + 2)
  return high === 0 && low >= 0 ? low : high * 2 ** 32 + (low >>> 0)
}
