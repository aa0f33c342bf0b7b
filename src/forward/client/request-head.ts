/** Methods whose requests usually have a body: a length of 0 says that one has none (RFC 9110 section 8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

/** How the body of a request is told to the backend. */
export type BodyFraming = { readonly length: number | string } | 'chunked' | 'none'

export interface RequestParts {
  readonly method: string
  readonly target: string
  /** Of the Host field. */
  readonly host: string
  /** The other fields, raw. */
  readonly headers: readonly string[]
  readonly framing: BodyFraming
  /** Whether nothing comes after it on its connection. */
  readonly last: boolean
}

/** The first bytes of a request, in latin1: request line, fields, empty line. */
export function requestHead({ method, target, host, headers, framing, last }: RequestParts): string {
  const connection = last ? 'close' : 'keep-alive'
  let text = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${connection}`
  for (let i = 0; i < headers.length; i += 2) text += `\r\n${headers[i]}: ${headers[i + 1]}`
  if (framing === 'chunked') text += '\r\nTransfer-Encoding: chunked'
  else if (framing !== 'none') text += `\r\nContent-Length: ${framing.length}`
  else if (WITH_BODY.has(method)) text += '\r\nContent-Length: 0'
  return `${text}\r\n\r\n`
}
