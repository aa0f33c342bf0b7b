import { type Caller, encodeUser } from './caller.ts'
import { HOP_BY_HOP, NEVER_IN_TRAILERS, SPOOFABLE } from './header-names.ts'

/** What does not change from request to request. */
export interface HeaderRules {
  /** Fixed fields, raw. */
  readonly fixed: readonly string[]
  /** Lower-case names that a client may not send through. */
  readonly dropped: ReadonlySet<string>
  readonly trusted: (address: string) => boolean
}

/** The head of an outgoing request, without Host, which the connection knows, and without the framing of the body. */
export interface OutgoingHead {
  /** Raw `[name, value, …]`. */
  readonly headers: string[]
  /** Canonical decimal digits; `null` where the client declared none. */
  readonly contentLength: string | null
  /** Whether the request is framed as having a body. */
  readonly hasBody: boolean
  /** Whether the client takes trailers (`TE: trailers`). */
  readonly takesTrailers: boolean
}

export function headerRules(options: {
  readonly headers: Readonly<Record<string, string>>
  readonly passAuthorization: boolean
  readonly trustedProxies?: ((address: string) => boolean) | undefined
}): HeaderRules {
  const names = Object.keys(options.headers).map((name) => name.toLowerCase())
  const dropped = new Set([...HOP_BY_HOP, ...SPOOFABLE, ...names, 'expect'])
  if (!options.passAuthorization) dropped.add('authorization')
  return { fixed: Object.entries(options.headers).flat(), dropped, trusted: options.trustedProxies ?? (() => false) }
}

/**
 * Builds the outgoing head from the client's raw one, which is left as it is: drops what belongs to the client's
 * connection and what it might lie about, then sets the true values, so that no order of fields can undo it.
 */
export function outgoingHead(raw: readonly string[], caller: Caller, rules: HeaderRules): OutgoingHead {
  const nominated = nominatedNames(raw)
  const headers: string[] = []
  const claims: Claims = { host: '', for: '', forwardedHost: '', forwardedProto: '' }
  let contentLength: string | null = null
  let chunked = false
  let takesTrailers = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const lower = name.toLowerCase()
    if (lower === 'content-length') contentLength = canonicalLength(value)
    else if (lower === 'transfer-encoding') chunked = true
    else if (lower === 'te') takesTrailers ||= TAKES_TRAILERS.test(value)
    else if (lower === 'host' || lower.startsWith('x-forwarded-')) noteClaim(claims, lower, value)
    else if (passes(lower, rules.dropped) && !nominated?.has(lower)) headers.push(name, value)
  }
  if (takesTrailers) headers.push('TE', 'trailers')
  addForwarded(headers, caller, claims, rules.trusted(caller.peer))
  headers.push('Via', `${caller.httpVersion} tollgate`, 'X-Request-Id', caller.requestId)
  if (caller.user !== null) headers.push('X-Tollgate-User', encodeUser(caller.user))
  for (const text of rules.fixed) headers.push(text)
  return {
    headers,
    contentLength,
    hasBody: chunked || (contentLength !== null && contentLength !== '0'),
    takesTrailers,
  }
}

