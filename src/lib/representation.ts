import { createHash } from 'node:crypto'

/** Which form of a response a client takes, and whether the client has the response already. RFC 9110, 8.8, 12.5.3 and 13.1.2. */

/** @param accepted the field Accept-Encoding */
export function takesGzip(accepted: string | readonly string[] | undefined): boolean {
  return /(?:^|[,\s])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(accepted ?? ''))
}

/** Weak: of all forms of the same bytes alike (RFC 9110, 8.8.1). */
export function tagOf(bytes: Buffer | string): string {
  return `W/"sha-${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}

/** @param etag of the response, as `tagOf` makes it @param ifNoneMatch the field If-None-Match */
export function isKnown(etag: string | null, ifNoneMatch: string | undefined): boolean {
  if (etag === null || ifNoneMatch === undefined) return false
  // Not at /\s*,\s*/, which looks through a run of blanks from each of its places: 15 KB of them took 0.15 s.
  return ifNoneMatch.split(',').some((tag) => tag.trim() === etag)
}
