/** Names of cookies and of parameters as those who read them spell them. */

const PERCENT = 0x25
const BRACKET = 0x5b
const UNDERSCORE = 0x5f

/**
 * Whether some upstream reads a written name as a plain one: PHP takes `.`, a blank and `[` for `_`, drops blanks in front, reads what is
 * before a `[` as a list of that name, and cuts it at a NUL; others fold letter case. `%XX` stands for its byte.
 *
 * It is read once from left to right, and no further than it agrees, since a stranger may write thousands of names.
 *
 * @param text one character for each byte
 * @param from where the written name begins @param to where it ends
 * @param name of letters, digits, `_` and other characters of a token
 */
export function isNameOf(text: string, from: number, to: number, name: string): boolean {
  let at = from
  let matched = 0
  let isInFront = true
  while (at < to) {
    const byte = byteAt(text, at, to)
    at += byte.length
    if (isInFront && isBlank(byte.code)) continue
    isInFront = false
    if (byte.code === 0) break
    if (byte.code === BRACKET && matched === name.length) return true
    if (matched >= name.length || !isSame(byte.code, name.charCodeAt(matched))) return false
    matched++
  }
  return matched === name.length
}

interface ReadByte {
  readonly code: number
  /** Characters that it is written in. */
  readonly length: 1 | 3
}

/** One object for all: each is read before the next is asked for. */
const read: { code: number; length: 1 | 3 } = { code: 0, length: 1 }

function byteAt(text: string, at: number, to: number): ReadByte {
  read.code = text.charCodeAt(at)
  read.length = 1
  if (read.code !== PERCENT || at + 2 >= to) return read
  const [high, low] = [digit(text.charCodeAt(at + 1)), digit(text.charCodeAt(at + 2))]
  if (high < 0 || low < 0) return read
  read.code = high * 16 + low
  read.length = 3
  return read
}

function digit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** Of a query a plus sign is one. */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x2b
}

function isSame(written: number, wanted: number): boolean {
  return fold(written) === fold(wanted)
}

function fold(code: number): number {
  if (code >= 0x41 && code <= 0x5a) return code | 0x20
  return code === 0x2e || code === BRACKET || isBlank(code) ? UNDERSCORE : code
}
