import { type Denial, type ErrorCode, STATUS_OF } from '../errors.ts'
import type { ForwardResult } from '../forward/contract.ts'
import type { RequestDone } from '../observe/observation.ts'
import { denialResponse, type OwnResponse } from '../respond/response.ts'
import type { Stop } from './context.ts'
import { forwardFailed } from './failure-denials.ts'

/** How a request ended, for the record. */
export type Ending = Pick<
  RequestDone,
  'outcome' | 'error' | 'reason' | 'share' | 'httpStatus' | 'clientStatus' | 'upstreamMs'
>

/** The usual status for a client that closed its connection first; only ever logged. */
const CLIENT_CLOSED = 499

export function responseOf(stop: Stop): OwnResponse {
  return stop.kind === 'denied' ? denialResponse(stop.denial) : stop.response
}

/** The end of a request that we answered ourselves. */
export function stopped(stop: Stop): Ending {
  if (stop.kind === 'denied') return deniedEnding(stop.denial)
  const error: ErrorCode | null = stop.kind === 'refused' ? 'quota_exceeded' : null
  return { ...NEVER_FORWARDED, outcome: stop.kind, error, reason: null, clientStatus: stop.response.status }
}

export function deniedEnding({ code, reason, share }: Denial): Ending {
  const why = { reason: reason ?? null, share: share ?? null }
  return { ...NEVER_FORWARDED, outcome: 'denied', error: code, ...why, clientStatus: STATUS_OF[code] }
}

export function clientLeft(reason: string): Ending {
  return { ...NEVER_FORWARDED, outcome: 'aborted', error: null, reason, clientStatus: CLIENT_CLOSED }
}

/** @param statusSent what the client got, where an answer was begun */
export function forwarded(result: ForwardResult, upstreamMs: number, statusSent: number): Ending {
  const { outcome, error, reason, headSent } = result
  if (error === 'no_connection') return deniedEnding(forwardFailed(error))
  const leftEarly = outcome === 'aborted' && !headSent
  const clientStatus = leftEarly ? CLIENT_CLOSED : statusSent
  // 0 means that forwarding failed, which is not so where the client did not wait for the answer.
  const httpStatus = leftEarly && result.httpStatus === 0 ? null : result.httpStatus
  return { outcome, error, reason, share: null, httpStatus, clientStatus, upstreamMs }
}

/** Its body turned out malformed, or came too slowly, when the upstream had had a part of it. */
export function cutOffEnding(denial: Denial, result: ForwardResult, upstreamMs: number, statusSent: number): Ending {
  const reason = denial.reason ?? null
  if (result.headSent) return { ...forwarded(result, upstreamMs, statusSent), reason }
  return { ...deniedEnding(denial), upstreamMs }
}

const NEVER_FORWARDED: Pick<Ending, 'share' | 'httpStatus' | 'upstreamMs'> = {
  share: null,
  httpStatus: null,
  upstreamMs: null,
}
