import { isNameOf } from './folded-names.ts'

/**
 * Parameters of a query as servers read them: parted by `&`, and by some at `;` too, their names spelt in any way (`isNameOf`). A query is
 * empty, or `?` and what follows.
 */

/** A parameter within a query. */
interface Place {
  readonly from: number
  readonly to: number
  /** Where its name ends. */
  readonly nameEnd: number
  /** Where the next `&` is, or the end. */
  readonly pairEnd: number
  /** Whether it stands behind a `;`. */
  readonly isBehind: boolean
}

/**
 * The values of a parameter as they are written, still encoded. One with a `;` in it is as a server has it that does not part there, and
 * what stands behind the `;` counts for itself.
 * @param name in plain letters
 */
export function parameterValues(query: string, name: string): string[] {
  const places = placesOf(query, (from, to) => isNameOf(query, from, to, name))
  return places.map(({ nameEnd, pairEnd, to, isBehind }) => query.slice(nameEnd + 1, isBehind ? to : pairEnd))
}

/** The query without all parameters of these names. Not a byte of the others changes; no lone `?` is left. */
export function withoutParameters(query: string, names: ReadonlySet<string>): string {
  if (query === '' || names.size === 0) return query
  const places = placesOf(query, (from, to) => isAnyOf(query, from, to, names))
  if (places.length === 0) return query
  let rest = ''
  let kept = 1
  for (const { from, to, pairEnd, isBehind } of places) {
    if (from < kept) continue
    // Behind a `;` that goes, too. A whole pair goes with the `&` behind it.
    rest += query.slice(kept, isBehind ? from - 1 : from)
    kept = isBehind ? to : pairEnd + 1
  }
  if (kept <= query.length) return `?${rest}${query.slice(kept)}`
  return rest === '' ? '' : `?${rest.slice(0, -1)}`
}

/** A reference without these parameters in its query. What has no query is left as it is. */
export function urlWithoutParameters(url: string, names: ReadonlySet<string>): string {
  const [, before = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? []
  return query === '' ? url : before + withoutParameters(query, names) + fragment
}

function isAnyOf(query: string, from: number, to: number, names: ReadonlySet<string>): boolean {
  for (const name of names) if (isNameOf(query, from, to, name)) return true
  return false
}

const AMPERSAND = 0x26
const SEMICOLON = 0x3b
const EQUALS = 0x3d

/** Where the parameters are whose name is wanted, from left to right. */
function placesOf(query: string, isWanted: (from: number, to: number) => boolean): readonly Place[] {
  let places: Place[] = NONE
  let from = 1
  let nameEnd = -1
  let isBehind = false
  for (let at = 1; at <= query.length; at++) {
    const code = query.charCodeAt(at)
    if (code === EQUALS && nameEnd < 0) nameEnd = at
    const isEnd = code === AMPERSAND || at === query.length
    if (!isEnd && code !== SEMICOLON) continue
    if (nameEnd < 0) nameEnd = at
    if (at > from && isWanted(from, nameEnd)) {
      const ampersand = isEnd ? at : query.indexOf('&', at)
      const pairEnd = ampersand < 0 ? query.length : ampersand
      if (places === NONE) places = []
      places.push({ from, to: at, nameEnd, pairEnd, isBehind })
    }
    from = at + 1
    nameEnd = -1
    isBehind = !isEnd
  }
  return places
}

const NONE: Place[] = []
