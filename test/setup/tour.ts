/** A command of a `console` block of a document, and what the document says it prints. */
export interface Command {
  readonly command: string
  readonly output: string
}

/** All commands of the `console` blocks of a Markdown text, in order. */
export function commandsIn(markdown: string): Command[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, block]) => block ?? '')
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const end = part.indexOf('\n')
        return { command: part.slice(0, end), output: part.slice(end + 1) }
      }),
  )
}

/** What differs from one run to the next, each kind by one word. */
export function withoutTheAccidental(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'LOCAL-TIME')
    .replace(/"retryAfterSeconds":3[56]\d\d/g, '"retryAfterSeconds":ALMOST-AN-HOUR')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replace(/gw_[0-9A-Za-z]{38}/g, 'TOKEN')
    .replace(/forgotten-[0-9a-f]{12}/g, 'ALIAS')
}
