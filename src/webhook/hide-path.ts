/** In characters. A shorter part of a path is no secret, and would be found in any text. */
const LEAST = 4

/**
 * A text of a receiver without the path and the query of its URL, which it may repeat (`Cannot POST /services/T0/XXXX`): as a whole and in
 * parts, as written and decoded, in either letter case.
 */
export function hidePath(text: string, { pathname, search }: URL): string {
  const target = pathname + search
  const parts = [target, pathname, ...target.split(/[/?&=]/)].filter(({ length }) => length >= LEAST)
  const longestFirst = [...new Set([...parts, ...parts.map(decoded)])].sort((a, b) => b.length - a.length)
  if (longestFirst.length === 0) return text
  return text.replace(new RegExp(longestFirst.map(RegExp.escape).join('|'), 'giu'), '[hidden]')
}

/** The decoded part, or the same part if it is no valid encoding. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
