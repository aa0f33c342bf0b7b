import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import { lineOf } from '../lib/field-names.ts'

/** The properties in which Node's response keeps its head, until the head leaves together with the first piece of the body. */
interface Internals {
  _header: string | null
  _keepAliveTimeout: number
}

interface StatusLine {
  readonly status: number
  readonly phrase?: string | null
}

/** Whether Node's response keeps its head there. If it does not, all responses are sent the usual way. */
const KNOWN = '_header' in new ServerResponse({ method: 'GET' } as IncomingMessage)

/**
 * Sends a whole response at once: head, body and end in one write.
 *
 * Node's `writeHead` checks each name and value, and searches each for what it says of the connection. Here the names and values are
 * checked already, and the connection is known. That saves 6 % of an accepted request (docs/contributing/decisions/given-back.md). The
 * bytes are the same, which a test verifies. Any unusual case goes Node's way (read in Node 26.10).
 *
 * @param phrase by default, and for `null`, the usual one of the status; checked as headers are
 * @param headers raw and already checked; with a Content-Length, without Transfer-Encoding and, but for a 426, without Connection
 * @param body octets, as a text in latin1; at least one
 */
export function sendWhole(res: ServerResponse, line: StatusLine, headers: readonly string[], body: string): void {
  if (isUsual(res, line.status)) setHead(res, line.status, textOf(line, headers))
  else res.writeHead(line.status, line.phrase ?? undefined, [...headers])
  res.end(body, 'latin1')
}

/**
 * Sends a whole response like `sendWhole`, from finished field lines. Each has its line end before it, and there is no Date among them.
 * @returns `false` for an unusual case: then nothing is sent
 */
export function sendLines(res: ServerResponse, status: number, lines: string, body: string): boolean {
  if (!isUsual(res, status)) return false
  setHead(res, status, usualLine(status) + lines + dateLine())
  res.end(body, 'latin1')
  return true
}

function isUsual({ req, shouldKeepAlive }: ServerResponse, status: number): boolean {
  if (!KNOWN || !shouldKeepAlive || req.httpVersion !== '1.1' || req.method === 'HEAD') return false
  return status >= 200 && status !== 204 && status !== 304 && status !== 426 && req.headers.expect === undefined
}

function textOf({ status, phrase }: StatusLine, headers: readonly string[]): string {
  let text = phrase == null ? usualLine(status) : `HTTP/1.1 ${status} ${phrase}`
  let isDated = false
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    text += lineOf(name) + (headers[i + 1] as string)
    isDated ||= name.length === 4 && name.toLowerCase() === 'date'
  }
  return isDated ? text : text + dateLine()
}

function setHead(res: ServerResponse, status: number, text: string): void {
  const internals = res as unknown as Internals
  res.statusCode = status
  internals._header = text + endFor(internals._keepAliveTimeout)
}

/** Made once for each status. */
const statusLines: string[] = []

function usualLine(status: number): string {
  statusLines[status] ??= `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}`
  return statusLines[status]
}

let [second, date] = [0, '']

/** The Date in the form of RFC 9110, section 5.6.7. The line is made at most once a second. */
function dateLine(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    date = `\r\nDate: ${new Date(now * 1000).toUTCString()}`
  }
  return date
}

let [keepAliveMs, end] = [-1, '']

/** The last lines of a head. They are made anew when they change, which happens with the number of connections. */
function endFor(ms: number): string {
  if (ms !== keepAliveMs) {
    keepAliveMs = ms
    end = `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(ms / 1000)}\r\n\r\n`
  }
  return end
}
