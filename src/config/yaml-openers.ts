import { quote } from './problems.ts'

/** The beginning of a mistake in YAML. The parser reports the place where it cannot go on, which is often lines below. */
export interface Opening {
  /** The position in the text. */
  readonly at: number
  /** The problem and the cure. */
  readonly message: string
  /** Whether an unclosed bracket or quote begins the mistake; otherwise a variable without quotes does. */
  readonly isUnclosed: boolean
}

const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}' }
const VARIABLE = /\$\{[^}\n]*\}?/y

/**
 * Finds the bracket or quote that is open at the parser's first error, or a variable in braces without quotes.
 * @param until position of that error
 * @returns `null` if the error is another one
 */
export function openingBefore(text: string, until: number): Opening | null {
  const brackets: number[] = []
  /** Whether a value may begin here. A bracket or a quote within a text belongs to the text. */
  let isStart = true
  let at = 0
  while (at < until) {
    const char = text[at] as string
    const isInside = brackets.length > 0
    if (char === '#' && (at === 0 || /\s/.test(text[at - 1] as string))) at = endOfLine(text, at)
    else if (isInside && text.startsWith('${', at)) return unquotedVariable(text, at)
    else if (isStart && (char === '"' || char === "'")) {
      const end = endOfQuote(text, at)
      if (end === null || end >= until) return { at, message: UNCLOSED_QUOTE(char), isUnclosed: true }
      at = end + 1
      isStart = false
    } else {
      if (char in CLOSING && (isInside || isStart)) brackets.push(at)
      else if (isInside && (char === ']' || char === '}')) {
        const opener = brackets.pop() as number
        if (CLOSING[text[opener] as string] !== char) return unclosedBracket(text, opener)
      }
      isStart = mayBeginBehind(text, at, { isInside, was: isStart })
      at++
    }
  }
  const last = brackets.at(-1)
  return last === undefined ? null : unclosedBracket(text, last)
}

function mayBeginBehind(text: string, at: number, { isInside, was }: { isInside: boolean; was: boolean }): boolean {
  const char = text[at] as string
  if (char === '\n') return true
  if (/\s/.test(char)) return was
  if (char in CLOSING) return isInside || was
  if (char === ',') return isInside
  return (char === ':' || (was && (char === '-' || char === '?'))) && /\s/.test(text[at + 1] ?? '\n')
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end
}

/** The position of the closing quote; `null` if there is none. */
function endOfQuote(text: string, at: number): number | null {
  const inside = text[at] === '"' ? /(?:\\[\s\S]|[^"\\])*"/y : /(?:''|[^'])*'(?!')/y
  inside.lastIndex = at + 1
  return inside.test(text) ? inside.lastIndex - 1 : null
}

const UNCLOSED_QUOTE = (mark: string): string =>
  `the quote ${mark} is opened here and not closed: write a second ${mark} behind the value`

function unclosedBracket(text: string, at: number): Opening {
  const opener = text[at] as string
  return {
    at,
    message: `"${opener}" is opened here and not closed: write "${CLOSING[opener]}" behind the last value`,
    isUnclosed: true,
  }
}

function unquotedVariable(text: string, at: number): Opening {
  VARIABLE.lastIndex = at
  const [written = ''] = VARIABLE.exec(text) ?? []
  return {
    at,
    message: `${written} inside { } or [ ] must be quoted, as YAML takes its braces for its own: write ${quote(written)}`,
    isUnclosed: false,
  }
}
