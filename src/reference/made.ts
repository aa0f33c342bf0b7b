import type { IncomingHttpHeaders } from 'node:http'
import type { Asset } from '../lib/assets.ts'
import { isKnown, takesGzip } from '../lib/representation.ts'
import type { OwnResponse } from '../respond/response.ts'

/** A response in its plain form and in its gzipped form. */
export interface Made {
  readonly plain: OwnResponse
  readonly gzipped: OwnResponse
  /** `null` for a file whose name changes with its content. */
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
  // The body of a 304 is not sent, and its Content-Length is that of the 200 (RFC 9110, 8.6).
  return isKnown(etag, headers['if-none-match']) ? { ...response, status: 304 } : response
}
