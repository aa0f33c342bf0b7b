import { withFields } from './field-lines.ts'
import type { OutgoingHead } from './headers.ts'

/** Methods whose requests usually have a body: a length of 0 says that one has none (RFC 9110 section 8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

/** How the body of a request is told to the backend. */
export type BodyFraming = { readonly length: number | string } | 'chunked' | 'none'

/**
 * The first bytes of a request, in latin1: request line, fields, empty line.
 * @param last whether nothing comes after it on its connection
 */
export function requestHead(
  method: string,
  target: string,
  host: string,
  { headers }: OutgoingHead,
  framing: BodyFraming,
  last: boolean,
): string {
  const connection = last ? 'close' : 'keep-alive'
  let text = withFields(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}`, headers)
  if (framing === 'chunked') text += '\r\nTransfer-Encoding: chunked'
  else if (framing !== 'none') text += `\r\nContent-Length: ${framing.length}`
  else if (WITH_BODY.has(method)) text += '\r\nContent-Length: 0'
  return `${text}\r\n\r\n`
}
