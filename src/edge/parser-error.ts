import { type Denial, denial } from '../errors.ts'
import { targetTooLong } from './denials.ts'
import { versionNotSupported } from './head-rules.ts'
import { MAX_FIELDS, tooManyFields } from './header-rules.ts'

/** Nothing can be said on it any more. */
export function isBroken({ code = '' }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code.startsWith('ERR_SSL')
}

export interface ParserError extends NodeJS.ErrnoException {
  /** What the parser says beside the code. */
  readonly reason?: string
  /** The piece in which it found the fault. */
  readonly rawPacket?: Buffer
  /** How many bytes of that piece were good. */
  readonly bytesParsed?: number
}

/** In bytes. */
export interface HeadBounds {
  readonly maxUrl: number
  /** Of target and fields together: the parser takes fewer. */
  readonly maxHeaderSize: number
}

/** Node's parser and limits, in the contract's words. */
export function parserDenial(error: ParserError, { maxUrl, maxHeaderSize }: HeadBounds): Denial {
  const { code, reason, rawPacket } = error
  // As in the plan of a request the length counts first, before what the target consists of.
  const isOfTarget = code === 'HPE_HEADER_OVERFLOW' || code === 'HPE_INVALID_URL'
  if (isOfTarget && beginsTooLong(rawPacket, maxUrl)) return targetTooLong(maxUrl)
  if (code === 'HPE_HEADER_OVERFLOW') {
    if (hasTooManyFields(rawPacket)) return tooManyFields()
    const msg = `The target and header fields of this request must together have less than ${maxHeaderSize} bytes, and at most ${MAX_FIELDS} fields.`
    return denial('headers_too_large', msg, { reason: 'longer than edge.max_header_size' })
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return denial('request_timeout', 'The head of this request came too slowly.', {
      reason: 'the head came too slowly',
    })
  }
  // In the form of a version, and none that the parser knows, HTTP/1.2 too; anything else in its place is malformed.
  if (reason === 'Invalid HTTP version') return versionNotSupported()
  if (code === 'HPE_PAUSED_H2_UPGRADE') {
    return denial('bad_request', 'This request is HTTP/2, and HTTP/1.1 is spoken here.', { reason: 'HTTP/2' })
  }
  if (isProxyPreface(rawPacket)) {
    const msg = 'This connection begins with PROXY protocol, which is not taken from this address.'
    return denial('bad_request', msg, { reason: 'it begins with PROXY protocol (edge.proxy_protocol)' })
  }
  const method = code === 'HPE_INVALID_METHOD' ? unknownMethodIn(error) : null
  if (method !== null) return notImplemented(method)
  // The parser has these words of its own: nothing that the client sent is among them.
  return denial('bad_request', 'This request is not valid HTTP/1.1.', { reason: reason ?? code ?? 'not HTTP' })
}

export function notImplemented(method: string): Denial {
  const msg = `The method ${method} is not implemented.`
  return denial('not_implemented', msg, { reason: 'a method that the parser does not know' })
}

/** In octets. The longest that is registered has 16. */
const LONGEST_METHOD = 40
const REQUEST_LINE = /^([\w!#$%&'*+.^`|~-]+) [!-~]+ HTTP\/1\.[01]\r?\n/

/**
 * The method of a request line that is valid but for it: nothing else of the request is read, and its connection ends.
 * @returns `null` for any other line, and for one that did not come as a whole
 */
function unknownMethodIn({ rawPacket, bytesParsed = 0 }: ParserError): string | null {
  const text = rawPacket?.toString('latin1') ?? ''
  const begin = bytesParsed === 0 ? 0 : text.lastIndexOf('\n', bytesParsed - 1) + 1
  const method = REQUEST_LINE.exec(text.slice(begin))?.[1]
  return method !== undefined && method.length <= LONGEST_METHOD ? method : null
}

/** Whether a piece begins with a request line whose target alone is longer than targets may be. */
function beginsTooLong(piece: Buffer | undefined, maxUrl: number): boolean {
  const target = /^[A-Z-]+ (\/[^ \r\n]*)/.exec(piece?.toString('latin1') ?? '')?.[1]
  return target !== undefined && target.length > maxUrl
}

/** Whether a piece has more lines than a head may have fields. The parser stops at the count, and calls that by the same code. */
function hasTooManyFields(piece: Buffer | undefined): boolean {
  let lines = 0
  for (let at = piece?.indexOf('\n') ?? -1; at !== -1 && lines <= MAX_FIELDS; at = piece?.indexOf('\n', at + 1) ?? -1)
    lines++
  return lines > MAX_FIELDS
}

/** Version 1 is a line of text, version 2 begins with line ends and a NUL. */
function isProxyPreface(piece: Buffer | undefined): boolean {
  return /^(?:PROXY |\r\n\r\n\0\r\nQUIT\n)/.test(piece?.toString('latin1', 0, 12) ?? '')
}

/**
 * Whether the parser stopped at a blank in the line that begins a chunk. Behind a size it is malformed, and beside `;` and `=` of an
 * extension it is not (RFC 9112 section 7.1.1): the parser takes neither.
 */
export function isBlankInChunkLine({ reason = '', rawPacket, bytesParsed = 0 }: ParserError): boolean {
  // Behind a quoted value it has not gone on to the byte (26.10).
  const stopped = rawPacket?.[reason.endsWith('quote value') ? bytesParsed : bytesParsed - 1]
  return reason.startsWith('Invalid character in chunk ') && (stopped === 0x20 || stopped === 0x09)
}

/** The method of the last request line in the piece in which the parser found the fault; `null` if it has none. */
export function methodIn({ rawPacket }: ParserError): string | null {
  const lines = rawPacket?.toString('latin1').matchAll(/(?:^|\r\n\r\n)([A-Z-]+) /g) ?? []
  return [...lines].at(-1)?.[1] ?? null
}

/** The origin of the page that asks, as far as the piece shows it in which the parser found the fault. */
export function originIn({ rawPacket }: ParserError): string | undefined {
  const [head = ''] = rawPacket?.toString('latin1').split('\r\n\r\n', 1) ?? []
  const origins = [...head.matchAll(/\r\norigin:[\t ]*([!-~]+)[\t ]*(?=\r\n|$)/gi)]
  return origins.length === 1 ? origins[0]?.[1] : undefined
}
