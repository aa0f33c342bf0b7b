/** A fenced block of a Markdown document. */
export interface Block {
  /** `console`, `sh`, `yaml`, …; empty where the fence says nothing. */
  readonly language: string
  /** The second word of the fence: the file that the block is the content of. */
  readonly file: string | null
  readonly text: string
  /** Of its first line. */
  readonly line: number
}

export function blocksIn(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\S*)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', file = null, text = ''], i, all) => ({
      language,
      file,
      text,
      line: markdown.slice(0, all[i]?.index).split('\n').length + 1,
    }),
  )
}
