/** What a page in Markdown says to a reader, taken apart: no code, no addresses of links. */
export interface Prose {
  readonly sentences: readonly string[]
  /** Cells of tables. */
  readonly cells: readonly string[]
}

export function proseOf(markdown: string): Prose {
  const text = plain(markdown)
  const lines = text.split('\n')
  const rows = lines.filter((line) => isRow(line) && !/^[\s|:-]+$/.test(line))
  const cells = rows.flatMap((row) => row.replaceAll('\\|', '').split('|').slice(1, -1)).map((cell) => cell.trim())
  const paragraphs = lines
    .map((line) => (isRow(line) || line.startsWith('#') ? '' : line.replace(/^\s*([-*]|\d+\.)\s/, '\n')))
    .join('\n')
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll('\n', ' ').trim())
  return { cells, sentences: [...paragraphs, ...cells].flatMap(sentencesOf) }
}

export function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

const isRow = (line: string) => /^\s*\|/.test(line)

function plain(markdown: string): string {
  return markdown
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/<[^>]+>/g, '')
    .replace(/`[^`]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
}

function sentencesOf(paragraph: string): string[] {
  return paragraph.split(/(?<=[.!?]["')*\]]*)\s+(?=\[|["*(]*[\p{Lu}\p{N}]|code)/u)
}
