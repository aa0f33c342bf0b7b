import { EMPTY_HASH, hashOf, type Names } from './names.ts'

export type Scalar = string | number | boolean | null | undefined

/**
 * Reads JSON objects as our log has them: without blanks, escapes, exponents, and objects inside.
 * @returns the wanted fields as JSON.parse has them, in the order in which they were asked for: the same array each time. `null` for
 * whatever else stands there, which JSON.parse has to read
 */
export type FlatReader = (bytes: Uint8Array, from: number, to: number) => readonly Scalar[] | null

const QUOTE = 0x22
const COMMA = 0x2c
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d
const FIRST_PRINTABLE = 0x20

/** A number of up to 15 digits, and the power of ten that divides it, are exact: so is the nearest number to their quotient. */
const MOST_DIGITS = 15
const POWERS = Array.from({ length: MOST_DIGITS + 1 }, (_, i) => 10 ** i)
const WORDS: readonly (readonly [Uint8Array, boolean | null])[] = [
  [Buffer.from('null'), null],
  [Buffer.from('true'), true],
  [Buffer.from('false'), false],
]

/** @param wanted names of fields, in ASCII @param names for the values that are texts */
export function createFlatReader(wanted: readonly string[], names: Names): FlatReader {
  const indexOf = createKeys(wanted)
  const values: Scalar[] = wanted.map(() => undefined)
  /** The next byte. */
  let at = 0
  /** Of the text that was last moved over. */
  let hash = EMPTY_HASH

  return (bytes, from, to) => {
    values.fill(undefined)
    if (to - from < 2 || bytes[from] !== OPEN || bytes[to - 1] !== CLOSE) return null
    at = from + 1
    if (at === to - 1) return values
    for (;;) {
      if (!readField(bytes, to)) return null
      const next = at < to ? bytes[at++] : undefined
      if (next === CLOSE) return at === to ? values : null
      if (next !== COMMA) return null
    }
  }

  function readField(bytes: Uint8Array, end: number): boolean {
    const key = at + 1
    if (!passText(bytes, end) || bytes[at] !== COLON) return false
    const index = indexOf(bytes, key, at - 1, hash)
    at++
    const first = bytes[at] as number
    const start = at
    let value: Scalar
    if (first === QUOTE) {
      if (!passText(bytes, end)) return false
      value = index < 0 ? null : names.textOf(bytes, start + 1, at - 1, hash)
    } else value = first >= ZERO && first <= NINE ? readNumber(bytes, end) : readWord(bytes)
    if (value === undefined) return false
    if (index >= 0) values[index] = value
    return true
  }

  /** Moves behind the closing quote. @returns `false` for a text that has to be decoded, or does not end */
  function passText(bytes: Uint8Array, end: number): boolean {
    if (bytes[at] !== QUOTE) return false
    let made = EMPTY_HASH
    for (let i = at + 1; i < end; i++) {
      const byte = bytes[i] as number
      if (byte === QUOTE) {
        at = i + 1
        hash = made
        return true
      }
      if (byte === BACKSLASH || byte < FIRST_PRINTABLE) return false
      made = Math.imul(made ^ byte, 0x01000193)
    }
    return false
  }

  function readNumber(bytes: Uint8Array, end: number): number | undefined {
    let digits = 0
    let point = -1
    let i = at
    for (; i < end; i++) {
      const byte = bytes[i] as number
      if (byte >= ZERO && byte <= NINE) digits = digits * 10 + (byte - ZERO)
      else if (byte === POINT && point < 0) point = i
      else break
    }
    const decimals = point < 0 ? 0 : i - point - 1
    const whole = (point < 0 ? i : point) - at
    if (whole + decimals > MOST_DIGITS || (point >= 0 && decimals === 0)) return undefined
    if (whole > 1 && bytes[at] === ZERO) return undefined
    at = i
    return decimals === 0 ? digits : digits / (POWERS[decimals] as number)
  }

  function readWord(bytes: Uint8Array): boolean | null | undefined {
    const found = WORDS.find(([word]) => isAt(word, bytes, at))
    if (found !== undefined) at += found[0].length
    return found?.[1]
  }
}

const KEY_PLACES = 256

/** Which of the names stands there; below 0 for another. */
function createKeys(wanted: readonly string[]) {
  const keys = wanted.map((name) => Buffer.from(name))
  const hashes = keys.map((key) => hashOf(key, 0, key.length))
  const table = new Int32Array(KEY_PLACES).fill(-1)
  const placeOf = (hash: number): number => (hash ^ (hash >>> 15)) & (KEY_PLACES - 1)
  hashes.forEach((hash, index) => {
    let place = placeOf(hash)
    while (table[place] !== -1) place = (place + 1) & (KEY_PLACES - 1)
    table[place] = index
  })
  return (bytes: Uint8Array, from: number, to: number, hash: number): number => {
    let place = placeOf(hash)
    for (let index = table[place] as number; index >= 0; index = table[place] as number) {
      const key = keys[index] as Uint8Array
      if (hashes[index] === hash && key.length === to - from && isAt(key, bytes, from)) return index
      place = (place + 1) & (KEY_PLACES - 1)
    }
    return -1
  }
}

function isAt(text: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let i = 0; i < text.length; i++) if (text[i] !== bytes[from + i]) return false
  return true
}
