import type { IncomingMessage } from 'node:http'
import type { ErrorCode } from '../errors.ts'
import { fill, type Template } from '../lib/template.ts'
import { type CorsRules, corsFields } from './cors.ts'
import { type ErrorFacts, type OwnResponse, PROBLEM_TYPE } from './response.ts'

/** The form in which one configuration presents the gateway's own responses. */
export interface Presentation {
  /** `null`: pages of other origins cannot read them. */
  readonly cors: CorsRules | null
  /** Bodies that the operator has written, by the code of the refusal. */
  readonly bodies: ReadonlyMap<ErrorCode, ErrorBody>
  /** Rules for a proxy that asks whether a request may go on. Default the response is for the sender of the request. */
  readonly toProxy?: ProxyRules
}

/** The statuses by which a proxy knows a refusal. */
export interface ProxyRules {
  /** With 429 each refusal has the client's status. With 403 all but a 401 have 403, and `X-Tollgate-Status` has the client's status. */
  readonly refuseWith: 429 | 403
}

export interface ErrorBody {
  readonly contentType: string
  readonly template: Template
}

/** The facts of a request that the form of a response may depend on. */
export interface Asked {
  /** The origin of the asking page; `undefined` if the request does not state one. */
  readonly origin: string | undefined
  readonly requestId: string
  /** The method; `null` if it never came as a request. */
  readonly method: string | null
  /** The path as it was sent, without the query. */
  readonly path: string | null
  /** The user; `null` if nobody has been identified yet. */
  readonly user: string | null
}

export function askedBy({ headers, method, url }: IncomingMessage, requestId: string, user: string | null): Asked {
  return {
    origin: headers.origin,
    requestId,
    method: method ?? null,
    path: url === undefined ? null : pathOf(url),
    user,
  }
}

/** The path of a target, also of one in absolute form. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1)[0] || '/'
}

/** @param presentation `null` if responses are sent as they are */
export function presented(presentation: Presentation | null, response: OwnResponse, asked: Asked): OwnResponse {
  if (presentation === null) return response
  const { cors, bodies, toProxy } = presentation
  const body = response.facts === undefined ? undefined : bodies.get(response.facts.code)
  const filled =
    body === undefined || response.facts === undefined ? response : withBody(response, response.facts, body, asked)
  const shown = cors === null ? filled : { ...filled, headers: [...filled.headers, ...corsFields(cors, asked.origin)] }
  return toProxy === undefined ? shown : forProxy(shown, toProxy, asked)
}

function forProxy(response: OwnResponse, { refuseWith }: ProxyRules, { method }: Asked): OwnResponse {
  const { status, headers, body } = response
  const isStandIn = refuseWith === 403 && status >= 400 && status !== 401
  return {
    ...response,
    ...(isStandIn && { status: 403, headers: [...headers, 'X-Tollgate-Status', String(status)] }),
    // The client may have asked by GET, and would wait for a body that the response to a HEAD never has.
    body: method === 'HEAD' ? '' : body,
  }
}

/** A client that accepts a problem of RFC 9457 gets that form, unless the body already is one. */
function withBody(response: OwnResponse, facts: ErrorFacts, body: ErrorBody, asked: Asked): OwnResponse {
  const { headers } = response
  const at = headers.indexOf('Content-Type') + 1
  const isProblem = headers[at] === PROBLEM_TYPE[1]
  if (isProblem && !body.contentType.toLowerCase().startsWith('application/problem+json')) return response
  return {
    ...response,
    headers: headers.with(at, body.contentType),
    body: fill(body.template, valuesOf(response, facts, asked)),
  }
}

/** The most characters of a path that a body shows. */
const MAX_PATH = 1024

function valuesOf({ status, headers }: OwnResponse, facts: ErrorFacts, asked: Asked) {
  const { code, msg, quota, retryAfterSeconds } = facts
  const { requestId, method, path, user } = asked
  const retryAt = headers.indexOf('Retry-After')
  return {
    error: code,
    msg,
    status,
    request_id: requestId,
    retry_after: retryAfterSeconds ?? (retryAt < 0 ? null : Number(headers[retryAt + 1])),
    method,
    path: path?.slice(0, MAX_PATH) ?? null,
    user,
    scope: quota?.scope ?? null,
    category: quota?.category ?? null,
    window: quota?.window ?? null,
    limit: quota?.limit ?? null,
    used: quota?.used ?? null,
    requested: quota?.requested ?? null,
    reset_at: quota?.resetAt ?? null,
    retry_at: quota?.retryAtBeijing ?? null,
    time_zone: quota?.timeZone ?? null,
  }
}
