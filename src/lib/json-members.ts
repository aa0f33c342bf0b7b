/** A member of a JSON object, as written: duplicates are kept, and so is the text of the value. */
export interface Member {
  /** The key with its escapes decoded. */
  readonly key: string
  /** The text of the value without surrounding white space: `2`, `2.0`, `"2"`, `{"a":1}`. */
  readonly value: string
}

/**
 * The members of the outermost object in the order of the text. `JSON.parse` hides them: it keeps the last of
 * several equal keys, where other parsers keep the first, and it loses the spelling of numbers.
 *
 * @param text valid JSON whose value is an object; for anything else the result has no meaning
 * @param most the most members that are read
 */
export function topLevelMembers(text: string, most = Number.POSITIVE_INFINITY): Member[] {
  const members: Member[] = []
  let at = skipSpace(text, skipSpace(text, 0) + 1)
  while (text[at] === '"' && members.length < most) {
    const keyEnd = endOfString(text, at)
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, start)
    members.push({ key: keyOf(text.slice(at, keyEnd)), value: text.slice(start, end) })
    // This is the place after the comma, or the end of the object.
    at = skipSpace(text, skipSpace(text, end) + 1)
  }
  return members
}

/**
 * The texts of the elements of an array in their order.
 * @param text valid JSON whose value is an array; for anything else the result has no meaning, but the function ends
 * @param most the most elements that are read
 */
export function topLevelElements(text: string, most = Number.POSITIVE_INFINITY): string[] {
  const elements: string[] = []
  for (let at = firstElement(text); at !== -1 && elements.length < most; ) {
    const end = endOfValue(text, at)
    elements.push(text.slice(at, end))
    at = nextElement(text, end)
  }
  return elements
}

/** How many elements an array has, without making a text for each. @param text as for `topLevelElements` */
export function elementCount(text: string): number {
  let count = 0
  for (let at = firstElement(text); at !== -1; at = nextElement(text, endOfValue(text, at))) count++
  return count
}

function firstElement(text: string): number {
  const at = skipSpace(text, skipSpace(text, 0) + 1)
  return at >= text.length || text[at] === ']' ? -1 : at
}

/** @returns the place of the next element, -1 after the last */
function nextElement(text: string, end: number): number {
  const comma = skipSpace(text, end)
  return text[comma] === ',' ? skipSpace(text, comma + 1) : -1
}

function keyOf(quoted: string): string {
  return quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
}

function skipSpace(text: string, at: number): number {
  let i = at
  while (isSpace(text[i])) i++
  return i
}

/** The white space of RFC 8259, which is less than that of `\s`. */
function isSpace(char: string | undefined): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t'
}

function endOfString(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && text[i] !== '"') i += text[i] === '\\' ? 2 : 1
  return i + 1
}

function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfString(text, start)
  return first === '{' || first === '[' ? endOfNested(text, start) : endOfScalar(text, start)
}

/** Counts brackets instead of recursing: a body may nest as deep as it is long. */
function endOfNested(text: string, start: number): number {
  let depth = 0
  let i = start
  do {
    const char = text[i]
    if (char === '"') i = endOfString(text, i) - 1
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    i++
  } while (depth > 0 && i < text.length)
  return i
}

function endOfScalar(text: string, start: number): number {
  let i = start
  while (i < text.length && text[i] !== ',' && text[i] !== '}' && text[i] !== ']' && !isSpace(text[i])) i++
  return i
}
