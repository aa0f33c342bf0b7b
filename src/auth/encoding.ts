import { isObject } from '../json.ts'

/** Strict reading of what a JWT is made of. Whatever has two spellings is refused: two readers might differ on it. */

// ignoreBOM keeps a byte order mark in the text, where JSON.parse refuses it.
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The bytes of a base64url text without padding, or `null` where it is not the one canonical spelling of them.
 * Decoders commonly skip white space and ignore unused bits, which makes tokens malleable: many texts, one meaning.
 */
export function decodeBase64url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

export type JsonObject = Readonly<Record<string, unknown>>

/** A JSON object in UTF-8 whose own keys are all different, or `null`. */
export function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const text = UTF8.decode(bytes)
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return null
    return countKeys(text) === Object.keys(value).length ? value : null
  } catch {
    return null
  }
}

/** A member of the object itself: `constructor` and `__proto__` are found only where the JSON has them. */
export function member(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** How many keys the outermost object of a valid JSON text spells out, duplicates counted each: its colons outside of strings. */
function countKeys(text: string): number {
  let keys = 0
  let depth = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/g)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (token === ':' && depth === 1) keys++
  }
  return keys
}
