import { topLevelMembers } from './json-members.ts'

/** Values by path, like `app.plan`, which names members within each other. */

/**
 * The JSON text of the value at a path, as it is written; `null` if it is not there. At each level the longest matching name
 * counts, so a name with dots, like `https://id.example.org/uid`, needs no other spelling. An object with two members of that
 * name has no value, because another reader may take the other one.
 *
 * The text itself is read: `JSON.parse` hides duplicate members and escapes in names.
 * @param text valid JSON whose value is an object
 */
export function jsonAt(text: string, path: string): string | null {
  let [object, rest] = [text, path]
  while (object.startsWith('{')) {
    const fitting = topLevelMembers(object).filter(({ key }) => rest === key || rest.startsWith(`${key}.`))
    const longest = fitting.reduce((length, { key }) => Math.max(length, key.length), -1)
    const [found, twin] = fitting.filter(({ key }) => key.length === longest)
    if (found === undefined || twin !== undefined) return null
    if (found.key === rest) return found.value
    object = found.value
    rest = rest.slice(longest + 1)
  }
  return null
}

/** The JSON text of the value at a path of whole names, each with any characters, as it is written; or why there is no such value. */
export function memberAt(text: string, path: readonly string[]): { readonly json: string } | 'missing' | 'twice' {
  let value = text
  for (const name of path) {
    const [found, twin] = value.startsWith('{') ? topLevelMembers(value).filter(({ key }) => key === name) : []
    if (found === undefined) return 'missing'
    if (twin !== undefined) return 'twice'
    value = found.value
  }
  return { json: value }
}

const MAX_NAMES = 8
const MAX_LENGTH = 256
const NAME = /^(?:\.([^.[\]"]+)|\[("(?:[^"\\]|\\.)*")\])/

/**
 * The names of a path that can be read in one way only: `params.name`, or `params["odd.name"]` for a name with dots or brackets.
 * @returns at most 8 names; `null` for a longer path, for one in the form of JSONPath or JSON Pointer, and for any other text
 */
export function namesOfPath(path: string): string[] | null {
  const names: string[] = []
  if (path.length > MAX_LENGTH || /^(?:\$\.|\/)/.test(path)) return null
  let rest = path.startsWith('[') ? path : `.${path}`
  while (rest !== '') {
    const [all, plain, quoted] = NAME.exec(rest) ?? []
    const name = plain ?? (quoted === undefined ? null : textOf(quoted))
    if (all === undefined || name === null || names.length === MAX_NAMES) return null
    names.push(name)
    rest = rest.slice(all.length)
  }
  return names
}

function textOf(quoted: string): string | null {
  try {
    return JSON.parse(quoted)
  } catch {
    return null
  }
}

/** The path of these names, in the form that `namesOfPath` reads. */
export function pathOfNames(names: readonly string[]): string {
  return names
    .map((name, i) => (/[.[\]"]/.test(name) ? `[${JSON.stringify(name)}]` : i === 0 ? name : `.${name}`))
    .join('')
}
