/** Makes claims ready for forwarding. lib/json-path.ts says what a path means. */

/** Some JSON readers round longer integers. They also round some integers of 16 digits, which are recognised by `isSafeInteger`. */
const INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/

/**
 * The digits of a whole number as written in the JSON; `null` for any other value, for an unusual spelling (`42.0`,
 * `4.2e1`, `-0`), and for a number that JSON readers round.
 */
export function integerOf(json: string): string | null {
  return INTEGER.test(json) && Number.isSafeInteger(Number(json)) ? json : null
}

/** In bytes. A longer claim is not forwarded. */
const MAX_FORWARDED = 4096

/**
 * A claim as the text of a header field: a text, a number, `true`, `false`, or a list of these, joined by commas. `null` for any other
 * value, and for a list with an element that is empty or contains a comma, which could be taken for two elements.
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
