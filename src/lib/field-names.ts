import { remembered } from './memo.ts'

/** RFC 9110 section 5.6.2. Cookies, schemes and subprotocols are spelt with the same characters. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The text of a head before the value of a field, line end included. It is made once for each name, in one piece. */
export const lineOf = remembered((name) => `\r\n${name}: `)

/** @param max the most characters of a name */
export function isFieldName(text: string, max = Number.POSITIVE_INFINITY): boolean {
  return text.length <= max && NAME.test(text)
}

/** The names in a field like `Connection` that lists some, in lower case. */
export function namesIn(list: string): string[] {
  return list
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
}

/** The name that some readers see: CGI and its successors take `X_Remote_User` for `X-Remote-User`, and some of them also `X.Remote.User`. */
export function foldedName(name: string): string {
  return name.toLowerCase().replace(/[^0-9a-z-]/g, '-')
}

/**
 * The values of a field, one for each of its lines. In `headers` Node joins the lines, or keeps only the first.
 * @param raw names and values by turns
 * @param lower the name in lower case
 */
export function valuesIn(raw: readonly string[], lower: string): string[] {
  const values: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.length === lower.length && name.toLowerCase() === lower) values.push(raw[i + 1] as string)
  }
  return values
}
