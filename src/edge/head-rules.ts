import { type IncomingMessage, METHODS } from 'node:http'
import { type Denial, denial } from '../errors.ts'
import type { NameRules } from '../inputs/inputs.ts'
import { CLOSE, checkConnectionLength, checkHeaders, MAX_LIST, refuse } from './header-rules.ts'

/**
 * Refuses what Node's parser accepts but a server at the edge must not: everything that the upstream, or a proxy before
 * us, could read differently. It comes before everything else, for requests, upgrades and CONNECT alike.
 */

/** A response to TRACE contains the request with its credential, and CONNECT asks for a tunnel to any place. */
const METHODS_SERVED = new Set(METHODS.filter((method) => method !== 'CONNECT' && method !== 'TRACE'))
export const USUAL_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/**
 * Every denial asks for the connection to be closed, so the caller need not know which of them leave the framing in
 * doubt. The header alone is not enough: until that response is out, Node goes on parsing and calls the handler for
 * each further request. The caller must accept no further request from the connection.
 */
export function checkEdge(req: IncomingMessage, names: NameRules): Denial | null {
  return (
    checkVersion(req.httpVersion) ??
    checkConnectionLength(req.headers.connection) ??
    checkHeaders(req.rawHeaders, req.httpVersion, names) ??
    checkMethod(req.method) ??
    checkForm(req)
  )
}

/** Does what `checkEdge` does, for the `upgrade` event and a CONNECT. Only a WebSocket handshake may open a tunnel. */
export function checkUpgrade(req: IncomingMessage, names: NameRules): Denial | null {
  const refused = checkEdge(req, names)
  if (refused !== null || isWebSocketHandshake(req)) return refused
  return refuse('upgrade', 'The only upgrade accepted is a WebSocket handshake of version 13.')
}

/**
 * Whether a request is the opening handshake of RFC 6455 section 4.1. `shouldUpgradeCallback` uses this, so that every
 * other upgrade (h2c, one with a body, another version) is served as a plain request.
 */
export function isWebSocketHandshake(req: IncomingMessage): boolean {
  return handshakeProblem(req) === null
}

/**
 * A list is accepted if it contains what the handshake needs, besides other offers. A length of 0 means no body (RFC 9112
 * section 6.3); the clients of the JDK and of Dart, and many devices, send it.
 *
 * @returns why a request is no opening handshake, in a few words; `null` if it is one
 */
function handshakeProblem({ method, httpVersion, headers }: IncomingMessage): string | null {
  const { upgrade = '', connection, 'sec-websocket-version': version = 'missing', 'sec-websocket-key': key } = headers
  if (!hasToken(upgrade, 'websocket')) return `Upgrade is ${shown(upgrade)}`
  if (!hasToken(connection, 'upgrade')) return 'Connection does not name Upgrade'
  if (method !== 'GET') return 'the method is not GET'
  if (httpVersion !== '1.1') return 'the version is not HTTP/1.1'
  if (!hasToken(version, '13')) return `Sec-WebSocket-Version is ${shown(version)}, not 13`
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key ?? '')) return 'Sec-WebSocket-Key is no base64 of 16 bytes'
  const hasBody = (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined
  return hasBody ? 'it has a body' : null
}

/** How many octets of a field a reason shows. */
const MAX_SHOWN = 40

function shown(value: string): string {
  return value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value
}

/** @returns why a request for another protocol is served as a plain one, in a few words; `null` if it asks for no protocol */
export function whyNotUpgraded(req: IncomingMessage): string | null {
  if (req.headers.upgrade === undefined) return null
  return handshakeProblem(req) ?? 'a request before it on the connection is under way'
}

/** A list above `MAX_LIST` is not searched, because a stranger may write thousands of items, and a request has several such lists. */
function hasToken(list: string | undefined, token: string): boolean {
  if (list === undefined || list.length > MAX_LIST) return false
  return list.split(',').some((item) => item.trim().toLowerCase() === token)
}

