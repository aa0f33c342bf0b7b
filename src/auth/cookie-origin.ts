import { type Asking, linesOf } from './asking.ts'

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * A browser sends a cookie with what a page of any origin asks for. Whether the page is of an origin that may use the cookies of its
 * visitors: the gateway's own host, or one that is named. Asked for whatever can change something: unsafe methods, and WebSockets,
 * which no rule of the browser keeps to one origin. A client that is no browser sends no Origin.
 */
export function isForeignPage(
  asking: Asking,
  origins: ReadonlySet<string>,
  isProxy: (address: string) => boolean,
): boolean {
  const { req, res, client } = asking
  if (res !== null && SAFE.has(req.method ?? '')) return false
  const given = linesOf(asking, 'origin')
  if (given.length === 0) return false
  const origin = given.length === 1 ? URL.parse(given[0] ?? '') : null
  if (origin === null) return true
  if (origins.has(origin.origin)) return false
  const { host = '', 'x-forwarded-host': forwarded } = req.headers
  const outer = isProxy(client.address)
    ? String(forwarded ?? '')
        .split(',', 1)[0]
        ?.trim()
    : ''
  // The scheme of the page's origin: a proxy that nobody named may have taken TLS away.
  return URL.parse(`${origin.protocol}//${outer || host}`)?.host !== origin.host
}
