import { isUtf8 } from 'node:buffer'

/**
 * Gives each path one spelling. Upstreams fold many spellings of a path into one resource (`/a//b`, `/a/./b`, `/a%2Fb`, `/%61/b`), and
 * each that we would read differently is a way round the price of a route. So a path that two servers could read differently is refused.
 * Harmless spellings are matched in one form, and the client's spelling is forwarded (RFC 9110 section 7.7): some upstreams verify a
 * signature over it.
 *
 * Differences that only the operator can judge are left alone: letter case, dots and spaces at the end of a name, a slash at the end of
 * the path (`edge.match` says which of them the upstream folds), and compatible Unicode letters.
 */

/** Characters that an upstream takes as plain data, and that may therefore pass. Each is off unless the operator allows it. */
export interface PathAllowances {
  /** `%2F`: it stays escaped and never divides segments. */
  readonly encodedSlash: boolean
  /** `//`: an empty segment inside the path. One at the end, a trailing slash, is always allowed. */
  readonly emptySegment: boolean
  /** `;` and `%3B`. A segment of dots before it (`/..;/`) stays refused. */
  readonly semicolon: boolean
  /** Names of the kinds that may pass. Other names have no effect here. Default none. */
  readonly lenient?: ReadonlySet<string>
}

/** Each is off unless the operator allows it. `Target.lenient` names those that a path needed. */
export type PathLeniency =
  /** `caf%E9`. Overlong forms of ASCII characters are not included, because some decoders take them for ASCII. */
  | 'non_utf8_path'
  /** `%252F`: an escaped percent sign before two digits, for an upstream that decodes once. */
  | 'encoded_percent'
  /** `%5C`, for an upstream that divides segments by slashes only. */
  | 'encoded_backslash'

/** A request target that every server reads alike. */
export interface Target {
  /** The path that is forwarded, as the client wrote it. */
  readonly path: string
  /** What is matched: escapes of unreserved characters and delimiters decoded, others in upper case; `[` `]` `^` `|` escaped. */
  readonly matched: string
  /** The query as the client wrote it: empty, or `?` and the text after it. */
  readonly query: string
  /** The kinds that were let pass; absent for none. */
  readonly lenient?: readonly PathLeniency[]
}

/** Why a target is refused. */
export interface TargetProblem {
  readonly code: keyof typeof PROBLEMS
  /** A sentence for the client. */
  readonly problem: string
}

const PROBLEMS = {
  target_no_path: 'The request target must be a path that begins with "/".',
  target_unescaped: 'The path holds a character that has to be percent-encoded.',
  target_bad_escape: 'The path holds an invalid percent escape.',
  target_control: 'The path holds an encoded backslash or control character.',
  target_escaped_twice: 'The path is percent-encoded twice.',
  target_dots: 'The path holds a "." or ".." segment.',
  target_escaped_slash: 'The path holds an encoded slash.',
  target_empty_segment: 'The path holds an empty segment.',
  target_semicolon: 'The path holds a semicolon.',
  target_no_utf8: 'The path is not valid UTF-8.',
  target_only_dots: 'The path holds a segment of dots and blanks only.',
  target_letter_case: 'The path holds a letter whose case servers read in different ways.',
  query_unescaped: 'The query holds a character that has to be percent-encoded.',
} as const

