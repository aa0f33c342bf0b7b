/**
 * Any text as an item of a structured field: a String (RFC 9651 section 3.3.3), or a Display String (section 3.3.8) if it has other
 * characters than visible ASCII.
 */
export function structuredText(text: string): string {
  if (/^[ -~]*$/.test(text)) return `"${text.replace(/["\\]/g, '\\$&')}"`
  let escaped = ''
  for (const byte of Buffer.from(text, 'utf8')) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x25
    escaped += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`
  }
  return `%"${escaped}"`
}
