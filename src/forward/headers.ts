import { STATUS_CODES } from 'node:http'
import { ADMIN_COOKIES } from '../control/admin-session.ts'
import {
  HOP_BY_HOP,
  isFact,
  LEGACY_RATE_LIMITS,
  NEVER_IN_TRAILERS,
  OURS,
  OVERRIDES,
  RATE_LIMITS,
} from '../inputs/header-names.ts'
import { trustedText } from '../inputs/trusted-text.ts'
import { withoutCookies } from '../lib/cookies.ts'
import { foldedName, namesIn } from '../lib/field-names.ts'
import { addressesIn, saidIn } from '../lib/forwarded.ts'
import { remembered } from '../lib/memo.ts'
import { urlWithoutParameters } from '../lib/query-parameters.ts'
import { offeredIn } from '../lib/subprotocols.ts'
import { type FieldName, fieldName } from './client/header-name.ts'
import { encodeFact, factOf, type Origin } from './client-info.ts'
import type { ResponseFields, VerifiedCaller } from './contract.ts'
import { type Fate, type HeaderRules, type Hidden, type Holder, passes } from './field-fates.ts'

/** The head of an outgoing request, without the framing of the body and without Host, which the upstream may replace. */
export interface OutgoingHead {
  /** Raw `[name, value, …]`. */
  readonly headers: string[]
  /** Decimal digits without leading zeros; `null` if the client announced no length. */
  readonly contentLength: string | null
  /** Whether the framing of the request says that it has a body. */
  readonly hasBody: boolean
  /** The client's Host; empty if it sent none. */
  readonly host: string
  /** The client's scheme, as reported to the upstream. */
  readonly scheme: string
  /** The host that the client requested, with the port that a proxy in front names; empty if unknown. */
  readonly authority: string
  /** The path that a proxy in front has removed; empty for none. */
  readonly prefix: string
  /** Whether the request logs its connection in, as with NTLM and Negotiate, so that no other client may use the connection. */
  readonly logsIn: boolean
  /** The position in `headers` of the value of Destination, which only `UpstreamNames` can write; -1 for none. */
  readonly destinationAt: number
  /** Whether the client takes trailers (`TE: trailers`). */
  readonly takesTrailers: boolean
}

/**
 * Builds the outgoing head from the client's raw one, which stays unchanged. It drops what belongs to the client's
 * connection and what could be forged, and then sets the true values, so that the order of fields cannot matter.
 */
