import { globSync, readFileSync } from 'node:fs'
import { type Block, blocksIn } from './blocks.ts'

/** All documents of the project. */
export const DOCUMENTS = globSync(['*.md', 'docs/**/*.md', 'helm/README.md']).sort()

/** A block of commands that its reader runs elsewhere: `sh`, and in the chart's document those that say nothing. */
export function shellBlocks(): { readonly document: string; readonly block: Block }[] {
  return DOCUMENTS.flatMap((document) =>
    blocksIn(readFileSync(document, 'utf8'))
      .filter(({ language }) => language === 'sh' || (language === '' && document === 'helm/README.md'))
      .map((block) => ({ document, block })),
  )
}

/** Lines as a shell takes them: without comments, and with those joined that end in a backslash. */
export function linesOf(text: string): string[] {
  const lines = text.replace(/\\\n\s*/g, '').split('\n')
  // Up to a "#" that begins a word, and is not in quotes.
  const code = /^(?:'[^']*'|"[^"]*"|[^'"#]|(?<=\S)#)*/
  return lines.map((line) => (code.exec(line)?.[0] ?? '').trimEnd()).filter((line) => line !== '')
}

/** The simple commands of a line, each as its words: cut at `&&`, `||`, `;`, `|` and `&`, without quotes and redirections. */
export function commandsOf(line: string): string[][] {
  const commands: string[][] = [[]]
  // A quoted text, a substitution of one level, an operator, a redirection with its file, or anything else that is no blank.
  const pattern = /((?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"|&;<>])+)|(&&|\|\||[;|&])|(\d?[<>]\s*[^\s;|&]+)/g
  for (const [, word, operator] of line.matchAll(pattern)) {
    if (operator !== undefined) commands.push([])
    else if (word !== undefined) commands.at(-1)?.push(word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))
  }
  return commands.filter((words) => words.length > 0)
}
