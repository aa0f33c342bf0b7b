import { BOOK_SECONDS } from '../../../quota/books.ts'
import type { Counter } from '../../../quota/counter.ts'
import { accountOf } from '../../../quota/grant.ts'
import { StoreError } from '../../../quota/quota-store.ts'
import { MOST_WINDOWS } from '../../../quota/window.ts'
import { type Format, READ, sizeOf, writeNumber } from '../../numbers.ts'
import type { WindowVisitor } from '../../owner-history.ts'

/**
 * A counter in Redis. Under its key lies a section for each category in which one user or one organisation has windows; the counter of
 * everybody has a key for each category. A section has these parts without gaps:
 *
 *     head      1 byte: windows less 1 in the upper 3 bits, characters of the name less 1 in the lower 5
 *     name      of the category, ASCII; 128 is added to the first character of a wide section
 *     lengths   of each window
 *     start     of the first window, milliseconds since the epoch
 *     distances of the start of each other window from that of the first, milliseconds
 *     tokens    used in each window
 *
 * A window that is not running is left out, or stands there with a run that is over. A category may have several sections, but
 * each window stands in only one of them. Bytes after the last whole section were not written by us and are ignored.
 *
 * The scripts get the sizes and formats by `SECTION_WORDS`.
 */

interface Width {
  readonly length: Format
  /** The unit of lengths, in seconds. */
  readonly unit: number
  readonly distance: Format
}

const START: Format = 'I6'
const TOKENS: Format = 'I5'

/** For most windows: whole hours, at most 255, that start close together. Three windows take 33 bytes and the name. */
const NARROW: Width = { length: 'I1', unit: 3600, distance: 'i4' }
/** For all other windows, and for starts that are more than 24 days apart. */
const WIDE: Width = { length: 'I4', unit: 1, distance: 'i6' }

const MOST_HOURS = 2 ** (8 * sizeOf(NARROW.length)) - 1
/** Added to the first character of the name of a wide section. */
const WIDE_MARK = 128
/** The head has room for this length. */
const LONGEST_NAME = 32
/** The highest count, above every limit (10^12). */
const MOST_TOKENS = 2 ** (8 * sizeOf(TOKENS)) - 1
/** In bytes. No counter of ours grows to this size, and a longer value must not hold Redis up. */
const LONGEST_VALUE = 2 ** 20

const HEAD = 1
const [startSize, tokensSize] = [sizeOf(START), sizeOf(TOKENS)]
const [readStart, readTokens] = [READ[START], READ[TOKENS]]

/** The names of a section's parts in the scripts (script-words.ts): sizes in bytes, and formats. */
export const SECTION_WORDS: Readonly<Record<string, number | string>> = {
  BOOK: BOOK_SECONDS,
  GRANT_MARK: accountOf('').charCodeAt(0),
  LONGEST: LONGEST_VALUE,
  WIDE_MARK,
  LONGEST_NAME,
  HOUR: NARROW.unit,
  MOST_HOURS,
  MOST_TOKENS,
  ...wordsOf('START', START),
  ...wordsOf('TOKENS', TOKENS),
  ...wordsOf('LENGTH', NARROW.length),
  ...wordsOf('WIDE_LENGTH', WIDE.length),
  ...wordsOf('DISTANCE', NARROW.distance),
  ...wordsOf('WIDE_DISTANCE', WIDE.distance),
}

function wordsOf(name: string, format: Format): Record<string, number | string> {
  return { [`${name}_SIZE`]: sizeOf(format), [`${name}_FORMAT`]: format }
}

/** The windows of one category. */
export function readCounter(bytes: Uint8Array | null | undefined, category: string): Counter {
  const counter: Counter = []
  eachSection(bytes, (buffer, section) => {
    if (section.category === category) addWindows(counter, buffer, section)
  })
  return counter
}

/** The windows of each category that has windows. */
export function readCounters(bytes: Uint8Array | null | undefined): Map<string, Counter> {
  const counters = new Map<string, Counter>()
  eachSection(bytes, (buffer, section) => {
    const counter = counters.get(section.category) ?? []
    addWindows(counter, buffer, section)
    if (counter.length > 0) counters.set(section.category, counter)
  })
  return counters
}

/** Visits every window in the value, even one that is over. */
export function eachWindow(bytes: Uint8Array | null | undefined, visit: WindowVisitor): void {
  eachSection(bytes, (buffer, { category, windows, isWide, lengths, numbers }) => {
    const { length, unit } = widthOf(isWide)
    for (let i = 0; i < windows; i++) {
      const startedAt = startAt(buffer, numbers, i, isWide)
      if (startedAt === 0) continue
      const seconds = unit * READ[length](buffer, lengths + sizeOf(length) * i)
      visit(category, seconds, startedAt, usedAt(buffer, numbers, windows, i, isWide))
    }
  })
}

function eachSection(bytes: Uint8Array | null | undefined, visit: (buffer: Buffer, section: Section) => void): void {
  if (bytes === null || bytes === undefined) return
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let section = sectionAt(buffer, 0); section !== null; section = sectionAt(buffer, section.end)) {
    visit(buffer, section)
  }
}

