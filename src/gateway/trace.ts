import { idsIn, idsOfRequest, isSampled, type Trace, traceparentOf } from '../lib/trace-context.ts'
import { uuid } from '../lib/uuid.ts'

/** `parent`: as the flag of the traceparent says, and all without one. A number from 0 to 1: that share of the traces. */
export type Sample = 'parent' | number

/**
 * The span of a request, decided before it is forwarded, as the upstream follows its flag. It is made when the request has ended.
 * @param headers of the request @param isTrusted whether a proxy that is trusted chose the ids
 */
export function beginTrace(
  headers: Readonly<Record<string, unknown>>,
  requestId: string,
  sample: Sample,
  isTrusted: boolean,
): Trace {
  const came = traceparentOf(headers)
  const parent = came === null ? null : idsIn(came)
  const traceId = parent?.traceId ?? idsOfRequest(requestId).traceId
  // A proxy that is trusted may give two requests one id.
  const { spanId } = idsOfRequest(uuid())
  // By the id of his trace a stranger would have all of his requests sampled, or none.
  const drawn = came === null || isTrusted ? traceId.slice(16) : spanId
  const sampled = sample === 'parent' ? came === null || isSampled(came) : isInShare(drawn, sample)
  return {
    traceparent: `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`,
    parentId: parent?.spanId ?? null,
    startedAt: Date.now(),
  }
}

/** By the last 56 bits, as OpenTelemetry has it: all who sample a trace by its id take the same ones. @param id of 16 digits */
function isInShare(id: string, share: number): boolean {
  return share > 0 && Number.parseInt(id.slice(2), 16) >= (1 - share) * 2 ** 56
}
