import type { z } from 'zod'
import type { Problem } from '../control/problems.ts'
import type { Role } from '../control/role.ts'

/** The response of a route, independent of the web framework. */
export interface AdminResponse {
  readonly status: number
  /** Sent as JSON or, with a content type, unchanged: text, bytes or a stream. */
  readonly body?: unknown
  /** The type of a body that is text or bytes. A body without it is sent as JSON. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** Whether the body is an object that never changes, so that its text and its compressed form are made only once. Default no. */
  readonly isConstant?: true
}

/** The caller: a person, or an admin token by its name. */
export interface Identity {
  readonly name: string
  readonly role: Role
  /** When the session ends, in milliseconds since the epoch; `null` if the request has a token, or if a proxy vouches for the caller. */
  readonly expiresAt: number | null
  /** Whether a browser sends the credential by itself: as a cookie, or through a proxy that signs people in. Default no. */
  readonly isAmbient?: true
  /** The name of the session in the store. Absent if the caller has no session. */
  readonly session?: string
}

/** What a route gets of its request. */
export interface Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** Parsed JSON, unchecked, or a Buffer if the path takes files of lines. `undefined` without a body. */
  readonly body: unknown
  readonly headers: Headers
  /** The address of the connection. */
  readonly address: string
  /** `null` if the guard of the route lets the request pass without a credential. */
  readonly identity: Identity | null
  /** Aborted when the client leaves before its response is complete. It is also aborted after a complete response. */
  readonly signal: AbortSignal
}

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Route {
  readonly method: Method
  /** Segments, `:name` for a parameter. */
  readonly path: string
  readonly guard: Guard
  /** The most bytes of a body. The lowest value of all routes of a path holds for all its methods. Default `MAX_BODY` of json-body.ts. */
  readonly maxBody?: number
  /** Whether a body is a file of lines (`LINE_TYPES` of line-body.ts), given as a Buffer. This holds for all methods of the path. */
  readonly takesLines?: true
  /** The description for the OpenAPI document. */
  readonly doc: Doc
  readonly handle: (call: Call) => AdminResponse | Promise<AdminResponse>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Who may use a route. All but `open` also need a Host header with one of our names.
 * - `open` anybody
 * - `machine` an admin token of role admin, or X-Tollgate-Drain from this machine; never a page in a browser
 * - `page` anybody, because nothing here is secret
 * - `login` anybody except pages of other origins
 * - `session` a caller with a token or a session, or with neither
 * - `read` a caller of the role admin or viewer, and a lead as `permissions.ts` says
 * - `change` a caller of the role admin, and a lead as `permissions.ts` says; without an admin token only from our own page
 */
export type Guard = 'open' | 'machine' | 'page' | 'login' | 'session' | 'read' | 'change'

export interface Doc {
  readonly summary: string
  /** What a caller has to know besides the summary, in whole sentences. */
  readonly more?: string
  /** Parameters of the query, which are all texts. */
  readonly query?: z.ZodObject
  readonly body?: z.ZodType | 'lines'
  /** Whether the route reads If-Match. */
  readonly ifMatch?: true
  /** Whether the route reads Idempotency-Key. */
  readonly idempotencyKey?: true
  /** Whether the ETag of a 200 is a version for If-Match. By default the ETag of a GET is made from the bytes of its response (form.ts). */
  readonly hasVersion?: true
  /** By status; `null` for a response without a body, and `text` or `lines` for one that is not JSON. */
  readonly responses: Readonly<Record<number, z.ZodType | null | 'text' | 'lines'>>
  /** Types in which a 200 may come as text instead of JSON. */
  readonly textTypes?: readonly string[]
  /** Errors in addition to those of the guard. */
  readonly errors?: readonly AdminError[]
}

/** The errors of the admin listener. As with the errors of the gateway, a code never gets another meaning. */
export const STATUS_OF = {
  bad_request: 400,
  unauthorized: 401,
  sign_in_failed: 401,
  no_admin_token: 403,
  host_not_allowed: 403,
  not_from_browsers: 403,
  not_from_our_page: 403,
  forbidden: 403,
  no_role: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  version_conflict: 412,
  changed_since: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  not_undoable: 422,
  idempotency_key_reused: 422,
  too_many_attempts: 429,
  headers_too_large: 431,
  internal: 500,
  store_unavailable: 503,
  outcome_unknown: 503,
  provider_unavailable: 503,
  overloaded: 503,
} as const

export type AdminError = keyof typeof STATUS_OF

/** A wrong field: its place in the body or query, and the cure. */
export type FieldProblem = Problem

/** @param msg one safe sentence with the problem and the cure */
export function refusal(error: AdminError, msg: string, headers: AdminResponse['headers'] = {}): AdminResponse {
  return { status: STATUS_OF[error], body: { error, msg }, headers }
}

/** A 400 that lists everything wrong with a request. Its `msg` joins the sentences of all fields. */
export function badFields(problems: readonly FieldProblem[]): AdminResponse {
  const msg = problems.map(({ path, msg }) => `${path || 'body'}: ${msg}`).join('; ')
  return { status: STATUS_OF.bad_request, body: { error: 'bad_request', msg, problems } }
}

export function ok(body: unknown, headers: AdminResponse['headers'] = {}): AdminResponse {
  return { status: 200, body, headers }
}

export const NO_CONTENT: AdminResponse = Object.freeze({ status: 204 })

/** The type of a body without a type of its own. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Fields of every response, which allow nothing to run, to be framed or to be kept. Only the dashboard's files replace the policy and the
 * caching (assets.ts). By the last field the dashboard distinguishes our responses from those of a proxy.
 */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-tollgate-listener': 'admin',
}

export function iso(at: number): string {
  return new Date(at).toISOString()
}

export function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at)
}
