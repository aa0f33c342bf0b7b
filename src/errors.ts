/**
 * Every answer that is Tollgate's own, in one table: the machine-readable code and its HTTP status.
 * Codes are part of the contract with clients; a code that is retired is never used again.
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
 * A request that is answered by the gateway itself and never reaches the upstream.
 * A denial is a value, not an exception: exceptions are for failures.
 */
export interface Denial {
  readonly code: ErrorCode
  /** One safe sentence for the client: no internals, no credential. */
  readonly msg: string
  /** Extra response headers, for example `Allow` or `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
  /** What only the log is told. */
  readonly reason?: string
  /** For a client that accepts problems of RFC 9457: the members that one has besides `error` and `msg`. */
  readonly problem?: object
  /** Where somebody, or all together, hold as much as they may (edge/shares.ts). */
  readonly share?: ReachedShare
}

/** Which bound refuses somebody more of a thing. */
export interface ReachedShare {
  /** A `Thing`: `in_flight` is what `edge.max_in_flight_per_user` bounds. */
  readonly thing: string
  /** `failures`: of one address, whose checks were for nothing. */
  readonly bound: 'total' | 'strangers' | 'address' | 'network' | 'user' | 'failures'
}

export function denial(
  code: ErrorCode,
  msg: string,
  more: Pick<Denial, 'headers' | 'reason' | 'problem'> = {},
): Denial {
  return { code, msg, ...more }
}

/** The one way to ask whether something gave a denial instead of its result. */
export function isDenial<T>(result: T | Denial): result is Denial {
  return typeof result === 'object' && result !== null && 'code' in result
}

/** Why a file could not be read, by the code of the system or that of `lib/regular-file.ts`, with the cure. */
export function unreadable(code = 'error'): string {
  if (code === 'ENDLESS') return 'is not a regular file: name one'
  if (code !== 'EMFILE' && code !== 'ENFILE') return `cannot be read (${code}): check the path and the permissions`
  return `cannot be read (${code}): too many files and connections are open, so raise the limit (ulimit -Hn, LimitNOFILE)`
}

/** What was thrown, in its own words. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
