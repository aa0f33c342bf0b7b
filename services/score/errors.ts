/**
 * Every refusal of the score backend, in one table: the machine-readable code, its HTTP status, and its meaning in the
 * document. Some also have the business code that older clients read. Codes are part of the contract, and a retired one
 * is never used again.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    returnCode: 1205,
    means: 'The request does not have the form that is documented; `details` names what is wrong.',
  },
  unauthorized: { status: 401, means: 'No valid credential.' },
  not_found: { status: 404, means: 'No such endpoint.' },
  music_not_found: { status: 404, returnCode: 5004, means: 'A chart is not in the catalogue.' },
  score_not_found: { status: 404, returnCode: 5005, means: 'The user has no such score.' },
  method_not_allowed: { status: 405, means: 'The endpoint does not know that method.' },
  account_busy: { status: 409, returnCode: 4001, means: 'Another write of this account is in progress.' },
  ticket_limit: { status: 409, means: 'No more tickets of this kind can be owned.' },
  idempotency_conflict: { status: 409, means: 'The Idempotency-Key was used for another request.' },
  capability_missing: { status: 410, means: 'The endpoint is not part of this backend.' },
  payload_too_large: { status: 413, means: 'The body is larger than 1 MiB.' },
  dx_score_out_of_range: { status: 422, returnCode: 5009, means: 'A DX score is above the maximum of its chart.' },
  // 424 and not 401 or 429: those would be about the gateway's own credential and quota.
  external_auth_failed: { status: 424, means: 'The platform does not accept the token.' },
  external_rejected: { status: 424, means: 'The platform has rejected the request; `details` has its words.' },
  external_rate_limited: { status: 424, means: 'The platform limits requests; `Retry-After` is passed on.' },
  // No client receives this code; it is only in the access record.
  client_left: { status: 499, means: 'The client has left before its answer.' },
  internal: { status: 500, means: 'The backend has failed.' },
  external_unavailable: { status: 502, means: 'The platform is down, or its answer is none of those documented.' },
  external_timeout: { status: 504, means: 'The platform has not answered in time.' },
} as const satisfies Record<string, { status: number; returnCode?: number; means: string }>

export type ErrorCode = keyof typeof ERRORS

/** One problem of a request. `index` is the position in the list that was sent. */
export interface Detail {
  readonly index?: number
  readonly musicId?: number
  readonly level?: number
  readonly field?: string
  readonly max?: number
  readonly problem?: string
}

/** The response of an external platform. */
export interface PlatformDetail {
  readonly platform: string
  /** Its HTTP status. */
  readonly status: number
  /** Its message without the user's token; at most 200 characters. */
  readonly message: string
}

/**
 * A request that is not carried out. It is a value. When a handler returns one, nothing of the user has changed, except
 * for the scores that an update has pulled before its push failed.
 */
export interface Refusal {
  readonly refused: ErrorCode
  /** One sentence for the client; it never holds a credential or a QR code. */
  readonly msg: string
  readonly details?: readonly Detail[] | PlatformDetail
  /** The value of `Retry-After`. */
  readonly retryAfter?: string
}

export function refuse(refused: ErrorCode, msg: string, details?: readonly Detail[]): Refusal {
  return details === undefined ? { refused, msg } : { refused, msg, details }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

/** The JSON body of a refusal. `returnCode` and its older twin `code` are there only if clients know a number. */
export function bodyOf({ refused, msg, details }: Refusal): Record<string, unknown> {
  const entry: { status: number; returnCode?: number } = ERRORS[refused]
  return {
    error: refused,
    msg,
    ...(entry.returnCode === undefined ? {} : { returnCode: entry.returnCode, code: entry.returnCode }),
    ...(details === undefined ? {} : { details }),
  }
}
