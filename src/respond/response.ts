import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Denial, type ErrorCode, STATUS_OF } from '../errors.ts'
import { lineOf } from '../lib/field-names.ts'
import { sendLines } from '../node/whole-response.ts'
import type { Charge, Decision } from '../quota/charge.ts'
import { NOTHING_BEYOND } from '../quota/quota-state.ts'
import { rateLimit, rateLimitPolicy } from '../quota/ratelimit-fields.ts'
import type { QuotaViolation } from '../quota/refusal.ts'
import type { QuotaStatus } from '../quota/status.ts'
import { awaitsContinue, hasBody, SMALL } from './announced-body.ts'
import { hangUp } from './raw.ts'

/** A response of the gateway's own, ready to be written. */
export interface OwnResponse {
  readonly status: number
  /** The headers in raw form: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: string | Buffer
  /** The facts of a refusal, for a body of another form. */
  readonly facts?: ErrorFacts
  /** The headers `of` as lines, for a response that is sent often. A copy with other headers does not use them. Default none. */
  readonly made?: { readonly of: readonly string[]; readonly lines: string }
}

export interface ErrorFacts {
  readonly code: ErrorCode
  readonly msg: string
  /** The window that refused the request; `null` if the quota did not refuse it. */
  readonly quota: QuotaViolation | null
  /** The full wait if the field Retry-After may say a shorter one. Default the value of the field. */
  readonly retryAfterSeconds?: number
}

export const JSON_TYPE = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store']

export const PROBLEM_TYPE = ['Content-Type', 'application/problem+json', 'Cache-Control', 'no-store']

export function denialResponse({ code, msg, headers = {}, problem }: Denial): OwnResponse {
  const type = problem === undefined ? JSON_TYPE : PROBLEM_TYPE
  const extra = Object.entries(headers).flat()
  const body = JSON.stringify({ ...problem, error: code, msg })
  return { status: STATUS_OF[code], headers: [...type, ...extra], body, facts: { code, msg, quota: null } }
}

export function statusResponse(status: QuotaStatus, fields: readonly string[]): OwnResponse {
  return { status: 200, headers: [...JSON_TYPE, ...fields], body: JSON.stringify(status) }
}

/**
 * `RateLimit-Policy` and `RateLimit` for all meters of a charge, as names and values by turns. Neither is there if no window limits the
 * charge.
 * @param beyond tokens that the first meter cost more than its charge, as far as known; below 0 if it cost less
 * @param requestId the value of `X-Request-Id`, which begins the list, because each accepted request has an id. Default none
 * @param beyondOthers the same as `beyond` for each of the further meters. Default none
 */
export function rateLimitFields(
  charge: Charge,
  decision: Decision,
  beyond = 0,
  requestId: string | null = null,
  beyondOthers = NOTHING_BEYOND,
): string[] {
  const { category, cost, limits: own, others } = charge
  const limits = decision.limits ?? own
  let policy = rateLimitPolicy(category, limits, decision.at)
  let rest = rateLimit(category, limits, decision, cost, beyond)
  if (others !== undefined) {
    for (const [i, meter] of others.entries()) {
      const [, of = '', , left = ''] = rateLimitFields(meter, decision.others?.[i] as Decision, beyondOthers[i])
      policy = joined(policy, of)
      rest = joined(rest, left)
    }
  }
  if (policy === '') return requestId === null ? [] : ['X-Request-Id', requestId]
  if (requestId === null) return ['RateLimit-Policy', policy, 'RateLimit', rest]
  return ['X-Request-Id', requestId, 'RateLimit-Policy', policy, 'RateLimit', rest]
}

/** A category without a limit adds nothing to the lists. */
function joined(list: string, more: string): string {
  return list === '' || more === '' ? list + more : `${list}, ${more}`
}

/** Added to the upstream's response if the quota would have refused the request, but only counts refusals in shadow. */
export const SHADOW_FIELD = ['X-Tollgate-Shadow', 'would-refuse'] as const

/** Added to the upstream's response to a request beyond a soft limit. */
export const OVER_FIELD = ['X-Tollgate-Quota-State', 'over'] as const

/** Added to a refusal that no wait can change: the request costs more than a limit ever allows. */
export const NEVER_FIELD = ['X-Tollgate-Quota-State', 'never'] as const

/** Added to the upstream's response to a repetition that was not charged. */
export const REPLAY_FIELD = ['X-Tollgate-Replay', '1'] as const