export function outgoingHead(raw: readonly string[], origin: Origin, rules: HeaderRules): OutgoingHead {
  const nominated = nominatedNames(raw)
  const trusted = rules.trusted(origin.peer)
  const headers: string[] = []
  const claims: Claims = { host: '', for: '', offered: '', first: trusted ? {} : NOTHING }
  let contentLength: string | null = null
  let chunked = false
  let takesTrailers = false
  let logsIn = false
  let destinationAt = -1
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const fate = rules.fateOf(name)
    if (fate === 'passes' || (fate === 'fact' && trusted)) {
      if (nominated === null || !nominated.has(name.toLowerCase())) headers.push(name, value)
    } else if (isHolder(fate)) {
      const kept = withoutCredential(fate, name.toLowerCase(), value, { origin, trusted, rules })
      if (kept !== '' && nominated?.has(name.toLowerCase()) !== true) headers.push(name, kept)
      logsIn ||= LOGS_IN.test(kept)
    } else if (fate === 'destination') {
      if (nominated?.has('destination') !== true) destinationAt = headers.push(name, value) - 1
    } else if (fate === 'login') {
      if (nominated?.has('authorization') !== true) headers.push(name, value)
      logsIn ||= LOGS_IN.test(value)
    } else if (fate === 'odd') {
      if (!isNamed(raw, foldedName(name)) && nominated?.has(name.toLowerCase()) !== true) headers.push(name, value)
    } else if (fate === 'named') {
      if (trusted && isOfCaller(name.toLowerCase(), value, origin, rules)) headers.push(name, value)
    } else if (fate === 'subprotocol') claims.offered = joined(claims.offered, value)
    else if (fate === 'claim') noteClaim(claims, name.toLowerCase(), value, trusted)
    else if (fate === 'hops' && nominated?.has('max-forwards') !== true)
      headers.push(name, hopsLeft(value, origin.method))
    else if (fate === 'tracestate') {
      if (origin.trace?.parentId != null && nominated?.has('tracestate') !== true) headers.push(name, value)
    } else if (fate === 'length') contentLength = canonicalLength(value)
    else if (fate === 'coding') chunked = true
    else if (fate === 'te') takesTrailers ||= TAKES_TRAILERS.test(value)
  }
  if (takesTrailers) headers.push('TE', 'trailers')
  if (claims.offered !== '') offer(headers, claims.offered, origin, rules.hidden)
  if (trusted && claims.for === '') takeForwarded(claims, raw)
  const scheme = schemeOf(claims, origin)
  const authority = claims.first['x-forwarded-host'] || claims.host
  setOurs(headers, { origin, claims, scheme, authority }, rules)
  if (origin.caller !== null) identify(headers, origin.caller, rules)
  if (origin.quota != null && rules.quotaField !== null) headers.push(rules.quotaField, origin.quota)
  for (const text of rules.fixed) headers.push(text)
  return {
    headers,
    contentLength,
    hasBody: chunked || (contentLength !== null && contentLength !== '0'),
    host: claims.host,
    scheme,
    authority: withPort(authority, claims.first['x-forwarded-port']),
    prefix: prefixOf(claims.first['x-forwarded-prefix']),
    logsIn,
    destinationAt,
    takesTrailers,
  }
}

/** The value of an Authorization that logs its connection in. In another field it only ends the use of the connection. */
const LOGS_IN = /^(?:NTLM|Negotiate) /i

/** Whether a proxy's field names the caller by whom the request was judged. Otherwise the upstream would get two callers. */
function isOfCaller(lower: string, value: string, { caller }: Origin, { named, encoding }: HeaderRules): boolean {
  const fact = named.get(lower)
  if (caller === null || fact === undefined) return true
  return trustedText(value, encoding) === (caller[fact] ?? '')
}

function isHolder(fate: Fate): fate is Holder {
  return fate === 'cookie' || fate === 'credential' || fate === 'url'
}

function offer(headers: string[], list: string, { passCredentials }: Origin, { subprotocols }: Hidden): void {
  const others = passCredentials === true ? list : offeredIn(list, subprotocols).others.join(', ')
  if (others !== '') headers.push('Sec-WebSocket-Protocol', others)
}

interface Passing {
  readonly origin: Origin
  readonly trusted: boolean
  readonly rules: HeaderRules
}

/**
 * The part of a field that is forwarded; empty for none. Cookies ignore ports, so if gateway and dashboard have the same host name,
 * browsers send the dashboard's session here too. The upstream could change the quota with it.
 */
function withoutCredential(fate: Holder, lower: string, value: string, { origin, trusted, rules }: Passing): string {
  const { isKept, cookies, parameters } = rules.hidden
  if (isFact(lower) && !trusted) return ''
  if (fate === 'cookie') return withoutCookies(value, ADMIN_COOKIES, origin.passCredentials === true ? [] : cookies)
  if (origin.passCredentials === true) return value
  if (fate === 'url') return urlWithoutParameters(value, parameters)
  return isKept(lower, value) ? value : ''
}

/** The value of Max-Forwards for the next hop (RFC 9110 section 7.6.2). The gateway itself responds if the client's value is 0. */
function hopsLeft(value: string, method: string): string {
  if (method !== 'OPTIONS' || !/^[0-9]+$/.test(value)) return value
  return String(Math.max(0, Math.min(Number(value), Number.MAX_SAFE_INTEGER) - 1))
}

