/**
 * Scalars of JSON as keys: two values have one key exactly if every reader of JSON takes them for the same. The key of a
 * number is its decimal digits, so 2, 2.0 and 2e0 have the key `2` (RFC 8259, 6). The key of a text is its characters, in
 * quotes if they spell another scalar: the key of "2" is `"2"`.
 */

/** A decimal number as JSON writes it: its sign, whole digits, decimals and exponent. */
export const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/
/** The longest number that is read: the time to trim zeros grows with the square of their count. */
const MAX_NUMBER = 100
/** With more places than this a key has an exponent. */
const MAX_PLACES = 20

/**
 * @param json a valid value of JSON
 * @returns `null` for a list or an object, for a number of more than 100 characters, and for a number that a double cannot hold
 * exactly, because readers differ about it
 */
export function keyOfJson(json: string): string | null {
  if (NUMBER.test(json)) return keyOfNumber(json)
  if (json.startsWith('"')) return keyOfString(JSON.parse(json))
  return json === 'true' || json === 'false' || json === 'null' ? json : null
}

/**
 * The key of a value as a person writes it: `2` is the number, and everything that is no scalar of JSON is a text. A
 * text that looks like another scalar is written as in JSON: `"2"`.
 *
 * @returns `null` for a number that has no key
 */
export function keyOfWritten(written: string): string | null {
  return isScalar(written) ? keyOfJson(written) : written
}

/** The value that has the key. */
export function valueOfKey(key: string): unknown {
  return isScalar(key) ? JSON.parse(key) : key
}

function keyOfString(text: string): string {
  return isScalar(text) ? JSON.stringify(text) : text
}

function isScalar(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return text.trim() === text && (typeof value !== 'object' || value === null)
  } catch {
    return false
  }
}

function keyOfNumber(json: string): string | null {
  if (json.length > MAX_NUMBER) return null
  const digits = decimal(json)
  // Infinity is no number of JSON, so it has no key either.
  return digits !== null && digits === decimal(String(Number(json))) ? digits : null
}

/** The one spelling of a number. */
function decimal(text: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  const all = (whole + fraction).replace(/^0+/, '')
  const significant = all.replace(/0+$/, '')
  if (significant === '') return whole === '' ? null : '0'
  const places = Number(exponent) - fraction.length + (all.length - significant.length)
  if (!Number.isSafeInteger(places)) return null
  return sign + spelled(significant, places)
}

/** The digits, with the decimal point moved to the right by this many places. */
function spelled(digits: string, places: number): string {
  if (places < -MAX_PLACES || places + digits.length > MAX_PLACES) return `${digits}e${places}`
  if (places >= 0) return digits + '0'.repeat(places)
  const padded = digits.padStart(1 - places, '0')
  return `${padded.slice(0, places)}.${padded.slice(places)}`
}
