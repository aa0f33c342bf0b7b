import { isUtf8 } from 'node:buffer'

/**
 * One spelling for each path. Upstreams fold many spellings of a path into one resource (`/a//b`, `/a/./b`, `/a%2Fb`,
 * `/%61/b`), and each that we would read differently is a way round the price of a route. So a path that two servers
 * could read differently is refused, and of the harmless spellings one is matched and forwarded.
 *
 * What only the operator can know is left alone: letter case, dots and spaces at the end of a name, a slash at the end of
 * the path (`edge.match` says which of them the upstream folds), and compatible Unicode letters.
 */

/** What an upstream is known to take as plain data, and may therefore pass. Each is off unless the operator says so. */
export interface PathAllowances {
  /** `%2F`: stays escaped and never divides segments. */
  readonly encodedSlash: boolean
  /** `//`: an empty segment inside the path. One at the end, a trailing slash, is always allowed. */
  readonly emptySegment: boolean
  /** `;` and `%3B`. A segment of dots before it (`/..;/`) stays refused. */
  readonly semicolon: boolean
  /** Names of what is let pass by name; others than these mean nothing here. Default none. */
  readonly lenient?: ReadonlySet<string>
}

/** Each is off unless the operator says so, and named where a path needed it. */
export type PathLeniency =
  /** `caf%E9`. Not the overlong forms of ASCII characters, which some decoders take for those. */
  | 'non_utf8_path'
  /** `%252F`: an escaped percent sign before two digits, for an upstream that decodes once. */
  | 'encoded_percent'
  /** `%5C`, for an upstream that divides segments by slashes only. */
  | 'encoded_backslash'