const TAKES_TRAILERS = /(?:^|,)[\t ]*trailers[\t ]*(?:,|$)/i

/** The client's Host, and what a trusted peer reports about earlier hops. */
interface Claims {
  host: string
  /** The whole of X-Forwarded-For. */
  for: string
  /** The whole of Sec-WebSocket-Protocol, because a credential may be in another line than the name before it. */
  offered: string
  /** The first element of each other list, by the name of the field. The first proxy has written it. */
  readonly first: Partial<Record<string, string>>
}

/** The elements of a peer that is not trusted, of which none is taken. */
const NOTHING: Claims['first'] = Object.freeze({})

function noteClaim(claims: Claims, lower: string, value: string, trusted: boolean): void {
  if (lower === 'host') claims.host = value
  else if (!trusted) return
  else if (lower === 'x-forwarded-for') claims.for = joined(claims.for, value)
  else claims.first[lower] ??= value.split(',', 1)[0]?.trim() ?? ''
}

/** For proxies that send Forwarded (RFC 7239) instead of X-Forwarded-For, -Proto and -Host. */
function takeForwarded(claims: Claims, raw: readonly string[]): void {
  let forwarded = ''
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]?.toLowerCase()
    if (name === 'x-forwarded-for') return
    if (name === 'forwarded') forwarded = joined(forwarded, raw[i + 1] as string)
  }
  if (forwarded === '') return
  const [outermost = ''] = forwarded.split(',', 1)
  claims.for = addressesIn(forwarded)
  claims.first['x-forwarded-proto'] ??= saidIn(outermost, 'proto')
  claims.first['x-forwarded-host'] ??= saidIn(outermost, 'host')
}

function joined(before: string, value: string): string {
  return before === '' ? value : `${before}, ${value}`
}

/** How proxies spell the scheme of a request. For a WebSocket handshake some send ws or wss. */
const SCHEMES: ReadonlyMap<string, string> = new Map([
  ['http', 'http'],
  ['ws', 'http'],
  ['https', 'https'],
  ['wss', 'https'],
])

function schemeOf({ first }: Claims, { encrypted }: Origin): string {
  return SCHEMES.get(first['x-forwarded-proto']?.toLowerCase() ?? '') ?? (encrypted ? 'https' : 'http')
}

/** Leaves out the default ports, which a load balancer behind another one may name wrongly. */
function withPort(authority: string, port = ''): string {
  if (port === '') return authority
  const isWanted = /^[1-9]\d{0,4}$/.test(port) && Number(port) < 65_536 && port !== '80' && port !== '443'
  return isWanted && /^(?:[^:]+|\[.*\])$/.test(authority) ? `${authority}:${port}` : authority
}

/** A proxy may forward what a client wrote, so nothing in the path may end it within a cookie, a Refresh or a list, and no segment may lead back. */
function prefixOf(path = ''): string {
  if (path === '') return ''
  return /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~%!$&()*+=:@-]+)+\/?$/.test(path) ? path.replace(/\/$/, '') : ''
}

interface Said {
  readonly origin: Origin
  readonly claims: Claims
  readonly scheme: string
  readonly authority: string
}

/** Sets the gateway's own fields, unless a fixed field replaces them. */
function setOurs(
  headers: string[],
  { origin, claims: { for: before, first }, scheme, authority }: Said,
  { notOurs, via }: HeaderRules,
): void {
  set(headers, notOurs, 'X-Forwarded-For', before === '' ? origin.peer : `${before}, ${origin.peer}`)
  set(headers, notOurs, 'X-Forwarded-Proto', scheme)
  set(headers, notOurs, 'X-Forwarded-Host', authority)
  set(headers, notOurs, 'X-Forwarded-Port', first['x-forwarded-port'])
  set(headers, notOurs, 'X-Forwarded-Prefix', first['x-forwarded-prefix'])
  if (via) set(headers, notOurs, 'Via', `${origin.httpVersion} tollgate`)
  set(headers, notOurs, 'X-Request-Id', origin.requestId)
  set(headers, notOurs, 'traceparent', origin.trace?.traceparent)
}

