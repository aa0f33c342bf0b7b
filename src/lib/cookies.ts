import { isReadAs } from './parameter-names.ts'

/**
 * A `Cookie` field as RFC 6265, section 5.4 has it: pairs separated by `;`. Letter case counts in names. Each character is read only a
 * few times, because a stranger may write thousands of pairs.
 */

/** The values that a request has of one cookie or parameter. */
export interface Read {
  /** The values under exactly this name, in their order. */
  readonly values: readonly string[]
  /** Whether a service may read another value than these, or none. */
  readonly isUnclear: boolean
}

/**
 * Reads a cookie, without quotes around its value. The result is unclear in three cases: a value is not valid by RFC 6265, section
 * 4.1.1 (Python reads `"\141"` as `a`); another name is the same to some service; or a service that reads quotes, or separates
 * pairs at blanks and commas too, sees other pairs.
 * @param folded the name as `foldedParameter` makes it
 */
export function readCookie(field: string, name: string, folded: string): Read {
  const values: string[] = []
  let isUnclear = false
  forEachPair(field, (from, to, mark) => {
    if (isNamed(field, from, mark, name)) {
      const value = trimmed(field, mark + 1, to)
      values.push(/^"(.*)"$/s.exec(value)?.[1] ?? value)
    } else isUnclear ||= hasName(field, { from, to, mark }, folded)
  })
  isUnclear ||= !values.every((value) => COOKIE_OCTETS.test(value))
  return { values, isUnclear: isUnclear || (values.length > 0 && QUOTED_PAIRS.test(field)) }
}

const COOKIE_OCTETS = /^[!#-+\--:<-[\]-~]*$/
/** A quoted value with a semicolon in it, as some services read it. */
const QUOTED_PAIRS = /=[\t ]*"[^";]*;[^"]*"/

/**
 * The field without the cookies of these names, and without any pair that some service reads under one of the folded names. The other
 * pairs stay as they are.
 */
export function withoutCookies(field: string, names: ReadonlySet<string>, folded: readonly string[] = []): string {
  if (folded.length === 0 && !holdsOne(field, names)) return field
  let rest = ''
  let kept = 0
  forEachPair(field, (from, to, mark) => {
    if (mark < 0 || !isOneOf(field, { from, to, mark }, names, folded)) return
    rest += field.slice(kept, from)
    kept = to + 1
  })
  if (kept === 0) return field
  const left = rest + field.slice(kept)
  return (kept > field.length && left.endsWith(';') ? left.slice(0, -1) : left).trim()
}

function holdsOne(field: string, names: ReadonlySet<string>): boolean {
  for (const name of names) if (field.includes(name)) return true
  return false
}

/** Where a pair begins and ends, and where its `=` is; -1 for a value without a name. */
interface Pair {
  readonly from: number
  readonly to: number
  readonly mark: number
}

function isOneOf(field: string, pair: Pair, names: ReadonlySet<string>, folded: readonly string[]): boolean {
  for (const name of names) if (isNamed(field, pair.from, pair.mark, name)) return true
  for (const name of folded) if (hasName(field, pair, name)) return true
  return false
}

/** Whether a pair has exactly this name. Blanks around the name do not count. */
function isNamed(field: string, from: number, mark: number, name: string): boolean {
  const begin = behindBlanks(field, from, mark)
  return field.startsWith(name, begin) && behindBlanks(field, begin + name.length, mark) === mark
}

/** Whether some service reads a pair, or a part of it that ends at a blank, comma or quote, as a cookie of this name. */
function hasName(field: string, { from, to, mark }: Pair, folded: string): boolean {
  if (isReadAs(field, from, mark < 0 ? to : mark, folded)) return true
  if (mark < 0) return false
  let begin = from
  let equals = -1
  for (let at = from; at <= to; at++) {
    const code = at < to ? field.charCodeAt(at) : COMMA
    if (code === EQUALS && equals < 0) equals = at
    if (!isParting(code)) continue
    if (equals > begin && isReadAs(field, begin, equals, folded)) return true
    begin = at + 1
    equals = -1
  }
  return false
}

function forEachPair(field: string, visit: (from: number, to: number, mark: number) => void): void {
  let from = 0
  let mark = -1
  for (let at = 0; at <= field.length; at++) {
    const code = field.charCodeAt(at)
    if (code === EQUALS && mark < 0) mark = at
    if (code !== SEMICOLON && at < field.length) continue
    visit(from, at, mark)
    from = at + 1
    mark = -1
  }
}

/** String.trim removes more than HTTP does. */
function trimmed(field: string, from: number, to: number): string {
  const begin = behindBlanks(field, from, to)
  let end = to
  while (end > begin && isBlank(field.charCodeAt(end - 1))) end--
  return field.slice(begin, end)
}

function behindBlanks(field: string, from: number, to: number): number {
  let at = from
  while (at < to && isBlank(field.charCodeAt(at))) at++
  return at
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function isParting(code: number): boolean {
  return isBlank(code) || code === COMMA || code === QUOTE
}

const QUOTE = 0x22
const COMMA = 0x2c
const SEMICOLON = 0x3b
const EQUALS = 0x3d
