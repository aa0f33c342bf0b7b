import type { z } from 'zod'
import type { Role } from '../control/role.ts'

/** What a route of the admin listener says, in a form that knows no web framework. */
export interface AdminResponse {
  readonly status: number
  /** Sent as JSON, or as it is if it has its own type: text, bytes or a stream of them. */
  readonly body?: unknown
  /** Of a body that is text or bytes. A body without it is JSON. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  /** The same object has the same content for ever: each form of it is made once. Default no. */
  readonly isConstant?: true
}

/** Who asks: an admin token by its name, or a person. */
export interface Identity {
  readonly name: string
  readonly role: Role
  /** When a session ends, in milliseconds since the epoch; `null` for the token itself, and for whom a proxy vouches for. */
  readonly expiresAt: number | null
  /** Whether a browser says it by itself, whatever page asks: by a cookie, or through a proxy that signs people in. Default no. */
  readonly isAmbient?: true
  /** What the store knows a session by. Only sessions have it. */
  readonly session?: string
}

/** What a route gets of its request. */
export interface Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** Parsed JSON, unchecked. */
  readonly body: unknown
  readonly headers: Headers
  /** Of the connection. */
  readonly address: string
  /** `null` if the guard of the route asks for nobody. */
  readonly identity: Identity | null
  /** Aborts when the client has left before its response. */
  readonly signal: AbortSignal
}

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Route {
  readonly method: Method
  /** Segments, `:name` for a parameter. */
  readonly path: string
  readonly guard: Guard
  /** Of its body, in bytes, for all methods of its path; default `MAX_BODY` of json-body.ts. */
  readonly maxBody?: number
  /** Whether its body is a file of lines (`LINE_TYPES` of line-body.ts), which it gets as a Buffer; for all methods of its path. */
  readonly takesLines?: true
  /** How the OpenAPI document describes it. */
  readonly doc: Doc
  readonly handle: (call: Call) => AdminResponse | Promise<AdminResponse>
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Who may use a route. All but `open` only with a Host header that we answer to.
 * - `open` anybody
 * - `machine` an admin token of role admin, or from this machine X-Tollgate-Drain instead; never a page in a browser
 * - `page` anybody: nothing here is secret
 * - `login` anybody but pages of others
 * - `session` whoever has a token or a session, and whoever sent none
 * - `read` an admin token of the role admin or viewer, and of a lead what `permissions.ts` says
 * - `change` an admin token of role admin, and of a lead what `permissions.ts` says; by a session only from our own page
 */
export type Guard = 'open' | 'machine' | 'page' | 'login' | 'session' | 'read' | 'change'

export interface Doc {
  readonly summary: string
  /** What a caller has to know beside the summary, in whole sentences. */
  readonly more?: string
  /** Parameters of the query, each a text. */
  readonly query?: z.ZodObject
  readonly body?: z.ZodType | 'lines'
  /** Whether If-Match is looked at. */
  readonly ifMatch?: true
  /** Whether Idempotency-Key is looked at. */
  readonly idempotencyKey?: true
  /** Whether the ETag of a 200 is a version, for If-Match. Default: that of a GET is of its bytes (form.ts), and others have none. */
  readonly hasVersion?: true
  /** By status; `null` for a response without a body, `text` or `lines` for one that is not JSON. */
  readonly responses: Readonly<Record<number, z.ZodType | null | 'text' | 'lines'>>
  /** Types in which a response of 200 may come as text instead of JSON. */
  readonly textTypes?: readonly string[]
  /** Beside those that follow from the guard. */
  readonly errors?: readonly AdminError[]
}

/** The errors of the admin listener. Like those of the gateway their codes are never given another meaning. */
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

/** A field that is wrong: its place in the body or the query, and the cure. */
export interface FieldProblem {
  /** `baselines.personal.read.1h`; empty for the body as a whole. */
  readonly path: string
  readonly msg: string
}

/** @param msg one safe sentence that says what is wrong and the cure */
export function refusal(error: AdminError, msg: string, headers: AdminResponse['headers'] = {}): AdminResponse {
  return { status: STATUS_OF[error], body: { error, msg }, headers }
}

/** All that is wrong with a request at once. The sentence of the whole is made of those of its fields. */
export function badFields(problems: readonly FieldProblem[]): AdminResponse {
  const msg = problems.map(({ path, msg }) => `${path || 'body'}: ${msg}`).join('; ')
  return { status: STATUS_OF.bad_request, body: { error: 'bad_request', msg, problems } }
}

export function ok(body: unknown, headers: AdminResponse['headers'] = {}): AdminResponse {
  return { status: 200, body, headers }
}

export const NO_CONTENT: AdminResponse = Object.freeze({ status: 204 })

/** The type of a body that has none of its own. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** On every response. Nothing here is a page, so nothing may run, be framed or be kept. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

export function iso(at: number): string {
  return new Date(at).toISOString()
}
