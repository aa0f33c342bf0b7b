import type { IncomingHttpHeaders } from 'node:http'
import { type AdminResponse, type Guard, type Identity, type Method, type Route, refusal } from './http.ts'
import { formatOf } from './line-body.ts'
import { type SignInOptions, UNAUTHORIZED } from './login.ts'
import { isOurHost } from './own-hosts.ts'
import { refusedTo } from './permissions.ts'
import { cameByTls, identityOf } from './session-cookie.ts'
import { vouchedFor } from './trusted-proxy.ts'

const HOST_NOT_ALLOWED = refusal(
  'host_not_allowed',
  'The admin listener does not respond to this host name: use its address or localhost, or add the name to admin.hosts.',
)
const NOT_FROM_BROWSERS = refusal('not_from_browsers', 'This is for probes and scripts, not for a page in a browser.')
const NOT_FROM_OUR_PAGE = refusal(
  'not_from_our_page',
  'A session changes things only from the page of this listener, with a body of JSON. Scripts send "Authorization: Bearer <token>".',
)

const NOT_SAID = refusal(
  'unauthorized',
  'From this machine send "X-Tollgate-Drain: yes". From others send an admin token as "Authorization: Bearer <token>".',
  { 'www-authenticate': 'Bearer realm="tollgate-admin"' },
)

export interface GuardOptions extends SignInOptions {
  /** Whether requests come by TLS. Default no. */
  readonly encrypted?: boolean
  /** Additional names that the Host header may have. */
  readonly names: readonly string[]
}

/** The part of a request that comes before its body. */
export interface Asked {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly address: string
  /** The route of the request, if there is one. */
  readonly operation?: Pick<Route, 'method' | 'path'> | undefined
}

/** The identity of the caller, or `null` for nobody; or a response if the request goes no further. */
export type Guarded = { readonly identity: Identity | null } | AdminResponse

/** Decides before the body is read whether a request may go on. */
export function createGuard(options: GuardOptions) {
  const { login, credentials, people = () => null, proxy = () => null, encrypted = false, names, now } = options

  return function check(guard: Guard, asked: Asked): Guarded {
    if (guard === 'open') return NOBODY
    if (!isOurHost(asked.headers.host, names)) return HOST_NOT_ALLOWED
    if (guard === 'page') return NOBODY
    if (guard === 'machine' && isFromBrowser(asked.headers)) return NOT_FROM_BROWSERS
    if (guard === 'machine' && isFromHere(asked)) return saysSo(asked.headers) ? NOBODY : NOT_SAID
    if (guard === 'login') return isFromOtherPage(asked.headers) ? NOT_FROM_OUR_PAGE : NOBODY
    const identity = guard === 'machine' ? bearer(asked) : identify(asked)
    // The first visit of a page is no fault, and a 401 would appear on the browser's console.
    if (guard === 'session' && identity === UNAUTHORIZED && asked.headers.authorization === undefined) return NOBODY
    if ('status' in identity) return identity
    if (guard === 'session') return { identity }
    const refused = refusedTo(identity, guard === 'read' ? 'read' : 'change', asked.operation)
    if (refused !== null) return refused
    if (guard === 'read') return { identity }
    return identity.isAmbient === true && !isFromOurPage(asked) ? NOT_FROM_OUR_PAGE : { identity }
  }

  /** A token that was sent counts, even a wrong one. A session counts if there is no token, and a proxy if there is no session either. */
  function identify({ headers, address }: Asked): Identity | AdminResponse {
    if (headers.authorization !== undefined) return bearer({ headers, address })
    const tokens = credentials()
    const coming = { now: now(), secure: encrypted || cameByTls(headers) }
    const session = identityOf(headers.cookie, { tokens, people: people() }, coming)
    return session ?? vouchedFor(proxy(), { headers, address }, tokens) ?? bearer({ headers, address })
  }

  function bearer({ headers, address }: Pick<Asked, 'headers' | 'address'>): Identity | AdminResponse {
    return login.bearer(headers.authorization, address)
  }
}

/** The result for a request whose session was signed out, which is the same as without a session. */
export function guardedWithout(guard: Guard): Guarded {
  return guard === 'session' ? NOBODY : UNAUTHORIZED
}

const NOBODY: Guarded = Object.freeze({ identity: null })

/**
 * Whether a program on this machine asks without a token. A caller with a token is judged by the token. A request through a proxy on
 * this machine may come from anywhere. A service mesh uses another loopback address, such as 127.0.0.6 in Istio, or adds a field.
 */
function isFromHere({ headers, address }: Asked): boolean {
  return headers.authorization === undefined && LOOPBACK.has(address) && !Object.keys(headers).some(isOfProxy)
}

/** @param name in lower case */
function isOfProxy(name: string): boolean {
  return PROXY_FIELDS.has(name) || PROXY_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/**
 * An attacker who makes a server on this machine request a URL (SSRF) can hardly choose its fields. The gateway
 * forwards no client's field of this name.
 */
function saysSo(headers: IncomingHttpHeaders): boolean {
  return headers[DRAIN_FIELD] === 'yes'
}

const DRAIN_FIELD = 'x-tollgate-drain'
const LOOPBACK = new Set(['127.0.0.1', '::ffff:127.0.0.1', '::1'])
const PROXY_FIELDS = new Set(['forwarded', 'via', 'x-real-ip'])
const PROXY_PREFIXES = ['x-forwarded-', 'x-envoy-', 'l5d-']

/** A browser sends one of these fields with a page's request, except in the case that `isFromBrowser` describes. */
function isFromPage(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-site'] !== undefined || headers.origin !== undefined || headers.referer !== undefined
}

/**
 * Without TLS browsers send Sec-Fetch-Site only for a loopback name, so the request of an image with referrerpolicy="no-referrer" shows
 * nothing of its page. But that request has Accept-Language and User-Agent. A script in Node sends `*` as Accept-Language.
 */
function isFromBrowser(headers: IncomingHttpHeaders): boolean {
  return (
    isFromPage(headers) || (headers['accept-language'] ?? '*') !== '*' || /^Mozilla\//.test(headers['user-agent'] ?? '')
  )
}

function isFromOtherPage(headers: IncomingHttpHeaders): boolean {
  return isFromPage(headers) && !isSameOrigin(headers)
}

/**
 * SameSite=Strict allows requests from another port of the same host, so a change has to name our origin. A form of a
 * page cannot send JSON.
 */
function isFromOurPage({ method, headers }: Asked): boolean {
  return isSameOrigin(headers) && (isJson(headers) || isLines(headers) || hasNoBody(method as Method, headers))
}

/** Browsers leave Sec-Fetch-Site out for pages without TLS, unless their host is a loopback name. */
function isSameOrigin({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin'
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()
}

function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** A form can send neither type. */
function isLines({ 'content-type': type = '' }: IncomingHttpHeaders): boolean {
  return formatOf(type) !== null
}

/** Only a DELETE may come without a body, because a form cannot send a DELETE. */
function hasNoBody(method: Method, headers: IncomingHttpHeaders): boolean {
  return method === 'DELETE' && headers['content-type'] === undefined
}
