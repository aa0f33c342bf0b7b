import type { Read } from './cookies.ts'
import { isReadAs, isReadAsOne, unescaped } from './parameter-names.ts'

/**
 * Parameters of a query as nearly all servers read them: separated by `&`, with names percent-encoded in any way. Rack before 3 and
 * some Java servers also separate them at `;`. A query is empty, or `?` and the text after it. It is read once from left to right.
 */

/**
 * Reads a parameter: its values as they are written, still encoded. The result is unclear if another name is the same to some
 * service, or if a service that also separates pairs at `;` sees another value.
 * @param name in plain letters @param folded as `foldedParameter` makes it
 */
export function readParameter(query: string, name: string, folded: string): Read {
  const values: string[] = []
  let isUnclear = false
  forEachPart(query, ({ from, nameEnd, to, isBehind, isBefore }) => {
    if (!isReadAs(query, from, nameEnd, folded)) return
    const isIt = !isBehind && !isBefore && unescaped(query.slice(from, nameEnd)) === name
    if (isIt) values.push(query.slice(nameEnd + 1, to))
    else isUnclear = true
  })
  return { values, isUnclear }
}

/**
 * The query without all parameters that some service reads by these names. Such a pair is removed with everything after a `;` in it,
 * because others read that as part of its value. No other byte changes, and no lone `?` is left.
 * @param folded as `foldedParameter` makes them
 */
export function withoutParameters(query: string, folded: readonly string[]): string {
  if (query === '' || folded.length === 0) return query
  let rest = ''
  let kept = 1
  forEachPart(query, ({ from, nameEnd, to, isBehind }) => {
    if (from < kept || !isReadAsOne(query, from, nameEnd, folded)) return
    // A part after a `;` is removed together with that `;`. A whole pair is removed with the `&` after it.
    rest += query.slice(kept, isBehind ? from - 1 : from)
    kept = isBehind ? to : endOfPair(query, to) + 1
  })
  if (kept === 1) return query
  if (kept <= query.length) return `?${rest}${query.slice(kept)}`
  return rest === '' ? '' : `?${rest.slice(0, -1)}`
}

/** A reference without these parameters in its query. A reference without a query is not changed. */
export function urlWithoutParameters(url: string, folded: readonly string[]): string {
  const [, before = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? []
  return query === '' ? url : before + withoutParameters(query, folded) + fragment
}

function endOfPair(query: string, from: number): number {
  const ampersand = query.indexOf('&', from)
  return ampersand < 0 ? query.length : ampersand
}

/** The text between two of `&` and `;`. */
interface Part {
  from: number
  to: number
  /** The place where its name ends. */
  nameEnd: number
  /** Whether a `;` stands before it. */
  isBehind: boolean
  /** Whether a `;` stands behind it. */
  isBefore: boolean
}

/** @param visit gets the same object for all parts, which it must not keep */
function forEachPart(query: string, visit: (part: Readonly<Part>) => void): void {
  const part: Part = { from: 1, to: 1, nameEnd: -1, isBehind: false, isBefore: false }
  for (let at = 1; at <= query.length; at++) {
    const code = query.charCodeAt(at)
    if (code === EQUALS && part.nameEnd < 0) part.nameEnd = at
    part.isBefore = code === SEMICOLON
    if (!part.isBefore && code !== AMPERSAND && at < query.length) continue
    part.to = at
    if (part.nameEnd < 0) part.nameEnd = at
    visit(part)
    part.from = at + 1
    part.nameEnd = -1
    part.isBehind = part.isBefore
  }
}

const AMPERSAND = 0x26
const SEMICOLON = 0x3b
const EQUALS = 0x3d