/** Every response of the gateway with a body has this field, also an operator's body, so that no browser takes a refusal for a page or a script. */
const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'] as const

const LINGER_MS = 1000

/**
 * Writes a response of the gateway's own. A client that is still sending a large body is asked to close. Its bytes are
 * still read for a moment: if a connection is closed with unread data, TCP resets it and the response is lost (RFC
 * 9112, 9.6).
 */
export function writeResponse(
  req: IncomingMessage,
  res: ServerResponse,
  response: OwnResponse,
  requestId: string,
): void {
  const lingers = !req.complete && hasBody(req) && !isSmall(req)
  // Nobody needs the body. If other responses come first, Node would keep the body until this one is sent.
  if (hasBody(req)) req.resume()
  const length = Buffer.byteLength(response.body)
  if (!lingers && sentWhole(res, response, length, requestId)) return
  const headers = [...response.headers, 'X-Request-Id', requestId]
  // A 204 has no length (RFC 9110 section 8.6), and no type that could be guessed.
  if (response.status !== 204) headers.push(...NO_SNIFFING, 'Content-Length', String(length))
  if (lingers) res.shouldKeepAlive = false // Node then says so in the head, and the listener reads it, too.
  res.writeHead(response.status, headers)
  if (!lingers) {
    res.end(res.req.method === 'HEAD' ? undefined : response.body)
    return
  }
  if (res.req.method === 'HEAD') res.flushHeaders()
  else res.write(response.body)
  const timer = setTimeout(end, LINGER_MS)
  function end(): void {
    clearTimeout(timer)
    res.end()
  }
  // Also if the client may wait for 100 Continue: it may have got one, and need not wait at all (RFC 9110, 10.1.1).
  req.once('end', end).once('close', end)
}

/** Sends a response in one piece if its body is ASCII and not empty and no field `Connection` ends the connection. @returns whether it was sent */
function sentWhole(
  res: ServerResponse,
  { status, headers, body, made }: OwnResponse,
  length: number,
  requestId: string,
): boolean {
  if (typeof body !== 'string' || length !== body.length || length === 0) return false
  const isMade = made?.of === headers
  if (!isMade && headers.includes('Connection')) return false
  const lines = isMade ? made.lines : linesOf(headers)
  return sendLines(res, status, lines + BEFORE_ID + requestId + BEFORE_LENGTH + length, body)
}

const BEFORE_ID = lineOf('X-Request-Id')
const BEFORE_LENGTH = lineOf(NO_SNIFFING[0]) + NO_SNIFFING[1] + lineOf('Content-Length')

/** @param response without a field Connection @returns the same response for repeated use: its lines are made once */
export function sentOften(response: OwnResponse): OwnResponse {
  const { headers } = response
  return { ...response, made: { of: headers, lines: linesOf(headers) } }
}

function linesOf(headers: readonly string[]): string {
  let text = ''
  for (let i = 0; i < headers.length; i += 2) text += lineOf(headers[i] as string) + (headers[i + 1] as string)
  return text
}

/** Whether the body is read to its end after a response, so that the connection can continue. */
function isSmall(req: IncomingMessage): boolean {
  return !awaitsContinue(req) && Number(req.headers['content-length'] ?? Number.NaN) <= SMALL
}

/**
 * Writes a response on a bare socket, for upgrades and for requests that Node's parser refused. It ends the connection, which
 * is closed when the client ends it too, or a little later.
 *
 * @param method `null` if it is not known. A response to HEAD has no content (RFC 9110 section 9.3.2)
 */
export function writeRawResponse(
  socket: Duplex,
  response: OwnResponse,
  { requestId, method }: { readonly requestId: string; readonly method: string | null },
): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`]
  for (let i = 0; i < response.headers.length; i += 2) {
    if (response.headers[i] !== 'Connection') lines.push(`${response.headers[i]}: ${response.headers[i + 1]}`)
  }
  lines.push(`Date: ${new Date().toUTCString()}`, `X-Request-Id: ${requestId}`, NO_SNIFFING.join(': '))
  lines.push(`Content-Length: ${Buffer.byteLength(response.body)}`, 'Connection: close')
  socket.write(`${lines.join('\r\n')}\r\n\r\n${method === 'HEAD' ? '' : response.body}`)
  hangUp(socket)
  socket.resume()
}