/** A request target that every server reads alike. */
export interface Target {
  /** What is forwarded: escapes of unreserved characters decoded, the others in upper case; `[` `]` `^` `|` escaped. */
  readonly path: string
  /** What is matched: `path` with the escapes of delimiters decoded too. */
  readonly matched: string
  /** As the client wrote it: empty, or `?` and what follows. */
  readonly query: string
  /** What was let pass; absent for nothing. */
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

/** Paths that are canonical already, as nearly all are: 0.1 µs, against 1 µs the careful way (Node 26.10). */
const ORDINARY = /^(?=\/)(?:\/(?!\.\.?(?:[/?]|$))[\w.~!$&'()*+,=:@-]+)*\/?(?:\?[!"$-~]*)?$/
const QUERY = /^(?:\?[!"$-~]*)?$/
/** Not allowed in a path (RFC 3986), and harmless: browsers leave some of them as they are, and peers let them pass. */
const LEFT_RAW = Object.entries({ '[': '%5B', ']': '%5D', '^': '%5E', '|': '%7C' })

/** What a byte is in a path, as bits: one look into a table for each byte, whatever a stranger sends. */
const UNRESERVED = 1
const PCHAR = 2
const WRITABLE = 4
const RAW = 8
const BYTES = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  const char = String.fromCharCode(byte)
  if (/[A-Za-z0-9_.~-]/.test(char)) BYTES[byte] = UNRESERVED | PCHAR | WRITABLE
  else if (/[!$&'()*+,;=:@]/.test(char)) BYTES[byte] = PCHAR | WRITABLE
  else if (/[[\]^|]/.test(char)) BYTES[byte] = RAW | WRITABLE
  else if (/[/%]/.test(char)) BYTES[byte] = WRITABLE
}

/** The value of a hexadecimal digit; 255 for what is none. */
const DIGIT = new Uint8Array(256).fill(255)
for (let value = 0; value < 16; value++) {
  DIGIT[value.toString(16).charCodeAt(0)] = value
  DIGIT[value.toString(16).toUpperCase().charCodeAt(0)] = value
}

const PERCENT = 0x25

/** What servers read in different ways, and is no matter of a single escape. */
const DOTS = /(?:\/|%2F|%5C)\.\.?(?=\/|%2F|%5C|;|%3B|$)/

/**
 * Reads the target of a request line, which must be in origin form.
 *
 * The query is passed on as it stands, and only has to be visible ASCII without `#`. Invalid escapes are tolerated there:
 * nothing of ours reads the query, so it can hide nothing from us, and `?q=100%` is common.
 */
export function canonicalTarget(url: string, allow: PathAllowances): Target | TargetProblem {
  const mark = url.indexOf('?')
  const written = mark < 0 ? url : url.slice(0, mark)
  const query = mark < 0 ? '' : url.slice(mark)
  if (ORDINARY.test(url)) return { path: written, matched: written, query }
  if (!QUERY.test(query)) return problemOf('query_unescaped')
  return canonicalPath(written, query, allow)
}

/** A literal of a route pattern in the form of `Target.matched`. Any text is accepted, `café` too. */
export function canonicalLiteral(text: string): string {
  return decodeOnly(PCHAR, text.toWellFormed().replace(/[^\w.~!$&'()*+,;=:@%-]/gu, encodeURIComponent))
}

type Rule = readonly [code: TargetProblem['code'], unless?: PathLeniency]

/** What may be found in a path, in the order in which it is reported: each is a bit of a set. */
const RULES = [
  ['target_control'],
  ['target_control', 'encoded_backslash'],
  // Also of harmless characters: `/%2573earch` is `/search` to a chain of servers that decodes twice.
  ['target_escaped_twice', 'encoded_percent'],
  // Also before an encoded slash or a parameter: an upstream that decodes or strips those walks up the tree.
  ['target_dots'],
  // ASCII in more bytes than it has: `%C0%AF` is a slash to decoders that take it.
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
  const unwritable = problemAsWritten(written)
  if (unwritable !== null) return problemOf(unwritable)
  const path = decodeOnly(UNRESERVED, written)
  const found = findingsIn(path)
  const needed: PathLeniency[] = []
  for (let i = 0; i < RULES.length; i++) {
    const [code, unless] = RULES[i] as Rule
    if ((found & (1 << i)) === 0 || isAllowed(1 << i, allow)) continue
    if (unless === undefined || allow.lenient?.has(unless) !== true) return problemOf(code)
    needed.push(unless)
  }
  const escaped = escapeLeftRaw(path)
  const matched = matchForm(path)
  const target = { path: escaped, matched: matched === path ? escaped : escapeLeftRaw(matched), query }
  return needed.length === 0 ? target : { ...target, lenient: needed }
}

function isAllowed(finding: number, { encodedSlash, emptySegment, semicolon }: PathAllowances): boolean {
  if (finding === ENCODED_SLASH) return encodedSlash
  if (finding === WITH_SEMICOLON) return semicolon
  return finding === EMPTY_SEGMENT && emptySegment
}

function problemAsWritten(path: string): TargetProblem['code'] | null {
  if (path[0] !== '/') return 'target_no_path'
  let isBroken = false
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code > 255 || (BYTES[code] as number) === 0) return 'target_unescaped'
    if (code === PERCENT && !isEscape(path, i)) isBroken = true
  }
  return isBroken ? 'target_bad_escape' : null
}

function isEscape(text: string, at: number): boolean {
  return digitAt(text, at + 1) < 16 && digitAt(text, at + 2) < 16
}

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code <= 255 ? (DIGIT[code] as number) : 255
}

function byteAt(text: string, at: number): number {
  return digitAt(text, at + 1) * 16 + digitAt(text, at + 2)
}

/**
 * What is to be found in a canonical path, so that no mixture of escapes hides anything: a set of bits. Looked at once from left to
 * right, since a stranger may send 8 KiB of escapes before anybody knows who it is.
 */
function findingsIn(path: string): number {
  const bytes = room(path.length)
  let length = 0
  let found = DOTS.test(path) ? DOTS_ONLY : 0
  for (let i = 0; i < path.length; i++) {
    let byte = path.charCodeAt(i)
    if (byte === PERCENT) {
      byte = byteAt(path, i)
      found |= findingOf(byte, path, i)
      i += 2
    } else if (byte === 0x3b) found |= WITH_SEMICOLON
    else if (byte === 0x2f) found |= isEmptySegment(path, i + 1) ? EMPTY_SEGMENT : 0
    bytes[length++] = byte
  }
  return isUtf8(bytes.subarray(0, length)) ? found : found | NO_UTF8
}

/** @param byte of the escape at `at` */
function findingOf(byte: number, path: string, at: number): number {
  if (byte < 0x20 || byte === 0x7f) return CONTROL
  switch (byte) {
    case 0x25:
      return isEscape(path, at + 2) ? ESCAPED_TWICE : 0
    case 0x2f:
      return ENCODED_SLASH
    case 0x3b:
      return WITH_SEMICOLON
    case 0x5c:
      return ENCODED_BACKSLASH
    default:
      return byte < 0xc0 || path.charCodeAt(at + 3) !== PERCENT ? 0 : findingOfTwo(byte, digitAt(path, at + 4))
  }
}

/** @param digit the first one of the byte behind it */
function findingOfTwo(byte: number, digit: number): number {
  if (byte === 0xc2) return digit === 8 || digit === 9 ? CONTROL : 0
  if (byte === 0xc0 || byte === 0xc1) return digit >= 8 && digit <= 11 ? OVERLONG : 0
  if (byte === 0xe0) return digit === 8 || digit === 9 ? OVERLONG : 0
  return byte === 0xf0 && digit === 8 ? OVERLONG : 0
}

/** Of nothing, or of parameters only (`/;x/`), which is empty to an upstream that strips them. */
function isEmptySegment(path: string, at: number): boolean {
  const code = path.charCodeAt(at)
  return code === 0x2f || code === 0x3b || (code === PERCENT && byteAt(path, at) === 0x3b)
}

/** The last step: escaped earlier, each of these characters, which no rule looks for, would be decoded and judged as an escape. */
function escapeLeftRaw(path: string): string {
  return LEFT_RAW.reduce((text, [raw, escaped]) => text.replaceAll(raw, escaped), path)
}

/**
 * RFC 3986 keeps `%3A` and `:` apart, most upstreams do not. Matching takes them for one, so that neither spelling
 * escapes its route; the forwarded path keeps the client's, since `c%2B%2B` and `c++` are not the same to all.
 */
function matchForm(path: string): string {
  return path.includes('%') ? decodeOnly(PCHAR, path) : path
}

/** The escapes of such characters decoded, and the others in upper case. */
function decodeOnly(plain: number, text: string): string {
  const bytes = room(text.length)
  let length = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    bytes[length++] = code
    if (code !== PERCENT || !isEscape(text, i)) continue
    const byte = byteAt(text, i)
    if (((BYTES[byte] as number) & plain) !== 0) bytes[length - 1] = byte
    else {
      bytes[length++] = upper(text.charCodeAt(i + 1))
      bytes[length++] = upper(text.charCodeAt(i + 2))
    }
    i += 2
  }
  return bytes.toString('latin1', 0, length)
}

function upper(digit: number): number {
  return digit >= 0x61 ? digit - 0x20 : digit
}

/** Room for a path, which is used for one path after the other. */
let scratch = Buffer.allocUnsafe(16 * 1024)

function room(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafe(bytes)
  return scratch
}

export function problemOf(code: TargetProblem['code']): TargetProblem {
  return { code, problem: PROBLEMS[code] }
}
