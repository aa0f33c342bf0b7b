/**
 * Names of cookies and parameters as services read them. PHP takes `api.key`, `api key` and `api[key` for `api_key`, skips blanks
 * before a name, and cuts it at NUL. `api_key[]` and `api_key[0]` are lists of that name (PHP, Rack, qs). ASP.NET ignores letter case.
 */

/** The form of a name that all its spellings share, for the service that folds the most. */
export function foldedParameter(name: string): string {
  return unescaped(name)
    .toLowerCase()
    .replace(/[ .[+]/g, '_')
}

/**
 * Whether some service reads a name in a request as the name of a parameter. Bytes are compared only as far as they are equal,
 * because a request has room for thousands of names.
 * @param from where the name begins in the text @param to where it ends
 * @param folded as `foldedParameter` makes it
 */
export function isReadAs(text: string, from: number, to: number, folded: string): boolean {
  let at = behindBlanks(text, from, to)
  for (let i = 0; i < folded.length; i++) {
    if (fold(byteAt(text, at, to)) !== folded.charCodeAt(i)) return false
    at += lengthAt(text, at, to)
  }
  const next = byteAt(text, behindBlanks(text, at, to), to)
  return next === END || next === NUL || next === BRACKET
}

/** Whether some service reads a name in a request as one of several parameters. See `isReadAs`. */
export function isReadAsOne(text: string, from: number, to: number, folded: readonly string[]): boolean {
  for (const name of folded) if (isReadAs(text, from, to, name)) return true
  return false
}

/** A second `?` is skipped as well: some services take the query from the last one. */
function behindBlanks(text: string, from: number, to: number): number {
  let at = from
  for (let next = byteAt(text, at, to); isBlank(next) || next === QUESTION_MARK; next = byteAt(text, at, to)) {
    at += lengthAt(text, at, to)
  }
  return at
}

/** A text with its escapes decoded, one character for each byte. Anything else stays. */
export function unescaped(written: string): string {
  if (!written.includes('%')) return written
  return written.replace(/%[0-9A-Fa-f]{2}/g, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
}

const END = -1
const NUL = 0
const BLANK = 0x20
const PERCENT = 0x25
const PLUS = 0x2b
const DOT = 0x2e
const QUESTION_MARK = 0x3f
const BRACKET = 0x5b
const UNDERSCORE = 0x5f

/** The byte at an index, decoded if it is escaped; `END` after the last one. A plus sign is a blank. */
function byteAt(text: string, at: number, to: number): number {
  if (at >= to) return END
  const code = text.charCodeAt(at)
  if (code === PLUS) return BLANK
  return lengthAt(text, at, to) === 1 ? code : 16 * digit(text.charCodeAt(at + 1)) + digit(text.charCodeAt(at + 2))
}

/** How many characters the byte at an index takes. */
function lengthAt(text: string, at: number, to: number): 1 | 3 {
  if (text.charCodeAt(at) !== PERCENT || at + 2 >= to) return 1
  return digit(text.charCodeAt(at + 1)) >= 0 && digit(text.charCodeAt(at + 2)) >= 0 ? 3 : 1
}

/** The value of a hexadecimal digit; -1 for another character. */
function digit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | BLANK
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

function isBlank(byte: number): boolean {
  return byte === BLANK || (byte >= 0x09 && byte <= 0x0d)
}

function fold(byte: number): number {
  if (byte === BLANK || byte === DOT || byte === BRACKET) return UNDERSCORE
  return byte >= 0x41 && byte <= 0x5a ? byte | BLANK : byte
}
