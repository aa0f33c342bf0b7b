/** Every refusal of the chart preview: its HTTP status and, if it never varies, its message. */
const ERRORS = {
  invalid_request: { status: 400, message: 'Invalid request' },
  /** The same for no credential, an unknown or revoked one, and one of another service. */
  unauthorized: { status: 401, message: 'Unauthorized' },
  not_found: { status: 404, message: 'Resource not found' },
  method_not_allowed: { status: 405, message: 'Method not allowed' },
  payload_too_large: { status: 413, message: 'The body is too large' },
  internal: { status: 500, message: 'Internal error' },
  busy: { status: 503, message: 'The database is busy; try again later' },
} as const

export type ErrorCode = keyof typeof ERRORS

/** A request that is not carried out. */
export interface Refusal {
  readonly refused: ErrorCode
  readonly message: string
}

/** @param message default: that of the code */
export function refuse(refused: ErrorCode, message: string = ERRORS[refused].message): Refusal {
  return { refused, message }
}

export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}

export function statusOf({ refused }: Refusal): number {
  return ERRORS[refused].status
}
