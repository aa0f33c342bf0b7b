import { isNameOf } from './folded-names.ts'

/** A `Cookie` field as RFC 6265, section 5.4 has it: pairs parted by `;`. Their names are spelt in any way that some server reads (`isNameOf`). */

/** The values of all cookies of a name, without quotes around them, in their order. */
export function cookieValues(field: string, name: string): string[] {
  const values: string[] = []
  forEachPair(field, (from, to, mark) => {
    if (mark < 0 || !isNameOf(field, from, endOfName(field, from, mark), name)) return
    const value = field.slice(mark + 1, to).trim()
    values.push(/^"(.*)"$/.exec(value)?.[1] ?? value)
  })
  return values
}

/** The field without all cookies of these names. The other pairs stay as they are. */
export function withoutCookies(field: string, names: ReadonlySet<string>): string {
  let rest = ''
  let kept = 0
  forEachPair(field, (from, to, mark) => {
    if (mark < 0 || !isAnyOf(field, from, endOfName(field, from, mark), names)) return
    rest += field.slice(kept, from)
    kept = to + 1
  })
  if (kept === 0) return field
  const left = rest + field.slice(kept)
  return (kept > field.length && left.endsWith(';') ? left.slice(0, -1) : left).trim()
}

function isAnyOf(field: string, from: number, to: number, names: ReadonlySet<string>): boolean {
  for (const name of names) if (isNameOf(field, from, to, name)) return true
  return false
}

/** @param visit with where a pair begins and ends, and where its `=` is; -1 for none, which is a value without a name */
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

/** Blanks before the `=` are no part of it. */
function endOfName(field: string, from: number, mark: number): number {
  let end = mark
  while (end > from && (field.charCodeAt(end - 1) === 0x20 || field.charCodeAt(end - 1) === 0x09)) end--
  return end
}

const SEMICOLON = 0x3b
const EQUALS = 0x3d
