import { createHash } from 'node:crypto'

/** Decides which form of a response a client accepts, and whether it has the response. RFC 9110, 8.8, 12.5.3 and 13.1.2. */

/** @param accepted the field Accept-Encoding */
export function takesGzip(accepted: string | readonly string[] | undefined): boolean {
  return /(?:^|[,\s])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(accepted ?? ''))
}

/** A weak tag: it is equal for all forms of the same bytes (RFC 9110, 8.8.1). */
export function tagOf(bytes: Buffer | string): string {
  return `W/"sha-${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}

/**
 * Whether the client has the response already, by a weak comparison (RFC 9110, 13.1.2).
 * @param etag of the response, as `tagOf` makes it
 * @param ifNoneMatch the field If-None-Match
 */
export function isKnown(etag: string | null, ifNoneMatch: string | undefined): boolean {
  if (etag === null || ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = opaqueOf(etag)
  // A split at /\s*,\s*/ would read a run of blanks again from each of its places, so a long run would take quadratic time.
  return ifNoneMatch.split(',').some((tag) => opaqueOf(tag.trim()) === opaque)
}

/** A tag without the mark of a weak one. Some proxies remove the mark. */
function opaqueOf(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}
