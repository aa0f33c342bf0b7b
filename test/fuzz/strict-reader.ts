/**
 * A reader of HTTP/1.1 requests that takes RFC 9112 by the letter and knows no mercy: written for the tests alone, and
 * sharing nothing with the gateway or Node, so that it can judge both what a client sent and what the upstream got.
 */
export interface StrictRequest {
  readonly method: string
  readonly target: string
  /** Names in lower case. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Latin-1, without the framing of its chunks. */
  readonly body: string
}

export type Reading =
  | { readonly kind: 'request'; readonly request: StrictRequest; readonly end: number }
  /** More bytes are needed; `head` where the request line and the fields are complete. */
  | { readonly kind: 'incomplete'; readonly head: boolean }
  | { readonly kind: 'violation'; readonly why: string }

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t -~\x80-\xff]*$/
// More than one space is let pass and written anew.
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) +([!-~]+) +HTTP\/1\.([01])$/

/** @param text latin-1 @param at where a request should begin */
export function readRequest(text: string, at = 0): Reading {
  let start = at
  // RFC 9112, 2.2: a server should ignore an empty line before a request. Node ignores CR and LF there one by one, as
  // nginx does; nothing can hide in them.
  while (text[start] === '\r' || text[start] === '\n') start++
  const headEnd = text.indexOf('\r\n\r\n', start)
  if (headEnd < 0) return incomplete(false)
  const [first = '', ...lines] = text.slice(start, headEnd).split('\r\n')
  const line = LINE.exec(first)
  if (line === null) return violation(`request line ${JSON.stringify(first)}`)
  const fields: [string, string][] = []
  for (const each of lines) {
    const field = readField(each)
    if (field === null) return violation(`field ${JSON.stringify(each)}`)
    fields.push(field)
  }
  const [, method = '', target = '', minor = ''] = line
  return readBody(text, headEnd + 4, { method, target, fields, body: '' }, minor)
}

function readField(line: string): [string, string] | null {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(0, colon))
  const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
  return TOKEN.test(name) && VALUE.test(value) ? [name.toLowerCase(), value] : null
}

function readBody(text: string, at: number, head: StrictRequest, minor: string): Reading {
  const of = (wanted: string): string[] => head.fields.filter(([name]) => name === wanted).map(([, value]) => value)
  const [lengths, codings] = [of('content-length'), of('transfer-encoding')]
  if (of('host').length > 1 || (of('host').length === 0 && minor === '1')) return violation('Host')
  if (lengths.length + codings.length > 1) return violation('two ways to find the end of the body')
  if (codings[0] !== undefined) {
    if (codings[0].toLowerCase() !== 'chunked' || minor === '0') return violation(`coding ${codings[0]}`)
    return readChunks(text, at, head)
  }
  const length = lengths[0] ?? '0'
  if (!/^[0-9]{1,15}$/.test(length)) return violation(`length ${length}`)
  const end = at + Number(length)
  if (text.length < end) return incomplete(true)
  return { kind: 'request', request: { ...head, body: text.slice(at, end) }, end }
}

/** No blank stands behind the size. */
const CHUNK = /^([0-9A-Fa-f]{1,12})((?:;[\t -~\x80-\xff]*)?)$/

function readChunks(text: string, start: number, head: StrictRequest): Reading {
  let [at, body] = [start, '']
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return incomplete(true)
    const size = CHUNK.exec(text.slice(at, lineEnd))
    if (size === null) return violation(`chunk ${JSON.stringify(text.slice(at, lineEnd))}`)
    const length = Number.parseInt(size[1] ?? '', 16)
    at = lineEnd + 2
    if (length === 0) return readTrailers(text, at, { ...head, body })
    if (text.length < at + length + 2) return incomplete(true)
    body += text.slice(at, at + length)
    at += length
    if (!text.startsWith('\r\n', at)) return violation('no line break behind a chunk')
    at += 2
  }
}

function readTrailers(text: string, start: number, request: StrictRequest): Reading {
  let at = start
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return incomplete(true)
    if (lineEnd === at) return { kind: 'request', request, end: at + 2 }
    if (readField(text.slice(at, lineEnd)) === null) return violation('trailer')
    at = lineEnd + 2
  }
}

/** All requests from the beginning, until there is no more or one that is none. */
export function readRequests(text: string): StrictRequest[] {
  const requests: StrictRequest[] = []
  for (let at = 0; ; ) {
    const reading = readRequest(text, at)
    if (reading.kind !== 'request') return requests
    requests.push(reading.request)
    at = reading.end
  }
}

function incomplete(head: boolean): Reading {
  return { kind: 'incomplete', head }
}

function violation(why: string): Reading {
  return { kind: 'violation', why }
}
