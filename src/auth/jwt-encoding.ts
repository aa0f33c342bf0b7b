import { isObject } from '../lib/json.ts'
import { topLevelMembers } from '../lib/json-members.ts'

/** Strict readers for the parts of a JWT. A text that other readers might read in another way is refused. */

// ignoreBOM keeps a byte order mark in the text, so that JSON.parse refuses it.
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The bytes of a base64url text without padding; `null` if it is not their only canonical spelling. Many decoders skip
 * white space and ignore unused bits, so that different texts would be the same token.
 */
export function decodeBase64url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

export type JsonObject = Readonly<Record<string, unknown>>

/** What one pass over a JSON text finds. The text need not be valid. */
export interface Outline {
  /** How many keys the outermost object has, with duplicates. */
  readonly keys: number
  /** How many commas there are, which bounds the number of values to parse. */
  readonly commas: number
  /** The value of the requested member of the outermost object, if it is a string; else `null`. */
  readonly text: string | null
}

/** The deepest nesting of objects and arrays. Real claims have four or five levels. */
const MAX_DEPTH = 32

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]

/**
 * Passes over a JSON text once without allocating, because anybody may have sent it. `null` if it is nested deeper than 32
 * levels or ends within a string. For invalid JSON the result has no meaning, and only the parser finds out whether it is valid.
 * @param bytes UTF-8, in which no byte of another character looks like the ASCII characters that matter here
 * @param member plain ASCII. A key that is spelt with escapes is not found
 */
export function outlineOf(bytes: Uint8Array, member = ''): Outline | null {
  let [depth, keys, commas] = [0, 0, 0]
  /** Where the last string begins and ends, and whether the next string is the requested value. */
  let [start, end, isSought] = [0, 0, false]
  let [foundAt, foundEnd] = [0, 0]
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      start = i + 1
      end = i = endOfString(bytes, start)
      if (isSought) [foundAt, foundEnd] = [start - 1, end + 1]
      isSought = false
    } else if (byte === COLON) {
      if (depth !== 1) continue
      keys++
      isSought = member !== '' && spells(bytes, start, end, member)
    } else if (byte === COMMA) {
      commas++
      isSought = false
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > MAX_DEPTH) return null
      isSought = false
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  if (end >= bytes.length) return null
  return { keys, commas, text: foundEnd === 0 ? null : stringOf(bytes.subarray(foundAt, foundEnd)) }
}

function stringOf(bytes: Uint8Array): string | null {
  try {
    return JSON.parse(UTF8.decode(bytes)) as string
  } catch {
    return null
  }
}

/** The position of the quote that ends a string, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let i = start
  while (i < bytes.length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
  return Math.min(i, bytes.length)
}

function spells(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}

/** A JSON object in UTF-8 without duplicate keys; else `null`. @param outline of the same bytes */
export function parseObject(bytes: Uint8Array, outline: Outline | null = outlineOf(bytes)): JsonObject | null {
  if (outline === null) return null
  try {
    const text = UTF8.decode(bytes)
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return null
    const object = text.includes('\\') ? readMembers(text) : value
    return Object.keys(object).length === outline.keys ? object : null
  } catch {
    return null
  }
}

/**
 * V8 may take a name that is spelt with escapes for the name at that place in an object that it read before: after `{"a":1,"\\":1}`,
 * `JSON.parse` reads `{"a":1,"\u0062":1}` as `{ a: 1, '\\': 1 }` (nodejs/node#63785, also in Node 26.10). Anybody could use this to have
 * the claims of others misread.
 */
function readMembers(text: string): JsonObject {
  return Object.fromEntries(topLevelMembers(text).map(({ key, value }) => [key, JSON.parse(value)]))
}

/** A member of the object itself, so that `constructor` and `__proto__` are found only if the JSON has them. */
export function member(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}