/** Node accepts `GET /` of HTTP/0.9 and the text `HTTP/2.0`, and calls the handler. */
function checkVersion(version: string): Denial | null {
  if (version === '1.1' || version === '1.0') return null
  // Without a version the line is not a request line of HTTP/1 (RFC 9112 section 3).
  if (version === '0.9') return refuse('request_line', 'The request line must end in HTTP/1.1 or HTTP/1.0.')
  return versionNotSupported()
}

export function versionNotSupported(): Denial {
  return denial('version_not_supported', 'The only versions accepted are HTTP/1.1 and HTTP/1.0.', {
    reason: 'version',
    headers: CLOSE,
  })
}

/** Node's parser also knows the methods of RTSP, such as PLAY. */
export function checkMethod(method = ''): Denial | null {
  if (METHODS_SERVED.has(method)) return null
  return denial('method_not_allowed', 'This method is not accepted.', {
    reason: 'method',
    headers: { ...CLOSE, Allow: USUAL_METHODS },
  })
}

/** `http://other/x` would choose a host at the upstream. A URL is accepted only if its authority is Host, since it then adds nothing to its path. */
function checkForm({ url = '', method, headers }: IncomingMessage): Denial | null {
  if (url.startsWith('/') || (method === 'OPTIONS' && url === '*')) return null
  const absolute = absoluteForm(url)
  if (absolute !== null && headers.host !== undefined && isOneAuthority(absolute, headers.host)) return null
  return refuse(
    'target_form',
    'The request target must be a path that begins with "/", or a URL whose authority is Host.',
  )
}

/** Parses a target of RFC 9112 section 3.2.2. An authority with a user name in it never matches, because it is not a valid Host. */
function absoluteForm(url: string): AbsoluteForm | null {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#]+)(.*)$/i.exec(url) ?? []
  if (scheme === undefined || authority === undefined || rest === undefined) return null
  return { port: scheme.toLowerCase() === 'https' ? ':443' : ':80', authority, rest }
}

interface AbsoluteForm {
  /** The default port of the scheme, with its colon. */
  readonly port: string
  readonly authority: string
  readonly rest: string
}

/** RFC 9110 section 4.2.3: letter case does not matter, and the scheme's port may be left out. */
function isOneAuthority({ authority, port }: AbsoluteForm, host: string): boolean {
  return authority === host || withoutPort(authority, port) === withoutPort(host, port)
}

function withoutPort(authority: string, port: string): string {
  const lower = authority.toLowerCase()
  if (lower.endsWith(port)) return lower.slice(0, -port.length)
  return lower.endsWith(':') ? lower.slice(0, -1) : lower
}

/**
 * The target of a request that `checkEdge` accepts, as path and query or as `*`. An OPTIONS request with an absolute form
 * that has neither path nor query is about the whole server (RFC 9112 section 3.2.4).
 */
export function targetOf({ url = '', method }: Pick<IncomingMessage, 'url' | 'method'>): string {
  const rest = url.startsWith('/') ? url : (absoluteForm(url)?.rest ?? url)
  if (rest === '') return method === 'OPTIONS' ? '*' : '/'
  return rest.startsWith('?') ? `/${rest}` : rest
}

/** Whether the request must not be forwarded (RFC 9110 section 7.6.2). Only OPTIONS matters here, since TRACE is not served. */
export function isLastHop({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return method === 'OPTIONS' && /^0+$/.test(String(headers['max-forwards'] ?? ''))
}

/**
 * The method that a page of another origin wants to use, if the request is a browser's preflight; else `null`. A preflight has no
 * body, cookie or credential. A request with one of these is charged like any other.
 * @param credentials fields that may contain a credential, in lower case
 */
export function preflightOf(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  credentials: readonly string[],
): string | null {
  if (method !== 'OPTIONS' || headers.origin === undefined) return null
  const wanted = headers['access-control-request-method']
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const saysWho = ['cookie', 'authorization', ...credentials].some((name) => headers[name] !== undefined)
  return typeof wanted === 'string' && !hasBody && !saysWho ? wanted : null
}
