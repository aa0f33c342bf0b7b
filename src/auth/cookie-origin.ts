import type { IncomingHttpHeaders } from 'node:http'
import type { Denial } from '../errors.ts'
import { saidIn } from '../lib/forwarded.ts'
import { type Asking, linesOf, opensWebSocket } from './asking.ts'
import { invalid } from './verdict.ts'

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Whether the page that sends a request is of an origin that may not use cookies, because it is neither on the gateway's own host nor
 * configured. A browser sends cookies with requests of pages from any origin. Only requests that can change something are judged: unsafe
 * methods, and WebSockets, which browsers allow to every origin. A client that is no browser sends no Origin.
 */
function isForeignPage(asking: Asking, origins: ReadonlySet<string>, isProxy: (address: string) => boolean): boolean {
  const { req, client } = asking
  if (!opensWebSocket(asking) && SAFE.has(req.method ?? '')) return false
  const given = linesOf(asking, 'origin')
  if (given.length === 0) return false
  const origin = given.length === 1 ? URL.parse(given[0] ?? '') : null
  if (origin === null) return true
  if (origins.has(origin.origin)) return false
  const { host = '' } = req.headers
  const outer = isProxy(client.address) ? hostBefore(req.headers) : ''
  // The scheme comes from the page's origin, because an unknown proxy may have removed TLS.
  return URL.parse(`${origin.protocol}//${outer || host}`)?.host !== origin.host
}

/** The host for which the first proxy was asked; empty if unknown. Forwarded is read only if there is no X-Forwarded-For. */
function hostBefore(headers: IncomingHttpHeaders): string {
  const { 'x-forwarded-host': host, 'x-forwarded-for': hops, forwarded } = headers
  const [first = ''] = String(host ?? '').split(',', 1)
  if (host !== undefined || hops !== undefined) return first.trim()
  return saidIn(forwarded?.split(',', 1)[0] ?? '', 'host')
}

/** Says why a credential that browsers send by themselves does not count for a request; `null` if it counts. */
export type PageRule = (asking: Asking) => Denial | null

/**
 * @param origins of pages that may use cookies, besides the gateway's own host
 * @param isProxy whether an address is a trusted proxy
 */
export function createPageRule(origins: ReadonlySet<string>, isProxy: (address: string) => boolean): PageRule {
  return (asking) => (isForeignPage(asking, origins, isProxy) ? FOREIGN : null)
}

const FOREIGN = invalid(
  'a cookie or certificate that a page of another origin has sent',
  'A cookie or a client certificate is no credential for a page of another origin.',
)
