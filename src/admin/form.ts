import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isKnown, tagOf, takesGzip } from '../lib/representation.ts'
import { type AdminResponse, JSON_TYPE } from './http.ts'

/** In bytes: below it the head of a response weighs more than what could be saved of its body. */
export const LEAST_TAGGED = 512

/**
 * The form of a response in which the client takes it: compressed, or 304 without a body where the client says by If-None-Match that
 * it has these bytes. A tag that the route gave stays: it is of a version, while the body has what changes without one, such as what
 * was used. Streams are sent as they are. The compression runs in a thread of Node's pool, so that no request waits for it.
 */
export async function inForm(response: AdminResponse, headers: IncomingHttpHeaders): Promise<AdminResponse> {
  const { status, contentType = JSON_TYPE, headers: own = {} } = response
  const text = textOf(response)
  if (status !== 200 || text === null || text.length < LEAST_TAGGED) return response
  const etag = own.etag ?? tagOf(text)
  const common = { ...own, etag, vary: 'accept-encoding' }
  if (own.etag === undefined && isKnown(etag, headers['if-none-match'])) return { status: 304, headers: common }
  if (!takesGzip(headers['accept-encoding'])) return { status, body: text, contentType, headers: common }
  const body = await promisify(gzip)(text)
  return { status, body, contentType, headers: { ...common, 'content-encoding': 'gzip' } }
}

/** `null` for a body that is none, bytes or a stream. */
function textOf({ body, contentType }: AdminResponse): string | null {
  if (contentType === undefined && body !== undefined) return JSON.stringify(body)
  return typeof body === 'string' ? body : null
}
