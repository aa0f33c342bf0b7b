import { STATUS_CODES } from 'node:http'
import { isFieldName } from '../../lib/field-names.ts'
import { remembered } from '../../lib/memo.ts'
import type { ResponseHead } from './contract.ts'
import { BadResponseError } from './failure.ts'
import { type FieldName, fieldName } from './header-name.ts'
import { type Leniency, PHRASE_AT } from './leniency.ts'

/** How the body of a response ends. */
export type Framing =
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** The body ends with the connection. */
  | { readonly kind: 'close' }

/** A head with what it says about the bytes after it. */
export interface ParsedHead extends ResponseHead {
  readonly framing: Framing
  /** Whether the upstream keeps the connection open, according to the head. */
  readonly persistent: boolean
  /** For how many seconds the upstream keeps an idle connection; `null` if it does not say. */
  readonly keptFor: number | null
}

/** The most fields in one head. Node as a server has the same limit for requests. */
const MAX_FIELDS = 2_000
/** How many characters of a fault an error shows. */
const MAX_SHOWN = 40
/** Any character that a head must not contain, including a CR or LF without the other one. */
const FORBIDDEN = /[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n/
const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: |$)/

/**
 * Reads the head of a response by RFC 9112, sections 4 to 6. It is stricter than the RFC demands wherever two readers
 * could disagree on where the response ends.
 *
 * @param text begins with the head
 * @param end where its last field line ends, before the empty line
 * @throws BadResponseError
 */
export function parseResponseHead(text: string, end: number): ParsedHead {
  const head = text.length === end ? text : text.slice(0, end)
  if (FORBIDDEN.test(head)) throw new BadResponseError('a character that no head may hold')
  const lineEnd = endOfLine(head, 0)
  const version = head.charCodeAt(7)
  const status = statusOf(head, lineEnd)
  const fields = fieldsIn(head, lineEnd)
  if (fields > MAX_FIELDS) throw new BadResponseError('too many header fields')
  const names = new Array<FieldName>(fields)
  const values = new Array<string>(fields)
  const seen: Seen = { length: null, chunked: false, close: version === DIGIT_0, keptFor: null }
  let at = lineEnd + 2
  for (let i = 0; i < fields; i++) {
    const next = endOfLine(head, at)
    const colon = head.indexOf(':', at)
    if (colon <= at || colon > next) throw new BadResponseError('a field line without a name')
    const name = fieldName(head.slice(at, endOfName(head, at, colon)))
    const value = trimmed(head, colon + 1, next)
    if (name.framing) note(seen, name, value)
    names[i] = name
    values[i] = value
    at = next + 2
  }
  return {
    status,
    phrase: phraseOf(head, status, lineEnd),
    names,
    values,
    needed: NOTHING,
    framing: framingOf(seen),
    persistent: !seen.close,
    keptFor: seen.keptFor,
  }
}

/** Reads the trailer section of a chunked response. Its lines have the same form, but decide nothing. */
export function parseTrailers(text: string): string[] {
  if (FORBIDDEN.test(text)) throw new BadResponseError('a character that no trailer may hold')
  const raw: string[] = []
  for (const line of text.split('\r\n')) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = line.slice(0, endOfName(line, 0, colon))
    if (colon === -1 || !isFieldName(name)) throw new BadResponseError('a trailer without a name')
    raw.push(name, trimmed(line, colon + 1, line.length))
  }
  return raw
}

/** What decides where the response ends and whether its connection is used again. */
interface Seen {
  length: number | null
  chunked: boolean
  close: boolean
  keptFor: number | null
}

const DIGIT_0 = 48
const NOTHING: readonly Leniency[] = Object.freeze([])
const UNTIL_CLOSE: Framing = Object.freeze({ kind: 'close' })
const CHUNKED: Framing = Object.freeze({ kind: 'chunked' })

function statusOf(head: string, lineEnd: number): number {
  if (!STATUS_LINE.test(lineEnd === head.length ? head : head.slice(0, lineEnd)))
    throw new BadResponseError(`status line ${JSON.stringify(head.slice(0, Math.min(lineEnd, MAX_SHOWN)))}`)
  return 100 * digit(head, 9) + 10 * digit(head, 10) + digit(head, 11)
}

function digit(text: string, at: number): number {
  return text.charCodeAt(at) - DIGIT_0
}

/** Most responses have the usual phrase, for which no text is created. */
function phraseOf(head: string, status: number, lineEnd: number): string | null {
  const usual = STATUS_CODES[status]
  const isUsual = usual !== undefined && lineEnd === PHRASE_AT + usual.length && head.startsWith(usual, PHRASE_AT)
  return isUsual ? null : head.slice(PHRASE_AT, lineEnd)
}

function note(seen: Seen, { lower }: FieldName, value: string): void {
  if (lower === 'content-length') {
    if (seen.length !== null) throw new BadResponseError('two lengths')
    if (!LENGTH.test(value)) throw new BadResponseError('a length that is no number')
    seen.length = Number(value)
  } else if (lower === 'transfer-encoding') {
    // Only chunked is undone on the way. Any other coding would be forwarded without its name.
    if (seen.chunked || value.toLowerCase() !== 'chunked')
      throw new BadResponseError(`transfer coding ${value.slice(0, MAX_SHOWN)}`)
    seen.chunked = true
  } else if (lower === 'connection') {
    seen.close ||= asksForClose(value)
  } else if (lower === 'www-authenticate' || lower === 'persistent-auth') {
    seen.close ||= isLoginOfConnection(lower, value)
  } else {
    seen.keptFor = timeoutIn(value) ?? seen.keptFor
  }
}

const LENGTH = /^\d{1,15}$/

/** What a value says is remembered, because servers send the same few values again and again. */
const asksForClose = remembered((value) => /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value))
const timeoutIn = remembered((value) => {
  const timeout = /(?:^|[,\t ])timeout=(\d{1,9})/i.exec(value)?.[1]
  return timeout === undefined ? null : Number(timeout)
})

/** NTLM and Negotiate log in a connection, not a request (RFC 4559), so the next request would have the same user. */
function isLoginOfConnection(lower: string, value: string): boolean {
  return lower === 'persistent-auth' ? value.toLowerCase() === 'true' : /(?:^|,)[\t ]*(?:NTLM|Negotiate)\b/i.test(value)
}

/** RFC 9112 section 6.3: a response with both a length and chunks would allow smuggling. */
function framingOf({ length, chunked }: Seen): Framing {
  if (chunked && length !== null) throw new BadResponseError('a length and chunks')
  if (chunked) return CHUNKED
  return length === null ? UNTIL_CLOSE : { kind: 'length', length }
}

/** Counts the lines after the first, because a list that grows by `push` has room for 17. */
function fieldsIn(head: string, lineEnd: number): number {
  let lines = 0
  for (let at = lineEnd + 2; at < head.length; at = endOfLine(head, at) + 2) lines++
  return lines
}

function endOfLine(head: string, at: number): number {
  const end = head.indexOf('\r\n', at)
  return end === -1 ? head.length : end
}

/** Where a name ends, before any blanks in front of the colon. They must be removed from a forwarded response (RFC 9112 section 5.1). */
function endOfName(text: string, from: number, colon: number): number {
  let end = colon
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--
  return end
}

/** A part of a text without the blanks around it. This is written by hand, because most values have one blank before and none after. */
function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
