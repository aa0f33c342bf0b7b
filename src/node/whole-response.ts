import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'

/** What Node's response keeps its head in, until the head leaves together with the first piece of the body. */
interface Internals {
  _header: string | null
  _keepAliveTimeout: number
}

interface StatusLine {
  readonly status: number
  readonly phrase?: string | null
}

/** A Node that keeps its head elsewhere gets the usual way. */
const KNOWN = '_header' in new ServerResponse({ method: 'GET' } as IncomingMessage)

/**
 * Sends a response that is there as a whole: head, body and end in one write.
 *
 * Node's `writeHead` checks each name and value, and looks in each for what it says of the connection. Here the first is done and
 * the second known. It is 6 % of an accepted request (docs/decisions/given-back.md). The bytes are the same, which a test holds on
 * to. What is not the usual case goes Node's way (looked at in Node 26.10).
 *
 * @param phrase by default, and for `null`, the usual one of the status; checked as headers are
 * @param headers raw; with a Content-Length, without Transfer-Encoding and, but for a 426, Connection; checked by whoever read or made them
 * @param body octets, as a text in latin1; at least one
 */
export function sendWhole(res: ServerResponse, line: StatusLine, headers: readonly string[], body: string): void {
  if (isUsual(res, line.status)) setHead(res, line, headers)
  else res.writeHead(line.status, line.phrase ?? undefined, [...headers])
  res.end(body, 'latin1')
}

function isUsual({ req, shouldKeepAlive }: ServerResponse, status: number): boolean {
  if (!KNOWN || !shouldKeepAlive || req.httpVersion !== '1.1' || req.method === 'HEAD') return false
  return status >= 200 && status !== 204 && status !== 304 && status !== 426 && req.headers.expect === undefined
}

function setHead(res: ServerResponse, { status, phrase }: StatusLine, headers: readonly string[]): void {
  const internals = res as unknown as Internals
  let text = `HTTP/1.1 ${status} ${phrase ?? STATUS_CODES[status] ?? 'unknown'}`
  let isDated = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    text += `\r\n${name}: ${headers[i + 1]}`
    isDated ||= name.length === 4 && name.toLowerCase() === 'date'
  }
  if (!isDated) text += `\r\nDate: ${httpDate()}`
  const seconds = Math.floor(internals._keepAliveTimeout / 1000)
  res.statusCode = status
  internals._header = `${text}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`
}

let second = 0
let date = ''

/** RFC 9110, section 5.6.7; made once a second. */
function httpDate(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    date = new Date(now * 1000).toUTCString()
  }
  return date
}