function set(headers: string[], notOurs: HeaderRules['notOurs'], name: string, value: string | undefined): void {
  if (value && (notOurs.size === 0 || !notOurs.has(name.toLowerCase()))) headers.push(name, value)
}

/** Adds the fields about a verified caller. */
export function identify(headers: string[], caller: VerifiedCaller, { identity }: HeaderRules): void {
  headers.push('X-Tollgate-User', encodeFact(caller.user))
  for (const [name, fact] of identity) {
    const text = factOf(caller, fact)
    if (text) headers.push(name, encodeFact(text))
  }
}

/** The names in Connection in lower case; `null` if it has only `close` and `keep-alive`. */
function nominatedNames(raw: readonly string[]): Set<string> | null {
  let names: Set<string> | null = null
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.length === 10 && name.toLowerCase() === 'connection') names = nominate(names, raw[i + 1] as string)
  }
  return names
}

function nominate(names: Set<string> | null, value: string): Set<string> | null {
  const lower = value.toLowerCase()
  if (lower === 'keep-alive' || lower === 'close') return names
  const all = names ?? new Set()
  for (const name of namesIn(lower)) all.add(name)
  return all
}

/** `05` and `5` are the same length, but upstreams disagree about the first spelling. */
function canonicalLength(value: string): string {
  return value.trim().replace(/^0+(?=\d)/, '')
}

/** The fields of a response that Node has read. @param phrase as Node has it */
export function fieldsOf(status: number, raw: readonly string[], phrase = ''): ResponseFields {
  const names = raw.filter((_, i) => i % 2 === 0).map(fieldName)
  return { status, phrase: PHRASE.test(phrase) ? phrase : null, names, values: raw.filter((_, i) => i % 2 === 1) }
}

/** Node's parser accepts control characters in a phrase. A phrase with one is replaced by the usual phrase. */
const PHRASE = /^[\t -~\x80-\xff]*$/

/**
 * The fields for the client: those of the upstream's response, without fields of the hop and fields that only the gateway sends, and
 * then `ours`. Our members of RateLimit fields come after the upstream's. A 426 keeps its Upgrade, which says what it asks for (RFC
 * 9110 section 15.5.22); the code that writes Connection names it there.
 *
 * @param exposed names that pages of another origin may read too, if the upstream allows that origin
 */
export function headersToClient(
  { status, names, values }: ResponseFields,
  ours: readonly string[],
  exposed: readonly string[] | null = null,
): string[] {
  let nominated: Set<string> | null = null
  for (let i = 0; i < names.length; i++) {
    if (names[i]?.lower === 'connection') nominated = nominate(nominated, values[i] as string)
  }
  // An array of the greatest possible length, because one that grows by `push` has room for 17.
  const headers = new Array<string>(2 * names.length + ours.length)
  let [length, hasLists] = [0, false]
  for (let i = 0; i < names.length; i++) {
    const { text, lower } = names[i] as FieldName
    if (status === 426 && lower === 'upgrade') {
      headers[length++] = text
      headers[length++] = values[i] as string
      continue
    }
    const fate = fateToClient(lower)
    if (fate === 'withheld' || (fate === 'single' && ours.includes(LEGACY))) continue
    // A length frames the response, even if Connection names it. RFC 9110 section 8.6: 1xx and 204 have none.
    if (lower === 'content-length' ? status === 204 || status < 200 : nominated?.has(lower)) continue
    headers[length++] = text
    headers[length++] = values[i] as string
    hasLists ||= fate === 'list'
  }
  if (!hasLists) for (const text of ours) headers[length++] = text
  headers.length = length
  if (hasLists) pushJoined(headers, ours)
  if (exposed !== null) expose(headers, exposed)
  return headers
}

/**
 * Whether a client gets an interim response (RFC 9110 section 15.2), which HTTP/1.0 does not have. A 100 is meant for the gateway, which
 * has asked the client for the body itself.
 */
