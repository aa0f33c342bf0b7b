import { type Denial, denial } from '../errors.ts'
import { targetTooLong } from './denials.ts'
import { versionNotSupported } from './head-rules.ts'
import { MAX_FIELDS, tooManyFields } from './header-rules.ts'

/** Whether the connection is broken, so that nothing can be sent on it. */
export function isBroken({ code = '' }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code.startsWith('ERR_SSL')
}

export interface ParserError extends NodeJS.ErrnoException {
  /** What the parser says besides the code. */
  readonly reason?: string
  /** The piece in which the parser found the fault. */
  readonly rawPacket?: Buffer
  /** How many bytes of the piece were good. */
  readonly bytesParsed?: number
}

/** In bytes. */
export interface HeadBounds {
  readonly maxUrl: number
  /** The limit of target and fields together. The parser accepts fewer bytes than this. */
  readonly maxHeaderSize: number
}

/** Translates errors of Node's parser and limits into denials of the contract. */
export function parserDenial(error: ParserError, { maxUrl, maxHeaderSize }: HeadBounds): Denial {
  const { code, reason, rawPacket } = error
  // As in the plan of a request, the length is checked before the content of the target.
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
  // The version has the right form, but the parser does not know it, as HTTP/1.2. Any other text in its place is malformed.
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
  // These words come from the parser, and contain nothing that the client sent.
  return denial('bad_request', 'This request is not valid HTTP/1.1.', { reason: reason ?? code ?? 'not HTTP' })
}

export function notImplemented(method: string): Denial {
  const msg = `The method ${method} is not implemented.`
  return denial('not_implemented', msg, { reason: 'a method that the parser does not know' })
}

/** In octets. The longest registered method, UPDATEREDIRECTREF, has 17. */
const LONGEST_METHOD = 40
const REQUEST_LINE = /^([\w!#$%&'*+.^`|~-]+) [!-~]+ HTTP\/1\.[01]\r?\n/

/**
 * The method of a request line that is otherwise valid. Nothing else of the request is read, and its connection ends.
 * @returns `null` for any other line, or if the line is incomplete
 */
function unknownMethodIn({ rawPacket, bytesParsed = 0 }: ParserError): string | null {
  const text = rawPacket?.toString('latin1') ?? ''
  const begin = bytesParsed === 0 ? 0 : text.lastIndexOf('\n', bytesParsed - 1) + 1
  const method = REQUEST_LINE.exec(text.slice(begin))?.[1]
  return method !== undefined && method.length <= LONGEST_METHOD ? method : null
}

/** Whether a piece begins with a request line whose target alone is longer than targets may be. */
function beginsTooLong(piece: Buffer | undefined, maxUrl: number): boolean {
  const target = /^[A-Z-]+ ((?:https?:\/)?\/[^ \r\n]*)/.exec(piece?.toString('latin1') ?? '')?.[1]
  return target !== undefined && target.length > maxUrl
}

/** Whether a piece has more lines than a head may have fields. The parser reports too many fields with the code of a head that is too long. */
function hasTooManyFields(piece: Buffer | undefined): boolean {
  let lines = 0
  for (let at = piece?.indexOf('\n') ?? -1; at !== -1 && lines <= MAX_FIELDS; at = piece?.indexOf('\n', at + 1) ?? -1)
    lines++
  return lines > MAX_FIELDS
}

/** Whether a piece begins with PROXY protocol. Version 1 is a line of text, and version 2 begins with line ends and a NUL. */
function isProxyPreface(piece: Buffer | undefined): boolean {
  return /^(?:PROXY |\r\n\r\n\0\r\nQUIT\n)/.test(piece?.toString('latin1', 0, 12) ?? '')
}

/**
 * Whether the parser stopped at a blank in the line that begins a chunk. After a size it is malformed, but beside `;` and `=` of an
 * extension it is allowed (RFC 9112 section 7.1.1). The parser accepts neither.
 */
export function isBlankInChunkLine({ reason = '', rawPacket, bytesParsed = 0 }: ParserError): boolean {
  // After a quoted value the parser has not moved past the byte at which it stops (26.10).
  const stopped = rawPacket?.[reason.endsWith('quote value') ? bytesParsed : bytesParsed - 1]
  return reason.startsWith('Invalid character in chunk ') && (stopped === 0x20 || stopped === 0x09)
}

/** The method of the last request line in the piece with the fault; `null` if there is none. */
export function methodIn({ rawPacket }: ParserError): string | null {
  const lines = rawPacket?.toString('latin1').matchAll(/(?:^|\r\n\r\n)([A-Z-]+) /g) ?? []
  return [...lines].at(-1)?.[1] ?? null
}

/** The origin of the page, if the piece with the fault shows it. */
export function originIn({ rawPacket }: ParserError): string | undefined {
  const [head = ''] = rawPacket?.toString('latin1').split('\r\n\r\n', 1) ?? []
  const origins = [...head.matchAll(/\r\norigin:[\t ]*([!-~]+)[\t ]*(?=\r\n|$)/gi)]
  return origins.length === 1 ? origins[0]?.[1] : undefined
}
