import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isKnown, tagOf, takesGzip } from '../lib/representation.ts'
import { type AdminResponse, JSON_TYPE } from './http.ts'

/** In characters. The head of a response weighs more than what can be saved of a shorter body. */
export const LEAST_TAGGED = 512

/**
 * The form in which a client wants a response: compressed, or a 304 without a body if If-None-Match has the tag of the same bytes. A response
 * with an ETag of its route stays as it is. That ETag is a version, while parts of the body, such as usage, change without a new version. As
 * a strong tag it also allows only one form. Streams stay as they are too. Compression runs in Node's thread pool and holds up no other request.
 */
export async function inForm(response: AdminResponse, headers: IncomingHttpHeaders): Promise<AdminResponse> {
  const { status, contentType = JSON_TYPE, headers: own = {} } = response
  if (status !== 200 || own.etag !== undefined) return response
  const forms = formsOf(response)
  if (forms === null) return response
  const { text, etag } = forms
  const common = { ...own, etag, vary: 'accept-encoding' }
  if (isKnown(etag, headers['if-none-match'])) return { status: 304, headers: common }
  if (!takesGzip(headers['accept-encoding'])) return { status, body: text, contentType, headers: common }
  forms.gzipped ??= promisify(gzip)(text)
  return { status, body: await forms.gzipped, contentType, headers: { ...common, 'content-encoding': 'gzip' } }
}

interface Forms {
  readonly text: string
  readonly etag: string
  gzipped: Promise<Buffer> | null
}

/** The forms of bodies that never change, such as the API description, which is long and needs no credential. */
const constant = new WeakMap<object, Forms>()

/** The forms of a response; `null` if it is sent unchanged. */
function formsOf(response: AdminResponse): Forms | null {
  const { body, isConstant = false } = response
  const known = isConstant ? constant.get(body as object) : undefined
  if (known !== undefined) return known
  const text = textOf(response)
  if (text === null || text.length < LEAST_TAGGED) return null
  const forms = { text, etag: tagOf(text), gzipped: null }
  if (isConstant) constant.set(body as object, forms)
  return forms
}

/** The text of a body; `null` for no body, bytes or a stream. */
function textOf({ body, contentType }: AdminResponse): string | null {
  if (contentType === undefined && body !== undefined) return JSON.stringify(body)
  return typeof body === 'string' ? body : null
}