const TAKES_TRAILERS = /(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i

/** What the client said of the hops before it: only a trusted peer is believed. */
interface Claims {
  host: string
  for: string
  forwardedHost: string
  forwardedProto: string
}

function noteClaim(claims: Claims, lower: string, value: string): void {
  if (lower === 'host') claims.host = value
  else if (lower === 'x-forwarded-for') claims.for = claims.for === '' ? value : `${claims.for}, ${value}`
  else if (lower === 'x-forwarded-host') claims.forwardedHost = value
  else if (lower === 'x-forwarded-proto') claims.forwardedProto = value.toLowerCase()
}

function addForwarded(headers: string[], caller: Caller, claims: Claims, trusted: boolean): void {
  const proto = caller.encrypted ? 'https' : 'http'
  const believed = trusted && (claims.forwardedProto === 'http' || claims.forwardedProto === 'https')
  const host = trusted && claims.forwardedHost !== '' ? claims.forwardedHost : claims.host
  headers.push('X-Forwarded-For', trusted && claims.for !== '' ? `${claims.for}, ${caller.peer}` : caller.peer)
  headers.push('X-Forwarded-Proto', believed ? claims.forwardedProto : proto)
  if (host !== '') headers.push('X-Forwarded-Host', host)
}

/** An underscore is a dash to CGI-like backends, so `X_Tollgate_User` would be read as ours. */
function passes(lower: string, dropped: ReadonlySet<string>): boolean {
  return !dropped.has(lower) && !lower.startsWith('proxy-') && !lower.startsWith('x-tollgate-') && !lower.includes('_')
}

/** Names in Connection, in lower case; `null` where there is none but `close` and `keep-alive`. */
function nominatedNames(raw: RawFields): Set<string> | null {
  let names: Set<string> | null = null
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]
    if (name?.length !== 10 || lowerOf(textOf(name)) !== 'connection') continue
    const value = textOf(raw[i + 1]).toLowerCase()
    if (value === 'keep-alive' || value === 'close') continue
    names ??= new Set()
    for (const token of value.split(',')) names.add(token.trim())
  }
  return names
}

/** `05` and `5` are one length; backends disagree on the first spelling. */
function canonicalLength(value: string): string {
  return value.trim().replace(/^0+(?=\d)/, '')
}

/** Names and values as they came, in turns: undici hands out octets, Node text. */
export type RawFields = readonly (string | Buffer)[]
/** Values by lower-case name; repeated fields as a list. */
export type ParsedFields = Readonly<Record<string, string | string[] | undefined>>

const NOTHING: ParsedFields = Object.freeze(Object.create(null))

/**
 * What the backend's answer is passed on with: its fields without the hop's own and those that `ours` names, then `ours`.
 * Name, order and repetition are the raw ones; values that undici has decoded already are taken from `parsed`, which
 * makes the whole forward 5 to 7 percent cheaper than decoding them twice.
 */
export function answerHeaders(
  raw: RawFields,
  status: number,
  ours: readonly string[],
  parsed: ParsedFields = NOTHING,
): string[] {
  const nominated = nominatedNames(raw)
  const headers: string[] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = textOf(raw[i])
    const lower = lowerOf(name)
    if (HOP_BY_HOP.has(lower) || lower.startsWith('proxy-') || names(ours, lower) || nominated?.has(lower)) continue
    // RFC 9110 section 8.6: a 204 has no Content-Length.
    if (status === 204 && lower === 'content-length') continue
    const value = parsed[lower]
    headers.push(name, typeof value === 'string' ? value : textOf(raw[i + 1]))
  }
  for (const text of ours) headers.push(text)
  return headers
}

/** Trailers of an answer that a client may be given: never one that belongs into the head, nor one that `ours` names. */
export function answerTrailers(raw: RawFields, ours: readonly string[]): [string, string][] {
  const trailers: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = textOf(raw[i])
    const lower = lowerOf(name)
    const allowed = !NEVER_IN_TRAILERS.has(lower) && passes(lower, SPOOFABLE) && !lower.startsWith('x-forwarded-')
    if (allowed && !names(ours, lower)) trailers.push([name, textOf(raw[i + 1])])
  }
  return trailers
}

/** Field values are octets: latin1 keeps each as it is, in both directions. */
function textOf(text: string | Buffer | undefined): string {
  return typeof text === 'string' ? text : (text?.toString('latin1') ?? '')
}

function names(raw: readonly string[], lower: string): boolean {
  for (let i = 0; i < raw.length; i += 2) if (lowerOf(raw[i] as string) === lower) return true
  return false
}

const LOWER = new Map<string, string>()

/** Backends use few names, over and over. The bound is for one that does not. */
function lowerOf(name: string): string {
  let lower = LOWER.get(name)
  if (lower !== undefined) return lower
  lower = name.toLowerCase()
  if (LOWER.size < 1_000) LOWER.set(name, lower)
  return lower
}
