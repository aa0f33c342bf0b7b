import { canonicalLiteral } from './target.ts'

/**
 * The differences between two spellings of a path that the upstream ignores. Only the look-up ignores them too: the
 * client's spelling is forwarded.
 */
export interface Folding {
  /** `/v1/CHARGE` is `/v1/charge`. */
  readonly case: boolean
  /** `/v1/charge/` is `/v1/charge`. */
  readonly trailingSlash: boolean
  /** Dots and blanks at the end of a segment, which Windows drops: `/v1/charge.` is `/v1/charge`. */
  readonly trailingDots: boolean
}

export const EXACT: Folding = { case: false, trailingSlash: false, trailingDots: false }

/** The letters whose case is ignored: those of ASCII, as in regular expressions of Express, or all, as in .NET and Python. */
export type Letters = 'ascii' | 'all'

/** A literal of a route pattern as the look-up compares it. */
export function foldLiteral(text: string, folding: Folding, letters: Letters = 'ascii'): string {
  const literal = canonicalLiteral(text)
  const trimmed = folding.trailingDots ? withoutEnd(literal) : literal
  // A literal of nothing but dots and blanks matches nothing, because requests with such a segment are refused.
  return foldCase(trimmed === '' ? literal : trimmed, folding, letters)
}

/**
 * A path as the look-up compares it, except for a slash at its end.
 * @param path in the form of `Target.matched`
 * @returns `null` if one of its segments is dots and blanks only: some systems drop it, others keep it as a name
 */
export function foldPath(path: string, folding: Folding): string | null {
  if (!folding.trailingDots || !ENDS.test(path)) return foldCase(path, folding, 'ascii')
  const segments = path.split('/')
  const trimmed = segments.map(withoutEnd)
  if (trimmed.some((segment, i) => segment === '' && segments[i] !== '')) return null
  return foldCase(trimmed.join('/'), folding, 'ascii')
}

/** A segment that ends in a dot or blank. */
const ENDS = /(?:\.|%20)(?:\/|$)/

/** Reads one character after the other: the time of a regular expression grows with the square of their number. */
function withoutEnd(segment: string): string {
  let end = segment.length
  for (;;) {
    if (segment[end - 1] === '.') end -= 1
    else if (segment.endsWith('%20', end)) end -= 3
    else return segment.slice(0, end)
  }
}

/** @param text in canonical form: characters beyond ASCII are escaped, so lower case is that of ASCII letters and of escapes */
export function foldCase(text: string, folding: Folding, letters: Letters): string {
  if (!folding.case) return text
  return (letters === 'ascii' ? text : text.replace(NO_ASCII, foldLetters)).toLowerCase()
}

const NO_ASCII = /(?:%[89A-F][0-9A-F])+/gi

/** Whether a path has letters beyond ASCII. */
export function hasOtherLetters(path: string): boolean {
  return /%[89A-F]/i.test(path)
}

function foldLetters(escapes: string): string {
  return Array.from(decoded(escapes), foldLetter).join('')
}

/** Decodes as UTF-8, or else as the one-byte encoding. */
function decoded(escapes: string): string {
  try {
    return decodeURIComponent(escapes)
  } catch {
    return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('latin1')
  }
}

/** Folds by way of upper case, so that the Kelvin sign is a `k`, and the long `ſ` an `s`, as in Python. */
function foldLetter(letter: string): string {
  const upper = letter.toUpperCase()
  const lower = (upper.length === letter.length ? upper : letter).toLowerCase()
  return lower.length === letter.length ? lower : letter
}
