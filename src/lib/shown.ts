/** A text of somebody else as a terminal may show it: what that would obey, and what would turn a line about, stands there by its number. */
export function shown(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
