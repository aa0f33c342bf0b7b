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

/** The largest integer of which the one before and the one behind it are other numbers has 16 digits. */
const INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/

/**
 * The digits of an integer that a member of the outermost object holds, as the JSON spells it; `null` for any other value, and
 * for a spelling beside the usual one (`42.0`, `4.2e1`, `-0`) or a number that JSON readers round.
 * @param bytes as `parseObject` has taken them
 */
export function integerText(bytes: Uint8Array, key: string): string | null {
  const spelt = new Map<unknown, string>()
  let found: string | undefined
  JSON.parse(UTF8.decode(bytes), function (this: unknown, name: string, value: unknown, context?: { source?: string }) {
    if (name === key && typeof value === 'number' && context?.source !== undefined) spelt.set(this, context.source)
    // The outermost one comes last, under the empty name of no object of the text.
    found = spelt.get(value)
    return value
  })
  return found !== undefined && INTEGER.test(found) && Number.isSafeInteger(Number(found)) ? found : null
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
