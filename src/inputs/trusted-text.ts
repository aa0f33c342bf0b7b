/** How a trusted proxy encodes its facts about a caller: plain UTF-8, or percent-encoded as in fields of other gateways. */
export type FactEncoding = 'none' | 'percent'

/**
 * The text that a field of a trusted proxy states. With `percent` each byte is visible ASCII, and `%` begins an escape: the upstream reads
 * the same value again, so it must have one meaning. A text that still has an escape was encoded twice, and a reader that decodes twice
 * would see another name.
 *
 * @param value one character for each byte
 * @returns `null` for a value that is no UTF-8, or is not encoded as it should be
 */
export function trustedText(value: string, encoding: FactEncoding): string | null {
  if (encoding === 'none') return utf8Of(Buffer.from(value, 'latin1'))
  if (!ENCODED.test(value)) return null
  const text = utf8Of(Buffer.from(value.replaceAll(ESCAPE, unescaped), 'latin1'))
  return text === null || ANY_ESCAPE.test(text) ? null : text
}

const ENCODED = /^(?:[!-$&-~]|%[0-9A-Fa-f]{2})*$/
const ESCAPE = /%([0-9A-Fa-f]{2})/g
const ANY_ESCAPE = /%[0-9A-Fa-f]{2}/

function unescaped(_escape: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16))
}

function utf8Of(bytes: Buffer): string | null {
  try {
    return UTF8.decode(bytes)
  } catch {
    return null
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
