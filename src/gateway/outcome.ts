import { type Denial, isDenial, STATUS_OF } from '../errors.ts'
import type { ForwardResult } from '../forward/contract.ts'
import type { RequestDone } from '../observe/observation.ts'
import { denialResponse, type OwnResponse } from '../respond/response.ts'
import { forwardFailed } from './responses.ts'

/** How a request ended, for the record. */
export type Ending = Pick<
  RequestDone,
  'outcome' | 'error' | 'reason' | 'lenient' | 'share' | 'httpStatus' | 'clientStatus' | 'upstreamMs'
>

/**
 * The request goes no further. A step of admission returns its result or a Stop, so `instanceof Stop` is the only way to ask
 * whether the request passes.
 */
export class Stop {
  readonly ending: Ending
  /** The response to the client; `null` if the client has left. */
  readonly response: OwnResponse | null

  constructor(ending: Ending, response: OwnResponse | null) {
    this.ending = ending
    this.response = response
  }
}

/** The usual status for a client that left first. It is only logged. */
const CLIENT_CLOSED = 499

/** The gateway responds itself. */
export function answered(response: OwnResponse): Stop {
  return new Stop(
    { ...NEVER_FORWARDED, outcome: 'answered', error: null, reason: null, clientStatus: response.status },
    response,
  )
}

/** The quota refuses the request. */
export function refused(response: OwnResponse): Stop {
  return new Stop(REFUSED, response)
}

export function denied(denial: Denial): Stop {
  return new Stop(deniedEnding(denial), denialResponse(denial))
}

/** The client left before it got a response. */
export function left(reason: string): Stop {
  return new Stop({ ...NEVER_FORWARDED, outcome: 'aborted', error: null, reason, clientStatus: CLIENT_CLOSED }, null)
}

/** Turns the result of a lower layer, which knows only denials, into a Stop if it is one. */
export function resultOf<T>(result: T | Denial): T | Stop {
  return isDenial(result) ? denied(result) : result
}

function deniedEnding({ code, reason, share }: Denial): Ending {
  const why = { reason: reason ?? null, share: share ?? null }
  return { ...NEVER_FORWARDED, outcome: 'denied', error: code, ...why, clientStatus: STATUS_OF[code] }
}

/** @param statusSent what the client got, if a response has begun */
export function forwarded(result: ForwardResult, upstreamMs: number, statusSent: number): Ending {
  const { outcome, error, reason, lenient, headSent } = result
  if (error === 'no_connection') return deniedEnding(forwardFailed(error))
  const leftEarly = outcome === 'aborted' && !headSent
  const clientStatus = leftEarly ? CLIENT_CLOSED : statusSent
  // 0 would mean that forwarding failed, but here the client did not wait for the response.
  const httpStatus = leftEarly && result.httpStatus === 0 ? null : result.httpStatus
  return { outcome, error, reason, lenient, share: null, httpStatus, clientStatus, upstreamMs }
}

/** The body turned out to be malformed or too slow after the upstream had got a part of it. */
export function cutOffEnding(denial: Denial, result: ForwardResult, upstreamMs: number, statusSent: number): Ending {
  const reason = denial.reason ?? null
  if (result.headSent) return { ...forwarded(result, upstreamMs, statusSent), reason }
  return { ...deniedEnding(denial), upstreamMs }
}

const NEVER_FORWARDED: Pick<Ending, 'lenient' | 'share' | 'httpStatus' | 'upstreamMs'> = {
  lenient: [],
  share: null,
  httpStatus: null,
  upstreamMs: null,
}

const REFUSED: Ending = {
  ...NEVER_FORWARDED,
  outcome: 'refused',
  error: 'quota_exceeded',
  reason: null,
  clientStatus: STATUS_OF.quota_exceeded,
}