/** The bytes of these counters. @throws StoreError if a category's name does not fit */
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

function packSection(category: string, windows: Counter): Buffer {
  const first = windows[0]?.startedAt ?? 0
  const reach = 2 ** (8 * sizeOf(NARROW.distance) - 1)
  const isWide = needsWide(windows) || windows.some(({ startedAt }) => Math.abs(startedAt - first) >= reach)
  const { length, unit, distance } = isWide ? WIDE : NARROW
  const lengths = HEAD + category.length
  const numbers = lengths + sizeOf(length) * windows.length
  const distances = numbers + startSize
  const tokens = distances + sizeOf(distance) * (windows.length - 1)
  const bytes = Buffer.alloc(numbers + numbersSize(windows.length, isWide))
  bytes[0] = (windows.length - 1) * LONGEST_NAME + category.length - 1
  bytes.write(category, HEAD, 'ascii')
  if (isWide) bytes[HEAD] = (bytes[HEAD] as number) + WIDE_MARK
  writeNumber(bytes, START, first, numbers)
  windows.forEach(({ seconds, startedAt, used }, i) => {
    writeNumber(bytes, length, seconds / unit, lengths + sizeOf(length) * i)
    if (i > 0) writeNumber(bytes, distance, startedAt - first, distances + sizeOf(distance) * (i - 1))
    writeNumber(bytes, TOKENS, Math.min(used, MOST_TOKENS), tokens + tokensSize * i)
  })
  return bytes
}

/** Whether these lengths need a wide section. */
export function needsWide(windows: readonly { readonly seconds: number }[]): boolean {
  return windows.some(({ seconds }) => seconds % NARROW.unit !== 0 || seconds > MOST_HOURS * NARROW.unit)
}

/** The configuration allows no other names, because a section has no room for them. */
export function checkName(category: string): void {
  const bytes = Buffer.byteLength(category)
  if (bytes === category.length && bytes >= 1 && bytes <= LONGEST_NAME) return
  throw new StoreError(`a category has 1 to ${LONGEST_NAME} ASCII characters: ${category}`, 'other', 'no')
}

interface Section {
  readonly category: string
  readonly windows: number
  readonly isWide: boolean
  /** Where the lengths of the windows begin, then their numbers, then the next section. */
  readonly lengths: number
  readonly numbers: number
  readonly end: number
}

/** `null` if there is no whole section. */
function sectionAt(buffer: Buffer, at: number): Section | null {
  if (at >= buffer.length) return null
  const head = buffer[at] as number
  const name = at + HEAD
  const lengths = name + (head % LONGEST_NAME) + 1
  const windows = Math.floor(head / LONGEST_NAME) + 1
  const isWide = (buffer[name] ?? 0) >= WIDE_MARK
  const numbers = lengths + sizeOf(widthOf(isWide).length) * windows
  const end = numbers + numbersSize(windows, isWide)
  if (end > buffer.length) return null
  // Decoding as ASCII drops the mark.
  return { category: buffer.toString('ascii', name, lengths), windows, isWide, lengths, numbers, end }
}

/** Adds the windows that the counter does not have yet. A window with the start 0 stands for none. */
function addWindows(counter: Counter, buffer: Buffer, { windows, isWide, lengths, numbers }: Section): void {
  const { length, unit } = widthOf(isWide)
  for (let i = 0; i < windows; i++) {
    const seconds = unit * READ[length](buffer, lengths + sizeOf(length) * i)
    const startedAt = startAt(buffer, numbers, i, isWide)
    if (startedAt === 0 || counter.some((entry) => entry.seconds === seconds)) continue
    counter.push({ seconds, startedAt, used: usedAt(buffer, numbers, windows, i, isWide) })
  }
}

function widthOf(isWide: boolean): Width {
  return isWide ? WIDE : NARROW
}

const [distanceSize, wideDistanceSize] = [sizeOf(NARROW.distance), sizeOf(WIDE.distance)]
const [readDistance, readWideDistance] = [READ[NARROW.distance], READ[WIDE.distance]]

/** How many bytes the numbers of a section take. */
export function numbersSize(windows: number, isWide: boolean): number {
  return startSize + (isWide ? wideDistanceSize : distanceSize) * (windows - 1) + tokensSize * windows
}

/** The start of the window `i`, counted from 0. @param numbers where the numbers of its section begin */
export function startAt(bytes: Uint8Array, numbers: number, i: number, isWide: boolean): number {
  const first = readStart(bytes, numbers)
  if (i === 0) return first
  const distances = numbers + startSize
  if (isWide) return first + readWideDistance(bytes, distances + wideDistanceSize * (i - 1))
  return first + readDistance(bytes, distances + distanceSize * (i - 1))
}

/** The used tokens of the window `i`. */
export function usedAt(bytes: Uint8Array, numbers: number, windows: number, i: number, isWide: boolean): number {
  return readTokens(bytes, numbers + numbersSize(windows, isWide) - tokensSize * (windows - i))
}
