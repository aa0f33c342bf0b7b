/** What a route of the admin listener says, in a form that knows no web framework. */
export interface Answer {
  readonly status: number
  /** Sent as JSON, or as it is where it is a string with its own type. */
  readonly body?: unknown
  /** Of a string body. Without it the body is JSON. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a route is told of its request. */
export interface Call {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** Parsed JSON, unchecked. */
  readonly body: unknown
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Segments, `:name` for a parameter. */
  readonly path: string
  /** `host`: only with a Host header we answer to. `token`: that, and the admin token. */
  readonly guard: 'open' | 'host' | 'token'
  readonly handle: (call: Call) => Answer | Promise<Answer>
}

/** The errors of the admin listener; like those of the gateway their codes are never given another meaning. */
const STATUS_OF = {
  bad_request: 400,
  unauthorized: 401,
  no_admin_token: 403,
  host_not_allowed: 403,
  not_from_browsers: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  too_many_attempts: 429,
  headers_too_large: 431,
  internal: 500,
  store_unavailable: 503,
} as const

export type AdminError = keyof typeof STATUS_OF

/** @param msg one safe sentence that says what is wrong and the cure */
export function refusal(error: AdminError, msg: string, headers: Answer['headers'] = {}): Answer {
  return { status: STATUS_OF[error], body: { error, msg }, headers }
}

export function ok(body: unknown): Answer {
  return { status: 200, body }
}

/** On every answer. Nothing here is a page, so nothing may run, be framed or be kept. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}
