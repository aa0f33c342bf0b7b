/** Reads the text of a chart, in which white space and comments have no meaning. */
export interface Scanner {
  /** The next character; empty at the end. */
  peek(ahead?: number): string
  next(): string
  /** Takes the text if it comes next. */
  take(text: string): boolean
  /** Takes the text that matches here, which may be empty. The expression has to be sticky. */
  match(pattern: RegExp): RegExpExecArray | null
  /** Whether the expression, which has to be sticky, matches here. Takes nothing. */
  sees(pattern: RegExp): boolean
  /** Whether the next character is followed by a gap, such as the end of its line, or by nothing. */
  readonly isLastOfPiece: boolean
  readonly done: boolean
  /** The place of the next character in the file; at the end, the place after the last one. */
  readonly offset: number
  /** Texts that were skipped because they are no part of the notation, in the order of the text. */
  readonly strays: readonly Stray[]
}

/** Text of a chart that is no part of the notation at its place. */
export interface Stray {
  readonly offset: number
  readonly text: string
}

/** @param start offset of `text` in its file */
export function createScanner(text: string, start: number): Scanner {
  const { code, offsets, strays } = compact(text)
  let at = 0
  return {
    peek: (ahead = 0) => code[at + ahead] ?? '',
    next: () => code[at++] ?? '',
    take(expected) {
      const found = code.startsWith(expected, at)
      if (found) at += expected.length
      return found
    },
    match(pattern) {
      pattern.lastIndex = at
      const found = pattern.exec(code)
      at += found?.[0].length ?? 0
      return found
    },
    sees(pattern) {
      pattern.lastIndex = at
      return pattern.test(code)
    },
    get isLastOfPiece() {
      return offsets[at + 1] !== (offsets[at] ?? 0) + 1
    },
    get done() {
      return at >= code.length
    },
    get offset() {
      return start + (offsets[at] ?? text.trimEnd().length)
    },
    strays: strays.map((stray) => ({ ...stray, offset: start + stray.offset })),
  }
}

/** The brackets in which numbers stand. No bracket holds another one, a comma, / or a backtick. */
const INSIDE = '[^()[\\]{}<>,/`]*'
export const BRACKETS = {
  round: `\\((${INSIDE})\\)`,
  curly: `\\{(${INSIDE})\\}`,
  square: `\\[(${INSIDE})\\]`,
  scroll: `<HS\\*(${INSIDE})>`,
} as const

const NOTATION = '[0-9A-EHSbfhpqsvVwxz$@?!^<>*/,`()[\\]{}#:.-]+'
const LONE_BAR_LINE = '^[^\\S\\r\\n]*\\|(?!\\|)[^,\\r\\n]*$'
const PIECE = new RegExp(`(?<comment>\\|\\|[^\\r\\n]*)|${LONE_BAR_LINE}|(?<code>${NOTATION})|\\||[^\\s|]`, 'gmu')
const OUTSIDE = new RegExp(`${Object.values(BRACKETS).join('|')}|(?<stray>[#:.HS]+)`, 'g')

interface Text {
  readonly code: string
  /** The place of each character of the code. */
  readonly offsets: Uint32Array
}

/** The text without white space, comments and everything that is no part of the notation. */
function compact(text: string): Text & { strays: Stray[] } {
  const strays: Stray[] = []
  const offsets = new Uint32Array(text.length)
  let code = ''
  for (const { index, 0: piece, groups } of text.matchAll(PIECE)) {
    if (groups?.comment !== undefined) continue
    if (groups?.code === undefined) {
      addStray(strays, { offset: index + piece.search(/\S/), text: piece.trim() })
      continue
    }
    for (let i = 0; i < piece.length; i++) offsets[code.length + i] = index + i
    code += piece
  }
  return withoutLoose({ code, offsets }, strays)
}

/** Joins strays that are neighbours. */
function addStray(strays: Stray[], stray: Stray): void {
  const last = strays.at(-1)
  if (last !== undefined && last.offset + last.text.length === stray.offset) {
    strays[strays.length - 1] = { offset: last.offset, text: last.text + stray.text }
  } else strays.push(stray)
}

/** Removes characters that belong in brackets and stand outside. */
function withoutLoose({ code, offsets }: Text, strays: Stray[]): Text & { strays: Stray[] } {
  const kept = new Uint32Array(code.length)
  let rest = ''
  let from = 0
  const keep = (to: number) => {
    kept.set(offsets.subarray(from, to), rest.length)
    rest += code.slice(from, to)
  }
  for (const { index, 0: found, groups } of code.matchAll(OUTSIDE)) {
    if (groups?.stray === undefined) continue
    keep(index)
    from = index + found.length
    strays.push({ offset: offsets[index] ?? 0, text: found })
  }
  keep(code.length)
  return { code: rest, offsets: kept.subarray(0, rest.length), strays: strays.toSorted((a, b) => a.offset - b.offset) }
}