export function isPassedOn(status: number, httpVersion: string): boolean {
  return status !== 100 && httpVersion === '1.1'
}

/** The status line with its line end. The phrase is forwarded unchanged, because a client may show it or even depend on it. */
export function statusLine({ status, phrase }: Pick<ResponseFields, 'status' | 'phrase'>): string {
  return `HTTP/1.1 ${status} ${phrase ?? STATUS_CODES[status] ?? ''}\r\n`
}

/** An interim response as a client gets it, in latin1. */
export function interimHead(head: ResponseFields): string {
  const headers = headersToClient(head, [])
  let text = statusLine(head)
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

/** All lines of Access-Control-Expose-Headers are one list. A `*` in it means every name, except in a response that allows credentials. */
function expose(headers: string[], exposed: readonly string[]): void {
  if (!isNamed(headers, 'access-control-allow-origin')) return
  const known = new Set<string>()
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i]?.toLowerCase() !== 'access-control-expose-headers') continue
    for (const name of headers[i + 1]?.split(',') ?? []) known.add(name.trim().toLowerCase())
  }
  if (known.has('*') && !isNamed(headers, 'access-control-allow-credentials')) return
  const more = exposed.filter((name) => !known.has(name.toLowerCase()))
  if (more.length > 0) headers.push('Access-Control-Expose-Headers', more.join(', '))
}

/**
 * Adds `ours` to `headers`, and moves the upstream's members of the same list before ours. Two lines would also be one list, but many
 * clients read only the first line of a name.
 */
function pushJoined(headers: string[], ours: readonly string[]): void {
  for (let i = 0; i < ours.length; i += 2) {
    const name = ours[i] as string
    const members = fateToClient(name.toLowerCase()) === 'list' ? takenOut(headers, name.toLowerCase()) : []
    headers.push(name, [...members, ours[i + 1]].join(', '))
  }
}

/** Removes all fields of a name from `headers`, and returns their values that are not empty. */
function takenOut(headers: string[], lower: string): string[] {
  const values: string[] = []
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    if (headers[i]?.toLowerCase() === lower) values.unshift(headers.splice(i, 2)[1] as string)
  }
  return values.filter((value) => value.trim() !== '')
}

/**
 * What happens to a field of the upstream's response. `withheld`: it belongs to the upstream's connection, or only the gateway sends
 * it. `list`: the gateway may add members. `single`: the gateway's own field replaces it.
 */
const fateToClient = remembered((lower): 'passes' | 'withheld' | 'list' | 'single' => {
  if (HOP_BY_HOP.has(lower) || OURS.has(lower) || /^(?:proxy|x-tollgate)-/.test(lower)) return 'withheld'
  if (LEGACY_RATE_LIMITS.has(lower)) return 'single'
  return RATE_LIMITS.has(lower) ? 'list' : 'passes'
})

/** The gateway's first field with the fate `single`. If the gateway sends any such field, it sends this one. */
const LEGACY = 'X-RateLimit-Limit'

/** Whether a response with these headers has to name Upgrade in its Connection (RFC 9110 section 7.8). */
export function asksForUpgrade(status: number, headers: readonly string[]): boolean {
  return status === 426 && isNamed(headers, 'upgrade')
}

/** The trailers that a client may get. Fields that belong in the head are left out, and fields that only the gateway sends. */
export function responseTrailers(raw: readonly string[]): [string, string][] {
  const trailers: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const lower = name.toLowerCase()
    const allowed = !NEVER_IN_TRAILERS.has(lower) && passes(lower, OVERRIDES) && !isFact(lower)
    if (allowed && fateToClient(lower) === 'passes') trailers.push([name, raw[i + 1] as string])
  }
  return trailers
}

function isNamed(raw: readonly string[], lower: string): boolean {
  for (let i = 0; i < raw.length; i += 2) if (raw[i]?.toLowerCase() === lower) return true
  return false
}
