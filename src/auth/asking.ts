import type { IncomingMessage } from 'node:http'

/** What a request says of who asks. */
export interface Asking {
  readonly req: Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'url' | 'method'> &
    Partial<Pick<IncomingMessage, 'socket'>>
  /** `null` for an upgrade. */
  readonly res: object | null
  /** The peer, as the socket has it. */
  readonly client: { readonly address: string }
}

/** The values of a field, one for each line: Node joins them, or keeps the first. @param lower its name in lower case */
export function linesOf({ req: { rawHeaders } }: Asking, lower: string): string[] {
  const lines: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === lower.length && name.toLowerCase() === lower) lines.push(rawHeaders[i + 1] as string)
  }
  return lines
}

export function queryOf({ req: { url = '' } }: Asking): string {
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark)
}
