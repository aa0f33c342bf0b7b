import { clfTime } from './clf-time.ts'
import type { BytesReader, Reading } from './entry.ts'
import { hashOf, type Names } from './names.ts'
import { pathRequest } from './server-logs.ts'

/** Kinds of bytes, as bits. A quote and a backslash, which are rare and mean more, are of none. */
const WORD = 1
/** Of a word without `?`. */
const PATH = 2
const CAPITAL = 4
/** Of the number behind `HTTP/`. */
const VERSION = 8
const DIGIT = 16
const PATTERNS: readonly (readonly [number, RegExp])[] = [
  [WORD, /[!#-[\]-~]/],
  [PATH, /[!#->@-[\]-~]/],
  [CAPITAL, /[A-Z]/],
  [VERSION, /[0-9.]/],
  [DIGIT, /[0-9]/],
]
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) =>
  PATTERNS.reduce((kinds, [kind, pattern]) => (pattern.test(String.fromCharCode(byte)) ? kinds | kind : kinds), 0),
)

const TIME_LENGTH = '10/Oct/2026:13:55:36 +0000'.length
const MOST_OF_USER = 512
const BLANK = 0x20
const DASH = 0x2d
const ZERO = 0x30

/** Reads lines in the form of `combined` as `readCombinedLine` does, if all of them that counts is plain words of ASCII. */
export function createCombinedReader(names: Names): BytesReader {
  const momentOf = createMoments()
  let bytes: Buffer = Buffer.alloc(0)
  /** The next byte. */
  let at = 0
  let end = 0
  let isPlain = true

  return (line, from, to) => {
    bytes = line
    at = from
    end = to
    isPlain = true
    return readLine()
  }

  function readLine(): Reading | null {
    const address = at
    const addressEnd = skip(WORD)
    pass(' ')
    skip(WORD)
    pass(' ')
    const user = at
    const userEnd = skip(WORD)
    pass(' [')
    if (!isPlain || end - at < TIME_LENGTH) return null
    const moment = momentOf(bytes, at)
    at += TIME_LENGTH
    pass('] "')
    const method = at
    const methodEnd = skip(CAPITAL)
    pass(' ')
    const path = at
    const pathEnd = skip(PATH)
    passRequest()
    const status = readStatus()
    if (!isPlain || moment === null || userEnd - user > MOST_OF_USER) return null
    const isNamed = userEnd - user > 1 || bytes[user] !== DASH
    return pathRequest({
      at: moment,
      endedAt: moment,
      user: isNamed ? textOf(user, userEnd) : null,
      address: isNamed ? null : textOf(address, addressEnd),
      method: textOf(method, methodEnd),
      path: textOf(path, pathEnd),
      status,
    })
  }

  /** Moves behind the query, the version and the quote. */
  function passRequest(): void {
    if (follows('?')) skip(WORD)
    if (!follows('"')) {
      pass(' HTTP/')
      skip(VERSION)
    }
    pass('" ')
  }

  function readStatus(): number {
    const start = at
    if (!(skip(DIGIT) - start === 3 && (at === end || bytes[at] === BLANK))) isPlain = false
    let status = 0
    for (let i = start; i < at; i++) status = status * 10 + (bytes[i] as number) - ZERO
    return status
  }

  /** Moves behind bytes of a kind, of which there has to be one. @returns where they end */
  function skip(kind: number): number {
    const start = at
    while (at < end && ((KINDS[bytes[at] as number] as number) & kind) !== 0) at++
    if (at === start) isPlain = false
    return at
  }

  function pass(text: string): void {
    if (follows(text)) at += text.length
    else isPlain = false
  }

  function follows(text: string): boolean {
    if (at + text.length > end) return false
    for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text.charCodeAt(i)) return false
    return true
  }

  function textOf(from: number, to: number): string {
    return names.textOf(bytes, from, to, hashOf(bytes, from, to))
  }
}

/** Moments of a log. A second has many lines: the last one is remembered. */
function createMoments(): (bytes: Buffer, from: number) => number | null {
  const last = Buffer.alloc(TIME_LENGTH)
  let moment: number | null = null
  return (bytes, from) => {
    let same = 0
    while (same < TIME_LENGTH && last[same] === bytes[from + same]) same++
    if (same < TIME_LENGTH) {
      bytes.copy(last, 0, from, from + TIME_LENGTH)
      moment = clfTime(last.toString('latin1'))
    }
    return moment
  }
}
