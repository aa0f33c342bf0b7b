import { lineOf } from '../../lib/field-names.ts'
import type { OutgoingRequest } from './contract.ts'

/** Methods whose requests usually have a body. A length of 0 says that there is none (RFC 9110 section 8.6). */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH'])

const BEFORE_HOST = ' HTTP/1.1\r\nHost: '
const [CLOSE, KEEP_ALIVE] = ['\r\nConnection: close', '\r\nConnection: keep-alive']

/** The first bytes of a request in latin1: request line, fields and empty line. */
export function requestHead({ method, target, host, headers, body, last }: OutgoingRequest): string {
  let text = `${method} ${target}${BEFORE_HOST}${host}`
  text += last ? CLOSE : KEEP_ALIVE
  for (let i = 0; i < headers.length; i += 2) text += lineOf(headers[i] as string) + (headers[i + 1] as string)
  if (body === 'chunked') text += '\r\nTransfer-Encoding: chunked'
  else if (body !== null) text += `\r\nContent-Length: ${body.length}`
  else if (WITH_BODY.has(method)) text += '\r\nContent-Length: 0'
  return `${text}\r\n\r\n`
}
