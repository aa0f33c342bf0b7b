/** Characters that look like a space or like nothing, but are no space to YAML. They come with text from web pages and chats. */
export const INVISIBLE = '\\u00a0\\u1680\\u2000-\\u200d\\u2060\\u202f\\u205f\\u3000'

const ANY = new RegExp(`[${INVISIBLE}]`, 'u')

/** The first such character in a text, as `U+00A0`; `null` if there is none. */
export function invisibleIn(text: string): string | null {
  const [found] = ANY.exec(text) ?? []
  return found === undefined ? null : `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}