/** Matches targets that are canonical already, as nearly all are. It is much faster than reading a path byte by byte. */
const ORDINARY = /^(?=\/)(?:\/(?!\.\.?(?:[/?]|$))[\w.~!$&'()*+,=:@-]+)*\/?(?:\?[!"$-~]*)?$/
const QUERY = /^(?:\?[!"$-~]*)?$/

/** The meaning of a byte in a path, as bits: one look into a table for each byte, whatever a stranger sends. */
const UNRESERVED = 1
const PCHAR = 2
const WRITABLE = 4
/** Not allowed in a path (RFC 3986), and harmless: browsers leave some of them as they are, and peers let them pass. */
const LEFT_RAW = 8
const BYTES = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  const char = String.fromCharCode(byte)
  if (/[A-Za-z0-9_.~-]/.test(char)) BYTES[byte] = UNRESERVED | PCHAR | WRITABLE
  else if (/[!$&'()*+,;=:@]/.test(char)) BYTES[byte] = PCHAR | WRITABLE
  else if (/[[\]^|]/.test(char)) BYTES[byte] = LEFT_RAW | WRITABLE
  else if (/[/%]/.test(char)) BYTES[byte] = WRITABLE
}

/** The value of a hexadecimal digit; more than a byte for any other character. */
const DIGIT = new Uint16Array(256).fill(0x100)
for (let value = 0; value < 16; value++) {
  DIGIT[value.toString(16).charCodeAt(0)] = value
  DIGIT[value.toString(16).toUpperCase().charCodeAt(0)] = value
}

const UPPER = Buffer.from('0123456789ABCDEF', 'latin1')
const PERCENT = 0x25
const DOT = 0x2e
const SLASH = 0x2f
const SEMICOLON = 0x3b
const BACKSLASH = 0x5c

/**
 * Reads the target of a request line, which must be in origin form.
 *
 * The query is passed on unchanged, and only has to be visible ASCII without `#`. Invalid escapes are tolerated there:
 * nothing is decided by them, and `?q=100%` is common.
 */
export function canonicalTarget(url: string, allow: PathAllowances): Target | TargetProblem {
  const mark = url.indexOf('?')
  const written = mark < 0 ? url : url.slice(0, mark)
  const query = mark < 0 ? '' : url.slice(mark)
  if (ORDINARY.test(url)) return { path: written, matched: written, query }
  if (!QUERY.test(query)) return problemOf('query_unescaped')
  return canonicalPath(written, query, allow)
}

/** A literal of a route pattern in the form of `Target.matched`. Any text is accepted, also `café`. */
export function canonicalLiteral(text: string): string {
  return decodeOnly(PCHAR, text.toWellFormed().replace(/[^\w.~!$&'()*+,;=:@%-]/gu, encodeURIComponent))
}

type Rule = readonly [code: TargetProblem['code'], unless?: PathLeniency]

/** The possible findings in a path, in the order in which they are reported. Each is a bit of a set. */
const RULES = [
  ['target_control'],
  ['target_control', 'encoded_backslash'],
  // Also for harmless characters: `/%2573earch` is `/search` to a chain of servers that decodes twice.
  ['target_escaped_twice', 'encoded_percent'],
  // Also before an encoded slash or a parameter: an upstream that decodes or strips those walks up the tree.
  ['target_dots'],
  // ASCII in more bytes than it needs: `%C0%AF` is a slash to decoders that accept it.
  ['target_no_utf8'],
  ['target_escaped_slash'],
  ['target_semicolon'],
  ['target_empty_segment'],
  ['target_no_utf8', 'non_utf8_path'],
] as const satisfies readonly Rule[]
const CONTROL = 1
const ENCODED_BACKSLASH = 2
const ESCAPED_TWICE = 4
const DOTS_ONLY = 8
const OVERLONG = 16
const ENCODED_SLASH = 32
const WITH_SEMICOLON = 64
const EMPTY_SEGMENT = 128
const NO_UTF8 = 256

function canonicalPath(written: string, query: string, allow: PathAllowances): Target | TargetProblem {
  if (written[0] !== '/') return problemOf('target_no_path')
  if (BEYOND_BYTES.test(written)) return problemOf('target_unescaped')
  const read = new PathReader(written)
  if (read.problem !== null) return problemOf(read.problem)
  const needed: PathLeniency[] = []
  for (let i = 0; i < RULES.length; i++) {
    const [code, unless] = RULES[i] as Rule
    if ((read.found & (1 << i)) === 0 || isAllowed(1 << i, allow)) continue
    if (unless === undefined || allow.lenient?.has(unless) !== true) return problemOf(code)
    needed.push(unless)
  }
  const target = { path: written, matched: read.matched(), query }
  return needed.length === 0 ? target : { ...target, lenient: needed }
}

function isAllowed(finding: number, { encodedSlash, emptySegment, semicolon }: PathAllowances): boolean {
  if (finding === ENCODED_SLASH) return encodedSlash
  if (finding === WITH_SEMICOLON) return semicolon
  return finding === EMPTY_SEGMENT && emptySegment
}

const BEYOND_BYTES = /[^\0-\xff]/

/**
 * Reads a path once from left to right, whatever a stranger sends. Findings are judged after the escapes of unreserved characters are
 * decoded, so that no mixture of escapes hides anything.
 */
class PathReader {
  problem: 'target_unescaped' | 'target_bad_escape' | null = null
  /** The findings so far, as bits of the rules above. */
  found = 0
  readonly #matched: Buffer
  readonly #decoded: Buffer
  #matchedEnd = 0
  #decodedEnd = 0
  /** The byte of the escape just before; -1 after anything else. */
  #escape = -1
  /** The number of hexadecimal digits so far after `%25`; -1 elsewhere. */
  #digits = -1
  /** The number of dots of the segment so far; -1 if it has another character or more than two dots. */
  #dots = -1
  #isBehindSlash = false

  constructor(written: string) {
    const { length } = written
    if (room.text.length < length) room = createRoom(length)
    const { text, matched, decoded } = room
    this.#matched = matched
    this.#decoded = decoded
    text.write(written, 'latin1')
    this.#read(text, length)
    if (this.problem !== null) return
    this.#endDots()
    if (!isUtf8(decoded.subarray(0, this.#decodedEnd))) this.found |= NO_UTF8
  }

  matched(): string {
    return this.#matched.toString('latin1', 0, this.#matchedEnd)
  }

  #read(text: Buffer, length: number): void {
    for (let i = 0; i < length; i++) {
      const byte = text[i] as number
      const kind = BYTES[byte] as number
      if (kind === 0) {
        this.problem = 'target_unescaped'
        return
      }
      if (byte !== PERCENT) {
        if ((kind & LEFT_RAW) === 0) this.#plain(byte)
        else this.#leftRaw(byte)
        continue
      }
      const value = i + 2 < length ? escaped(text[i + 1] as number, text[i + 2] as number) : -1
      // Reading goes on, because `target_unescaped` is reported rather than this problem if a path has both.
      if (value < 0) this.problem = 'target_bad_escape'
      else {
        if (((BYTES[value] as number) & UNRESERVED) !== 0) this.#plain(value)
        else this.#escaped(value)
        i += 2
      }
    }
  }

  #plain(byte: number): void {
    this.#matched[this.#matchedEnd++] = byte
    this.#decoded[this.#decodedEnd++] = byte
    this.#escape = -1
    if (this.#digits >= 0) this.#countDigit(byte)
    if (byte === SLASH) {
      if (this.#isBehindSlash) this.found |= EMPTY_SEGMENT
      this.#endDots()
      this.#dots = 0
      this.#isBehindSlash = true
      return
    }
    if (byte === DOT) this.#dots = this.#dots < 0 || this.#dots > 1 ? -1 : this.#dots + 1
    else if (byte === SEMICOLON) this.#semicolon()
    else this.#dots = -1
    this.#isBehindSlash = false
  }

  /** Writes a byte that a path may have raw as an escape. No rule looks for such a byte. */
  #leftRaw(byte: number): void {
    this.#writeEscape(byte)
    this.#escape = -1
    this.#digits = -1
    this.#dots = -1
    this.#isBehindSlash = false
  }

  /** RFC 3986 distinguishes `%3A` and `:`, but most upstreams do not. Matching takes them for one, so neither escapes its route. */
  #writeEscape(byte: number): void {
    const high = UPPER[byte >> 4] as number
    const low = UPPER[byte & 15] as number
    if (((BYTES[byte] as number) & PCHAR) === 0) {
      this.#matched[this.#matchedEnd++] = PERCENT
      this.#matched[this.#matchedEnd++] = high
      this.#matched[this.#matchedEnd++] = low
    } else {
      this.#matched[this.#matchedEnd++] = byte
    }
    this.#decoded[this.#decodedEnd++] = byte
  }

  #escaped(byte: number): void {
    this.#writeEscape(byte)
    if (byte < 0x20 || byte === 0x7f) this.found |= CONTROL
    else if (byte >= 0x80) this.found |= findingOfTwo(this.#escape, byte)
    this.#digits = byte === PERCENT ? 0 : -1
    this.#escape = byte
    if (byte === SLASH || byte === BACKSLASH) {
      this.found |= byte === SLASH ? ENCODED_SLASH : ENCODED_BACKSLASH
      this.#endDots()
      this.#dots = 0
    } else if (byte === SEMICOLON) this.#semicolon()
    else this.#dots = -1
    this.#isBehindSlash = false
  }

  #countDigit(byte: number): void {
    const isDigit = (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
    this.#digits = isDigit ? this.#digits + 1 : -1
    if (this.#digits !== 2) return
    this.found |= ESCAPED_TWICE
    this.#digits = -1
  }

  /** An upstream may cut a segment at a semicolon, so the part before the semicolon counts as a segment. */
  #semicolon(): void {
    this.found |= this.#isBehindSlash ? WITH_SEMICOLON | EMPTY_SEGMENT : WITH_SEMICOLON
    this.#endDots()
    this.#dots = -1
  }

  #endDots(): void {
    if (this.#dots > 0) this.found |= DOTS_ONLY
  }
}

/** @returns the value of two digits; negative if one of them is no digit */
function escaped(high: number, low: number): number {
  const value = ((DIGIT[high] as number) << 4) | (DIGIT[low] as number)
  return value > 255 ? -1 : value
}

/** The finding about an escaped byte from 0x80 on; 0 for none. @param first the byte of the escape just before it; -1 for none */
function findingOfTwo(first: number, second: number): number {
  if (first === 0xc2) return second < 0xa0 ? CONTROL : 0
  if (first === 0xc0 || first === 0xc1) return second < 0xc0 ? OVERLONG : 0
  if (first === 0xe0) return second < 0xa0 ? OVERLONG : 0
  return first === 0xf0 && second < 0x90 ? OVERLONG : 0
}

/** Decodes the escapes of bytes of one kind, and writes all other escapes in upper case. @param plain the bit of that kind */
function decodeOnly(plain: number, text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (whole, digits) => {
    const byte = Number.parseInt(digits, 16)
    return ((BYTES[byte] as number) & plain) === 0 ? whole.toUpperCase() : String.fromCharCode(byte)
  })
}

/** Buffers for a path, its matched form and its decoded bytes, used for one path after the other. */
let room = createRoom(16 * 1024)

function createRoom(bytes: number) {
  const times = (each: number) => Buffer.allocUnsafe(each * bytes)
  // If each character is one that is left raw, each becomes three.
  return { text: times(1), matched: times(3), decoded: times(1) }
}

export function problemOf(code: TargetProblem['code']): TargetProblem {
  return { code, problem: PROBLEMS[code] }
}
