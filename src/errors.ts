/**
 * The codes of all errors that the gateway itself sends to clients, each with its HTTP status. Codes are part of the contract with
 * clients. A retired code is never used again.
 */
export const STATUS_OF = {
  bad_request: 400,
  unauthorized: 401,
  no_route: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  uri_too_long: 414,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  quota_exceeded: 429,
  too_many_in_flight: 429,
  headers_too_large: 431,
  internal: 500,
  not_implemented: 501,
  upstream_unreachable: 502,
  bad_upstream_answer: 502,
  store_unavailable: 503,
  overloaded: 503,
  upstream_timeout: 504,
  version_not_supported: 505,
} as const

export type ErrorCode = keyof typeof STATUS_OF

/**
 * An error that the gateway itself sends in response to a request, because the request is not allowed or could not be served. A denial
 * is a value, not an exception: exceptions are for faults of the gateway.
 */
export interface Denial {
  readonly code: ErrorCode
  /** One sentence that is safe to show to the client: no internals, no credential. */
  readonly msg: string
  /** Extra response headers, for example `Allow` or `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
  /** A reason for the log only. */
  readonly reason?: string
  /** For a client that accepts problems of RFC 9457: further members of the problem beside `error` and `msg`. */
  readonly problem?: object
  /** Set where one client, or all together, hold as much as they may (edge/shares.ts). */
  readonly share?: ReachedShare
}

/** The bound that refuses somebody more of a thing. */
export interface ReachedShare {
  /** A `Thing`; `in_flight` is bounded by `edge.max_in_flight_per_user`. */
  readonly thing: string
  /** `failures`: the bound of one address with many checks in vain. */
  readonly bound: 'total' | 'strangers' | 'address' | 'network' | 'user' | 'failures'
}

export function denial(
  code: ErrorCode,
  msg: string,
  more: Pick<Denial, 'headers' | 'reason' | 'problem'> = {},
): Denial {
  return { code, msg, ...more }
}

/** Whether a function returned a denial instead of its result. */
export function isDenial<T>(result: T | Denial): result is Denial {
  return typeof result === 'object' && result !== null && 'code' in result
}

/** Why a file could not be read, by the code of the system or of `lib/regular-file.ts`, and how to mend it. */
export function unreadable(code = 'error'): string {
  if (code === 'ENDLESS') return 'is not a regular file: name one'
  if (code !== 'EMFILE' && code !== 'ENFILE') return `cannot be read (${code}): check the path and the permissions`
  return `cannot be read (${code}): too many files and connections are open, so raise the limit (ulimit -Hn, LimitNOFILE)`
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
