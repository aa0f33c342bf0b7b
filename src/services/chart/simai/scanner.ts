/** Reads the text of a chart, in which white space and comments mean nothing. */
export interface Scanner {
  /** The next character; empty at the end. */
  peek(ahead?: number): string
  next(): string
  /** Takes the text where it comes next. */
  take(text: string): boolean
  /** What matches here, which may be nothing; the expression has to be sticky. */
  match(pattern: RegExp): RegExpExecArray | null
  /** Goes to the next of these characters, or to the end. */
  skipTo(characters: string): void
  readonly done: boolean
  /** Of the next character in the file; at the end, the one behind the last. */
  readonly offset: number
}

/** @param start offset of `text` in its file */
export function createScanner(text: string, start: number): Scanner {
  const { code, offsets } = compact(text)
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
    skipTo(characters) {
      while (at < code.length && !characters.includes(code[at] ?? '')) at++
    },
    get done() {
      return at >= code.length
    },
    get offset() {
      return start + (offsets[at] ?? text.trimEnd().length)
    },
  }
}

/** The text without white space and comments (`||` to the end of the line), and where each character stood. */
function compact(text: string): { code: string; offsets: Uint32Array } {
  const offsets = new Uint32Array(text.length)
  let code = ''
  for (const { index, 0: piece } of text.matchAll(/[^\s|]+|\|\|[^\r\n]*|\|/g)) {
    if (piece.startsWith('||')) continue
    for (let i = 0; i < piece.length; i++) offsets[code.length + i] = index + i
    code += piece
  }
  return { code, offsets: offsets.subarray(0, code.length) }
}
