import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Asset } from '../lib/assets.ts'
import type { OwnResponse } from '../respond/response.ts'

/** An answer in both forms. */
export interface Made {
  readonly plain: OwnResponse
  readonly gzipped: OwnResponse
  /** `null` where the name changes with the content. */
  readonly etag: string | null
}

export function inBothForms(
  { bytes, gzipped, contentType }: Asset,
  etag: string | null,
  more: readonly string[],
): Made {
  const headers = ['Content-Type', contentType, ...SAFE, 'Vary', 'Accept-Encoding', ...more]
  const plain: OwnResponse = { status: 200, headers, body: bytes }
  if (gzipped.length >= bytes.length) return { plain, gzipped: plain, etag }
  return { plain, gzipped: { status: 200, headers: [...headers, 'Content-Encoding', 'gzip'], body: gzipped }, etag }
}

export const SAFE = ['Referrer-Policy', 'no-referrer']

export function choose({ plain, gzipped, etag }: Made, headers: IncomingHttpHeaders): OwnResponse {
  const response = takesGzip(headers['accept-encoding']) ? gzipped : plain
  // Its body is not sent, and its length is that of the 200 (RFC 9110, 8.6).
  return isKnown(etag, headers['if-none-match']) ? { ...response, status: 304 } : response
}

function takesGzip(accepted: string | string[] | undefined): boolean {
  return /(?:^|[,\s])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(accepted ?? ''))
}

function isKnown(etag: string | null, ifNoneMatch: string | undefined): boolean {
  if (etag === null || ifNoneMatch === undefined) return false
  // Not at /\s*,\s*/, which looks through a run of blanks from each of its places: 15 KB of them took 0.15 s.
  return ifNoneMatch.split(',').some((tag) => tag.trim() === etag)
}

/** Weak: of both forms alike (RFC 9110, 8.8.1). */
export function tagOf({ bytes }: Asset): string {
  return `W/"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
}
