import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError } from 'fastify'
import { isPlainHttp, rawSocketOf } from '../node/raw-socket.ts'
import type { Observer } from '../observe/observation.ts'
import { isSilence, StoreError } from '../quota/quota-store.ts'
import { OutcomeUnknown } from './desk.ts'
import { type AdminResponse, badFields, NO_CONTENT, refusal, SECURITY_HEADERS } from './http.ts'
import { BadBody, CodedBody } from './json-body.ts'

/** Responses to errors: of routes, of Fastify, and of connections that bring no request. */

/** Keyed by the code of Fastify's error. */
const CURES: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The path must be UTF-8, percent-encoded.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long: a user id has at most 256 bytes.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body must have no member "__proto__", and no "prototype" in a "constructor".',
}

const NOT_JSON = refusal('unsupported_media_type', 'Send the body as JSON, with "Content-Type: application/json".')

const NOT_CODED = refusal('unsupported_media_type', 'Send the body as it is, without "Content-Encoding".', {
  'accept-encoding': 'identity',
})

const OUTCOME_UNKNOWN =
  'The store did not answer in time: the change may have been made. See GET /api/audit, or read again what was to be changed, before you send it once more.'

/**
 * A store that is full or read-only still responds. The reason is one of our own words, because the store's text may
 * contain something confidential.
 */
function fateOf({ reason }: StoreError): string {
  return isSilence(reason) ? 'The store does not answer' : `The store does not do this: ${reason}`
}

/** @param maxBody of the route, in bytes */
export function responseTo(error: FastifyError, maxBody: number, observe: Observer): AdminResponse {
  if (error instanceof StoreError) return refusal('store_unavailable', `${fateOf(error)}. Try again later.`)
  if (error instanceof OutcomeUnknown) return refusal('outcome_unknown', OUTCOME_UNKNOWN)
  if (error instanceof CodedBody) return NOT_CODED
  if (error instanceof BadBody) return badFields([{ path: error.path, msg: error.message }])
  // The client has left, so nobody reads the response.
  if (error.name === 'AbortError') return NO_CONTENT
  const { statusCode = 500 } = error
  const cure = CURES[error.code]
  if (cure !== undefined) return refusal('bad_request', cure)
  if (statusCode === 413) return refusal('payload_too_large', `The body may have at most ${maxBody} bytes.`)
  if (statusCode === 415) return NOT_JSON
  if (statusCode >= 400 && statusCode < 500) return refusal('bad_request', 'The request is not well formed.')
  observe({ type: 'internal_error', where: 'admin', error })
  return refusal('internal', 'Something went wrong. The log says more.')
}

/** Responds on the bare socket to what cannot be read as a request. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  // After a failed handshake nobody can read a response, except a client that speaks without TLS.
  if (isPlainHttp(error)) refusePlain(rawSocketOf(socket))
  else if (error.code === 'ECONNRESET' || isOfTls(error) || !socket.writable) socket.destroy()
  else respondRaw(socket, connectionResponse(error.code))
}

/** How long a client without TLS may take to read the response, in milliseconds. The server does not notice when such a client leaves. */
const LINGER_MS = 1000

function refusePlain(socket: Socket): void {
  respondRaw(socket, refusal('bad_request', 'This port speaks TLS only: write https:// in place of http://.'))
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

function respondRaw(socket: Socket, { status, body }: AdminResponse): void {
  const text = JSON.stringify(body)
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': text.length,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
}

function isOfTls({ code = '' }: NodeJS.ErrnoException): boolean {
  return code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')
}

function connectionResponse(code: string | undefined): AdminResponse {
  if (code === 'HPE_HEADER_OVERFLOW') return refusal('headers_too_large', 'The header fields are too long.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusal('request_timeout', 'The request took too long to arrive.')
  return refusal('bad_request', 'This is not an HTTP request.')
}
