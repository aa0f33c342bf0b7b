/** Claims as they are forwarded. What a path names is in lib/json-path.ts. */

/** The largest integer of which the one before and the one behind it are other numbers has 16 digits. */
const INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/

/**
 * The digits of a whole number, as the JSON spells it; `null` for any other value, and for a spelling beside the usual one
 * (`42.0`, `4.2e1`, `-0`) or a number that JSON readers round.
 */
export function integerOf(json: string): string | null {
  return INTEGER.test(json) && Number.isSafeInteger(Number(json)) ? json : null
}

/** In bytes: what is longer is not forwarded. */
const MAX_FORWARDED = 4096

/**
 * A claim as the text that a field of a request can hold: a text, a number, `true`, `false`, or a list of them, joined by commas. `null`
 * for anything else: also for a list with an element that is empty or holds a comma, which could pass for two.
 */
export function forwardable(json: string): string | null {
  const value: unknown = JSON.parse(json)
  const text = Array.isArray(value) ? listText(value) : scalarText(value, json)
  if (text === null || text === '' || text.length > MAX_FORWARDED) return null
  return text.isWellFormed() && !/\p{Cc}/u.test(text) && Buffer.byteLength(text) <= MAX_FORWARDED ? text : null
}

function listText(values: readonly unknown[]): string | null {
  const texts = values.map((value) => scalarText(value, String(value)))
  return texts.every((text) => text !== null && text !== '' && !text.includes(',')) ? texts.join(',') : null
}

function scalarText(value: unknown, json: string): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? json : null
}
