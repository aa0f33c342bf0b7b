/**
 * Every refusal of the score backend, in one table: the machine-readable code, its HTTP status and, where clients know
 * one, the business code that older clients read. Codes are part of the contract; a retired one is never used again.
 */
export const ERRORS = {
  invalid_request: { status: 400, returnCode: 1205 },
  unauthorized: { status: 401 },
  not_found: { status: 404 },
  music_not_found: { status: 404, returnCode: 5004 },
  score_not_found: { status: 404, returnCode: 5005 },
  method_not_allowed: { status: 405 },
  account_busy: { status: 409, returnCode: 4001 },
  ticket_limit: { status: 409 },
  idempotency_conflict: { status: 409 },
  capability_missing: { status: 410 },
  payload_too_large: { status: 413 },
  dx_score_out_of_range: { status: 422, returnCode: 5009 },
  internal: { status: 500 },
} as const satisfies Record<string, { status: number; returnCode?: number }>

export type ErrorCode = keyof typeof ERRORS

/** One thing wrong with a request. `index` is the position in the list that was sent. */
export interface Detail {
  readonly index?: number
  readonly musicId?: number
  readonly level?: number
  readonly field?: string
  readonly max?: number
  readonly problem?: string
}

/** A request that is not carried out. It is a value: nothing has been written when a handler returns one. */
export interface Refusal {
  readonly refused: ErrorCode
  /** One sentence for the client; never holds a credential or a QR code. */
  readonly msg: string
  readonly details?: readonly Detail[]
}

export function refuse(refused: ErrorCode, msg: string, details?: readonly Detail[]): Refusal {
  return details === undefined ? { refused, msg } : { refused, msg, details }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

/** The JSON body of a refusal. `returnCode` and its older twin `code` stand only where clients know a number. */
export function bodyOf({ refused, msg, details }: Refusal): Record<string, unknown> {
  const entry: { status: number; returnCode?: number } = ERRORS[refused]
  return {
    error: refused,
    msg,
    ...(entry.returnCode === undefined ? {} : { returnCode: entry.returnCode, code: entry.returnCode }),
    ...(details === undefined ? {} : { details }),
  }
}
