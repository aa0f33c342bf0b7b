import { topLevelMembers } from './json-members.ts'

/** Values by path, like `app.plan`: members within each other, their names joined by dots. */

/**
 * The JSON text of the value at a path, as it is written, or `null` if it is not there. At each level the longest name that fits
 * counts, so a name that itself has dots, like `https://id.example.org/uid`, needs no other spelling. An object with
 * two members of that name says nothing: another reader may take the other one.
 *
 * The text is read, and not what `JSON.parse` makes of it, which knows neither two members nor some that are spelt with escapes.
 * @param text valid JSON whose value is an object
 */
export function jsonAt(text: string, path: string): string | null {
  const found = foundAt(text, path)
  return typeof found === 'string' ? null : found.json
}

/** The same, with the reason why there is none. */
export function foundAt(text: string, path: string): { readonly json: string } | 'missing' | 'twice' {
  let [object, rest] = [text, path]
  while (object.startsWith('{')) {
    const fitting = topLevelMembers(object).filter(({ key }) => rest === key || rest.startsWith(`${key}.`))
    const longest = fitting.reduce((length, { key }) => Math.max(length, key.length), -1)
    const [found, twin] = fitting.filter(({ key }) => key.length === longest)
    if (found === undefined) return 'missing'
    if (twin !== undefined) return 'twice'
    if (found.key === rest) return { json: found.value }
    object = found.value
    rest = rest.slice(longest + 1)
  }
  return 'missing'
}
