/** Where a text is no valid JSON, and how to mend it; `null` for valid JSON. */
export function jsonFault(text: string): string | null {
  if (isJson(text)) return null
  const end = brokenAt(text)
  const before = text.slice(0, end).split('\n')
  const place = `line ${before.length}, column ${Math.max(1, before.at(-1)?.length ?? 1)}`
  const cure = canGoOn(text) ? 'it ends too early: close what is open' : 'check commas, quotes and brackets there'
  return `${place}: is not valid JSON: ${cure}`
}

/** The dotted path of the first member that a text of JSON has twice in one object. `JSON.parse` keeps only the last of them. */
export function memberNamedTwice(text: string): string | null {
  const open: { readonly names: Set<string>; last: string | null }[] = []
  for (const [token, name] of text.matchAll(NAMES_AND_BRACKETS)) {
    const inner = open.at(-1)
    if (token === '{' || token === '[') open.push({ names: new Set(), last: null })
    else if (token === '}' || token === ']') open.pop()
    else if (name !== undefined && inner !== undefined) {
      inner.last = JSON.parse(name) as string
      if (inner.names.has(inner.last)) return open.flatMap(({ last }) => last ?? []).join('.')
      inner.names.add(inner.last)
    }
  }
  return null
}

/** For a text that is JSON. Strings that are no names are matched too, so that their contents are skipped. */
const NAMES_AND_BRACKETS = /("(?:\\.|[^"\\])*")\s*:|"(?:\\.|[^"\\])*"|[{}[\]]/g

/** Whether a text is one value of JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** V8 names a place for some errors only. @returns the length of the shortest beginning that no continuation makes valid */
function brokenAt(text: string): number {
  let [whole, broken] = [0, text.length]
  while (broken - whole > 1) {
    const middle = Math.floor((whole + broken) / 2)
    if (canGoOn(text.slice(0, middle))) whole = middle
    else broken = middle
  }
  return broken
}

function canGoOn(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as SyntaxError
    const [, position] = /at position (\d+)/.exec(message) ?? []
    return position === undefined ? message.includes('end of JSON input') : Number(position) >= text.length
  }
}
